"""The adapter pool: how many look at a time, for how long, for whom; the looks themselves are scripted."""

import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

from actors.address import Address, Unavailable
from actors.messages import Ping
from actors.messages.probes import (
    AdaptersChanged,
    CheckConfiguration,
    LookExpired,
    NotProbed,
    Outcome,
    ProbeAnswer,
    RunProbe,
)
from actors.messages.readers import ProbeTarget
from actors.messages.scheduler import SettingsChanged
from actors.probes import adapters
from actors.probes.adapters import FAILED, TIME_IS_UP
from actors.probes.looking import Deadline, Outside
from actors.probes.pool import CROWDED, GRACE_SECONDS, MAX_STUCK, STUCK, UNREADABLE, Pool
from remindi.adapters import (
    Adapter,
    AdapterRegistry,
    Configuration,
    FileExistsConfiguration,
)
from remindi.errors import invalid
from remindi.events import ActorType, Caller
from remindi.items import ConditionStatus
from remindi.settings import ADAPTER_CONCURRENCY, ADAPTER_TIMEOUT_SECONDS, DEFAULTS, Settings
from remindi.triggers import Condition
from tests.fakes.clocks import ManualClock
from tests.fakes.scripted import Stage, alone
from tests.fakes.timers import ManualTimer
from tests.service import eventually

BOUND = 10.0
SATISFIED = Outcome(ConditionStatus.SATISFIED, "It is there.")
AGENT = Caller(ActorType.AGENT, "mcp:test", "r")
SCHEDULER = Caller(ActorType.SCHEDULER, "scheduler:process-test", None)
FILES = FileExistsConfiguration.model_validate({"type": "file_exists", "roots": ["/"], "aliases": {}})


def target(key: int, parameters: str | None = None) -> ProbeTarget:
    given = f'{{"path_alias":"a{key}"}}' if parameters is None else parameters
    return ProbeTarget(key, 1, Condition("file_exists", given, 60, None), 0)


def registry(*, enabled: bool = True) -> AdapterRegistry:
    return AdapterRegistry(
        Adapter(one.name, enabled, one.configuration) for one in AdapterRegistry.defaults()
    )


class World:
    """A pool whose looks are what the test makes of them."""

    def __init__(self, stage: Stage, clock: ManualClock, timer: ManualTimer) -> None:
        self.stage, self.clock, self.timer = stage, clock, timer
        self.address = Address("probes")
        self.executor = ThreadPoolExecutor(40)
        self.looks: dict[str, Callable[[], Outcome]] = {}
        self.seen: list[str] = []
        self.deadlines: list[Deadline] = []
        self.now = self.most = 0
        self._lock = threading.Lock()

    def start(self, **settings: int) -> Pool:
        pool = Pool(
            "probes",
            alone,
            me=self.address,
            timer=self.timer,
            outside=Outside(clock=self.clock, resolve=lambda _: ()),
            registry=registry(),
            settings=Settings(settings),
        )
        self.stage.put(self.address, pool)
        return pool

    def look(
        self, _adapter: Adapter | None, condition: Condition, _outside: Outside, deadline: Deadline
    ) -> Outcome:
        with self._lock:
            self.seen.append(condition.parameters_json)
            self.deadlines.append(deadline)
            self.now += 1
            self.most = max(self.most, self.now)
        try:
            return self.looks.get(condition.parameters_json, lambda: SATISFIED)()
        finally:
            with self._lock:
                self.now -= 1

    def ask(self, one: ProbeTarget, **fields: Any) -> "Future[ProbeAnswer | NotProbed]":
        """Ask from a thread of its own."""
        message = RunProbe(**{"caller": AGENT, "target": one, **fields})
        return self.executor.submit(self.address.call, message, timeout=BOUND)

    def settle(self) -> None:
        self.address.call(Ping(), timeout=BOUND)

    def begun(self, count: int) -> None:
        """Wait until so many looks have begun."""
        eventually(lambda: len(self.seen) >= count)


@pytest.fixture
def world(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    world = World(stage, ManualClock(), ManualTimer())
    monkeypatch.setattr(adapters, "look", world.look)
    yield world
    world.executor.shutdown(wait=True)


class Gate:
    """A look that waits until it is opened."""

    def __init__(self, outcome: Outcome = SATISFIED) -> None:
        self.opened = threading.Event()
        self.outcome = outcome

    def __call__(self) -> Outcome:
        assert self.opened.wait(BOUND)
        return self.outcome


def answer(future: "Future[ProbeAnswer | NotProbed]") -> ProbeAnswer:
    found = future.result(BOUND)
    assert isinstance(found, ProbeAnswer)
    return found


def test_an_answer_says_what_was_seen_when_by_whom_and_how_fast(world: World) -> None:
    world.start()

    def look() -> Outcome:
        world.clock.advance(0.025)
        return SATISFIED

    one = target(1)
    world.looks[one.condition.parameters_json] = look
    now = world.clock.wall
    assert answer(world.ask(one)) == ProbeAnswer(
        one, ConditionStatus.SATISFIED, "It is there.", now + 25, "1", 25
    )
    assert world.deadlines[0].left() == pytest.approx(DEFAULTS[ADAPTER_TIMEOUT_SECONDS] - 0.025)


def test_no_more_look_at_a_time_than_the_setting_says_and_a_change_counts_at_once(world: World) -> None:
    world.start(**{ADAPTER_CONCURRENCY: 2})
    gates = [Gate() for _ in range(6)]
    for key, gate in enumerate(gates):
        world.looks[target(key).condition.parameters_json] = gate
    asked = [world.ask(target(key), caller=(AGENT, SCHEDULER)[key % 2]) for key in range(6)]
    world.begun(2)
    eventually(lambda: waiting(world) == 4)
    world.settle()
    assert len(world.seen) == 2
    world.address.notify(SettingsChanged(settings=Settings({ADAPTER_CONCURRENCY: 4})))
    world.begun(4)
    world.settle()
    assert (len(world.seen), world.most) == (4, 4)
    for gate in gates:
        gate.opened.set()
    assert {answer(one).status for one in asked} == {ConditionStatus.SATISFIED}
    assert world.most == 4


def test_a_changed_deadline_counts_for_the_next_look(world: World) -> None:
    world.start()
    world.address.notify(SettingsChanged(settings=Settings({ADAPTER_TIMEOUT_SECONDS: 17})))
    answer(world.ask(target(1)))
    assert world.deadlines[0].left() == pytest.approx(17)


def test_a_look_beyond_its_deadline_is_unknown_and_its_slot_goes_on(world: World) -> None:
    world.start(**{ADAPTER_CONCURRENCY: 1})
    gate = Gate()
    world.looks[target(1).condition.parameters_json] = gate
    stuck = world.ask(target(1))
    world.begun(1)
    later = world.ask(target(2))
    entry = world.timer.expect(LookExpired, world.address)
    assert entry.seconds == DEFAULTS[ADAPTER_TIMEOUT_SECONDS] + GRACE_SECONDS
    world.timer.fire(entry)
    assert answer(stuck)[1:3] == TIME_IS_UP
    assert answer(later)[1:3] == SATISFIED
    gate.opened.set()
    world.settle()


def test_a_look_beyond_its_deadline_loses_its_connection(world: World) -> None:
    world.start()
    ours, theirs = socket.socketpair()
    with ours, theirs:

        def look() -> Outcome:
            world.deadlines[0].watch(ours)
            assert ours.recv(1) == b""
            return SATISFIED

        world.looks[target(1).condition.parameters_json] = look
        asked = world.ask(target(1))
        world.begun(1)
        world.timer.fire(world.timer.expect(LookExpired, world.address))
        assert answer(asked)[1:3] == TIME_IS_UP
        # Its thread has ended, so the target may be looked at again.
        world.looks.clear()
        eventually(lambda: answer(world.ask(target(1)))[1:3] == SATISFIED)


def test_what_is_watched_too_late_is_shut_at_once() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        deadline = Deadline(5.0)
        deadline.end()
        deadline.watch(ours)
        assert theirs.recv(1) == b""


def test_where_a_look_is_stuck_nobody_looks_again_until_it_has_ended(world: World) -> None:
    world.start()
    gate = Gate()
    one = target(1)
    world.looks[one.condition.parameters_json] = gate
    first = world.ask(one)
    world.begun(1)
    world.timer.fire(world.timer.expect(LookExpired, world.address))
    answer(first)
    # Another item with the same target.
    assert answer(world.ask(one._replace(key=2)))[1:3] == STUCK
    assert answer(world.ask(target(3)))[1:3] == SATISFIED
    assert len(world.seen) == 2
    gate.opened.set()
    eventually(lambda: answer(world.ask(one._replace(key=4)))[1:3] == SATISFIED)


def test_threads_that_do_not_end_are_bounded_and_stop_no_other_adapter(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.start(**{ADAPTER_CONCURRENCY: 1})
    gate = Gate()
    for key in range(MAX_STUCK):
        world.looks[target(key).condition.parameters_json] = gate
        asked = world.ask(target(key))
        world.begun(key + 1)
        world.timer.fire(world.timer.expect(LookExpired, world.address))
        assert answer(asked)[1:3] == TIME_IS_UP
    assert answer(world.ask(target(1_000)))[1:3] == CROWDED
    assert len(world.seen) == MAX_STUCK
    other = ProbeTarget(2_000, 1, Condition("tcp_reachable", '{"target":"a"}', 60, None), 0)
    assert answer(world.ask(other))[1:3] == SATISFIED
    assert "a probe does not end" in caplog.messages
    gate.opened.set()
    eventually(lambda: answer(world.ask(target(1_000)))[1:3] == SATISFIED)


def test_who_only_looks_at_the_clock_waits_for_nobody(world: World) -> None:
    world.start(**{ADAPTER_CONCURRENCY: 1})
    gate = Gate()
    world.looks[target(1).condition.parameters_json] = gate
    first = world.ask(target(1))
    world.begun(1)
    window = Condition("observation_window_ended", '{"window_end":"2020-01-01T00:00:00Z"}', 60, None)
    assert answer(world.ask(ProbeTarget(2, 1, window, 0)))[1:3] == SATISFIED
    gate.opened.set()
    answer(first)


def test_who_waited_too_long_for_his_turn_is_told_and_nobody_looks(world: World) -> None:
    world.start(**{ADAPTER_CONCURRENCY: 1})
    gate = Gate()
    world.looks[target(1).condition.parameters_json] = gate
    first = world.ask(target(1))
    world.begun(1)
    hurried = world.ask(target(2), start_within=3.0)
    patient = world.ask(target(3), start_within=5.0)
    eventually(lambda: waiting(world) == 2)
    world.clock.advance(4)
    gate.opened.set()
    answer(first)
    assert hurried.result(BOUND) == NotProbed()
    assert answer(patient)[1:3] == SATISFIED
    assert target(2).condition.parameters_json not in world.seen


def waiting(world: World) -> int:
    """How many looks wait for their turn."""
    pool = world.stage._actors[-1]
    assert isinstance(pool, Pool)
    return sum(len(queue) for queue in pool._waiting)


def test_one_look_answers_all_who_want_the_same(world: World) -> None:
    world.start()
    gate = Gate()
    one = target(1)
    another_item = one._replace(key=7, version=3)
    world.looks[one.condition.parameters_json] = gate
    asked = [world.ask(one), world.ask(one, caller=SCHEDULER), world.ask(another_item)]
    pool = world.stage._actors[-1]
    assert isinstance(pool, Pool)
    eventually(lambda: [len(look.askers) for look in pool._wanted.values()] == [3])
    gate.opened.set()
    answers = [answer(future) for future in asked]
    assert [found.target for found in answers] == [one, one, another_item]
    assert len({found[1:] for found in answers}) == 1
    assert len(world.seen) == 1


def test_scheduler_and_checks_take_turns(world: World) -> None:
    world.start(**{ADAPTER_CONCURRENCY: 1})
    gate = Gate()
    world.looks[target(0).condition.parameters_json] = gate
    asked = [world.ask(target(0))]
    world.begun(1)
    for key in range(1, 5):
        asked.append(world.ask(target(key)))
        eventually(lambda key=key: waiting(world) == key)  # type: ignore[misc]
    for key in range(5, 7):
        asked.append(world.ask(target(key), caller=SCHEDULER))
        eventually(lambda key=key: waiting(world) == key)  # type: ignore[misc]
    gate.opened.set()
    for future in asked:
        answer(future)
    turns = ["scheduler" if one in seen_of(5, 6) else "check" for one in world.seen[1:]]
    assert turns[:4].count("scheduler") == 2


def seen_of(*keys: int) -> set[str]:
    return {target(key).condition.parameters_json for key in keys}


def test_what_was_seen_under_a_former_configuration_is_looked_at_again(world: World) -> None:
    world.start()
    outcomes = [SATISFIED, Outcome(ConditionStatus.UNKNOWN, "The adapter is disabled.")]
    gate = threading.Event()

    def look() -> Outcome:
        outcome = outcomes.pop(0)
        if outcomes:
            assert gate.wait(BOUND)
        return outcome

    world.looks[target(1).condition.parameters_json] = look
    asked = world.ask(target(1))
    world.begun(1)
    world.address.notify(AdaptersChanged(registry=registry(enabled=False)))
    world.settle()
    gate.set()
    assert answer(asked).status == ConditionStatus.UNKNOWN
    assert len(world.seen) == 2


def test_a_change_of_another_adapter_leaves_a_look_alone(world: World) -> None:
    world.start()
    gate = Gate()
    world.looks[target(1).condition.parameters_json] = gate
    asked = world.ask(target(1))
    world.begun(1)
    others = [one._replace(enabled=False) if one.name != "file_exists" else one for one in registry()]
    world.address.notify(AdaptersChanged(registry=AdapterRegistry(others)))
    gate.opened.set()
    assert answer(asked)[1:3] == SATISFIED
    assert len(world.seen) == 1


def test_a_probe_that_breaks_is_an_error_and_its_text_stays_inside(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.start()

    def broken() -> Outcome:
        raise RuntimeError("https://secret.example/path")

    world.looks[target(1).condition.parameters_json] = broken
    assert answer(world.ask(target(1)))[1:3] == FAILED
    assert "secret" not in caplog.text
    assert answer(world.ask(target(2)))[1:3] == SATISFIED


def test_a_stopped_pool_leaves_nobody_waiting(world: World) -> None:
    pool = world.start(**{ADAPTER_CONCURRENCY: 1})
    gate = Gate()
    world.looks[target(1).condition.parameters_json] = gate
    asked = [world.ask(target(1)), world.ask(target(2))]
    world.begun(1)
    eventually(lambda: len(pool._wanted) == 2)
    pool.end()
    for future in asked:
        with pytest.raises(Unavailable):
            future.result(BOUND)
    gate.opened.set()


def test_a_configuration_is_held_against_the_outside(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    refusal = invalid(("/configuration/roots/0", "format"))
    verdicts: list[Any] = [None, refusal]

    def check(configuration: Configuration) -> Any:
        assert configuration is FILES
        return verdicts.pop(0)

    monkeypatch.setattr(adapters, "check_configuration", check)
    world.start()
    asked = CheckConfiguration(configuration=FILES)
    assert world.address.call(asked, timeout=BOUND) is None
    assert world.address.call(asked, timeout=BOUND) == refusal


def test_a_configuration_that_nobody_can_look_at_in_time_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = threading.Event()
    monkeypatch.setattr(adapters, "check_configuration", lambda _: gate.wait(BOUND) and None)
    world.start()
    asked = world.executor.submit(world.address.call, CheckConfiguration(configuration=FILES), timeout=BOUND)
    world.timer.fire(world.timer.expect(LookExpired, world.address))
    assert asked.result(BOUND) == UNREADABLE
    gate.set()


def test_a_look_is_given_the_adapter_as_it_is_registered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Adapter | None] = []

    def look(adapter: Adapter | None, *_: Any) -> Outcome:
        given.append(adapter)
        return SATISFIED

    monkeypatch.setattr(adapters, "look", look)
    world.start()
    answer(world.ask(target(1)))
    unknown = ProbeTarget(2, 1, Condition("retired", "{}", 60, None), 0)
    answer(world.ask(unknown))
    assert [one and one.name for one in given] == ["file_exists", None]
