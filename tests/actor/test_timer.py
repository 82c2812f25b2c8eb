"""The timer: order, calling off, stopping. The one place where tests wait for a clock, for milliseconds."""

from dataclasses import dataclass

import pytest

from actors.address import Address
from actors.messages import Notice
from actors.timer import ThreadTimer
from tests.fakes.scripted import Scripted, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Rang(Notice):
    """What the timer tells here."""

    name: str


@pytest.fixture
def ear(stage: Stage) -> tuple[Address, Scripted]:
    address, actor = Address("ear"), Scripted("ear")
    stage.put(address, actor)
    return address, actor


def names(actor: Scripted) -> list[str]:
    return [rang.name for rang in actor.seen(Rang)]


def test_notices_come_in_the_order_of_their_time(ear: tuple[Address, Scripted]) -> None:
    address, actor = ear
    timer = ThreadTimer()
    timer.after(0.06, address, Rang(name="third"))
    timer.after(0.02, address, Rang(name="first"))
    timer.start()
    timer.after(0.04, address, Rang(name="second"))
    timer.after(-1.0, address, Rang(name="at once"))
    actor.expect(Rang, 4)
    assert names(actor) == ["at once", "first", "second", "third"]
    assert timer.stop(5)


def test_a_notice_called_off_does_not_come(ear: tuple[Address, Scripted]) -> None:
    address, actor = ear
    timer = ThreadTimer()
    timer.after(0.02, address, Rang(name="called off")).cancel()
    timer.after(0.03, address, Rang(name="kept"))
    timer.start()
    actor.expect(Rang)
    assert names(actor) == ["kept"]
    assert timer.stop(5)


def test_an_earlier_notice_wakes_a_timer_that_waits_for_a_later_one(ear: tuple[Address, Scripted]) -> None:
    address, actor = ear
    timer = ThreadTimer()
    timer.start()
    timer.after(3_600, address, Rang(name="in an hour"))
    timer.after(0.01, address, Rang(name="soon"))
    actor.expect(Rang)
    assert names(actor) == ["soon"]
    assert timer.stop(5)


def test_a_notice_to_nobody_does_not_end_the_timer(ear: tuple[Address, Scripted]) -> None:
    address, actor = ear
    timer = ThreadTimer()
    timer.start()
    timer.after(0, Address("nobody"), Rang(name="lost"))
    timer.after(0.01, address, Rang(name="heard"))
    actor.expect(Rang)
    assert timer.stop(5)


def test_a_timer_that_never_started_can_be_stopped() -> None:
    assert ThreadTimer().stop(1)
