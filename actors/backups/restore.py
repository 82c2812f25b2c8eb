"""The restore, from its guards to its end, and what it does when something fails (contract 15.2).

Each phase is durable in the journal before the next action, so that whenever the process ends, the next
start knows which content to keep. Runs in the worker's thread and asks the actors as any door does.
"""

import logging
import time
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from actors.address import ActorError, Address, Unavailable
from actors.backups.candidates import Candidates
from actors.backups.files import DirectoryFailed, told
from actors.backups.journal import INSTALLS, Journal, drop_journal, read_journal, write_journal, write_latest
from actors.backups.meter import Abandoned, Meter
from actors.board import Board
from actors.failures import in_words, unrefused
from actors.messages import Request
from actors.messages.backups import Restored
from actors.messages.control import WorkloadRow
from actors.messages.feed import ContentReplaced, RestoreChanged
from actors.messages.readers import GetControl, ListBackups, ReopenReader
from actors.messages.workloads import PauseWorkloads, ReleaseWorkloads, WorkloadsFailed
from actors.messages.writer import (
    GetReplacement,
    PauseWriter,
    RecordAudit,
    RecordBackup,
    ReplaceContent,
    ResumeWriter,
    SettleContent,
)
from actors.store.errors import StoreError
from actors.store.verification import Invalid, verify_live
from actors.system import Clock, Identifiers
from remindi import audit
from remindi.backups import (
    HELD_REASON,
    BackupRecord,
    MaintenanceState,
    Phase,
    PhaseReached,
    RestoreOutcome,
    RestoreState,
    Source,
    Status,
    file_name,
)
from remindi.errors import ErrorCode, Refusal
from remindi.events import Caller
from remindi.identifiers import uuid_text

log = logging.getLogger("remindi.backups")
R = TypeVar("R")

LEASE_SECONDS: Final = 60.0
"""How long the writer stays paused without a word of us."""
ASK_SECONDS: Final = 30.0
LONG_SECONDS: Final = 86_400.0
"""For what takes as long as the database is large."""
PATIENCE_SECONDS: Final = 20.0
"""How long an actor that is being restarted, or a transition that runs, is waited for."""
_PAUSE_SECONDS: Final = 0.1
MAINTENANCE: Final = "A restore is running."


class World(NamedTuple):
    """Whom and what a restore works with."""

    database: Path
    owner: str
    candidates: Candidates
    writer: Address
    reader: Address
    workloads: Address
    feed: Address
    board: Board
    meter: Meter
    clock: Clock
    ids: Identifiers
    """Of the worker's thread."""


class _Failed(Exception):
    """A step failed; the text is one sentence for people."""


class Restore:
    """One restore; ``run`` it once."""

    def __init__(self, world: World, caller: Caller, record: BackupRecord) -> None:
        """Make the restore of a backup that is known, for a caller who has passed the guards."""
        self._world = world
        self._directory = world.candidates.directory
        self._caller = caller
        self._record = record
        self._operation = world.ids.next()
        self._started_at = world.clock.now()
        self._pre_restore: BackupRecord | None = None
        self._desired: tuple[WorkloadRow, ...] = ()
        self._former: tuple[BackupRecord, ...] = ()
        self._generation: bytes | None = None
        """Of the content that was put in place; null while none was."""
        self._phases: list[PhaseReached] = []
        self._reason: str | None = None

    @property
    def operation_id(self) -> bytes:
        """Which restore this is."""
        return self._operation

    def run(self) -> Restored | Refusal:
        """Restore, and answer as the door does.

        Raises:
            Abandoned: the service stops; the next start follows the journal.
        """
        try:
            self._reach("requested")
            self._record = self._world.candidates.proven(self._record)
        except Invalid as error:
            return self._refused(error)
        except (StoreError, DirectoryFailed, OSError) as error:
            return self._failed_before(error)
        try:
            self._audit(audit.RESTORE_STARTED, audit.SUCCEEDED)
            self._reach("candidate_verified")
            self._require_space()
        except Abandoned:
            raise
        except Exception as error:
            return self._failed_before(error)
        return self._closed()

    # ------------------------------------------------------------- sequence

    def _closed(self) -> Restored | Refusal:
        """The part during which the database is closed."""
        try:
            self._close()
            self._reach("workloads_quiesced")
            self._secure()
            self._reach("pre_restore_backup_verified")
        except Abandoned:
            raise
        except Exception as error:
            return self._given_up(error)
        try:
            self._replace(self._directory.path_of(self._record.id))
            self._reach("live_replaced")
            self._prove()
            self._reach("replacement_verified")
            self._settle(self._started_row())
            self._reach("workloads_restarted")
        except Abandoned:
            raise
        except Exception as error:
            return self._rolled_back(error)
        self._open()
        self._audit(audit.RESTORE_SUCCEEDED, audit.SUCCEEDED)
        self._finish("succeeded", "succeeded")
        log.info("restored", extra=self._about())
        return Restored(self._operation, self._record.id)

    def _close(self) -> None:
        """Refuse new work, let running work end, stop the workloads, pause the writer."""
        world = self._world
        self._maintain("draining")
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            answer = self._ask(world.workloads, PauseWorkloads(caller=self._caller, reason=MAINTENANCE))
            if not isinstance(answer, Refusal):
                break
            if answer.code is not ErrorCode.WORKLOAD_CONFLICT or time.monotonic() > deadline:
                raise _Failed("The workloads could not be stopped; try again.")
            self._world.meter.pause(_PAUSE_SECONDS)
        self._pause_writer()
        # Whatever was asked before is answered before this.
        self._desired = self._ask(world.reader, GetControl(caller=self._caller)).workloads
        self._former = self._ask(world.reader, ListBackups(caller=self._caller))
        self._maintain("paused")

    def _secure(self) -> None:
        """Make the pre-restore backup: where a failure from here on goes back to."""
        self._pre_restore = self._world.candidates.copied(
            self._world.ids.next(), Source.PRE_RESTORE, self._caller.actor_id
        )

    def _replace(self, source: Path) -> None:
        self._world.meter.step("replacing")
        message = ReplaceContent(caller=self._caller, operation_id=self._operation, source=source)
        self._generation = self._ask(self._world.writer, message, LONG_SECONDS)

    def _prove(self) -> None:
        """Hold what is live now against all of contract 14.3."""
        self._ask(self._world.reader, ReopenReader(caller=self._caller))
        self._world.meter.step("verifying")
        try:
            counts = verify_live(self._world.database, self._world.owner)
        except Invalid as error:
            raise _Failed(f"The database failed its verification: {error}.") from error
        log.info("the content was verified", extra=self._about() | counts._asdict())

    def _settle(self, *rows: RecordAudit) -> None:
        """Write what belongs to this restore into the content that stays."""
        known = {
            record.id: record for record in self._ask(self._world.reader, ListBackups(caller=self._caller))
        }
        message = SettleContent(
            caller=self._caller,
            operation_id=self._operation,
            desired=self._desired,
            records=tuple(self._inventory(known)),
            audits=rows,
        )
        unrefused(self._ask(self._world.writer, message))

    def _inventory(self, known: dict[bytes, BackupRecord]) -> list[BackupRecord]:
        """Records that the content lacks, or has wrong, of the files that are there (contract 14.4)."""
        former = [record for record in self._former if record.status is Status.READY]
        own = [self._record] if self._pre_restore is None else [self._record, self._pre_restore]
        there = {record.id: record for record in (*former, *own) if self._directory.holds(record)}
        gone = [
            record._replace(status=Status.INVALID)
            for record in known.values()
            if record.status is Status.READY and record.id not in there and not self._directory.holds(record)
        ]
        return [*there.values(), *gone]

    def _open(self) -> None:
        """End the maintenance: from here on what is acknowledged must survive."""
        world = self._world
        if self._generation is not None:
            world.board.generation = self._generation
        try:
            self._ask(world.writer, ResumeWriter(caller=self._caller, operation_id=self._operation))
        except ActorError:
            log.warning("the writer is being restarted, which ends its pause", extra=self._about())
        self._maintain("running")
        if self._generation is not None:
            # Also when nobody listens: what the feed keeps for those who come back is of the former content.
            world.feed.notify(ContentReplaced())
        try:
            deadline = time.monotonic() + PATIENCE_SECONDS
            while (
                isinstance(self._ask(world.workloads, ReleaseWorkloads(caller=self._caller)), Refusal)
                and time.monotonic() < deadline
            ):
                self._world.meter.pause(_PAUSE_SECONDS)
        except ActorError:
            log.warning("the workloads take long to start", extra=self._about())

    # -------------------------------------------------------------- failures

    def _refused(self, error: Invalid) -> Refusal:
        """The candidate is no backup that could be restored: nothing has happened."""
        refusal = invalid_backup(error)
        self._reason = refusal.reason
        self._audit(audit.RESTORE_STARTED, audit.REJECTED, failure_code=refusal.code.value)
        self._finish(None, "failed")
        log.warning("a backup cannot be restored: %s", self._reason, extra=self._about())
        return refusal

    def _failed_before(self, error: Exception) -> Refusal:
        """Something failed before the database was closed."""
        self._reason = words_of(error)
        log.error("a restore failed before it began: %s", self._reason, extra=self._about())
        self._audit(audit.RESTORE_FAILED, audit.FAILED)
        self._finish("failed", "failed")
        return Refusal(ErrorCode.RESTORE_FAILED, reason=self._reason)

    def _given_up(self, error: Exception) -> Refusal:
        """Something failed before anything was replaced: the database opens as it was."""
        self._reason = words_of(error)
        log.error("a restore failed, nothing was replaced: %s", self._reason, extra=self._about())
        self._show("running")
        try:
            # From here on the next start must not go back to the pre-restore backup.
            self._reach_or_drop("workloads_restarted_or_held")
        except OSError as second:
            return self._held(second)
        self._open()
        if self._pre_restore is not None:
            self._tell_writer(
                RecordBackup(caller=self._caller, record=self._pre_restore, event_type=None, retains=False)
            )
        self._audit(audit.RESTORE_FAILED, audit.FAILED)
        self._finish("failed", "failed")
        return Refusal(ErrorCode.RESTORE_FAILED, reason=self._reason)

    def _rolled_back(self, error: Exception) -> Refusal:
        """Put the former content back, and say what went wrong."""
        self._reason = words_of(error)
        log.error("a restore failed and is rolled back: %s", self._reason, extra=self._about())
        self._show("running")
        assert self._pre_restore is not None
        try:
            self._try_to_reach("rollback_started")
            replaced = self._was_replaced()
            self._pause_writer()
            if replaced:
                self._replace(self._directory.path_of(self._pre_restore.id))
            self._try_to_reach("pre_restore_reinstalled")
            self._prove()
            self._settle()
            # From here on the next start must not go back once more.
            self._reach_or_drop("rollback_verified")
        except Abandoned:
            raise
        except Exception as second:
            return self._held(second)
        self._try_to_reach("workloads_restarted_or_held")
        self._open()
        self._audit(audit.RESTORE_FAILED, audit.FAILED)
        self._finish("failed", "failed", rolled_back=True)
        return Refusal(ErrorCode.RESTORE_FAILED, reason=self._reason)

    def _held(self, error: Exception) -> Refusal:
        """Even the rollback failed: stay closed, and say so everywhere (contract 15.3)."""
        reason = (
            f"The restore {uuid_text(self._operation)} failed and could not be rolled back; restart Remindi"
            " to put the former database back."
        )
        self._reason = f"{self._reason} Then going back failed: {words_of(error)} {reason}"
        log.critical("%s", self._reason, exc_info=error, extra=self._about())
        self._world.workloads.notify(WorkloadsFailed(reason=reason))
        self._maintain("held")
        self._show("held")
        return Refusal(ErrorCode.MAINTENANCE_ACTIVE, reason=HELD_REASON)

    # ------------------------------------------------------------------ bits

    def _was_replaced(self) -> bool:
        """Whether another content is live; a new writer has its start recovered, and this thread given up."""
        message = GetReplacement(caller=self._caller, operation_id=self._operation)
        return self._ask_patiently(self._world.writer, message)

    def _require_space(self) -> None:
        """Refuse what the disk has no room for, while nothing is closed yet.

        The pre-restore backup, and the new content once more in SQLite's log.
        """
        live = self._world.database.stat().st_size
        self._directory.require_space(live + self._record.size_bytes + max(0, self._record.size_bytes - live))

    def _pause_writer(self) -> None:
        self._ask_patiently(
            self._world.writer,
            PauseWriter(caller=self._caller, operation_id=self._operation, seconds=LEASE_SECONDS),
        )

    def _ask(self, address: Address, message: Request[R], seconds: float = ASK_SECONDS) -> R:
        self._world.meter.check()
        return address.call(message, timeout=seconds)

    def _ask_patiently(self, address: Address, message: Request[R]) -> R:
        """Ask an actor that may be being restarted."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self._ask(address, message)
            except Unavailable:
                if time.monotonic() > deadline:
                    raise
                self._world.meter.pause(_PAUSE_SECONDS)

    def _reach(self, phase: Phase) -> None:
        """Make a phase durable, then show it.

        Raises:
            DirectoryFailed: the journal may still say the former one.
            Abandoned: the next start follows that.
        """
        self._world.meter.check()
        with told():
            write_journal(
                self._directory,
                Journal(
                    operation_id=self._operation,
                    phase=phase,
                    candidate_file=file_name(uuid_text(self._record.id)),
                    pre_restore_file=(
                        None if self._pre_restore is None else file_name(uuid_text(self._pre_restore.id))
                    ),
                ),
            )
        self._reached(phase)

    def _try_to_reach(self, phase: Phase) -> None:
        """Reach a phase that changes nothing for the next start, whatever the journal takes."""
        try:
            self._reach(phase)
        except DirectoryFailed as error:
            log.warning("the journal of a restore could not be written: %s", error, extra=self._about())
            self._reached(phase)

    def _reach_or_drop(self, phase: Phase) -> None:
        """Have the next start keep what is live: say so in the journal, or take it away.

        Raises:
            OSError: neither is possible, and the journal says to go back.
        """
        try:
            self._reach(phase)
        except DirectoryFailed:
            try:
                drop_journal(self._directory)
            except OSError:
                found = read_journal(self._directory)
                if found is not None and found.phase in INSTALLS:
                    raise
            self._reached(phase)

    def _reached(self, phase: Phase) -> None:
        self._phases.append(PhaseReached(phase, self._world.clock.now()))
        log.info("restore", extra=self._about() | {"phase": phase})
        self._show("running")

    def _finish(self, phase: Phase | None, outcome: RestoreOutcome, *, rolled_back: bool = False) -> None:
        """End for good: the journal goes, the final state stays."""
        if phase is not None:
            self._try_to_reach(phase)
        try:
            drop_journal(self._directory)
        except OSError as error:
            # It says to keep what is live, which is right.
            log.warning("the journal of a restore could not be ended: %s", error, extra=self._about())
        self._show(outcome, rolled_back=rolled_back)

    def _show(self, outcome: RestoreOutcome, *, rolled_back: bool = False) -> None:
        state = RestoreState(
            operation_id=self._operation,
            backup_id=self._record.id,
            outcome=outcome,
            rolled_back=rolled_back,
            reason=self._reason,
            pre_restore_id=None if self._pre_restore is None else self._pre_restore.id,
            phases=tuple(self._phases),
            started_at=self._started_at,
            ended_at=None if outcome == "running" else self._world.clock.now(),
        )
        self._world.board.restore = state
        try:
            write_latest(self._directory, state)
        except OSError as error:
            log.warning(
                "the state of a restore could not be kept", extra=self._about() | {"error": str(error)}
            )
        if self._world.feed.listens:
            self._world.feed.notify(RestoreChanged())

    def _maintain(self, state: MaintenanceState) -> None:
        self._world.board.maintenance = state
        log.warning("maintenance: %s", state, extra=self._about())
        if self._world.feed.listens:
            self._world.feed.notify(RestoreChanged())

    def _started_row(self) -> RecordAudit:
        return self._row(audit.RESTORE_STARTED, audit.SUCCEEDED, {}, self._started_at)

    def _row(self, kind: str, outcome: str, more: dict[str, str], at: int | None = None) -> RecordAudit:
        details = audit.about_restore(self._record.id, self._operation) | more
        return RecordAudit(
            caller=self._caller,
            event_type=kind,
            outcome=outcome,
            details=tuple(details.items()),
            occurred_at=at,
        )

    def _audit(self, kind: str, outcome: str, **more: str) -> None:
        self._tell_writer(self._row(kind, outcome, more))

    def _tell_writer(self, message: RecordAudit | RecordBackup) -> None:
        """Have a row stored as well as can be: what it tells of has happened all the same."""
        try:
            unrefused(self._ask_patiently(self._world.writer, message))
        except Abandoned:
            raise
        except Exception:
            log.warning("what belongs to a restore was not stored", exc_info=True, extra=self._about())

    def _about(self) -> dict[str, str]:
        return {"operation_id": uuid_text(self._operation), "backup_id": uuid_text(self._record.id)}


def words_of(error: Exception) -> str:
    """What failed, in a sentence for people."""
    match error:
        case _Failed() | DirectoryFailed() | StoreError():
            return str(error)
        case Invalid():
            return f"The copy of the live database failed its verification: {error}."
        case OSError():
            return f"Reading or writing failed: {(error.strerror or 'unknown reason').lower()}."
        case _:
            return in_words(error)


def invalid_backup(error: Invalid) -> Refusal:
    """The refusal of a file that failed a check, with the check it failed."""
    return Refusal(ErrorCode.BACKUP_INVALID, reason=f"The file is no backup that could be restored: {error}.")
