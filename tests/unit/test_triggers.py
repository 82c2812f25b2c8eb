"""Triggers: when they fire, and that they read back from storage (contract 2.5, 4.1)."""

from hypothesis import given

from remindi.triggers import (
    TIME_TRIGGERS,
    TRIGGER_WORDS,
    AfterElapsed,
    AtTime,
    Interval,
    Trigger,
    fire_time,
    trigger_from_json,
    trigger_json,
    trigger_type,
)
from tests.unit.records import triggers
from tests.unit.samples import NOW, TRIGGERS


@given(triggers)
def test_a_stored_trigger_reads_back(trigger: Trigger) -> None:
    found = trigger_from_json(trigger_type(trigger), trigger_json(trigger))
    assert found == trigger
    assert type(found) is type(trigger)


@given(triggers)
def test_only_time_triggers_have_a_fire_time(trigger: Trigger) -> None:
    assert (fire_time(trigger, NOW) is not None) == (trigger_type(trigger) in TIME_TRIGGERS)


def test_a_fire_time_is_named_or_counted_from_now() -> None:
    assert fire_time(AtTime(5), NOW) == 5
    assert fire_time(AfterElapsed(7), NOW) == NOW + 7_000
    assert fire_time(Interval(9, 60), NOW) == 9


def test_the_types_are_those_of_the_contract() -> None:
    assert tuple(TRIGGERS) == TRIGGER_WORDS
