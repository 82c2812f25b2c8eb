"""Refusals of the tools in words: every field has a name on the command line, every reason a rule."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remindi.adapters import ADAPTER_NAMES, read_parameters
from remindi.cli.refusals import FORMS, PARAMETERS, refusal_lines
from remindi.errors import REASONS, ErrorCode, Refusal
from remindi.tools import TOOL_NAMES

ROOT = Path(__file__).parents[2]
ARGUMENTS = {"remindi_id": "an-id", "expected_version": 3}
ON_NO_COMMAND_LINE = {
    # The command line makes these itself, or has choices of its own.
    "/active_goal_ids",
    "/cursor",
    "/event_types",
    "/evaluate_conditions",
    "/after_sequence",
    "/include_scheduled",
    "/lifecycle_event",
    "/limit",
    "/trigger_types",
    "/trigger/type",
    "/states",
}


def fields(tool: str) -> Iterator[str]:
    """Every pointer that a published schema knows, two levels deep."""
    schema = json.loads((ROOT / "schema" / "tools" / f"{tool}.json").read_text())["inputSchema"]
    for name, inner in schema["properties"].items():
        yield f"/{name}"
        plain: Any = inner.get("anyOf", [inner])[0]
        yield from (f"/{name}/{below}" for below in plain.get("properties", {}))


def told(tool: str, pointer: str, reason: str, arguments: dict[str, Any] | None = None) -> str:
    (line,) = refusal_lines(
        tool,
        ARGUMENTS if arguments is None else arguments,
        {
            "code": "VALIDATION_ERROR",
            "message": "",
            "details": {"errors": [{"field": pointer, "reason": reason}]},
        },
    )
    return line


@pytest.mark.parametrize("tool", TOOL_NAMES)
def test_every_field_has_a_name_on_the_command_line(tool: str) -> None:
    for pointer in fields(tool):
        if pointer not in ON_NO_COMMAND_LINE:
            assert not told(tool, pointer, "blank").startswith("/"), pointer


@pytest.mark.parametrize("tool", TOOL_NAMES)
def test_every_reason_says_something_at_every_field(tool: str) -> None:
    for pointer in ("", *fields(tool), "/links/3/value", "/nothing/known"):
        for reason in REASONS:
            assert len(told(tool, pointer, reason)) > 9, (pointer, reason)


@pytest.mark.parametrize(
    ("tool", "pointer", "reason", "line"),
    [
        ("remindi_add", "/message", "too_long", "the message: must be text from 1 to 8192 characters long"),
        ("remindi_add", "/trigger/after_seconds", "too_large", "--after: must be 1s to 52w1d"),
        (
            "remindi_add",
            "/recurrence/max_occurrences",
            "too_large",
            "--times: must be a whole number from 1 to 1000000",
        ),
        ("remindi_add", "/priority", "enum", "--priority: must be one of low, normal, high, critical"),
        ("remindi_add", "/links", "too_many", "--link: must be at most 100"),
        ("remindi_add", "/links/1", "duplicate", "--link: stands there twice"),
        (
            "remindi_complete",
            "/evidence/observed_at",
            "format",
            "--observed: must be a time in the years 1 to 9999",
        ),
        (
            "remindi_add",
            "/idempotency_key",
            "format",
            (
                "--key: must be letters, digits, dots, underscores, colons and hyphens,"
                " from 8 to 128 characters long"
            ),
        ),
        (
            "remindi_complete",
            "/evidence/reference_uri",
            "format",
            "--uri: must be a URI, such as https://ci.example.com/runs/1, at most 4096 characters long",
        ),
        ("remindi_list", "/cursor", "cursor", "/cursor: must be text from 1 to 2048 characters long"),
    ],
)
def test_bounds_are_those_of_the_published_schema(tool: str, pointer: str, reason: str, line: str) -> None:
    assert told(tool, pointer, reason) == line


def patterns(schema: Any) -> Iterator[str]:
    """Every pattern that stands in a schema."""
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        schema = list(schema.values())
    if isinstance(schema, list):
        for inner in schema:
            yield from patterns(inner)


@pytest.mark.parametrize("tool", TOOL_NAMES)
def test_every_published_pattern_has_words_and_no_line_shows_one(tool: str) -> None:
    schema = json.loads((ROOT / "schema" / "tools" / f"{tool}.json").read_text())["inputSchema"]
    assert {pattern for pattern in patterns(schema) if "uU" not in pattern} <= FORMS.keys()
    for pointer in fields(tool):
        assert not set(told(tool, pointer, "format")) & set("^$[]\\"), pointer


@pytest.mark.parametrize("adapter", ADAPTER_NAMES)
def test_wrong_parameters_name_the_adapter_and_each_key_it_takes(adapter: str) -> None:
    refused = read_parameters(adapter, "{}")
    assert isinstance(refused, Refusal)
    (missing,) = refused.errors
    arguments = {"trigger": {"adapter": adapter}}
    line = told("remindi_add", missing.field, missing.reason, arguments)
    key = missing.field.rpartition("/")[2]
    assert line.startswith(f"--param {key}: {adapter} takes {key}=")
    unknown = told("remindi_add", "/trigger/parameters/\x1b", "parameters", arguments)
    assert unknown.startswith(rf"--param \x1b: {adapter} takes ")
    assert PARAMETERS.keys() == set(ADAPTER_NAMES)


def test_the_same_line_is_told_once() -> None:
    errors = [
        {"field": "/trigger/every_seconds", "reason": "too_small"},
        {"field": "/recurrence/every_seconds", "reason": "too_small"},
    ]
    error = {"code": "VALIDATION_ERROR", "message": "", "details": {"errors": errors}}
    assert refusal_lines("remindi_add", {}, error) == ["--every: must be 1m to 52w1d"]


@pytest.mark.parametrize(
    ("tool", "state", "line"),
    [
        ("remindi_update", "scheduled", "It is scheduled: only a due or overdue item goes on to its next"),
        ("remindi_update", "overdue", "It is overdue: it has no next occurrence, as it does not repeat"),
        ("remindi_update", "completed", "It is completed: ended items stay as they are."),
        ("remindi_snooze", "scheduled", "It is scheduled: only due and overdue items can be snoozed"),
        ("remindi_snooze", "cancelled", "It is cancelled: ended items stay as they are."),
        ("remindi_cancel", None, "Its state does not allow that: ended items stay as they are."),
    ],
)
def test_a_state_that_does_not_allow_it_is_told_with_what_it_allows(
    tool: str, state: str | None, line: str
) -> None:
    error = {"code": "INVALID_STATE", "message": ""}
    (said,) = refusal_lines(tool, ARGUMENTS, error, state)
    assert said.startswith(line)


@pytest.mark.parametrize("code", list(ErrorCode))
@pytest.mark.parametrize("tool", TOOL_NAMES)
def test_every_code_has_words(code: ErrorCode, tool: str) -> None:
    details = {"errors": [{"field": "", "reason": "json"}], "current_version": 4}
    error = {"code": code.value, "message": code.message, "details": details}
    lines = refusal_lines(tool, ARGUMENTS, error, "due")
    assert lines
    assert all(lines)


def test_a_conflict_says_what_is_now_and_how_to_look() -> None:
    error = {"code": "VERSION_CONFLICT", "message": "", "details": {"current_version": 5}}
    assert refusal_lines("remindi_cancel", ARGUMENTS, error) == [
        "It has changed: it is at version 5 now, not at 3; nothing was done.",
        "Look at it with `remindi show an-id`, then decide anew.",
    ]


def test_a_service_that_says_something_else_is_shown_without_control_characters() -> None:
    assert refusal_lines("remindi_add", {}, {"code": "NEW", "message": "\x1b[2J"}) == [r"\x1b[2J"]
