"""The scheduler's rhythm, with everybody it leans on scripted; tick by tick, without a clock that runs."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest

from actors.address import Address, Envelope, Inbox
from actors.messages import Ping
from actors.messages.control import Control, WorkloadRow
from actors.messages.lease import FreeLease, LeaseWanted
from actors.messages.probes import ProbeAnswer, RunProbe
from actors.messages.readers import (
    DueCondition,
    GetControl,
    GetWaiting,
    ListDueConditions,
    ProbeTarget,
    Waiting,
)
from actors.messages.scheduler import (
    LeaseGained,
    LeaseMissed,
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
    RipeBatch,
    RipePosition,
)
from actors.polls import NO_ANSWER, PATIENCE_SECONDS, STORED
from actors.probing import LISTED
from actors.scheduler import BATCH, PURGE_BATCH, Scheduler
from remindi.adapters import AdapterRegistry
from remindi.errors import ErrorCode, Refusal
from remindi.events import ActorType, Caller, LifecycleEvent
from remindi.items import ConditionStatus
from remindi.settings import (
    ADAPTER_CONCURRENCY,
    ADAPTER_TIMEOUT_SECONDS,
    DEFAULTS,
    POLL_INTERVAL_SECONDS,
    Settings,
)
from remindi.triggers import Condition
from tests.fakes.clocks import ManualClock
from tests.fakes.scripted import Scripted, Stage, alone, inbox_reaches
from tests.fakes.timers import ManualTimer
from tests.service import eventually

CALLER = Caller(ActorType.SCHEDULER, "scheduler:process-test", None)
POLL = DEFAULTS[POLL_INTERVAL_SECONDS]
BOUND = 10.0
NONE_LEFT = RipeBatch(evaluated=0, passed_over=0, next=None)


class Middle:
    """Chance that always takes the middle."""

    def getrandbits(self, _bits: int, /) -> int:
        return 0

    def uniform(self, low: float, high: float, /) -> float:
        return (low + high) / 2


class World:
    """A scheduler among scripted actors."""

    def __init__(self, stage: Stage, clock: ManualClock, timer: ManualTimer) -> None:
        self.clock, self.timer = clock, timer
        self.control = Control(
            DEFAULTS, AdapterRegistry.defaults(), (WorkloadRow("scheduler", "running", 1),)
        )
        self.waiting = Waiting(0, None)
        names = ("writer", "reader", "probes", "lease", "workloads", "scheduler")
        self.addresses = {name: Address(name) for name in names}
        self.writer = Scripted("writer", {EvaluateRipe: lambda _: NONE_LEFT, PurgeIdempotency: lambda _: 0})
        self.reader = Scripted(
            "reader",
            {
                GetControl: lambda _: self.control,
                GetWaiting: lambda _: self.waiting,
                ListDueConditions: lambda _: (),
            },
        )
        self.probes = Scripted("probes")
        self.lease = Scripted("lease", {LeaseWanted: self._grant})
        self.grants = True
        self.workloads = Scripted("workloads")
        for actor in (self.writer, self.reader, self.probes, self.lease, self.workloads):
            stage.put(self.addresses[actor.name], actor)
        self.me = self.addresses["scheduler"]
        self.scheduler = Scheduler(
            "scheduler",
            alone,
            me=self.me,
            lease=self.addresses["lease"],
            probes=self.addresses["probes"],
            writer=self.addresses["writer"],
            reader=self.addresses["reader"],
            workloads=self.addresses["workloads"],
            timer=timer,
            clock=clock,
            chance=Middle(),
            caller=CALLER,
            settings=DEFAULTS,
        )
        stage.put(self.me, self.scheduler)

    def _grant(self, _wanted: LeaseWanted) -> None:
        if self.grants:
            self.me.notify(LeaseGained())

    def start(self) -> None:
        self.me.call(StartScheduler(), timeout=BOUND)

    def tick(self) -> None:
        """Bring the tick that is waited for."""
        self.timer.fire(self.timer.expect(Ticked, self.me))

    def run_pass(self, count: int = 1) -> SchedulerReported:
        """Wait for the report at the end of the `count`-th pass."""
        return self.workloads.expect(
            SchedulerReported, count, where=lambda report: report.last_pass_at is not None
        )

    def settle(self) -> None:
        """Wait until what was told so far has been handled, here and by whoever was told in turn."""
        for name in ("lease", "scheduler", "scheduler", "workloads"):
            self.addresses[name].call(Ping(), timeout=BOUND)

    @property
    def last_report(self) -> SchedulerReported:
        return self.workloads.seen(SchedulerReported)[-1]


@pytest.fixture
def world(stage: Stage, clock: ManualClock, timer: ManualTimer) -> World:
    return World(stage, clock, timer)


def fail() -> None:
    raise OSError("no space left")


def failing(_message: object) -> None:
    fail()


# -------------------------------------------------------------------- passes


def test_it_rests_until_it_is_started(world: World) -> None:
    world.settle()
    assert world.lease.seen(LeaseWanted) == []
    assert world.writer.seen(object) == []


def test_a_pass_goes_on_batch_by_batch_until_none_is_left(world: World) -> None:
    positions = [RipePosition(wake=10 * n, key=n) for n in range(1, 4)]
    batches = [RipeBatch(evaluated=BATCH, passed_over=0, next=place) for place in positions] + [NONE_LEFT]
    world.writer.script[EvaluateRipe] = lambda _: batches.pop(0)
    world.start()
    report = world.run_pass()
    asked = world.writer.seen(EvaluateRipe)
    assert [message.after for message in asked] == [None, *positions]
    assert {(message.as_of, message.limit, message.lease, message.caller) for message in asked} == {
        (world.clock.now(), BATCH, CALLER.actor_id, CALLER)
    }
    assert (report.actual, report.last_error, report.last_pass_at) == ("running", None, world.clock.now())


def test_the_next_pass_begins_one_interval_after_this_one_began(world: World) -> None:
    def slow(_message: object) -> RipeBatch:
        world.clock.advance(10)
        return NONE_LEFT

    world.writer.script[EvaluateRipe] = slow
    world.start()
    assert world.timer.expect(Ticked, world.me).seconds == POLL - 10
    world.tick()
    world.run_pass(2)


def test_after_a_pass_longer_than_the_interval_the_next_follows_at_once(world: World) -> None:
    def very_slow(_message: object) -> RipeBatch:
        world.clock.advance(POLL * 2)
        return NONE_LEFT

    world.writer.script[EvaluateRipe] = very_slow
    world.start()
    assert world.timer.expect(Ticked, world.me).seconds == 0


def test_another_interval_counts_at_once_also_while_it_sleeps(world: World) -> None:
    world.start()
    world.run_pass()
    world.settle()
    world.clock.advance(4)
    world.me.notify(SettingsChanged(settings=Settings({POLL_INTERVAL_SECONDS: 10})))
    world.settle()
    (entry,) = world.timer.pending()
    assert entry.seconds == 6
    world.me.notify(SettingsChanged(settings=Settings({POLL_INTERVAL_SECONDS: 1})))
    world.settle()
    (entry,) = world.timer.pending()
    assert entry.seconds == 0


def test_a_tick_of_a_former_schedule_begins_nothing(world: World) -> None:
    world.start()
    world.run_pass()
    stale = world.timer.expect(Ticked, world.me).notice
    world.me.notify(SettingsChanged(settings=Settings({POLL_INTERVAL_SECONDS: 10})))
    world.me.notify(stale)
    world.settle()
    assert len(world.writer.seen(EvaluateRipe)) == 1


def test_expired_keys_are_purged_in_small_batches_each_pass(world: World) -> None:
    left = [PURGE_BATCH, PURGE_BATCH, 3]
    world.writer.script[PurgeIdempotency] = lambda _: left.pop(0)
    world.start()
    world.run_pass()
    assert [message.limit for message in world.writer.seen(PurgeIdempotency)] == [PURGE_BATCH] * 3


def test_a_purge_that_never_ends_does_not_keep_the_pass_from_ending(world: World) -> None:
    world.writer.script[PurgeIdempotency] = lambda _: PURGE_BATCH
    world.start()
    world.run_pass()


def test_what_waits_at_the_end_of_a_pass_is_reported(world: World) -> None:
    world.waiting = Waiting(12, world.clock.now() - 90_500)
    world.start()
    report = world.run_pass()
    assert (report.backlog, report.lag_seconds) == (12, 90)


def test_nothing_waiting_is_no_lag(world: World) -> None:
    world.start()
    report = world.run_pass()
    assert (report.backlog, report.lag_seconds) == (0, 0)


# ---------------------------------------------------------------------- stop


def test_a_stop_comes_between_two_batches_and_frees_the_lease(world: World) -> None:
    entered, gate = threading.Event(), threading.Event()

    def full_batch(_message: object) -> RipeBatch:
        entered.set()
        gate.wait(BOUND)
        return RipeBatch(evaluated=BATCH, passed_over=0, next=RipePosition(wake=1, key=1))

    world.writer.script[EvaluateRipe] = full_batch
    world.start()
    assert entered.wait(BOUND)
    stopping = threading.Thread(
        target=lambda: world.me.call(StopScheduler(), timeout=BOUND), name="workloads:turning"
    )
    stopping.start()
    gate.set()
    stopping.join(BOUND)
    world.settle()
    assert len(world.writer.seen(EvaluateRipe)) <= 2
    assert len(world.lease.seen(FreeLease)) == 1
    assert world.last_report.actual == "stopped"
    assert world.timer.pending() == []


def test_stopped_is_what_the_database_says_it_should_be(world: World) -> None:
    world.start()
    world.run_pass()
    world.control = world.control._replace(workloads=(WorkloadRow("scheduler", "stopped", 2),))
    world.tick()
    world.workloads.expect(SchedulerReported, where=lambda report: report.actual == "stopped")
    assert len(world.lease.seen(FreeLease)) == 1
    assert len(world.writer.seen(EvaluateRipe)) == 1


def test_a_second_stop_and_a_second_start_succeed_and_change_nothing(world: World) -> None:
    world.start()
    world.run_pass()
    world.start()
    world.settle()
    assert len(world.writer.seen(EvaluateRipe)) == 1
    for _ in range(2):
        world.me.call(StopScheduler(), timeout=BOUND)
    assert len(world.lease.seen(FreeLease)) == 1


def test_it_can_be_started_again(world: World) -> None:
    world.start()
    world.run_pass()
    world.me.call(StopScheduler(), timeout=BOUND)
    world.start()
    world.writer.expect(EvaluateRipe, 2)


def test_a_stop_goes_on_when_the_lease_keeper_is_gone(world: World) -> None:
    world.start()
    world.run_pass()
    world.addresses["lease"].bind(None)
    world.me.call(StopScheduler(), timeout=BOUND)
    world.workloads.expect(SchedulerReported, where=lambda report: report.actual == "stopped")


# -------------------------------------------------------------------- faults


def test_a_failing_database_is_waited_out_ever_longer_and_then_it_runs_again(world: World) -> None:
    world.writer.script[EvaluateRipe] = failing
    world.start()
    pauses = []
    for _ in range(8):
        pauses.append(world.timer.expect(Ticked, world.me).seconds)
        world.settle()
        assert world.last_report.actual == "failed"
        assert world.last_report.last_error == "An unexpected OSError; the log says more."
        world.tick()
        world.settle()
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    world.writer.script[EvaluateRipe] = lambda _: NONE_LEFT
    world.tick()
    report = world.run_pass()
    assert (report.actual, report.last_error) == ("running", None)
    world.settle()
    assert world.timer.expect(Ticked, world.me).seconds == POLL
    world.writer.script[EvaluateRipe] = failing
    world.tick()
    world.settle()
    assert world.timer.expect(Ticked, world.me).seconds == 1


@pytest.mark.parametrize("kind", [GetControl, GetWaiting, ListDueConditions])
def test_a_failing_read_is_waited_out_too(world: World, kind: type) -> None:
    healthy = world.reader.script[kind]
    world.reader.script[kind] = failing
    world.start()
    world.workloads.expect(SchedulerReported, where=lambda report: report.actual == "failed")
    world.reader.script[kind] = healthy
    world.tick()
    assert world.run_pass().actual == "running"


def test_a_locked_database_is_an_error_like_others(world: World) -> None:
    world.writer.script[EvaluateRipe] = lambda _: Refusal(ErrorCode.DATABASE_BUSY)
    world.start()
    world.workloads.expect(SchedulerReported, where=lambda report: "locked" in (report.last_error or ""))


def test_a_writer_that_is_being_restarted_is_waited_for(world: World) -> None:
    address = world.addresses["writer"]
    ref = address._ref
    address.bind(None)
    world.start()
    world.workloads.expect(SchedulerReported, where=lambda report: report.actual == "failed")
    address.bind(ref)
    world.tick()
    world.run_pass()


# --------------------------------------------------------------------- lease


def test_without_the_lease_nothing_is_evaluated(world: World) -> None:
    world.grants = False
    world.start()
    world.settle()
    assert world.last_report.actual == "starting"
    assert world.writer.seen(EvaluateRipe) == []
    world.me.notify(LeaseGained())
    world.run_pass()


def test_a_lost_lease_ends_the_pass_and_it_starts_over_with_acquiring(world: World) -> None:
    answers = [LeaseLost(), NONE_LEFT]
    world.writer.script[EvaluateRipe] = lambda _: answers.pop(0)
    world.start()
    world.run_pass()
    assert len(world.lease.seen(LeaseWanted)) == 2
    assert len(world.writer.seen(EvaluateRipe)) == 2


def test_a_lease_that_is_lost_again_and_again_is_no_busy_loop(world: World) -> None:
    world.writer.script[EvaluateRipe] = lambda _: LeaseLost()
    world.start()
    world.workloads.expect(SchedulerReported, where=lambda report: report.actual == "failed")
    world.settle()
    assert len(world.writer.seen(EvaluateRipe)) == 2
    assert world.timer.expect(Ticked, world.me).seconds == 1


def test_word_of_a_lost_lease_stops_work_until_it_is_gained(world: World) -> None:
    world.start()
    world.run_pass()
    world.grants = False
    world.me.notify(LeaseMissed(reason="The lease was lost."))
    world.settle()
    assert (world.last_report.actual, world.last_report.last_error) == ("starting", "The lease was lost.")
    assert world.timer.pending() == []
    world.me.notify(LeaseGained())
    world.settle()
    assert len(world.writer.seen(EvaluateRipe)) == 2


def test_word_of_the_lease_means_nothing_to_a_stopped_scheduler(world: World) -> None:
    world.me.notify(LeaseGained())
    world.me.notify(LeaseMissed(reason="x"))
    world.settle()
    assert world.writer.seen(object) == []
    assert world.workloads.seen(SchedulerReported) == []


# ---------------------------------------------------------------- conditions


def target(key: int, alias: str | None = None) -> ProbeTarget:
    parameters = json.dumps({"target": f"a{key}" if alias is None else alias})
    return ProbeTarget(key, 1, Condition("tcp_reachable", parameters, 60, None), 1_000 + key)


def answer_of(message: RunProbe) -> ProbeAnswer:
    return ProbeAnswer(message.target, ConditionStatus.UNSATISFIED, "No address accepts.", 5_000, "1", 3)


def listed(*batches: tuple[ProbeTarget, ...]) -> Callable[[Any], tuple[ProbeTarget, ...]]:
    left = list(batches)
    return lambda _: left.pop(0) if left else ()


def applied(world: World, count: int) -> list[ProbeResult]:
    """Wait until so many results were stored, and return them in their order."""

    def results() -> list[ProbeResult]:
        return [result for message in world.writer.seen(ApplyProbes) for result in message.results]

    eventually(lambda: len(results()) >= count)
    return results()


def test_due_conditions_are_probed_and_applied_under_the_lease(world: World) -> None:
    world.reader.script[ListDueConditions] = listed((target(1), target(2), target(3)))
    world.probes.script[RunProbe] = answer_of
    world.start()
    results = applied(world, 3)
    assert [result.key for result in results] == [1, 2, 3]
    for message in world.writer.seen(ApplyProbes):
        assert message.lease == CALLER.actor_id
        assert message.lifecycle_event == LifecycleEvent.CHECKPOINT
    for asked in world.probes.seen(RunProbe):
        assert (asked.caller, asked.start_within) == (CALLER, None)
    probe = results[0].probe
    assert probe is not None
    assert (probe.status, probe.next_evaluation_at) == (ConditionStatus.UNSATISFIED, 5_000 + 60_000)


def test_a_walk_goes_on_after_the_last_target_of_a_full_list(world: World) -> None:
    first = tuple(target(key) for key in range(1, LISTED + 1))
    world.reader.script[ListDueConditions] = listed(first, (target(900),))
    world.probes.script[RunProbe] = answer_of
    world.start()
    assert [result.key for result in applied(world, LISTED + 1)] == [*range(1, LISTED + 1), 900]
    assert [message.after for message in world.reader.seen(ListDueConditions)] == [
        None,
        DueCondition(first[-1].next_evaluation_at, LISTED),
    ]
    assert max(len(message.results) for message in world.writer.seen(ApplyProbes)) <= STORED


def test_no_more_probes_are_under_way_than_the_pool_takes_soon(world: World) -> None:
    gate = threading.Event()

    def slow(message: RunProbe) -> ProbeAnswer:
        assert gate.wait(BOUND)
        return answer_of(message)

    world.control = world.control._replace(settings=Settings({ADAPTER_CONCURRENCY: 3}))
    world.reader.script[ListDueConditions] = listed(tuple(target(key) for key in range(20)))
    world.probes.script[RunProbe] = slow
    world.start()
    world.run_pass()
    world.settle()
    # One is being answered, the others wait.
    world.probes.inbox_reaches(5)
    world.settle()
    inbox = world.probes.actor_inbox
    assert isinstance(inbox, Inbox)
    assert inbox.qsize() == 5
    gate.set()
    assert [result.key for result in applied(world, 20)] == list(range(20))


def test_items_that_share_a_target_are_under_way_together(world: World) -> None:
    gate = threading.Event()

    def slow(message: RunProbe) -> ProbeAnswer:
        assert gate.wait(BOUND)
        return answer_of(message)

    world.control = world.control._replace(settings=Settings({ADAPTER_CONCURRENCY: 1}))
    world.reader.script[ListDueConditions] = listed(tuple(target(key, "shared") for key in range(60)))
    world.probes.script[RunProbe] = slow
    world.start()
    world.probes.inbox_reaches(59)
    gate.set()
    assert [result.key for result in applied(world, 60)] == list(range(60))


def test_a_walk_asks_for_what_has_become_due_meanwhile(world: World) -> None:
    def later(message: ListDueConditions) -> tuple[ProbeTarget, ...]:
        world.clock.advance(3)
        return () if message.after else tuple(target(key) for key in range(LISTED))

    world.reader.script[ListDueConditions] = later
    world.probes.script[RunProbe] = answer_of
    world.start()
    world.reader.expect(ListDueConditions, 2)
    first, second = (message.as_of for message in world.reader.seen(ListDueConditions)[:2])
    assert second == first + 3_000


def test_a_ping_behind_an_answer_does_not_keep_it_from_being_stored(world: World) -> None:
    probing, passing = threading.Event(), threading.Event()
    entered = threading.Event()

    def slow(message: RunProbe) -> ProbeAnswer:
        assert probing.wait(BOUND)
        return answer_of(message)

    def last_of_a_pass(_message: object) -> Waiting:
        entered.set()
        assert passing.wait(BOUND)
        return world.waiting

    world.reader.script[ListDueConditions] = listed((target(1),))
    world.probes.script[RunProbe] = slow
    world.start()
    world.probes.expect(RunProbe)
    world.run_pass()
    world.reader.script[GetWaiting] = last_of_a_pass
    world.tick()
    assert entered.wait(BOUND)
    probing.set()
    inbox_reaches(world.scheduler, 1)
    told = Ticked(generation=0)
    elsewhere = world.addresses["lease"]
    world.me.ask_for(elsewhere, Ping(), answered=lambda _: told, failed=lambda _: told, timeout=BOUND)
    passing.set()
    assert [result.key for result in applied(world, 1)] == [1]


def test_a_slow_probe_holds_up_neither_the_passes_nor_what_others_saw(world: World) -> None:
    gate = threading.Event()

    def slow(message: RunProbe) -> ProbeAnswer:
        if message.target.key == 2:
            assert gate.wait(BOUND)
        return answer_of(message)

    world.reader.script[ListDueConditions] = listed((target(1), target(2)))
    world.probes.script[RunProbe] = slow
    world.start()
    assert [result.key for result in applied(world, 1)] == [1]
    for count in (1, 2, 3):
        world.run_pass(count)
        world.tick()
    assert len(world.writer.seen(EvaluateRipe)) >= 3
    assert len(world.reader.seen(ListDueConditions)) == 1
    gate.set()
    assert [result.key for result in applied(world, 2)] == [1, 2]


def test_a_stop_does_not_wait_for_probes_and_their_late_answer_is_not_written(world: World) -> None:
    gate = threading.Event()

    def slow(message: RunProbe) -> ProbeAnswer:
        gate.wait(BOUND)
        return answer_of(message)

    world.reader.script[ListDueConditions] = listed((target(1),))
    world.probes.script[RunProbe] = slow
    world.start()
    world.probes.expect(RunProbe)
    world.me.call(StopScheduler(), timeout=BOUND)
    gate.set()
    world.addresses["probes"].call(Ping(), timeout=BOUND)
    world.settle()
    assert world.writer.seen(ApplyProbes) == []


def test_a_broken_pool_is_named_while_passes_go_on_and_forgotten_when_it_answers(world: World) -> None:
    world.reader.script[ListDueConditions] = listed((target(1),), (target(1),))
    world.probes.script[RunProbe] = failing
    world.start()
    world.workloads.expect(
        SchedulerReported,
        where=lambda report: report.last_error == NO_ANSWER and report.actual == "running",
    )
    # What nobody looked at still comes up for a look by hand when its time is reached.
    assert [result.probe for result in world.writer.seen(ApplyProbes)[0].results] == [None]
    world.probes.script[RunProbe] = answer_of
    world.tick()
    world.writer.expect(ApplyProbes, 2)
    world.workloads.expect(
        SchedulerReported,
        2,
        where=lambda report: report.actual == "running" and report.last_error is None,
    )
    world.timer.expect(Ticked, world.me)


def test_a_pool_that_is_away_is_named_and_asked_again_at_the_next_pass(world: World) -> None:
    world.reader.script[ListDueConditions] = listed((target(1), target(2)), (target(1), target(2)))
    ref = world.addresses["probes"]._ref
    world.addresses["probes"].bind(None)
    world.start()
    world.workloads.expect(SchedulerReported, where=lambda report: report.last_error == NO_ANSWER)
    assert [(result.key, result.probe) for result in applied(world, 1)] == [(1, None)]
    world.addresses["probes"].bind(ref)
    world.probes.script[RunProbe] = answer_of
    world.tick()
    assert [result.key for result in applied(world, 3)] == [1, 1, 2]


def test_a_pool_that_never_answers_is_given_up_in_time(world: World) -> None:
    silent = Silent("probes")
    silent.launch()
    world.addresses["probes"].bind(silent.actor_ref)
    world.reader.script[ListDueConditions] = listed((target(1),), (target(2),))
    world.start()
    world.run_pass()
    world.tick()
    world.run_pass(2)
    assert len(world.reader.seen(ListDueConditions)) == 1
    world.clock.advance(3 * DEFAULTS[ADAPTER_TIMEOUT_SECONDS] + PATIENCE_SECONDS)
    world.tick()
    world.reader.expect(ListDueConditions, 2)
    world.workloads.expect(SchedulerReported, where=lambda report: report.last_error == NO_ANSWER)
    silent.end()


class Silent(Scripted):
    """Takes every message and answers none."""

    def receive(self, envelope: Envelope) -> None:
        del envelope


def test_a_lease_lost_while_probing_leaves_the_results_unwritten(world: World) -> None:
    world.reader.script[ListDueConditions] = listed((target(1),))
    world.probes.script[RunProbe] = answer_of
    world.writer.script[ApplyProbes] = lambda _: LeaseLost()
    world.start()
    world.writer.expect(ApplyProbes)
    world.lease.expect(LeaseWanted, 2)
