"""What log lines say of items: nothing by default; message and reason where the owner asked for it (17.4)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.service import Service, eventually

MESSAGE = "Verify the deployment " + "m" * 300
REASON = "The window was extended " + "r" * 300
HIDDEN = ("instructions-stay-private", "link-stays-private", "evidence-stays-private", "note-stays-private")


def live_through(service: Service) -> None:
    """Add, snooze and complete one item, with private text in every field that has room for it."""
    with service.connection(token=service.token) as connection:
        added = connection.call(
            "remindi_add",
            {
                "project_id": "p",
                "message": MESSAGE,
                "instructions": HIDDEN[0],
                "links": [{"type": "issue", "value": HIDDEN[1]}],
                "trigger": {"type": "at_time", "at": "2020-01-01T00:00:00Z"},
                "overdue_after_seconds": 31_536_000,
                "idempotency_key": "content-0001",
            },
        )["data"]["remindi"]
        connection.call("remindi_check", {"project_id": "p", "lifecycle_event": "checkpoint"})
        connection.call(
            "remindi_cancel",
            {
                "remindi_id": added["id"],
                "expected_version": current(connection, added["id"]),
                "reason": REASON,
                "idempotency_key": "content-0002",
            },
        )
        other = connection.call(
            "remindi_add",
            {
                "project_id": "p",
                "message": "other",
                "trigger": {"type": "next_session"},
                "idempotency_key": "content-0003",
            },
        )["data"]["remindi"]
        connection.call(
            "remindi_complete",
            {
                "remindi_id": other["id"],
                "expected_version": 1,
                "evidence": {
                    "type": "observation",
                    "summary": HIDDEN[2],
                    "reference_uri": "x:evidence-stays-private",
                    "observed_at": "2026-01-01T00:00:00Z",
                },
                "completion_note": HIDDEN[3],
                "idempotency_key": "content-0004",
            },
        )


def current(connection: Any, identifier: str) -> int:
    version: int = connection.call("remindi_list", {"remindi_id": identifier})["data"]["items"][0]["version"]
    return version


def item_lines(service: Service) -> list[dict[str, Any]]:
    return [line for line in service.log_lines() if line["message"] == "item event"]


def requests(service: Service) -> list[dict[str, Any]]:
    return [line for line in service.log_lines() if line["message"] == "request"]


def told(service: Service) -> bool:
    return any(line.get("event_type") == "completed" for line in item_lines(service))


def test_item_events_name_item_event_actor_and_request_and_no_content_by_default(tmp_path: Path) -> None:
    with Service(tmp_path) as service:
        live_through(service)
        eventually(lambda: told(service))
        lines = item_lines(service)
        assert {"created", "cancelled", "completed"} <= {line["event_type"] for line in lines}
        (cancelled,) = [line["request_id"] for line in lines if line.get("event_type") == "cancelled"]
        eventually(lambda: cancelled in {line.get("request_id") for line in requests(service)})
        written = json.dumps(service.log_lines())
    for private in (MESSAGE[:30], REASON[:30], "other", *HIDDEN):
        assert private not in written


def test_message_and_reason_are_told_cut_to_200_characters_where_content_is_asked_for(tmp_path: Path) -> None:
    with Service(tmp_path, env={"REMINDI_LOG_CONTENT": "true"}) as service:
        live_through(service)
        eventually(lambda: told(service))
        lines = {line["event_type"]: line for line in item_lines(service)}
        assert lines["cancelled"]["item_message"] == MESSAGE[:200]
        assert lines["cancelled"]["reason"] == REASON[:200]
        assert "reason" not in lines["created"]
        assert any("REMINDI_LOG_CONTENT" in line["message"] for line in service.log_lines())
        written = json.dumps(service.log_lines())
    for private in HIDDEN:
        assert private not in written


@pytest.mark.parametrize(
    ("level", "seen"), [("info", True), ("warn", False), ("info,remindi.items=off", False), ("off", False)]
)
def test_the_log_level_decides_about_item_events(tmp_path: Path, level: str, seen: bool) -> None:
    with Service(tmp_path, env={"REMINDI_LOG_LEVEL": level}) as service:
        live_through(service)
    assert bool(item_lines(service)) is seen
