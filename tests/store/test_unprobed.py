"""Conditions that nobody could probe come up for a look by hand in time, and not before (contract 4.2)."""

from actors.messages.readers import ListDueConditions
from actors.messages.writer import ApplyProbes
from actors.probing import unprobed
from remindi.events import LifecycleEvent
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
