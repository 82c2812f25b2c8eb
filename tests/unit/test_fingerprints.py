"""When two mutations are the same request, and when they are not (contract section 9)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi import tools
from tests.unit.limits import MUTATIONS
from tests.unit.reading import read
from tests.unit.samples import EVIDENCE, FEWEST, ITEM, MOST, TRIGGERS, Arguments, changed, without


def fingerprint(tool: str, arguments: Arguments) -> bytes:
    found: bytes = read(tool, arguments).idempotency.request_hash
    return found


def backwards(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: backwards(inner) for key, inner in reversed(value.items())}
    return value


CONDITION = changed(FEWEST[tools.ADD], "/trigger", TRIGGERS["condition"])
EQUAL: list[tuple[str, str, Arguments, Arguments]] = [
    (
        "outer spaces",
        tools.ADD,
        MOST[tools.ADD],
        {**MOST[tools.ADD], "project_id": " demo\u3000", "message": "\nLook at the canary. "},
    ),
    (
        "spelled-out defaults",
        tools.ADD,
        FEWEST[tools.ADD],
        {
            **FEWEST[tools.ADD],
            "priority": "normal",
            "links": [],
            "task_id": None,
            "instructions": None,
            "recurrence": None,
            "session_id": " ",
            "task_lineage_id": None,
        },
    ),
    (
        "the default policy",
        tools.ADD,
        changed(MOST[tools.ADD], "/recurrence", {"every_seconds": 900}),
        changed(
            MOST[tools.ADD],
            "/recurrence",
            {"every_seconds": 900, "missed_policy": "coalesce", "end_at": None, "max_occurrences": None},
        ),
    ),
    (
        "the default poll interval",
        tools.ADD,
        without(CONDITION, "/trigger/poll_interval_seconds"),
        changed(CONDITION, "/trigger/poll_interval_seconds", 30),
    ),
    (
        "another offset",
        tools.ADD,
        changed(MOST[tools.ADD], "/trigger", TRIGGERS["at_time"]),
        changed(MOST[tools.ADD], "/trigger", {"type": "at_time", "at": "2026-12-01 08:00:00.0004Z"}),
    ),
    (
        "order of parameters",
        tools.ADD,
        changed(CONDITION, "/trigger/parameters", {"a": {"x": 1, "y": 2}, "b": 2}),
        changed(CONDITION, "/trigger/parameters", {"b": 2, "a": {"y": 2, "x": 1}}),
    ),
    ("the grace of an add", tools.ADD, FEWEST[tools.ADD], {**FEWEST[tools.ADD], "overdue_after_seconds": 7}),
    ("another key", tools.ADD, FEWEST[tools.ADD], {**FEWEST[tools.ADD], "idempotency_key": "key-0002"}),
    (
        "another spelling of the id",
        tools.CANCEL,
        FEWEST[tools.CANCEL],
        {**FEWEST[tools.CANCEL], "remindi_id": "{" + ITEM.upper() + "}"},
    ),
    (
        "a hash with and without prefix",
        tools.COMPLETE,
        {**FEWEST[tools.COMPLETE], "evidence": {**EVIDENCE, "content_hash": "AB" * 32}},
        {**FEWEST[tools.COMPLETE], "evidence": {**EVIDENCE, "content_hash": "sha256:" + "ab" * 32}},
    ),
    (
        "nulls of evidence",
        tools.COMPLETE,
        FEWEST[tools.COMPLETE],
        {
            **FEWEST[tools.COMPLETE],
            "completion_note": None,
            "evidence": {**EVIDENCE, "content_hash": None, "metadata": None},
        },
    ),
    (
        "order of metadata",
        tools.COMPLETE,
        changed(MOST[tools.COMPLETE], "/evidence/metadata", {"a": 1, "b": 2}),
        changed(MOST[tools.COMPLETE], "/evidence/metadata", {"b": 2, "a": 1}),
    ),
    (
        "nulls that mean absent",
        tools.UPDATE,
        FEWEST[tools.UPDATE],
        {
            **FEWEST[tools.UPDATE],
            "message": None,
            "trigger": None,
            "links": None,
            "overdue_after_seconds": None,
            "occurrence_disposition": None,
        },
    ),
]
OF_ADD: Arguments = {
    "project_id": "Demo",
    "task_id": None,
    "message": "Look.",
    "instructions": "",
    "priority": "low",
    "trigger": TRIGGERS["at_time"],
    "recurrence": None,
    "session_id": None,
    "task_lineage_id": "x",
}
OF_EVIDENCE: Arguments = {
    "type": "artifact",
    "summary": "Other.",
    "reference_uri": None,
    "content_hash": None,
    "observed_at": "2026-11-30T00:50:00.001Z",
    "metadata": {},
}
OF_UPDATE: Arguments = {
    "message": None,
    "instructions": None,
    "priority": None,
    "trigger": None,
    "recurrence": None,
    "overdue_after_seconds": None,
    "links": [],
    "occurrence_disposition": "skipped",
    "reason": "No.",
}
DIFFERENT: list[tuple[str, str, str, Any]] = [
    *[("value", tools.ADD, f"/{field}", value) for field, value in OF_ADD.items()],
    ("order", tools.ADD, "/links", list(reversed(MOST[tools.ADD]["links"]))),
    ("inner spaces", tools.ADD, "/message", "Look  at the canary."),
    ("value", tools.ADD, "/recurrence/max_occurrences", 11),
    ("value", tools.CANCEL, "/expected_version", 4),
    ("value", tools.CANCEL, "/reason", "No."),
    ("value", tools.CANCEL, "/remindi_id", ITEM[:-1] + "b"),
    ("value", tools.SNOOZE, "/snooze_until", "2026-12-01T00:00:00.001Z"),
    ("value", tools.SNOOZE, "/reason", "No."),
    ("blank kept", tools.COMPLETE, "/completion_note", ""),
    *[("value", tools.COMPLETE, f"/evidence/{field}", value) for field, value in OF_EVIDENCE.items()],
    *[("value", tools.UPDATE, f"/{field}", value) for field, value in OF_UPDATE.items()],
]


@pytest.mark.parametrize(
    ("tool", "first", "second"), [row[1:] for row in EQUAL], ids=[row[0] for row in EQUAL]
)
def test_two_ways_to_say_the_same_are_one_request(tool: str, first: Arguments, second: Arguments) -> None:
    assert fingerprint(tool, first) == fingerprint(tool, second)


@pytest.mark.parametrize(("what", "tool", "field", "value"), DIFFERENT)
def test_a_field_that_differs_makes_another_request(what: str, tool: str, field: str, value: Any) -> None:
    del what
    assert fingerprint(tool, MOST[tool]) != fingerprint(tool, changed(MOST[tool], field, value))


@pytest.mark.parametrize("tool", MUTATIONS)
def test_order_of_keys_does_not_matter(tool: str) -> None:
    assert fingerprint(tool, MOST[tool]) == fingerprint(tool, backwards(MOST[tool]))


@pytest.mark.parametrize("field", ["instructions", "recurrence"])
def test_omitted_and_null_differ_on_update_where_null_clears(field: str) -> None:
    omitted = FEWEST[tools.UPDATE]
    assert fingerprint(tools.UPDATE, omitted) != fingerprint(tools.UPDATE, {**omitted, field: None})


def test_tools_that_take_the_same_fields_have_keys_of_their_own() -> None:
    assert {read(tool, MOST[tool]).idempotency.tool for tool in MUTATIONS} == set(MUTATIONS)


@given(st.lists(st.sampled_from(["a", "b", "ab", '"', ",", "]", "\\"]), min_size=2, max_size=2))
def test_text_cannot_run_from_one_field_into_the_next(texts: list[str]) -> None:
    first, second = texts
    one = {**FEWEST[tools.ADD], "project_id": first, "task_id": second}
    other = {**FEWEST[tools.ADD], "project_id": first + second, "task_id": None}
    assert fingerprint(tools.ADD, one) != fingerprint(tools.ADD, other)


def test_the_format_of_stored_hashes_has_not_changed() -> None:
    # A change here ends the replay of every key that is stored somewhere: see remindi/inputs/fingerprint.py.
    found = {tool: fingerprint(tool, MOST[tool]).hex()[:16] for tool in MUTATIONS}
    assert found == {
        tools.ADD: "cc2754dddd3086b6",
        tools.COMPLETE: "8bd445940875920a",
        tools.SNOOZE: "fdd6955928894a74",
        tools.UPDATE: "d46bf04ea0c8158c",
        tools.CANCEL: "54a27877d9b56800",
    }
