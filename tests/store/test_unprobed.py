"""Conditions that nobody could probe come up for a look by hand in time, and not before (contract 4.2)."""

from actors.messages.readers import ListDueConditions
from actors.messages.writer import ApplyProbes
from actors.probing import unprobed
from actors.store.evaluations import PROBES_AWAITED
from remindi.events import LifecycleEvent
from remindi.instants import stamp
from remindi.settings import ADAPTER_TIMEOUT_SECONDS, DEFAULTS
from tests.fakes.script import PAST, Script


def apply_unprobed(script: Script) -> int:
    as_of = script.core.clock.now()
    due = script.core.read(ListDueConditions(as_of=as_of, project_id=None, after=None, limit=10))
    applied = script.core.write(
        ApplyProbes(
            results=tuple(unprobed(target) for target in due),
            lifecycle_event=LifecycleEvent.CHECKPOINT,
            as_of=as_of,
        )
    )
    assert isinstance(applied, int)
    return applied


def add(script: Script, manual_check_at: str) -> str:
    condition = {
        "type": "condition",
        "adapter": "tcp_reachable",
        "parameters": {"target": "t"},
        "manual_check_at": manual_check_at,
    }
    return script.add(trigger=condition)


def test_a_reached_manual_check_fires_without_a_probe(script: Script) -> None:
    name = add(script, PAST)
    assert apply_unprobed(script) == 1
    item = script.item(name)
    assert (item["state"], item["last_condition_status"]) == ("due", None)


def test_a_condition_whose_manual_check_lies_ahead_is_left_alone(script: Script) -> None:
    name = add(script, "2900-01-01T00:00:00Z")
    assert apply_unprobed(script) == 0
    assert (script.item(name)["state"], script.item(name)["version"]) == ("scheduled", 1)


def test_a_pass_waits_for_the_probe_of_a_reached_manual_check_and_not_for_ever(script: Script) -> None:
    clock = script.core.clock
    name = add(script, stamp(clock.now() + 60_000))
    clock.advance(60 + PROBES_AWAITED * DEFAULTS[ADAPTER_TIMEOUT_SECONDS] - 1)
    script.pass_()
    assert script.item(name)["state"] == "scheduled"
    clock.advance(1)
    script.pass_()
    item = script.item(name)
    assert (item["state"], item["due_since"]) == ("due", stamp(clock.now()))
    events = script.core.data("remindi_history", remindi_id=name)["events"]
    assert [event["event_type"] for event in events] == ["created", "became_due"]
