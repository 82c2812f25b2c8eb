"""Sample arguments: for each tool the fewest, and the most, that a caller can send."""

from typing import Any, Final

from remindi import tools

NOW: Final = 1_796_000_000_000
"""2026-11-30T00:53:20Z."""
NOW_STAMP: Final = "2026-11-30T00:53:20.000Z"
ITEM: Final = "01937a5e-0000-7000-8000-0000000000aa"

Arguments = dict[str, Any]

_OF_ITEM: Final[Arguments] = {
    "remindi_id": ITEM,
    "expected_version": 3,
    "idempotency_key": "key-0001",
}
EVIDENCE: Final[Arguments] = {
    "type": "test_result",
    "summary": "All 212 tests pass on commit 4f2a.",
    "reference_uri": "https://ci.example.org/runs/42",
    "observed_at": "2026-11-30T00:50:00Z",
}
FEWEST: Final[dict[str, Arguments]] = {
    tools.ADD: {
        "idempotency_key": "key-0001",
        "project_id": "demo",
        "message": "Look at the canary.",
        "trigger": {"type": "next_session"},
    },
    tools.CHECK: {"project_id": "demo", "lifecycle_event": "checkpoint"},
    tools.COMPLETE: {**_OF_ITEM, "evidence": EVIDENCE},
    tools.SNOOZE: {**_OF_ITEM, "snooze_until": "2026-12-01T00:00:00Z", "reason": "Waiting for the build."},
    tools.UPDATE: {**_OF_ITEM, "reason": "It became urgent.", "priority": "high"},
    tools.LIST: {},
    tools.CANCEL: {**_OF_ITEM, "reason": "The feature was dropped."},
    tools.HISTORY: {"remindi_id": ITEM},
}
"""By tool name: only what is required."""
TRIGGERS: Final[dict[str, Arguments]] = {
    "at_time": {"type": "at_time", "at": "2026-12-01T09:00:00+01:00"},
    "after_elapsed": {"type": "after_elapsed", "after_seconds": 3_600},
    "interval": {"type": "interval", "first_at": "2026-12-01T09:00:00Z", "every_seconds": 900},
    "next_session": {"type": "next_session"},
    "next_continuation": {"type": "next_continuation"},
    "goal_active": {"type": "goal_active", "goal_id": "goal-7"},
    "condition": {
        "type": "condition",
        "adapter": "http_health",
        "parameters": {"target": "staging", "expected_status": 200},
        "poll_interval_seconds": 60,
        "manual_check_at": "2026-12-02T00:00:00Z",
    },
}
"""By type."""
RECURRENCE: Final[Arguments] = {
    "every_seconds": 900,
    "missed_policy": "catch_up",
    "max_occurrences": 10,
    "end_at": "2026-12-31T00:00:00Z",
}
LINKS: Final = [{"type": "goal", "value": "goal-7"}, {"type": "url", "value": "https://example.org/7"}]
MOST: Final[dict[str, Arguments]] = {
    tools.ADD: {
        **FEWEST[tools.ADD],
        "task_id": "task-1",
        "instructions": "1. Open the dashboard.\n2. Compare.",
        "priority": "critical",
        "trigger": TRIGGERS["interval"],
        "recurrence": RECURRENCE,
        "overdue_after_seconds": 60,
        "links": LINKS,
        "session_id": "session-1",
        "task_lineage_id": "lineage-1",
    },
    tools.CHECK: {
        **FEWEST[tools.CHECK],
        "task_id": "task-1",
        "session_id": "session-2",
        "task_lineage_id": "lineage-1",
        "active_goal_ids": ["goal-7", "goal-8"],
        "include_scheduled": True,
        "evaluate_conditions": False,
        "limit": 10,
        "cursor": "abc",
    },
    tools.COMPLETE: {
        **FEWEST[tools.COMPLETE],
        "evidence": {**EVIDENCE, "content_hash": "AB" * 32, "metadata": {"run": 42}},
        "completion_note": "Took an hour.",
    },
    tools.SNOOZE: FEWEST[tools.SNOOZE],
    tools.UPDATE: {
        **FEWEST[tools.UPDATE],
        "message": "Look at the canary and the graph.",
        "instructions": "Compare both.",
        "trigger": TRIGGERS["interval"],
        "recurrence": RECURRENCE,
        "overdue_after_seconds": 0,
        "links": LINKS,
        "occurrence_disposition": "acknowledged",
    },
    tools.LIST: {
        "project_id": "demo",
        "task_id": "task-1",
        "remindi_id": ITEM,
        "states": ["due", "overdue"],
        "trigger_types": ["interval"],
        "linked_goal_id": "goal-7",
        "linked_memory_hash": "sha256:00",
        "limit": 10,
        "cursor": "abc",
    },
    tools.CANCEL: FEWEST[tools.CANCEL],
    tools.HISTORY: {
        "remindi_id": ITEM,
        "after_sequence": 5,
        "event_types": ["created", "checked"],
        "limit": 10,
        "cursor": "abc",
    },
}
"""By tool name: every field at once, also where the pair would be refused later."""


def changed(arguments: Arguments, pointer: str, value: Any) -> Arguments:
    """Arguments with one value put at a JSON pointer of object keys; the original stays as it is."""
    head, _, rest = pointer.removeprefix("/").partition("/")
    return {**arguments, head: changed(arguments[head], f"/{rest}", value) if rest else value}


def without(arguments: Arguments, pointer: str) -> Arguments:
    """Arguments without the key at a JSON pointer."""
    head, _, rest = pointer.removeprefix("/").partition("/")
    if rest:
        return {**arguments, head: without(arguments[head], f"/{rest}")}
    return {key: value for key, value in arguments.items() if key != head}
