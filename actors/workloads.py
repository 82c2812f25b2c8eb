"""The workload controller: brings about what is desired of ``mcp`` and ``scheduler`` (contract 13.1).

Owns the workload rows and the gate of the MCP door on the board. It never waits: each step of a
transition is an ask beside it, so that a second transition is refused at once.
"""

import logging
from collections.abc import Callable
from typing import Any, Final, NamedTuple, assert_never

from actors.actor import Actor
from actors.address import Address, Envelope
from actors.aside import beside
from actors.board import Board
from actors.failures import in_words, unrefused
from actors.messages.control import WorkloadRow
from actors.messages.feed import WorkloadsChanged
from actors.messages.readers import GetControl
from actors.messages.scheduler import StartScheduler, StopScheduler
from actors.messages.workloads import (
    ActorDied,
    ActorRestarted,
    BackupsReported,
    DesiredKnown,
    ListWorkloads,
    PatienceEnded,
    PauseWorkloads,
    ReleaseWorkloads,
    ResumeWorkloads,
    SchedulerReported,
    SchedulerTurned,
    TransitionFailed,
    TurnWorkloads,
    Workload,
    WorkloadsFailed,
    WorkloadsHeld,
)
from actors.messages.writer import SetDesired
from actors.timer import Alarm, Timer
from remindi.errors import ErrorCode, Refusal
from remindi.events import Caller

log = logging.getLogger("remindi.workloads")

MCP: Final = "mcp"
SCHEDULER: Final = "scheduler"
COMPONENTS: Final = (MCP, SCHEDULER)
ASK_SECONDS: Final = 10.0
STOP_SCHEDULER_SECONDS: Final = 20.0
"""For a stop: the batch under way and the release of the lease, on a slow disk."""
PATIENCE_SECONDS: Final = 3.0
"""How long a started scheduler may take until it says how it fares."""
RETRY_SECONDS: Final = 1.0
MAX_ERROR_BYTES: Final = 512

_PAST: Final = {"start": "started", "stop": "stopped", "restart": "restarted"}
_DESIRED: Final = {"start": "running", "stop": "stopped", "restart": "running"}
_CONFLICT: Final = Refusal(ErrorCode.WORKLOAD_CONFLICT)
_FAILED: Final = Refusal(ErrorCode.INTERNAL_ERROR)

Message = (
    ListWorkloads
    | TurnWorkloads
    | ResumeWorkloads
    | PauseWorkloads
    | ReleaseWorkloads
    | WorkloadsHeld
    | WorkloadsFailed
    | BackupsReported
    | ActorDied
    | ActorRestarted
    | SchedulerReported
    | DesiredKnown
    | SchedulerTurned
    | TransitionFailed
    | PatienceEnded
)


class _Transition(NamedTuple):
    """What is being brought about, and who waits for it."""

    number: int
    components: tuple[str, ...]
    action: str
    """``start``, ``stop``, ``restart``; ``resume`` for what is desired already."""
    envelope: Envelope | None
    awaits_report: bool = False


class Controller(Actor):
    """Turns workloads on and off."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        *,
        me: Address,
        writer: Address,
        reader: Address,
        scheduler: Address,
        timer: Timer,
        board: Board,
        caller: Caller,
        feed: Address | None = None,
        held: str | None = None,
        paused: str | None = None,
    ) -> None:
        """Make the controller; it acts when it is asked to resume.

        Args:
            name: of its address.
            on_death: told the name when it ends unasked.
            me: its own address.
            writer: stores what is desired.
            reader: knows what is desired.
            scheduler: started and stopped by message.
            timer: ends its patience.
            board: where ``mcp_open`` and ``workloads`` are shown.
            caller: in whose name it acts by itself.
            feed: told ``WorkloadsChanged`` when what is shown changes.
            held: why both workloads must not run, whatever is desired.
            paused: the same for as long as a maintenance runs.
        """
        super().__init__(name, on_death)
        self._me = me
        self._writer = writer
        self._reader = reader
        self._scheduler = scheduler
        self._timer = timer
        self._board = board
        self._caller = caller
        self._feed = feed
        self._rows = {
            component: Workload(component, "running", "starting", None, None, None, None)
            for component in COMPONENTS
        }
        self._transition: _Transition | None = None
        self._transitions = 0
        self._patience: Alarm | None = None
        self._held = held
        self._paused = paused
        self._released = False
        """Whether the pause ends with the transition that runs."""
        self._backup_failure: str | None = None
        self._again = False

    def receive(self, envelope: Envelope) -> None:
        """Take a transition or refuse it; everything else is answered as usual."""
        message = envelope.message
        if not isinstance(message, TurnWorkloads | ResumeWorkloads | PauseWorkloads | ReleaseWorkloads):
            super().receive(envelope)
        elif self._transition is not None:
            if isinstance(message, ReleaseWorkloads):
                # Whoever pauses may not wait for ever: what is desired follows this transition.
                self._released = True
            envelope.answer(_CONFLICT)
        elif isinstance(message, TurnWorkloads):
            self._begin(message.components, message.action, message.caller, envelope)
        else:
            if isinstance(message, PauseWorkloads):
                self._paused = message.reason
            elif isinstance(message, ReleaseWorkloads):
                self._paused = None
            self._begin(COMPONENTS, "resume", self._caller, envelope)

    def handle(self, message: Message) -> Any:
        """Handle one message that is no transition."""
        match message:
            case ListWorkloads():
                return self._shown()
            case DesiredKnown():
                if self._is_current(message.transition):
                    self._act(message.rows)
            case SchedulerTurned():
                if self._is_current(message.transition):
                    self._scheduler_turned()
            case TransitionFailed():
                if self._is_current(message.transition):
                    self._fail(message.reason)
            case PatienceEnded():
                if self._is_current(message.transition):
                    self._finish()
            case SchedulerReported():
                self._hear(message)
            case WorkloadsHeld(reason=reason):
                self._hold(reason)
            case WorkloadsFailed(reason=reason):
                self._close(reason)
            case BackupsReported(failure=failure):
                self._backup_failure = failure
                self._set(SCHEDULER)
            case ActorDied(name=name):
                self._show_death(name)
            case ActorRestarted():
                self._resume()
            case TurnWorkloads() | ResumeWorkloads() | PauseWorkloads() | ReleaseWorkloads():
                raise AssertionError("taken in receive")
            case _:
                assert_never(message)
        return None

    def on_stop(self) -> None:
        """Close the MCP door; what is desired stays (pykka's hook)."""
        self._board.mcp_open = False

    # ------------------------------------------------------------ transitions

    def _begin(
        self, components: tuple[str, ...], action: str, caller: Caller, envelope: Envelope | None
    ) -> None:
        """Store what is desired, or read it; the rest follows when that is known."""
        self._transitions += 1
        number = self._transitions
        ordered = tuple(component for component in COMPONENTS if component in components)
        self._transition = _Transition(number, ordered, action, envelope)
        if action == "resume":
            question = GetControl(caller=self._caller)
            beside(
                self._me,
                "reading",
                lambda: DesiredKnown(
                    transition=number, rows=self._reader.call(question, timeout=ASK_SECONDS).workloads
                ),
                lambda error: TransitionFailed(transition=number, reason=in_words(error)),
            )
            return
        command = SetDesired(
            caller=caller, components=ordered, desired=_DESIRED[action], action=_PAST[action]
        )
        beside(
            self._me,
            "storing",
            lambda: DesiredKnown(
                transition=number, rows=unrefused(self._writer.call(command, timeout=ASK_SECONDS))
            ),
            lambda error: TransitionFailed(transition=number, reason=in_words(error)),
        )

    def _act(self, rows: tuple[WorkloadRow, ...]) -> None:
        """Act on what is desired: ``mcp`` at once, then the scheduler beside this actor."""
        for row in rows:
            self._rows[row.component] = self._rows[row.component]._replace(desired=row.desired)
        transition = self._current()
        if MCP in transition.components:
            self._turn_mcp(restart=transition.action == "restart")
        if SCHEDULER not in transition.components:
            self._finish()
            return
        running = self._may_run(SCHEDULER)
        if running and transition.action == "restart":
            asks: tuple[StartScheduler | StopScheduler, ...] = (StopScheduler(), StartScheduler())
        else:
            asks = (StartScheduler(),) if running else (StopScheduler(),)
        if isinstance(asks[0], StopScheduler) and self._rows[SCHEDULER].actual != "stopped":
            self._set(SCHEDULER, actual="stopping")
        beside(
            self._me,
            "turning",
            lambda: self._turned(transition.number, asks),
            lambda error: TransitionFailed(transition=transition.number, reason=in_words(error)),
        )

    def _turned(self, number: int, asks: tuple[StartScheduler | StopScheduler, ...]) -> SchedulerTurned:
        for ask in asks:
            self._scheduler.call(ask, timeout=STOP_SCHEDULER_SECONDS)
        return SchedulerTurned(transition=number)

    def _scheduler_turned(self) -> None:
        """The scheduler stopped; or it starts, and its first report says whether it could."""
        transition = self._current()
        if not self._may_run(SCHEDULER):
            self._set(SCHEDULER, actual="stopped", last_error=self._reason)
            self._finish()
        elif self._rows[SCHEDULER].actual == "running":
            self._finish()
        elif self._rows[SCHEDULER].actual == "failed":
            self._end(_FAILED)
        else:
            self._transition = transition._replace(awaits_report=True)
            self._patience = self._timer.after(
                PATIENCE_SECONDS, self._me, PatienceEnded(transition=transition.number)
            )

    def _hear(self, report: SchedulerReported) -> None:
        row = self._rows[SCHEDULER]
        stopping = row.actual == "stopping" and report.actual != "stopped"
        self._set(
            SCHEDULER,
            actual=row.actual if stopping else report.actual,
            last_error=_bounded(report.last_error),
            last_pass_at=report.last_pass_at or row.last_pass_at,
            lag_seconds=row.lag_seconds if report.lag_seconds is None else report.lag_seconds,
            backlog=row.backlog if report.backlog is None else report.backlog,
        )
        transition = self._transition
        if transition is None or not transition.awaits_report:
            return
        if report.actual == "running":
            self._finish()
        elif report.actual == "failed":
            self._end(_FAILED)

    def _fail(self, reason: str) -> None:
        """A step failed: the row says so, and what is desired stays as asked."""
        transition = self._current()
        log.error("a workload transition failed", extra={"action": transition.action, "reason": reason})
        for component in transition.components:
            if component == MCP and self._board.mcp_open == (self._rows[MCP].desired == "running"):
                continue
            self._set(component, actual="failed", last_error=_bounded(reason))
        self._end(_FAILED)
        if transition.action == "resume":
            # Nobody else would try again: what is desired was never brought about.
            self._timer.after(RETRY_SECONDS, self._me, ActorRestarted(name=self.name))

    def _finish(self) -> None:
        self._end(self._shown())

    def _end(self, answer: tuple[Workload, ...] | Refusal) -> None:
        transition = self._current()
        self._transition = None
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None
        if transition.envelope is not None:
            transition.envelope.answer(answer)
        if self._released:
            self._released, self._paused, self._again = False, None, True
        if self._again:
            self._resume()

    def _current(self) -> _Transition:
        assert self._transition is not None
        return self._transition

    def _is_current(self, number: int) -> bool:
        return self._transition is not None and self._transition.number == number

    # ------------------------------------------------------------- by itself

    def _resume(self) -> None:
        """Bring about what is desired once more, after the transition that runs now."""
        self._again = self._transition is not None
        if not self._again:
            self._begin(COMPONENTS, "resume", self._caller, None)

    def _hold(self, reason: str) -> None:
        self._held = reason
        log.error("both workloads are stopped", extra={"reason": reason})
        self._resume()

    def _close(self, reason: str) -> None:
        """Show that nothing will run before the next start."""
        self._held = self._paused = _bounded(reason)
        self._board.mcp_open = False
        for component in COMPONENTS:
            self._set(component, actual="failed", last_error=self._held)

    def _show_death(self, name: str) -> None:
        log.warning("an actor is being restarted", extra={"actor": name})
        if self._rows[SCHEDULER].actual in ("running", "starting"):
            self._set(
                SCHEDULER, actual="failed", last_error=_bounded(f"The {name} died and is being restarted.")
            )

    # ------------------------------------------------------------------- rows

    @property
    def _reason(self) -> str | None:
        """Why neither may run, whatever is desired."""
        return self._paused or self._held

    def _may_run(self, component: str) -> bool:
        return self._reason is None and self._rows[component].desired == "running"

    def _turn_mcp(self, *, restart: bool) -> None:
        if restart:
            self._board.mcp_open = False
        self._board.mcp_open = self._may_run(MCP)
        self._set(MCP, actual="running" if self._board.mcp_open else "stopped", last_error=self._reason)

    def _set(self, component: str, **changes: Any) -> None:
        self._rows[component] = self._rows[component]._replace(**changes)
        shown = self._shown()
        if shown == self._board.workloads:
            return
        self._board.workloads = shown
        if self._feed is not None and self._feed.listens:
            self._feed.notify(WorkloadsChanged())

    def _shown(self) -> tuple[Workload, ...]:
        mcp, scheduler = (self._rows[component] for component in COMPONENTS)
        if scheduler.last_error is None:
            scheduler = scheduler._replace(last_error=_bounded(self._backup_failure))
        return mcp, scheduler


def _bounded(text: str | None) -> str | None:
    """A ``last_error`` within its published bytes."""
    if text is None:
        return None
    return text.encode()[:MAX_ERROR_BYTES].decode(errors="ignore")
