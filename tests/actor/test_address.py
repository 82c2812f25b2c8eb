"""Addresses and replies: who waits is always told, in a thread and on a loop, and nobody blocks a stop."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from actors.address import Address, Envelope, OutcomeUnknown, Overloaded, Reply, Unavailable
from actors.messages import Notice, Ping, Request
from tests.fakes.scripted import Scripted, Stage

BOUND = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Double(Request[int]):
    """Asked for twice a number."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened(Notice):
    """Something happened."""


class Gate:
    """Holds an actor inside a message until it is opened."""

    def __init__(self) -> None:
        self.entered, self._open = threading.Event(), threading.Event()

    def __call__(self, _message: object) -> None:
        self.entered.set()
        self._open.wait(BOUND)

    def open(self) -> None:
        self._open.set()


@pytest.fixture
def address() -> Address:
    return Address("subject", limit=4)


@pytest.fixture
def actor(stage: Stage, address: Address) -> Scripted:
    actor = Scripted("subject", {Double: lambda message: message.number * 2})
    stage.put(address, actor)
    return actor


@pytest.fixture
def gate(actor: Scripted) -> Gate:
    gate = Gate()
    actor.script[Happened] = gate
    return gate


def in_background(work: Callable[[], object]) -> tuple[threading.Thread, list[object]]:
    """Run something in a thread; its result or its exception goes into the list."""
    outcome: list[object] = []

    def run() -> None:
        try:
            outcome.append(work())
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=run, name="test")
    thread.start()
    return thread, outcome


@pytest.mark.usefixtures("actor")
def test_an_ask_is_answered_in_a_thread_and_on_a_loop(address: Address) -> None:
    assert address.call(Double(number=4), timeout=BOUND) == 8
    assert asyncio.run(address.acall(Double(number=5), timeout=BOUND)) == 10


@pytest.mark.usefixtures("actor")
def test_many_asks_of_one_loop_are_each_given_their_own_answer(address: Address) -> None:
    address.limit = 10_000

    async def ask() -> list[int]:
        return await asyncio.gather(
            *(address.acall(Double(number=number), timeout=BOUND) for number in range(500))
        )

    assert asyncio.run(ask()) == [2 * number for number in range(500)]


def test_an_exception_of_the_actor_reaches_who_asked_and_the_actor_lives_on(
    address: Address, actor: Scripted
) -> None:
    def break_(_message: object) -> None:
        raise ZeroDivisionError

    double = actor.script[Double]
    actor.script[Double] = break_
    with pytest.raises(ZeroDivisionError):
        address.call(Double(number=1), timeout=BOUND)
    with pytest.raises(ZeroDivisionError):
        asyncio.run(address.acall(Double(number=1), timeout=BOUND))
    actor.script[Double] = double
    assert address.call(Double(number=1), timeout=BOUND) == 2


def test_a_notice_that_fails_does_not_end_the_actor(address: Address, actor: Scripted) -> None:
    def break_(_message: object) -> None:
        raise ZeroDivisionError

    actor.script[Happened] = break_
    assert address.notify(Happened())
    assert address.call(Double(number=1), timeout=BOUND) == 2


def test_nobody_behind_an_address_is_said_at_once() -> None:
    nobody = Address("nobody")
    with pytest.raises(Unavailable):
        nobody.call(Ping(), timeout=BOUND)
    with pytest.raises(Unavailable):
        asyncio.run(nobody.acall(Ping(), timeout=BOUND))
    assert nobody.notify(Happened()) is False


def test_a_dead_actor_is_unavailable_and_a_new_one_behind_the_address_is_not(
    address: Address, actor: Scripted, stage: Stage
) -> None:
    actor.actor_ref.tell("no envelope")
    actor.thread.join(BOUND)
    with pytest.raises(Unavailable):
        address.call(Ping(), timeout=BOUND)
    stage.put(address, Scripted("subject", {Double: lambda message: message.number * 3}))
    assert address.call(Double(number=2), timeout=BOUND) == 6


def test_who_waits_at_an_actor_when_it_dies_is_told(address: Address, actor: Scripted, gate: Gate) -> None:
    address.notify(Happened())
    assert gate.entered.wait(BOUND)
    actor.actor_ref.tell("no envelope")
    asking, outcome = in_background(lambda: address.call(Double(number=1), timeout=BOUND))
    actor.inbox_reaches(2)
    gate.open()
    asking.join(BOUND)
    assert isinstance(outcome[0], Unavailable)


def test_no_answer_in_time_is_an_unknown_outcome(address: Address, gate: Gate) -> None:
    address.notify(Happened())
    assert gate.entered.wait(BOUND)
    with pytest.raises(OutcomeUnknown):
        address.call(Double(number=1), timeout=0.01)
    with pytest.raises(OutcomeUnknown):
        asyncio.run(address.acall(Double(number=1), timeout=0.01))
    gate.open()


def test_a_message_whose_asker_has_left_is_not_carried_out(
    address: Address, actor: Scripted, gate: Gate
) -> None:
    address.notify(Happened())
    assert gate.entered.wait(BOUND)
    with pytest.raises(OutcomeUnknown):
        address.call(Double(number=1), timeout=0.01)
    gate.open()
    address.call(Ping(), timeout=BOUND)
    assert actor.seen(Double) == []


def test_an_answer_after_the_loop_was_closed_does_not_end_the_actor(
    address: Address, actor: Scripted, gate: Gate
) -> None:
    actor.script[Double] = gate

    async def ask() -> None:
        with pytest.raises(OutcomeUnknown):
            await address.acall(Double(number=1), timeout=0.05)

    asyncio.run(ask())
    gate.open()
    assert address.call(Ping(), timeout=BOUND) is None
    assert actor.thread.is_alive()


def test_a_waiter_that_was_cancelled_does_not_disturb_the_others(
    address: Address, actor: Scripted, gate: Gate
) -> None:
    async def ask() -> int:
        address.notify(Happened())
        await asyncio.to_thread(gate.entered.wait, BOUND)
        cancelled = asyncio.create_task(address.acall(Double(number=1), timeout=BOUND))
        kept = asyncio.create_task(address.acall(Double(number=2), timeout=BOUND))
        await asyncio.sleep(0)
        cancelled.cancel()
        gate.open()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        return await kept

    assert asyncio.run(ask()) == 4
    assert actor.thread.is_alive()


def test_a_full_inbox_refuses_and_lets_the_stop_pass(address: Address, actor: Scripted, gate: Gate) -> None:
    address.notify(Happened())
    assert gate.entered.wait(BOUND)
    asks = [in_background(lambda: address.call(Double(number=1), timeout=BOUND)) for _ in range(4)]
    actor.inbox_reaches(4)
    with pytest.raises(Overloaded):
        address.call(Double(number=1), timeout=BOUND)
    with pytest.raises(Overloaded):
        asyncio.run(address.acall(Double(number=1), timeout=BOUND))
    assert address.notify(Happened()) is False
    actor.end()
    gate.open()
    actor.thread.join(BOUND)
    assert not actor.thread.is_alive()
    for asking, _ in asks:
        asking.join(BOUND)
    assert [outcome for _, outcome in asks] == [[2]] * 4


def test_the_first_answer_counts() -> None:
    reply: Reply[int] = Reply(None)
    reply.set(1)
    reply.set(2)
    reply.fail(ZeroDivisionError())
    assert reply.wait(0) == 1


def test_an_envelope_of_a_notice_takes_answers_to_nobody() -> None:
    envelope = Envelope(Happened(), None, None)
    envelope.answer(1)
    envelope.fail(ZeroDivisionError())


@pytest.mark.usefixtures("actor")
def test_each_ask_is_seen_by_the_observer(address: Address) -> None:
    seen: list[tuple[str, str, type]] = []
    before = Address.observer
    Address.observer = lambda thread, asked, message: seen.append((thread, asked, type(message)))
    address.call(Double(number=1), timeout=BOUND)
    Address.observer = before
    assert seen == [("MainThread", "subject", Double)]
