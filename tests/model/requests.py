"""Requests that the machine sends: canonical ones, whose times are offsets until settled, and broken ones."""

import copy
from random import Random
from typing import Any, Final

from tests.model.contract import Json

CHANGES: Final = ("remindi_update", "remindi_snooze", "remindi_complete", "remindi_cancel")
OFFSETS: Final = [-90_000_000, -3_600_000, -60_000, -1, 0, 1, 1_000, 59_999, 60_000, 3_600_000, 100_000_000]
TIME_KEYS: Final = ("at", "first_at", "manual_check_at", "end_at", "snooze_until", "observed_at")
PRIORITIES: Final = ["low", "normal", "high", "critical"]
# Names overlap on purpose: a project may be called like a session, a goal or a task.
PROJECTS: Final = ["p", "p", "p", "q"]
TASKS: Final = [None, None, "t", "p"]
SESSIONS: Final = [None, "s", "p"]
LINEAGES: Final = [None, "l", "l", "s"]
GOALS: Final = ["g", "p", "G"]
SETTING_VALUES: Final[dict[str, list[int]]] = {
    "idempotency.retention_days": [0, 1, 2, 3_650, 3_651],
    "recurrence.max_catch_up_occurrences": [0, 1, 2, 10, 1_001],
    "remindi.default_overdue_seconds": [-1, 0, 60, 3_600],
    "remindi.max_snooze_seconds": [1, 60, 31_536_000],
    "scheduler.lease_seconds": [1, 60, 61, 86_400],
    "scheduler.poll_interval_seconds": [1, 30, 45, 3_600],
}

EVENT_FILTERS: Final[list[list[str]]] = [
    [],
    ["created"],
    ["became_due", "became_overdue"],
    ["snoozed", "updated", "checked"],
    ["completed"],
]
KINDS: Final = [
    "at_time",
    "after_elapsed",
    "interval",
    "next_session",
    "next_continuation",
    "goal_active",
    "condition",
]
STATES: Final = ["scheduled", "due", "overdue", "snoozed", "completed", "cancelled"]
TEXTS: Final = ["look at it", "\u03a9 \n second line", "x"]
GRACES: Final = [0, 0, 1, 60, 3_600]


def one_in(chance: Random, number: int) -> bool:
    """Whether one of so many chances came true."""
    return chance.randrange(number) == 0


def subset(chance: Random, values: list[str]) -> list[str]:
    """Up to three of the values."""
    return chance.sample(values, chance.randint(0, min(3, len(values))))


def links(chance: Random) -> list[Json]:
    """Up to three links."""
    pairs = [(kind, value) for kind in ("goal", "memory", "issue") for value in GOALS]
    return [{"type": kind, "value": value} for kind, value in chance.sample(pairs, chance.randint(0, 3))]


def recurrence(chance: Random) -> Json:
    """A recurrence that mostly fits the intervals made here."""
    return {
        "every_seconds": chance.choice([60, 60, 60, 60, 60, 900]),
        "missed_policy": chance.choice(["coalesce", "catch_up", "catch_up", "skip"]),
        "max_occurrences": chance.choice([None, None, None, None, 1, 3, 40]),
        "end_at": chance.choice([None, None, None, None, -3_600_000, 60_000, 3_600_000]),
    }


def trigger(chance: Random, kind: str | None = None) -> Json:
    """A trigger of any type, or of the one named."""
    kind = chance.choice(KINDS) if kind is None else kind
    made: Json = {"type": kind}
    match kind:
        case "at_time":
            made["at"] = chance.choice(OFFSETS)
        case "after_elapsed":
            made["after_seconds"] = chance.choice([1, 60, 3_600])
        case "interval":
            made |= {"first_at": chance.choice(OFFSETS), "every_seconds": chance.choice([60] * 5 + [900])}
        case "goal_active":
            made["goal_id"] = chance.choice(GOALS)
        case "condition":
            made |= _condition(chance)
    return made


def _condition(chance: Random) -> Json:
    manual = chance.choice([None, *OFFSETS])
    match chance.randrange(8):
        case 0:
            adapter, parameters = "tcp_reachable", {"target": "somewhere"}
        case 1:
            adapter, parameters = "no_such_adapter", {}
        case 2:
            adapter, parameters = "observation_window_ended", {}
        case _:
            adapter = "observation_window_ended"
            parameters = {"window_end": "2027-02-01T00:00:00.123456+01:00"}
    return {
        "adapter": adapter,
        "parameters": parameters,
        "poll_interval_seconds": chance.choice([None, 30, 3_600]),
        "manual_check_at": manual,
    }


def add(chance: Random) -> Json:
    """A ``remindi_add``; half of them are ready soon."""
    made = trigger(chance, "at_time" if one_in(chance, 3) else None)
    rule = None
    if (made["type"] == "interval" and not one_in(chance, 5)) or one_in(chance, 30):
        rule = recurrence(chance)
    pointers = links(chance)
    if made["type"] == "goal_active" and not one_in(chance, 6):
        pointers = [link for link in pointers if link["type"] != "goal"]
        pointers.append({"type": "goal", "value": made["goal_id"]})
    return {
        "project_id": chance.choice(PROJECTS),
        "task_id": chance.choice(TASKS),
        "message": chance.choice(TEXTS),
        "instructions": chance.choice([None, "", " as sent "]),
        "priority": chance.choice(PRIORITIES),
        "trigger": made,
        "recurrence": rule,
        "overdue_after_seconds": chance.choice([None, *GRACES]),
        "links": pointers,
        "session_id": chance.choice(SESSIONS),
        "task_lineage_id": chance.choice(LINEAGES),
    }


def check(chance: Random) -> Json:
    """A ``remindi_check`` without cursor."""
    query: Json = {
        "project_id": chance.choice(PROJECTS),
        "lifecycle_event": chance.choice(["task_start", "checkpoint", "continuation", "final_review"]),
        "limit": chance.choice([1, 1, 2, 3, 50]),
    }
    optional: Json = {
        "task_id": chance.choice(["t", "p", "never"]) if one_in(chance, 3) else None,
        "session_id": chance.choice(["s", "p", "another", None]),
        "task_lineage_id": chance.choice(["l", "s", None]),
        "active_goal_ids": subset(chance, [*GOALS, "unheard"]),
        "include_scheduled": chance.choice([False, True]),
    }
    return query | {name: value for name, value in optional.items() if not one_in(chance, 6)}


def listing(chance: Random, known: list[str]) -> Json:
    """Filters of a ``remindi_list``."""
    optional: Json = {
        "project_id": chance.choice([*PROJECTS, "never"]),
        "task_id": chance.choice(["t", "p", "never"]),
        "remindi_id": chance.choice([*known, "0190aaaa-bbbb-7ccc-addd-eeeeffff0001"]),
        "states": subset(chance, STATES),
        "trigger_types": subset(chance, KINDS),
        "linked_goal_id": chance.choice(GOALS),
        "linked_memory_hash": chance.choice(GOALS),
    }
    return {name: optional[name] for name in subset(chance, sorted(optional))}


def scope(chance: Random) -> Json:
    """Filters of a list that no change of an item moves."""
    optional: Json = {"project_id": chance.choice(PROJECTS), "task_id": chance.choice(["t", "p", "never"])}
    return {name: value for name, value in optional.items() if one_in(chance, 2)}


def change(chance: Random, tool: str) -> Json:
    """The body of a change of an item, without its target."""
    match tool:
        case "remindi_snooze":
            until = chance.choice([0, 1, 1_000, 1_000, 60_000, 60_001, 3_600_000, -1, 31_536_000_000])
            return {"reason": chance.choice(TEXTS), "snooze_until": until}
        case "remindi_cancel":
            return {"reason": chance.choice(TEXTS)}
        case "remindi_complete":
            note: Json = {"completion_note": chance.choice(["", "done by hand"])} if one_in(chance, 2) else {}
            return {"evidence": _evidence(chance)} | note
        case _:
            return {"reason": chance.choice(TEXTS)} | _update(chance)


def _update(chance: Random) -> Json:
    match chance.randrange(6):
        case 0:
            return {"priority": chance.choice(PRIORITIES)}
        case 1:
            return {"overdue_after_seconds": chance.choice(GRACES)}
        case 2:
            return {"trigger": trigger(chance), "recurrence": None}
        case 3:
            return {"trigger": trigger(chance, "interval"), "recurrence": recurrence(chance)}
        case 4:
            return {"occurrence_disposition": chance.choice(["acknowledged", "skipped"])}
        case _:
            optional: Json = {
                "message": chance.choice(TEXTS),
                "instructions": chance.choice([None, "", "new"]),
                "priority": chance.choice(PRIORITIES),
                "trigger": trigger(chance),
                "recurrence": chance.choice([None, recurrence(chance)]),
                "overdue_after_seconds": chance.choice(GRACES),
                "links": links(chance),
            }
            return {name: optional[name] for name in subset(chance, sorted(optional)) or ["message"]}


def _evidence(chance: Random) -> Json:
    return {
        "type": chance.choice(["observation", "test_result", "artifact"]),
        "summary": "saw the job end with status 0",
        "observed_at": chance.choice([-3_600_000, 0, 300_000]),
        "content_hash": chance.choice([None, "sha256:" + "0a" * 32]),
        "reference_uri": "https://ci.example/run/1",
        "metadata": chance.choice([None, {"at": [2027, 1, 1.5], "updated_at": {"x": None}}]),
    }


def settle(request: Json, now: int) -> Json:
    """The request with its offsets turned into instants."""

    def settled(name: str, value: Any) -> Any:
        if name in TIME_KEYS and isinstance(value, int):
            return now + value
        if name in ("trigger", "recurrence", "evidence") and value is not None:
            return {part: settled(part, inner) for part, inner in value.items()}
        return value

    return {name: settled(name, value) for name, value in copy.deepcopy(request).items()}


def may_move(tool: str, request: Json) -> bool:
    """Whether a change may move its item in the order of a check, or out of it."""
    placing = {"trigger", "occurrence_disposition", "priority", "overdue_after_seconds"}
    return tool != "remindi_update" or bool(placing & request.keys())


def broken(tool: str, raw: Json) -> list[tuple[Json, str]]:
    """Arguments that break one rule of steps 1 and 2, each with the reason that tells it."""
    cases = [
        (raw | {"owner_id": "me"}, "unknown_field"),
        (raw | {"idempotency_key": "short"}, "too_short"),
        ({name: value for name, value in raw.items() if name != "idempotency_key"}, "required"),
    ]
    if tool == "remindi_add":
        cases += [
            (raw | {"message": " \u2003\n"}, "blank"),
            (raw | {"priority": None}, "null_not_allowed"),
            (raw | {"links": [{"type": "url", "value": "u"}] * 2}, "duplicate"),
            (raw | {"overdue_after_seconds": True}, "type"),
            (raw | {"message": "bell \a"}, "control_character"),
        ]
        return cases
    cases += [
        (raw | {"expected_version": 0}, "too_small"),
        (raw | {"expected_version": 1.0}, "type"),
        (raw | {"remindi_id": "not-a-uuid"}, "format"),
    ]
    if tool == "remindi_complete":
        evidence = raw["evidence"]
        lone = {name: value for name, value in evidence.items() if name == "type" or "ed_" in name}
        cases += [
            (raw | {"evidence": evidence | {"summary": " It  WORKS!! "}}, "bare_claim"),
            (raw | {"evidence": lone | {"summary": "saw it with my own eyes"}}, "needs_reference"),
        ]
    else:
        cases.append((raw | {"reason": "  "}, "blank"))
    if tool == "remindi_update":
        kept = ("remindi_id", "expected_version", "idempotency_key", "reason")
        cases.append(({name: value for name, value in raw.items() if name in kept}, "empty_update"))
    return cases
