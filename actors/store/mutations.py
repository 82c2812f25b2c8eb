"""Mutations: each operation's checks in the contract's order, and everything it stores (contract 3.3, 9).

Runs inside the writer's transaction, each call in a savepoint of its own: state, events, evidence, links
and the idempotency record of a mutation are stored together or not at all.
"""

from collections.abc import Callable
from typing import NamedTuple

import apsw

from actors.messages.control import Control
from actors.store import idempotency, items
from actors.store.names import Names
from actors.store.tally import Tally
from actors.system import Identifiers
from remindi import lifecycle
from remindi.adapters import admit
from remindi.answers import Mutated
from remindi.errors import NOT_FOUND, ErrorCode, Refusal
from remindi.events import Caller, EventDraft
from remindi.evidence import EvidenceRecord
from remindi.identifiers import uuid_text
from remindi.items import Item
from remindi.requests import Cancellation, Completion, IdempotencyKey, NewItem, Snooze, Update
from remindi.settings import (
    DEFAULT_OVERDUE_SECONDS,
    IDEMPOTENCY_RETENTION_DAYS,
    MAX_CATCH_UP,
    MAX_SNOOZE_SECONDS,
)
from remindi.triggers import Condition, Trigger


class Moment(NamedTuple):
    """What one mutation happens under: who, when, in which write, under which control state."""

    caller: Caller
    now: int
    change: int
    control: Control


class Done(NamedTuple):
    """A mutation that was carried out now, for the log; a replay is none."""

    item: Item
    event: EventDraft


Outcome = tuple[Mutated | Refusal, Done | None]


class Mutations:
    """The five mutations on one write connection."""

    def __init__(
        self,
        connection: apsw.Connection,
        owner: int,
        names: Names,
        identifiers: Identifiers,
        tally: Tally,
    ) -> None:
        """Work on the items of ``owner``."""
        self._connection = connection
        self._owner = owner
        self._names = names
        self._identifiers = identifiers
        self._tally = tally
        self._next_key = items.next_key(connection)

    def rolled_back(self) -> None:
        """What was inserted may be gone."""
        self._next_key = items.next_key(self._connection)

    def add(self, moment: Moment, new: NewItem) -> Outcome:
        """``remindi_add``."""
        default = moment.control.settings[DEFAULT_OVERDUE_SECONDS]
        given = new.overdue_after_seconds is not None
        grace = idempotency.Grace(
            default if new.overdue_after_seconds is None else new.overdue_after_seconds, given
        )

        def act() -> tuple[Mutated, Done] | Refusal:
            change = lifecycle.create(
                new,
                key=self._next_key,
                identifier=self._identifiers.next(),
                now=moment.now,
                default_grace=default,
            )
            if isinstance(change, Refusal):
                return change
            warnings = self._admitted(moment, new.content.trigger)
            if isinstance(warnings, Refusal):
                return warnings
            items.insert(self._connection, self._owner, change.record, moment.change, self._names)
            self._next_key += 1
            return self._stored(moment, None, change.record.item, change.event, warnings)

        return self._once(moment, new.idempotency, grace, act)

    def complete(self, moment: Moment, request: Completion) -> Outcome:
        """``remindi_complete``."""

        def act() -> tuple[Mutated, Done] | Refusal:
            item = self._at_version(request.remindi_id, request.expected_version)
            if isinstance(item, Refusal):
                return item
            identifier = self._identifiers.next()
            change = lifecycle.complete(item, request, now=moment.now, evidence_id=uuid_text(identifier))
            if isinstance(change, Refusal):
                return change
            record = EvidenceRecord(identifier, item.id, request.evidence, moment.now, moment.caller.actor_id)
            items.rewrite(self._connection, change.item, moment.change)
            items.insert_evidence(self._connection, change.item, record, self._names)
            return self._stored(moment, item, change.item, change.events[0])

        return self._once(moment, request.idempotency, None, act)

    def snooze(self, moment: Moment, request: Snooze) -> Outcome:
        """``remindi_snooze``."""
        horizon = moment.control.settings[MAX_SNOOZE_SECONDS]
        return self._simple(
            moment,
            request,
            lambda item: lifecycle.snooze(item, request, now=moment.now, max_snooze_seconds=horizon),
        )

    def cancel(self, moment: Moment, request: Cancellation) -> Outcome:
        """``remindi_cancel``."""
        return self._simple(moment, request, lambda item: lifecycle.cancel(item, request, now=moment.now))

    def update(self, moment: Moment, request: Update) -> Outcome:
        """``remindi_update``."""
        cap = moment.control.settings[MAX_CATCH_UP]

        def act() -> tuple[Mutated, Done] | Refusal:
            item = self._at_version(request.remindi_id, request.expected_version)
            if isinstance(item, Refusal):
                return item
            before = items.find_record(self._connection, self._owner, request.remindi_id, self._names)
            assert before is not None
            change = lifecycle.update(before, request, now=moment.now, max_catch_up=cap)
            if isinstance(change, Refusal):
                return change
            warnings = () if request.trigger is None else self._admitted(moment, request.trigger)
            if isinstance(warnings, Refusal):
                return warnings
            items.rewrite(self._connection, change.record.item, moment.change)
            items.rewrite_content(self._connection, before, change.record, self._names)
            return self._stored(moment, item, change.record.item, change.event, warnings)

        return self._once(moment, request.idempotency, None, act)

    def _simple(
        self,
        moment: Moment,
        request: Snooze | Cancellation,
        decide: Callable[[Item], lifecycle.Change | Refusal],
    ) -> Outcome:
        def act() -> tuple[Mutated, Done] | Refusal:
            item = self._at_version(request.remindi_id, request.expected_version)
            if isinstance(item, Refusal):
                return item
            change = decide(item)
            if isinstance(change, Refusal):
                return change
            items.rewrite(self._connection, change.item, moment.change)
            return self._stored(moment, item, change.item, change.events[0])

        return self._once(moment, request.idempotency, None, act)

    def _once(
        self,
        moment: Moment,
        key: IdempotencyKey,
        grace: idempotency.Grace | None,
        act: Callable[[], tuple[Mutated, Done] | Refusal],
    ) -> Outcome:
        """Steps 3 to 8 of contract 3.3: the stored answer, or the act and its answer stored."""
        known = idempotency.place(moment.caller, key)
        retention = moment.control.settings[IDEMPOTENCY_RETENTION_DAYS]
        stored = idempotency.stored_answer(
            self._connection, known, key, grace, idempotency.expiry(moment.now, retention)
        )
        if stored is not None:
            return stored, None
        acted = act()
        if isinstance(acted, Refusal):
            return acted, None
        answer, done = acted
        idempotency.store_answer(self._connection, known, key, grace, moment.now, answer)
        return answer, done

    def _at_version(self, identifier: bytes, expected_version: int) -> Item | Refusal:
        """Steps 4 and 5: the item, at the version that the caller read."""
        item = items.find_item(self._connection, self._owner, identifier)
        if item is None:
            return NOT_FOUND
        if item.version != expected_version:
            return Refusal(ErrorCode.VERSION_CONFLICT, current_version=item.version)
        return item

    def _admitted(self, moment: Moment, trigger: Trigger) -> Refusal | tuple[str, ...]:
        """Step 8: whether a condition may be stored, and with which warnings (contract 7.1)."""
        return admit(trigger, moment.control.adapters) if isinstance(trigger, Condition) else ()

    def _stored(
        self,
        moment: Moment,
        before: Item | None,
        item: Item,
        event: EventDraft,
        warnings: tuple[str, ...] = (),
    ) -> tuple[Mutated, Done]:
        self._tally.changed(before, item, moment.now)
        items.append_events(
            self._connection,
            (lifecycle.Change(item, (event,)),),
            caller=moment.caller,
            now=moment.now,
            names=self._names,
            identifiers=self._identifiers,
        )
        return Mutated(item.id, item.state, item.version, warnings), Done(item, event)
