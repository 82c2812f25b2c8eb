"""The walk that every real client takes: list the tools, add, check, be refused, complete.

Each client reports what it saw in the same form; the assertions are here, once. The Node clients take the
same steps in `node/walk.mjs`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

Json = dict[str, Any]
Call = Callable[[str, Json], Awaitable[Json]]

TOOLS = [
    "remindi_add",
    "remindi_check",
    "remindi_complete",
    "remindi_snooze",
    "remindi_update",
    "remindi_list",
    "remindi_cancel",
    "remindi_history",
]

MESSAGE = "Read the interop report — über alles"


def add_arguments(project: str) -> Json:
    """Return an item that is due at once."""
    return {
        "project_id": project,
        "message": MESSAGE,
        "trigger": {"type": "at_time", "at": "2020-01-01T00:00:00Z"},
        "idempotency_key": f"{project}-add",
    }


def check_arguments(project: str) -> Json:
    """Return a check of the whole project."""
    return {"project_id": project, "lifecycle_event": "task_start"}


def complete_arguments(project: str, remindi_id: str, version: int) -> Json:
    """Return a completion with evidence."""
    return {
        "remindi_id": remindi_id,
        "expected_version": version,
        "idempotency_key": f"{project}-complete-{version}",
        "evidence": {
            "type": "test_result",
            "summary": "The interop suite called the tool",
            "reference_uri": "urn:remindi:interop",
            "observed_at": "2020-01-02T00:00:00Z",
        },
    }


async def walk(call: Call, project: str) -> Json:
    """Take the steps through `call`, which returns a tool's structured content, and report them."""
    added = await call("remindi_add", add_arguments(project))
    checked = await call("remindi_check", check_arguments(project))
    (item,) = checked["data"]["items"]
    stale = complete_arguments(project, item["remindi_id"], item["version"] + 7)
    exact = complete_arguments(project, item["remindi_id"], item["version"])
    return {
        "added": added,
        "checked": checked,
        "refused": await call("remindi_complete", stale),
        "completed": await call("remindi_complete", exact),
    }


def assert_walked(report: Json) -> None:
    """Assert what each client must have seen."""
    added, checked, completed = (report[step]["data"] for step in ("added", "checked", "completed"))
    (item,) = checked["items"]
    assert item["remindi_id"] == added["remindi"]["id"] == completed["remindi"]["id"]
    assert item["message"] == MESSAGE
    assert item["readiness"] in {"due", "overdue"}
    assert completed["remindi"]["state"] == "completed"
    assert completed["remindi"]["version"] == item["version"] + 1
    # The refusal reaches the client as an answer it can read, not as a broken connection or schema.
    assert report["refused"]["ok"] is False
    assert report["refused"]["error"]["code"] == "VERSION_CONFLICT"
