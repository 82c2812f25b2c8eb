"""Another owner's items do not exist, whatever is asked (contract 16)."""

from pathlib import Path
from typing import Any

import pytest

from actors.messages.readers import GetItem, GetWaiting, ListDueConditions
from remindi.errors import ErrorCode, Refusal
from remindi.identifiers import parse_uuid
from tests.fakes.core import Core
from tests.fakes.script import PAST, Script

EVIDENCE = {
    "type": "observation",
    "summary": "saw the job end with status 0",
    "reference_uri": "https://ci.example/1",
    "observed_at": PAST,
}
CONDITION = {
    "type": "condition",
    "adapter": "tcp_reachable",
    "parameters": {"target": "t"},
    "manual_check_at": PAST,
}


@pytest.fixture
def foreign(path: Path) -> str:
    """An item that another owner left in the same file, ready in every way."""
    with Core(path, owner="somebody else") as core:
        script = Script(core)
        script.add(trigger={"type": "next_session"}, links=[{"type": "goal", "value": "g"}])
        script.add(trigger=CONDITION)
        return script.add(
            task_id="t", links=[{"type": "goal", "value": "g"}, {"type": "memory", "value": "m"}]
        )


@pytest.mark.parametrize(
    ("tool", "body"),
    [
        ("remindi_cancel", {"reason": "r"}),
        ("remindi_snooze", {"reason": "r", "snooze_until": "2027-02-01T00:00:00Z"}),
        ("remindi_update", {"reason": "r", "message": "mine"}),
        ("remindi_complete", {"evidence": EVIDENCE}),
    ],
)
def test_changes_find_nothing(foreign: str, core: Core, tool: str, body: dict[str, Any]) -> None:
    target = {"remindi_id": foreign, "expected_version": 1, "idempotency_key": "a-key-of-mine"}
    assert core.tool(tool, target | body)["error"]["code"] == "NOT_FOUND"


def test_questions_find_nothing(foreign: str, core: Core) -> None:
    assert core.tool("remindi_history", {"remindi_id": foreign})["error"]["code"] == "NOT_FOUND"
    answer = core.read(GetItem(remindi_id=parse_uuid(foreign)))
    assert isinstance(answer, Refusal)
    assert answer.code == ErrorCode.NOT_FOUND
    filters: list[dict[str, Any]] = [
        {},
        {"project_id": "p"},
        {"project_id": "p", "states": ["scheduled"]},
        {"task_id": "t"},
        {"remindi_id": foreign},
        {"states": ["scheduled"]},
        {"linked_goal_id": "g"},
        {"linked_goal_id": "g", "project_id": "p"},
        {"linked_memory_hash": "m"},
    ]
    for query in filters:
        assert core.data("remindi_list", **query)["items"] == [], query


def test_checks_and_passes_leave_them_alone(foreign: str, core: Core, script: Script) -> None:
    for event in ("task_start", "continuation"):
        data = core.data(
            "remindi_check",
            project_id="p",
            lifecycle_event=event,
            session_id="s",
            active_goal_ids=["g"],
            include_scheduled=True,
        )
        assert data["items"] == []
    now = core.clock.now()
    for project in (None, "p"):
        message = ListDueConditions(as_of=now, project_id=project, after=None, limit=9)
        assert core.read(message) == ()
    assert core.read(GetWaiting(as_of=now, limit=9)).backlog == 0
    script.pass_()
    core.stop()
    with Core(core.path, owner="somebody else") as theirs:
        [item] = theirs.data("remindi_list", remindi_id=foreign)["items"]
        assert (item["state"], item["version"]) == ("scheduled", 1)


def test_another_owner_has_keys_of_its_own_only_through_another_actor(foreign: str, core: Core) -> None:
    """The key belongs to the actor, whose id is made of owner and token; see remindi/callers.py."""
    assert foreign
    assert core.data("remindi_list")["items"] == []
