"""Refusals of the tools in words: every field has a name on the command line, every reason a rule."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from remindi.cli.refusals import refusal_lines
from remindi.errors import REASONS, ErrorCode
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


def told(tool: str, pointer: str, reason: str) -> str:
    (line,) = refusal_lines(
        tool,
        ARGUMENTS,
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
        ("remindi_list", "/cursor", "cursor", "/cursor: must be text from 1 to 2048 characters long"),
    ],
)
def test_bounds_are_those_of_the_published_schema(tool: str, pointer: str, reason: str, line: str) -> None:
    assert told(tool, pointer, reason) == line


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
