"""An item whose trigger was replaced fires by the new one and by nothing else (contract 2.7, 4.2)."""

from tests.fakes.script import Script


def test_next_session_after_next_continuation_looks_at_the_session(script: Script) -> None:
    name = script.add(trigger={"type": "next_continuation"}, session_id="s", task_lineage_id="l")
    script.change("remindi_update", name, trigger={"type": "next_session"})
    assert script.page(session_id="s") == ([], None)
    assert script.page(session_id="another") == ([name], None)


def test_next_continuation_after_next_session_looks_at_the_lineage(script: Script) -> None:
    name = script.add(trigger={"type": "next_session"}, session_id="s", task_lineage_id="l")
    script.change("remindi_update", name, trigger={"type": "next_continuation"})
    again = {"lifecycle_event": "continuation", "session_id": "another"}
    assert script.page(**again, task_lineage_id="s") == ([], None)
    assert script.page(**again, task_lineage_id="l") == ([name], None)
