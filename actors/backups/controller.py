"""The backup controller: takes in what is asked of backups, and makes one by itself when it is time.

Owns the schedule, never a file: the work is done by the worker, one job after another, so this actor answers
at once. Only a restore, which is a job of the worker, pauses the writer; its lease is extended from here.
"""

import logging
from collections import deque
from collections.abc import Callable
from typing import Any, Final, assert_never

from actors.actor import Actor
from actors.address import Address, Envelope, Overloaded, Unavailable
from actors.backups.jobs import SYSTEM, Jobs, refused_restore
from actors.backups.meter import Abandoned
from actors.backups.restore import LEASE_SECONDS, World
from actors.backups.schedule import RETRY_MS, next_automatic
from actors.backups.worker import Then, Worker
from actors.messages import Notice
from actors.messages.backups import (
    AuditPostponed,
    AutomaticEnded,
    ClockTicked,
    CreateBackup,
    JobEnded,
    OpenBackup,
    RestoreBackup,
    ScheduleLearned,
    TakeUpload,
    VerifyBackup,
)
from actors.messages.probes import AdaptersChanged
from actors.messages.scheduler import SettingsChanged
from actors.messages.workloads import BackupsReported
from actors.messages.writer import PauseExtended, RecordAudit
from actors.timer import Alarm, Timer
from remindi.backups import HELD_REASON, AutomaticFailure, BackupRecord, JobKind, RestoreState, Source
from remindi.errors import ErrorCode, Refusal
from remindi.instants import MS_PER_SECOND
from remindi.settings import BACKUP_INTERVAL_SECONDS, Settings

log = logging.getLogger("remindi.backups")

Asked = CreateBackup | TakeUpload | VerifyBackup | OpenBackup | RestoreBackup
Message = (
    Asked
    | AuditPostponed
    | SettingsChanged
    | AdaptersChanged
    | ScheduleLearned
    | AutomaticEnded
    | JobEnded
    | ClockTicked
)

LOOK_SECONDS: Final = 60.0
"""How often the wall clock is looked at, which may jump."""
EXTEND_SECONDS: Final = LEASE_SECONDS / 4
MOST_POSTPONED: Final = 1_000
STOP_SECONDS: Final = 0.3
"""How long a stop waits for the job that runs; what does not end by then is left where it is."""
_CONFLICT: Final = Refusal(ErrorCode.WORKLOAD_CONFLICT)
_HELD: Final = Refusal(ErrorCode.MAINTENANCE_ACTIVE, reason=HELD_REASON)
_FAILED: Final = Refusal(ErrorCode.INTERNAL_ERROR)


class BackupController(Actor):
    """Gives jobs to the worker."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        *,
        me: Address,
        world: World,
        worker: Worker,
        timer: Timer,
        settings: Settings,
        automatic: bool = True,
        recovered: RestoreState | None = None,
        postponed: tuple[RecordAudit, ...] = (),
    ) -> None:
        """Make the controller.

        Args:
            name: of its address.
            on_death: told the name when it ends unasked.
            me: its own address.
            world: what its jobs work with.
            worker: does them; it outlives this actor.
            timer: brings its ticks.
            settings: as they are now.
            automatic: whether it makes backups by itself.
            recovered: a restore whose end is not in the audit yet.
            postponed: audit rows that a dead predecessor kept.
        """
        super().__init__(name, on_death)
        self._me = me
        self._world = world
        self._jobs = Jobs(world)
        self._worker = worker
        self._timer = timer
        self._interval = settings[BACKUP_INTERVAL_SECONDS]
        self._automatic = automatic
        self._recovered = recovered
        self.postponed: deque[RecordAudit] = deque(postponed, MOST_POSTPONED)
        """Audit rows that wait for the end of a maintenance; a successor takes them over."""
        self._born_at: int | None = None
        self._newest_at: int | None = None
        self._failure: AutomaticFailure | None = None
        self._begun = False
        self._making = False
        self._ticks = 0
        self._alarm: Alarm | None = None

    def on_start(self) -> None:
        """Begin to keep time (pykka's hook)."""
        self._tick_in(EXTEND_SECONDS)

    def handled(self) -> None:
        """Bring records and files together once, when something has come: the address leads here then.

        Before that, what the job tells this actor would be lost.
        """
        if not self._begun:
            self._begun = True
            self._worker.submit("reconcile", self._begin, nothing)

    def on_stop(self) -> None:
        """Give up what is under way (pykka's hook)."""
        self._worker.stop(STOP_SECONDS)
        self.fail_waiting()

    def receive(self, envelope: Envelope) -> None:
        """Take a job in; whoever asked is answered by it."""
        message = envelope.message
        if isinstance(message, Asked) and self._world.board.maintenance == "held":
            envelope.answer(_HELD)
            return
        match message:
            case CreateBackup():
                self._submit("create", envelope, lambda: self._created(message))
            case TakeUpload():
                self._submit("upload", envelope, lambda: self._jobs.upload(message.caller, message.temporary))
            case VerifyBackup():
                self._submit("verify", envelope, lambda: self._jobs.verify(message.caller, message.backup_id))
            case OpenBackup():
                self._submit("download", envelope, lambda: self._jobs.open(message.caller, message.backup_id))
            case RestoreBackup():
                if self._worker.restoring:
                    envelope.answer(_CONFLICT)
                    self._postpone(refused_restore(message, _CONFLICT, self._world.clock.now()))
                    return
                self._submit(
                    "restore", envelope, lambda: self._jobs.restore(message.caller, message.backup_id)
                )
                self._tick_in(EXTEND_SECONDS)
            case _:
                super().receive(envelope)

    def handle(self, message: Message) -> Any:
        """Handle one notice."""
        match message:
            case AuditPostponed(record=record):
                self._postpone(record)
            case SettingsChanged(settings=settings):
                self._interval = settings[BACKUP_INTERVAL_SECONDS]
                self._look()
            case AdaptersChanged():
                pass  # The writer tells every change of control rows to all who follow any.
            case ScheduleLearned(born_at=born_at, newest_at=newest_at):
                self._born_at, self._newest_at = born_at, newest_at
                self._look()
            case AutomaticEnded():
                self._automatic_ended(message)
            case JobEnded():
                self._store_postponed()
            case ClockTicked(generation=generation):
                if generation == self._ticks:
                    self._look()
            case CreateBackup() | TakeUpload() | VerifyBackup() | OpenBackup() | RestoreBackup():
                raise AssertionError("taken in receive")
            case _:
                assert_never(message)

    # ------------------------------------------------------------------ jobs

    def _submit(self, kind: JobKind, envelope: Envelope, work: Callable[[], Any]) -> None:
        """Have work done; its answer, or what it raised, is that of the envelope."""

        def job() -> Then:
            try:
                answer = work()
            except Abandoned:
                give_up()
                raise
            except Exception as error:
                envelope.fail(error)
                raise
            return lambda: self._answer(envelope, answer, kind)

        def give_up() -> None:
            envelope.fail(Unavailable())

        if not self._worker.submit(kind, job, give_up):
            envelope.fail(Overloaded())

    def _answer(self, envelope: Envelope, answer: Any, kind: JobKind) -> None:
        """Answer whoever asked, now that the worker is at it no more."""
        envelope.answer(answer)
        self._tell(JobEnded())
        if kind == "restore":
            # The content is another one: what it knows of files and of the schedule is as old as it is.
            self._worker.submit("reconcile", self._begin, nothing)

    def _tell(self, notice: Notice) -> None:
        """Tell this actor something from the worker's thread; at a stop it may be gone before the job is."""
        if self._me.listens:
            self._me.notify(notice)

    def _created(self, message: CreateBackup) -> BackupRecord | Refusal:
        made = self._jobs.create(message.caller, Source.MANUAL)
        return made if isinstance(made, BackupRecord) else _FAILED

    def _begin(self) -> None:
        """The first job, and the one after a restore: what happened while nobody looked."""
        if self._recovered is not None:
            recovered, self._recovered = self._recovered, None
            self._jobs.close_recovery(recovered)
        self._jobs.reconcile()
        born_at, newest_at = self._jobs.learn()
        self._tell(ScheduleLearned(born_at=born_at, newest_at=newest_at))

    def _make_automatic(self) -> None:
        made = self._jobs.create(SYSTEM, Source.AUTOMATIC)
        if isinstance(made, BackupRecord):
            self._tell(AutomaticEnded(made_at=made.created_at, failure=None))
        else:
            self._tell(AutomaticEnded(made_at=None, failure=made))

    def _postpone(self, row: RecordAudit) -> None:
        self.postponed.append(row)
        self._store_postponed()

    def _store_postponed(self) -> None:
        """Store the audit rows that waited, once the database takes them."""
        if self._world.board.closed or not self.postponed:
            return
        rows = tuple(self.postponed)

        def job() -> None:
            for row in rows:
                self._jobs.store_audit(row)

        if self._worker.submit("reconcile", job, lambda: self.postponed.extend(rows)):
            self.postponed.clear()

    # -------------------------------------------------------------- schedule

    def _automatic_ended(self, ended: AutomaticEnded) -> None:
        self._making = False
        if ended.failure is None:
            self._newest_at, self._failure = ended.made_at, None
        else:
            now = self._world.clock.now()
            self._failure = AutomaticFailure(now, ended.failure, now + RETRY_MS)
        shown = None if self._failure is None else f"The last automatic backup failed: {self._failure.reason}"
        self._world.workloads.notify(BackupsReported(failure=shown))
        self._look()

    def _look(self) -> None:
        """Make an automatic backup when it is time; extend the pause of a restore; look again later."""
        if self._worker.restoring:
            self._extend()
        seconds = EXTEND_SECONDS if self._worker.restoring else LOOK_SECONDS
        if self._automatic and self._born_at is not None and not self._making:
            now = self._world.clock.now()
            # A clock that was set back puts no backup off.
            self._born_at = min(self._born_at, now)
            self._newest_at = None if self._newest_at is None else min(self._newest_at, now)
            at = next_automatic(self._born_at, self._newest_at, self._interval, self._failure)
            if self._failure is not None:
                at = min(at, now + RETRY_MS)
            self._world.meter.schedule(at, self._failure)
            left = (at - now) / MS_PER_SECOND
            if left <= 0 and not self._world.board.closed:
                self._making = self._worker.submit("automatic", self._make_automatic, nothing)
            seconds = min(seconds, max(left, 1.0))
        elif self._born_at is None and self._world.board.backups.job is None:
            # Whatever hindered the first job may be over.
            self._worker.submit("reconcile", self._begin, nothing)
        self._tick_in(seconds)

    def _extend(self) -> None:
        state = self._world.board.restore
        if state is not None and state.outcome == "running":
            self._world.writer.notify(PauseExtended(operation_id=state.operation_id))

    def _tick_in(self, seconds: float) -> None:
        self._ticks += 1
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._timer.after(seconds, self._me, ClockTicked(generation=self._ticks))


def nothing() -> None:
    """Tell nobody that a job was given up."""
