"""The supervisor: ordered start, restart of the dead, stop in reverse, giving up."""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from actors.actor import Actor
from actors.address import ActorError, Address, Inbox, OutcomeUnknown, Unavailable
from actors.messages import Ping, Request
from actors.supervisor import Child, StartAbandoned, StartFailed, Supervisor
from tests.fakes.clocks import ManualClock
from tests.service import eventually

BOUND = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Request[None]):
    """Something to be asked."""


class Diary:
    """What happened to the actors of one test, in order."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def died(self, name: str, *, everybody: bool) -> None:
        self.lines.append(f"died {name}{' all' if everybody else ''}")

    def restarted(self, name: str, *, everybody: bool) -> None:
        self.lines.append(f"restarted {name}{' all' if everybody else ''}")


class Subject(Actor):
    """An actor that writes down its start and stop, and can be made to fail or to hang."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        diary: Diary,
        *,
        start_error: Callable[[], Exception | None] = lambda: None,
        stop_gate: threading.Event | None = None,
    ) -> None:
        super().__init__(name, on_death)
        self._diary = diary
        self._error = start_error
        self._stop_gate = stop_gate
        self.work: Callable[[], None] = lambda: None

    def on_start(self) -> None:
        error = self._error()
        if error is not None:
            raise error
        self._diary.lines.append(f"start {self.name}")

    def on_stop(self) -> None:
        if self._stop_gate is not None:
            self._stop_gate.wait(BOUND)
        self._diary.lines.append(f"stop {self.name}")

    def handle(self, message: Question) -> None:
        assert isinstance(message, Question)
        self.work()

    @property
    def waiting(self) -> int:
        """How many envelopes lie in the inbox."""
        assert isinstance(self.actor_inbox, Inbox)
        return self.actor_inbox.qsize()


class Company:
    """Three actors, the writer first, under a supervisor."""

    def __init__(self, clock: ManualClock, **options: Any) -> None:
        self.diary = Diary()
        self.subjects: dict[str, Subject] = {}
        self.predecessors: list[tuple[str, Actor | None]] = []
        self.addresses = {name: Address(name) for name in ("writer", "reader", "scheduler")}
        self.supervisor = Supervisor(
            [self._child(name, options.get(name, {})) for name in self.addresses],
            clock=clock,
            witness=self.diary,
        )

    def _child(self, name: str, options: dict[str, Any]) -> Child:
        def make(on_death: Callable[[str], None], former: Actor | None) -> Actor:
            self.predecessors.append((name, former))
            self.subjects[name] = Subject(name, on_death, self.diary, **options)
            return self.subjects[name]

        return Child(address=self.addresses[name], make=make, stop_seconds=0.3, restart_all=name == "writer")

    def kill(self, name: str) -> None:
        """End an actor as a bug in its plumbing would: by something that is no envelope."""
        self.subjects[name].actor_ref.tell("no envelope")
        self.subjects[name].thread.join(BOUND)

    def alive(self) -> set[str]:
        return {
            name for name, address in self.addresses.items() if address.call(Ping(), timeout=BOUND) is None
        }


EVERYBODY = {"writer", "reader", "scheduler"}


@pytest.fixture
def company(clock: ManualClock) -> Iterator[Company]:
    company = Company(clock)
    yield company
    company.supervisor.stop(within=BOUND)


def test_actors_start_in_order_and_stop_in_exactly_the_reverse(company: Company) -> None:
    company.supervisor.start()
    assert company.alive() == EVERYBODY
    assert company.supervisor.stop(within=5) == ()
    assert company.diary.lines == [
        "start writer",
        "start reader",
        "start scheduler",
        "stop scheduler",
        "stop reader",
        "stop writer",
    ]


def test_a_failing_start_is_told_with_its_own_error_and_takes_the_others_down(clock: ManualClock) -> None:
    company = Company(clock, scheduler={"start_error": lambda: LookupError("no such table")})
    with pytest.raises(StartFailed) as caught:
        company.supervisor.start()
    assert caught.value.name == "scheduler"
    assert isinstance(caught.value.__cause__, LookupError)
    assert company.diary.lines == ["start writer", "start reader", "stop reader", "stop writer"]
    for address in company.addresses.values():
        with pytest.raises(Unavailable):
            address.call(Ping(), timeout=BOUND)


def test_a_start_that_hangs_ends_in_time(clock: ManualClock) -> None:
    gate = threading.Event()

    def hang() -> None:
        clock.advance(60)
        gate.wait(BOUND)

    company = Company(clock, reader={"start_error": hang})
    with pytest.raises(StartFailed) as caught:
        company.supervisor.start()
    gate.set()
    assert caught.value.name == "reader"
    company.subjects["reader"].thread.join(BOUND)


def test_a_stop_that_is_asked_for_while_an_actor_starts_ends_the_start(clock: ManualClock) -> None:
    started, gate = threading.Event(), threading.Event()

    def hang() -> None:
        started.set()
        gate.wait(BOUND)

    slow = Company(clock, reader={"start_error": hang})

    def ask_once_it_starts() -> None:
        started.wait(BOUND)
        slow.supervisor.ask_to_stop("SIGTERM")

    asking = threading.Thread(target=ask_once_it_starts)
    asking.start()
    with pytest.raises(StartAbandoned):
        slow.supervisor.start()
    gate.set()
    asking.join(BOUND)
    slow.subjects["reader"].thread.join(BOUND)


def test_one_dead_actor_is_restarted_alone(company: Company) -> None:
    company.supervisor.start()
    former = company.subjects["scheduler"]
    company.diary.lines.clear()
    company.kill("scheduler")
    assert company.supervisor.step(BOUND) is None
    assert company.alive() == EVERYBODY
    assert company.diary.lines == ["died scheduler", "start scheduler", "restarted scheduler"]
    assert company.predecessors[-1] == ("scheduler", former)


def test_a_dead_writer_takes_everybody_along_in_order(company: Company) -> None:
    company.supervisor.start()
    company.diary.lines.clear()
    company.kill("writer")
    assert company.supervisor.step(BOUND) is None
    assert company.alive() == EVERYBODY
    assert company.diary.lines == [
        "died writer all",
        "stop scheduler",
        "stop reader",
        "start writer",
        "start reader",
        "start scheduler",
        "restarted writer all",
    ]


def test_an_actor_that_dies_without_a_word_is_found(company: Company) -> None:
    company.supervisor.start()
    actor = company.subjects["reader"]
    actor._on_death = lambda _name: None
    company.kill("reader")
    assert company.supervisor.step(0.01) is None
    assert company.subjects["reader"] is not actor
    assert company.alive() == EVERYBODY


def test_an_actor_that_leaves_by_system_exit_is_found_and_takes_nobody_along(company: Company) -> None:
    company.supervisor.start()
    actor = company.subjects["reader"]

    def leave() -> None:
        raise SystemExit

    actor.work = leave
    with pytest.raises(OutcomeUnknown):
        company.addresses["reader"].call(Question(), timeout=0.1)
    actor.thread.join(BOUND)
    assert company.supervisor.step(0.01) is None
    assert company.alive() == EVERYBODY
    assert company.subjects["reader"] is not actor


def test_late_news_of_a_death_that_was_seen_already_restarts_nobody(company: Company) -> None:
    company.supervisor.start()
    first = company.subjects["reader"]
    company.kill("reader")
    company.supervisor.step(BOUND)
    second = company.subjects["reader"]
    first._on_death("reader")
    assert company.supervisor.step(BOUND) is None
    assert company.subjects["reader"] is second


def test_the_fourth_death_within_a_minute_is_one_too_many(company: Company, clock: ManualClock) -> None:
    company.supervisor.start()
    for _ in range(3):
        company.kill("reader")
        assert company.supervisor.step(BOUND) is None
        clock.advance(19)
    company.kill("reader")
    assert company.supervisor.step(BOUND) == "gave_up"


def test_deaths_far_apart_are_forgiven(company: Company, clock: ManualClock) -> None:
    company.supervisor.start()
    for _ in range(8):
        company.kill("reader")
        assert company.supervisor.step(BOUND) is None
        clock.advance(21)


def test_a_restart_that_fails_is_tried_again_and_counts(clock: ManualClock) -> None:
    broken = [None, OSError("still broken"), None]
    company = Company(clock, reader={"start_error": lambda: broken.pop(0)})
    clock_moves = iter(range(1_000_000))
    clock.monotonic = lambda: 1_000.0 + next(clock_moves) / 100  # type: ignore[method-assign]
    company.supervisor.start()
    company.kill("reader")
    assert company.supervisor.step(BOUND) is None
    assert company.alive() == EVERYBODY
    assert len(company.supervisor._restarts) == 2
    company.supervisor.stop(within=5)


def test_a_stop_ends_the_run_and_a_second_one_changes_nothing(company: Company) -> None:
    company.supervisor.start()
    company.supervisor.ask_to_stop("SIGTERM")
    company.supervisor.ask_to_stop("SIGINT")
    assert company.supervisor.run() == "stopped"
    assert company.supervisor.stop_asked == "SIGTERM"


def test_a_stuck_actor_is_named_and_the_writer_still_gets_its_turn(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    gate = threading.Event()
    company = Company(clock, scheduler={"stop_gate": gate})
    company.supervisor.start()
    assert company.supervisor.stop(within=2) == ("scheduler",)
    assert company.diary.lines[-2:] == ["stop reader", "stop writer"]
    stuck = [record for record in caplog.records if record.message == "an actor is stuck"]
    assert [record.__dict__["actor"] for record in stuck] == ["scheduler"]
    gate.set()
    company.subjects["scheduler"].thread.join(BOUND)


def test_who_waits_for_a_stopped_actor_is_told_at_once(company: Company) -> None:
    company.supervisor.start()
    entered, gate = threading.Event(), threading.Event()
    actor = company.subjects["reader"]

    def block() -> None:
        entered.set()
        gate.wait(BOUND)

    actor.work = block
    caught: list[type[BaseException]] = []

    def ask() -> None:
        try:
            company.addresses["reader"].call(Question(), timeout=BOUND)
        except ActorError as error:
            caught.append(type(error))

    first, second = threading.Thread(target=ask), threading.Thread(target=ask)
    first.start()
    assert entered.wait(BOUND)
    # The second ask lies behind the stop, where pykka would drop it without an answer.
    actor.end()
    second.start()
    eventually(lambda: actor.waiting == 2)
    gate.set()
    company.supervisor.stop(within=5)
    first.join(BOUND)
    second.join(BOUND)
    assert caught == [Unavailable]


def test_something_broken_beside_the_actors_ends_the_run(company: Company) -> None:
    company.supervisor.start()
    company.supervisor.ask_to_give_up("http")
    assert company.supervisor.run() == "gave_up"
