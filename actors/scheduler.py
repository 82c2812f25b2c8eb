"""The scheduler: passes that turn items due when nobody checks (contract 8.1, 8.2).

Owns the rhythm, never a connection: what is ripe and what becomes of it are the writer's work. A pass
goes on by messages to itself, one per batch, so that a stop and a changed setting come between.
"""

import logging
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple, TypeVar, assert_never

from actors.actor import Actor
from actors.address import ActorError, Address
from actors.failures import in_words, unrefused
from actors.messages.lease import FreeLease, LeaseWanted
from actors.messages.probes import AdaptersChanged
from actors.messages.readers import GetControl, GetWaiting
from actors.messages.scheduler import (
    ConditionNotProbed,
    ConditionProbed,
    LeaseGained,
    LeaseMissed,
    PassContinued,
    SettingsChanged,
    StartScheduler,
    StopScheduler,
    Ticked,
)
from actors.messages.workloads import SchedulerReported
from actors.messages.writer import (
    ApplyProbes,
    EvaluateRipe,
    LeaseLost,
    ProbeResult,
    PurgeIdempotency,
    RipePosition,
)
from actors.polls import Polls
from actors.system import Clock, Random
from actors.timer import Alarm, Timer
from remindi.events import Caller, LifecycleEvent
from remindi.settings import (
    POLL_INTERVAL_SECONDS,
    Settings,
)

log = logging.getLogger("remindi.scheduler")

BATCH: Final = 200
"""Items of one transaction (contract 8.1)."""
PURGE_BATCH: Final = 500
PURGE_BATCHES: Final = 40
"""Batches of expired idempotency keys that one pass drops at most; the next pass goes on."""
BACKLOG_COUNTED: Final = 100_000
"""Where the count of waiting items ends: it is shown, nothing is decided by it."""
ASK_SECONDS: Final = 10.0
FREE_SECONDS: Final = 3.0
FIRST_PAUSE_SECONDS: Final = 1.0
LONGEST_PAUSE_SECONDS: Final = 60.0

T = TypeVar("T")
Phase = Literal["stopped", "without_lease", "passing", "sleeping", "pausing"]
Message = (
    Ticked
    | PassContinued
    | ConditionProbed
    | ConditionNotProbed
    | LeaseGained
    | LeaseMissed
    | SettingsChanged
    | AdaptersChanged
    | StartScheduler
    | StopScheduler
)


class LeaseGone(Exception):
    """The writer refused a batch: the lease is not held."""


class _Stopped(Exception):
    """Stopped is what is desired, by the database; nobody told us."""


class _Fare(NamedTuple):
    """How the scheduler fares, as it is reported."""

    actual: str
    last_error: str | None
    last_pass_at: int | None = None
    lag_seconds: int | None = None
    backlog: int | None = None


class Scheduler(Actor):
    """Runs passes while it is wanted and holds the lease."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        *,
        me: Address,
        lease: Address,
        probes: Address,
        writer: Address,
        reader: Address,
        workloads: Address,
        timer: Timer,
        clock: Clock,
        chance: Random,
        caller: Caller,
        settings: Settings,
    ) -> None:
        """Make the scheduler; it rests until it is started by message.

        Args:
            name: of its address.
            on_death: told the name when it ends unasked.
            me: its own address.
            lease: the lease keeper.
            probes: the adapter pool.
            writer: evaluates batches and applies probe results.
            reader: lists due conditions and what waits.
            workloads: told how the scheduler fares.
            timer: brings its ticks.
            clock: both clocks.
            chance: spreads the polls.
            caller: named in events; its actor id is the holder of the lease.
            settings: as they are now.
        """
        super().__init__(name, on_death)
        self._me = me
        self._lease = lease
        self._writer = writer
        self._reader = reader
        self._workloads = workloads
        self._timer = timer
        self._clock = clock
        self._caller = caller
        self._settings = settings
        self._phase: Phase = "stopped"
        self._generation = 0
        self._alarm: Alarm | None = None
        self._pass: Iterator[None] | None = None
        self._pass_began = 0.0
        self._polls = Polls(
            me=me,
            probes=probes,
            reader=reader,
            clock=clock,
            chance=chance,
            caller=caller,
            store=self._apply,
            ended=self._polled,
        )
        self._failures = 0
        self._lost_before = False
        self._fare = _Fare("stopped", None)

    def handle(self, message: Message) -> None:
        """Handle one message."""
        if isinstance(message, StopScheduler):
            self._stop_work()
        else:
            self._weather(lambda: self._work(message))

    def handled(self) -> None:
        """Go on with the walk over conditions: whatever came last, a ping as well, ends a time of waiting."""
        self._weather(lambda: self._polls.go_on(self._settings, idle=self.actor_inbox.empty()))

    def _weather(self, work: Callable[[], None]) -> None:
        """Work; whatever goes wrong with the database or the probes is waited out."""
        try:
            work()
        except _Stopped:
            log.info("the scheduler stops: that is what is desired")
            self._stop_work()
        except LeaseGone:
            self._start_over()
        except Exception as error:
            log.exception("the scheduler met an error and will try again")
            self._pause(in_words(error))

    def on_stop(self) -> None:
        """Free the lease; the controller is gone by now (pykka's hook)."""
        if self._phase != "stopped":
            self._rest("stopped")
            self._free_lease()

    def _work(self, message: Any) -> None:
        match message:
            case StartScheduler():
                if self._phase == "stopped":
                    self._failures = 0
                    self._want_lease()
                else:
                    # The keeper may be a new one that knows of no wish.
                    self._lease.notify(LeaseWanted())
            case LeaseGained():
                if self._phase == "without_lease":
                    self._begin_pass()
            case LeaseMissed(reason=reason):
                if self._phase != "stopped":
                    self._await_lease(reason)
            case Ticked(generation=generation):
                if generation == self._generation and self._phase == "sleeping":
                    self._begin_pass()
                elif generation == self._generation and self._phase == "pausing":
                    self._want_lease()
            case PassContinued(generation=generation):
                if generation == self._generation and self._phase == "passing":
                    self._continue_pass()
            case ConditionProbed() | ConditionNotProbed():
                self._polls.take(message)
            case SettingsChanged(settings=settings):
                self._follow(settings)
            case AdaptersChanged():
                pass  # The pool knows; the writer tells every change of control rows to all who follow any.
            case _:
                assert_never(message)

    # ----------------------------------------------------------------- passes

    def _begin_pass(self) -> None:
        self._phase = "passing"
        self._pass_began = self._clock.monotonic()
        self._pass = self._steps()
        self._generation += 1
        self._continue_pass()

    def _continue_pass(self) -> None:
        """Take one step and ask oneself for the next, or sleep after the last."""
        assert self._pass is not None
        if next(self._pass, StopIteration) is None:
            if not self._me.notify(PassContinued(generation=self._generation)):
                self._pause("The scheduler is overloaded.")
            return
        self._pass = None
        self._failures = 0
        self._lost_before = False
        self._sleep()

    def _steps(self) -> Iterator[None]:
        """A pass from top to bottom; it rests at each yield, so that other messages come between."""
        control = self._reader.call(GetControl(caller=self._caller), timeout=ASK_SECONDS)
        if any(row.component == "scheduler" and row.desired == "stopped" for row in control.workloads):
            raise _Stopped
        self._settings = control.settings
        as_of = self._clock.now()
        position: RipePosition | None = None
        while True:
            batch = self._kept(
                self._writer.call(
                    EvaluateRipe(
                        caller=self._caller,
                        lease=self._caller.actor_id,
                        as_of=as_of,
                        after=position,
                        limit=BATCH,
                    ),
                    timeout=ASK_SECONDS,
                )
            )
            if self._fare.actual != "running":
                self._report(actual="running", last_error=None)
            position = batch.next
            if position is None:
                break
            yield
        yield
        self._polls.begin(self._settings)
        for _ in range(PURGE_BATCHES):
            purge = PurgeIdempotency(caller=self._caller, limit=PURGE_BATCH)
            if unrefused(self._writer.call(purge, timeout=ASK_SECONDS)) < PURGE_BATCH:
                break
            yield
        self._report_pass(as_of)

    def _kept(self, answer: T | LeaseLost) -> T:
        """An answer given under the lease.

        Raises:
            LeaseGone: the lease was lost.
            DatabaseRefused: the database was locked.
        """
        if isinstance(answer, LeaseLost):
            raise LeaseGone
        return unrefused(answer)

    def _report_pass(self, as_of: int) -> None:
        waiting = self._reader.call(
            GetWaiting(caller=self._caller, as_of=as_of, limit=BACKLOG_COUNTED), timeout=ASK_SECONDS
        )
        now = self._clock.now()
        lag = 0 if waiting.oldest_wake is None else max(0, now - waiting.oldest_wake) // 1_000
        self._fare = self._fare._replace(last_pass_at=now, lag_seconds=lag, backlog=waiting.backlog)
        # An error of the walk over conditions stays in sight until a walk succeeds.
        self._report(actual="running")

    # ----------------------------------------------------------------- probes

    def _polled(self, failure: str | None) -> None:
        """Show what went wrong with a walk over conditions until a walk succeeds."""
        if self._fare.actual == "running" and self._fare.last_error != failure:
            self._report(last_error=failure)

    def _apply(self, results: tuple[ProbeResult, ...]) -> None:
        self._kept(
            self._writer.call(
                ApplyProbes(
                    caller=self._caller,
                    results=results,
                    lifecycle_event=LifecycleEvent.CHECKPOINT,
                    as_of=self._clock.now(),
                    lease=self._caller.actor_id,
                ),
                timeout=ASK_SECONDS,
            )
        )

    # ----------------------------------------------------------------- rhythm

    def _sleep(self) -> None:
        """Wait until one poll interval after the present pass began."""
        self._phase = "sleeping"
        passed = self._clock.monotonic() - self._pass_began
        self._tick_in(max(0.0, self._settings[POLL_INTERVAL_SECONDS] - passed))

    def _follow(self, settings: Settings) -> None:
        self._settings = settings
        if self._phase == "sleeping":
            self._sleep()

    def _want_lease(self) -> None:
        self._await_lease(None)
        if not self._lease.notify(LeaseWanted()):
            self._pause("The lease keeper is being restarted.")

    def _await_lease(self, reason: str | None) -> None:
        self._rest("without_lease")
        self._report(actual="starting", last_error=reason or self._fare.last_error)

    def _start_over(self) -> None:
        """Acquire the lease anew: at once the first time, later only after a pause."""
        if self._lost_before:
            self._pause("The lease was lost.")
            return
        self._lost_before = True
        self._fare = self._fare._replace(last_error="The lease was lost.")
        self._want_lease()

    def _pause(self, reason: str) -> None:
        """Wait after a failure: 1 s, doubling to 60 s until a pass succeeds."""
        self._rest("pausing")
        self._tick_in(min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2**self._failures))
        self._failures = min(self._failures + 1, 10)
        self._report(actual="failed", last_error=reason)

    def _rest(self, phase: Phase) -> None:
        """Drop what is under way: its ticks, its pass and its walk mean nothing any more."""
        self._phase = phase
        self._generation += 1
        self._pass = None
        self._polls.drop()
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def _tick_in(self, seconds: float) -> None:
        self._generation += 1
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = self._timer.after(seconds, self._me, Ticked(generation=self._generation))

    def _stop_work(self) -> None:
        if self._phase != "stopped":
            self._rest("stopped")
            self._free_lease()
            self._report(actual="stopped", last_error=None)

    def _free_lease(self) -> None:
        try:
            self._lease.call(FreeLease(caller=self._caller), timeout=FREE_SECONDS)
        except ActorError:
            log.warning("the lease keeper did not confirm that the lease is free", exc_info=True)

    def _report(self, **changes: Any) -> None:
        self._fare = self._fare._replace(**changes)
        self._workloads.notify(SchedulerReported(**self._fare._asdict()))
