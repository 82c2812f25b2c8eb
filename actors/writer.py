"""The writer: one thread owns the one write connection, and answers after the commit.

Messages that wait together are handled in one transaction, each in a savepoint of its own, and the
answers go out when it is durable. Idle, a write waits for nobody; busy, one fsync serves many.
"""

import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, assert_never

from actors.actor import Actor
from actors.address import Address, Envelope, Paused, Unavailable
from actors.messages import Ping
from actors.messages.control import Control
from actors.messages.feed import ItemChange, ItemsChanged
from actors.messages.probes import AdaptersChanged
from actors.messages.scheduler import SettingsChanged
from actors.messages.writer import (
    AcquireLease,
    AddItem,
    ApplyProbes,
    CancelItem,
    CompleteItem,
    EvaluatePage,
    EvaluateRipe,
    GetLease,
    GetReplacement,
    LeaseLost,
    PauseExtended,
    PauseWriter,
    PurgeIdempotency,
    RecordAudit,
    RecordBackup,
    ReleaseLease,
    RenewLease,
    ReplaceContent,
    ResumeWriter,
    SetDesired,
    SettleContent,
    SnoozeItem,
    UpdateAdapter,
    UpdateItem,
    UpdateSetting,
)
from actors.store import Busy, StoreError, WriteStore
from actors.store.copying import Progress, nothing
from actors.store.mutations import Done, Moment, Outcome
from actors.system import Clock, Random
from remindi import audit
from remindi.backups import BackupRecord
from remindi.errors import ErrorCode, Refusal
from remindi.events import EVENT_WORDS, ActorType, EventDraft
from remindi.identifiers import uuid_text
from remindi.items import Item
from remindi.lifecycle import Change

log = logging.getLogger("remindi.items")

MAX_GROUP: Final = 256
"""Messages that one transaction takes at most."""
MAX_GROUP_SECONDS: Final = 0.05
"""How long a transaction takes in messages, so that nobody waits long for the commit."""
LOGGED_CHARACTERS: Final = 200
"""How much of a message or reason a log line carries."""

WriterMessage = (
    AddItem
    | CompleteItem
    | SnoozeItem
    | UpdateItem
    | CancelItem
    | EvaluatePage
    | EvaluateRipe
    | ApplyProbes
    | PurgeIdempotency
    | AcquireLease
    | GetLease
    | RenewLease
    | ReleaseLease
    | UpdateSetting
    | UpdateAdapter
    | RecordAudit
    | SetDesired
    | RecordBackup
    | SettleContent
)
MaintenanceMessage = PauseWriter | ReplaceContent | GetReplacement | ResumeWriter


class _Pause(NamedTuple):
    """Who alone may write, and until when."""

    operation_id: bytes
    seconds: float
    until: float
    """On the monotonic clock."""
    replaced: bool
    """Whether the content was replaced: then the pause never ends by itself."""


class Writer(Actor):
    """The one that changes the database."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        *,
        store_path: Path,
        owner: str,
        clock: Clock,
        chance: Random,
        subscribers: Sequence[Address] = (),
        feed: Address | None = None,
        log_content: bool = False,
        progress: Progress = nothing,
    ) -> None:
        """Make the writer; the database is opened on its own thread.

        Args:
            name: of the address.
            on_death: told when the actor dies.
            store_path: database file, in a directory whose lock this process holds.
            owner: the one owner.
            clock: both clocks.
            chance: random source of identifiers.
            subscribers: told ``SettingsChanged`` and ``AdaptersChanged`` after a commit that changed them.
            feed: told ``ItemsChanged`` after the answers of a commit, while it listens.
            log_content: whether lines about item events carry message and reason (REMINDI_LOG_CONTENT).
            progress: told how far a replacement of the content is; what it raises undoes it.
        """
        super().__init__(name, on_death)
        self._open: Callable[[], WriteStore] = lambda: WriteStore(store_path, owner, clock, chance)
        self._clock = clock
        self._subscribers = tuple(subscribers)
        self._feed = feed
        self._log_content = log_content
        self._progress = progress
        self._pause: _Pause | None = None
        self._replaced_by: bytes | None = None
        """The operation that replaced the content last."""
        self._group: list[tuple[Envelope, Any]] = []
        self._group_started = 0.0
        self._done: list[tuple[Moment, Item, EventDraft]] = []

    def on_start(self) -> None:
        """Open the store (pykka's hook)."""
        self._store = self._open()
        self._told: Control = self._store.control

    def on_stop(self) -> None:
        """Commit what was taken in, answer it, and close the store (pykka's hook)."""
        self._commit()
        self._store.close()
        self.fail_waiting()

    def on_failure(self, *told: Any) -> None:
        """Give the open group up, so that nobody waits for it (pykka's hook)."""
        try:
            self._give_up(StoreError("The writer broke; it is being restarted."))
        finally:
            try:
                self._store.abandon()
            finally:
                super().on_failure(*told)

    def receive(self, envelope: Envelope) -> None:
        """Take a message into the present group."""
        if isinstance(envelope.message, Ping):
            envelope.answer(None)
        elif isinstance(envelope.message, MaintenanceMessage):
            self._commit()
            self._maintain(envelope, envelope.message)
        elif isinstance(envelope.message, PauseExtended):
            self._extend(envelope.message)
        elif self._admits(envelope.message):
            self._take(envelope)
        else:
            envelope.fail(Paused())

    def handled(self) -> None:
        """Commit when no other message waits or the group is full."""
        if self._group and (
            self.actor_inbox.empty()
            or len(self._group) >= MAX_GROUP
            or self._clock.monotonic() - self._group_started >= MAX_GROUP_SECONDS
        ):
            self._commit()
            self._store.checkpoint()

    def _take(self, envelope: Envelope) -> None:
        message: Any = envelope.message
        try:
            if not self._group:
                self._store.begin()
                self._group_started = self._clock.monotonic()
            with self._store.member():
                answer = self.handle(message)
        except Exception as error:
            self._refuse(envelope, error)
            if self._group and self._store.broken:
                self._give_up(error)
            elif not self._group:
                self._store.rollback()
            return
        self._group.append((envelope, answer))

    # ------------------------------------------------------------ maintenance

    def _maintain(self, envelope: Envelope, message: MaintenanceMessage) -> None:
        """Carry out what belongs to a maintenance; between groups."""
        if isinstance(message, GetReplacement):
            envelope.answer(self._replaced_by == message.operation_id)
            return
        pause = self._current_pause()
        begins = pause is None and isinstance(message, PauseWriter)
        if not begins and (pause is None or pause.operation_id != message.operation_id):
            envelope.fail(Paused())
            return
        try:
            match message:
                case PauseWriter():
                    self._pause_for(
                        message.operation_id, message.seconds, pause is not None and pause.replaced
                    )
                    envelope.answer(None)
                case ReplaceContent():
                    assert pause is not None
                    self._replace(pause, message.source)
                    envelope.answer(self._store.generation)
                case ResumeWriter():
                    self._pause = None
                    envelope.answer(None)
                case _:
                    assert_never(message)
        except Exception as error:
            log.error("a maintenance step failed: %s", error, extra={"message_type": type(message).__name__})
            envelope.fail(error)
        except BaseException:
            # It ends this actor, and whoever asked would wait as long as a large database takes.
            envelope.fail(Unavailable())
            raise

    def _replace(self, pause: _Pause, source: Path) -> None:
        try:
            self._store.replace_content(source, self._progress)
        finally:
            if self._store.replaced:
                self._replaced_by = pause.operation_id
            # However long it took, whoever asked has not had a chance to ask for more time.
            self._pause_for(pause.operation_id, pause.seconds, self._store.replaced or pause.replaced)

    def _pause_for(self, operation_id: bytes, seconds: float, replaced: bool) -> None:
        self._pause = _Pause(operation_id, seconds, self._clock.monotonic() + seconds, replaced)

    def _extend(self, message: PauseExtended) -> None:
        pause = self._current_pause()
        if pause is not None and pause.operation_id == message.operation_id:
            self._pause_for(pause.operation_id, pause.seconds, pause.replaced)

    def _current_pause(self) -> _Pause | None:
        """The pause, unless its time has run out and the content is what it was."""
        pause = self._pause
        if pause is not None and not pause.replaced and self._clock.monotonic() > pause.until:
            log.error("a maintenance was given up: whoever asked for it is gone")
            self._pause = None
        return self._pause

    def _admits(self, message: object) -> bool:
        """Whether a message may be carried out now."""
        pause = self._current_pause()
        if isinstance(message, SettleContent):
            return pause is not None and pause.operation_id == message.operation_id
        return pause is None

    def _refuse(self, envelope: Envelope, error: Exception) -> None:
        """Answer a message that failed; a locked database is an expected refusal, the rest is logged."""
        if isinstance(error, Busy):
            envelope.answer(Refusal(ErrorCode.DATABASE_BUSY))
            return
        message_type = type(envelope.message).__name__
        if isinstance(error, StoreError):
            log.error("a write failed: %s", error, extra={"message_type": message_type})
        else:
            log.error("a write failed", exc_info=error, extra={"message_type": message_type})
        envelope.fail(error)

    def _commit(self) -> None:
        if not self._group:
            return
        before = self._told
        try:
            changed = self._store.commit()
        except StoreError as error:
            log.error("a commit failed: %s", error)
            self._give_up(error)
            return
        group, self._group = self._group, []
        done, self._done = self._done, []
        if changed:
            # Before the answers: whoever then asks a subscriber meets one that knows.
            self._tell_control(before, self._store.control)
            self._told = self._store.control
        for envelope, answer in group:
            envelope.answer(answer)
        self._tell(done)
        self._log_events(done)

    def _give_up(self, error: Exception) -> None:
        """Undo the open group and fail whoever waits for it: nothing of it was stored."""
        group, self._group = self._group, []
        self._done = []
        for envelope, _ in group:
            if isinstance(error, Busy):
                envelope.answer(Refusal(ErrorCode.DATABASE_BUSY))
            else:
                envelope.fail(error)
        self._store.rollback()

    def handle(self, message: WriterMessage) -> Any:
        """Carry one message out inside the open group."""
        moment = self._store.moment(message.caller)
        mutations, evaluations = self._store.mutations, self._store.evaluations
        match message:
            case AddItem():
                return self._mutated(moment, mutations.add(moment, message.request))
            case CompleteItem():
                return self._mutated(moment, mutations.complete(moment, message.request))
            case SnoozeItem():
                return self._mutated(moment, mutations.snooze(moment, message.request))
            case UpdateItem():
                return self._mutated(moment, mutations.update(moment, message.request))
            case CancelItem():
                return self._mutated(moment, mutations.cancel(moment, message.request))
            case EvaluatePage():
                page, changes = evaluations.page(moment, message.query, message.as_of)
                self._evaluated(moment, changes)
                return page
            case EvaluateRipe():
                if not self._store.holds_lease(moment, message.lease):
                    return LeaseLost()
                batch, changes = evaluations.ripe(moment, message.as_of, message.after, message.limit)
                self._evaluated(moment, changes)
                return batch
            case ApplyProbes():
                if message.lease is not None and not self._store.holds_lease(moment, message.lease):
                    return LeaseLost()
                changes = evaluations.probes(moment, message.results, message.as_of, message.lifecycle_event)
                self._evaluated(moment, changes)
                return len(changes)
            case PurgeIdempotency():
                return self._store.purge_idempotency(moment, message.limit)
            case AcquireLease():
                return self._store.acquire_lease(moment, message.holder)
            case GetLease():
                return self._store.lease()
            case RenewLease():
                return self._store.renew_lease(moment, message.held)
            case ReleaseLease():
                return self._store.release_lease(message.held)
            case UpdateSetting():
                return self._store.update_setting(
                    moment, message.key, message.value, message.expected_version
                )
            case UpdateAdapter():
                return self._store.update_adapter(
                    moment, message.name, message.enabled, message.configuration, message.expected_version
                )
            case RecordAudit():
                return self._record(moment, message)
            case RecordBackup():
                return self._record_backup(moment, message)
            case SettleContent():
                return self._settle(moment, message)
            case SetDesired():
                return self._store.set_desired(moment, message.components, message.desired, message.action)
            case _:
                assert_never(message)

    def _record(self, moment: Moment, message: RecordAudit) -> None:
        self._store.record_audit(
            moment, message.event_type, message.outcome, message.details, message.occurred_at
        )

    def _record_backup(self, moment: Moment, message: RecordBackup) -> tuple[BackupRecord, ...]:
        record = message.record
        self._store.store_backup(record)
        if message.event_type is not None:
            details = tuple(audit.about_backup(record.id, record.source).items())
            self._store.record_audit(moment, message.event_type, audit.SUCCEEDED, details)
        return self._store.expire_backups(moment) if message.retains else ()

    def _settle(self, moment: Moment, message: SettleContent) -> Control:
        for record in message.records:
            self._store.store_backup(record)
        for row in message.audits:
            self._record(self._store.moment(row.caller), row)
        return self._store.restore_desired(moment, message.desired)

    def _mutated(self, moment: Moment, outcome: Outcome) -> Any:
        answer, done = outcome
        if isinstance(done, Done):
            self._done.append((moment, done.item, done.event))
        return answer

    def _evaluated(self, moment: Moment, changes: list[Change]) -> None:
        for change in changes:
            for event in change.events:
                self._done.append((moment, change.item, event))

    def _tell_control(self, before: Control, after: Control) -> None:
        """Tell whoever follows settings or adapters that they are others now."""
        for subscriber in self._subscribers:
            if after.settings != before.settings:
                subscriber.notify(SettingsChanged(settings=after.settings))
            if after.adapters != before.adapters:
                subscriber.notify(AdaptersChanged(registry=after.adapters))

    def _tell(self, done: list[tuple[Moment, Item, EventDraft]]) -> None:
        """Tell whoever watches which items are new."""
        if done and self._feed is not None and self._feed.listens:
            self._feed.notify(
                ItemsChanged(
                    changes=tuple(
                        ItemChange(item.id, item.version, item.state, event.type) for _, item, event in done
                    )
                )
            )

    def _log_events(self, done: list[tuple[Moment, Item, EventDraft]]) -> None:
        """Tell what was done; the answers are out, so nothing here may hurt."""
        try:
            for moment, item, event in done:
                self._log_event(moment, item, event)
        except Exception:
            log.exception("item events could not be logged")

    def _log_event(self, moment: Moment, item: Item, event: EventDraft) -> None:
        """One line per item event: what people and agents did at info, what the scheduler did at debug."""
        level = logging.DEBUG if moment.caller.actor_type == ActorType.SCHEDULER else logging.INFO
        if not log.isEnabledFor(level):
            return
        extra: dict[str, Any] = {
            "event_type": EVENT_WORDS[event.type],
            "remindi_id": uuid_text(item.id),
            "version": event.new_version,
            "actor_id": moment.caller.actor_id,
            "request_id": moment.caller.request_id,
        }
        if self._log_content:
            reason = json.loads(event.details_json).get("reason")
            extra["item_message"] = self._store.message(item.key)[:LOGGED_CHARACTERS]
            if isinstance(reason, str):
                extra["reason"] = reason[:LOGGED_CHARACTERS]
        log.log(level, "item event", extra=extra)
