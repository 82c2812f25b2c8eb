"""Refusals of the tools in words: which option, and which rule.

Bounds and lists come from the published schema of the tool, so they are told as they are enforced.
"""

import json
from importlib.resources import files
from typing import Any, Final

from remindi.cli.display import escaped
from remindi.cli.durations import write_duration
from remindi.items import STATE_WORDS

Json = dict[str, Any]

OPTIONS: Final = {
    "/active_goal_ids": "--goal",
    "/completion_note": "--note",
    "/evidence": "the evidence",
    "/evidence/content_hash": "--hash",
    "/evidence/metadata": "--metadata",
    "/evidence/observed_at": "--observed",
    "/evidence/reference_uri": "--uri",
    "/evidence/summary": "--summary",
    "/evidence/type": "--evidence-type",
    "/expected_version": "--version",
    "/idempotency_key": "--key",
    "/instructions": "--instructions",
    "/linked_goal_id": "--linked-goal",
    "/linked_memory_hash": "--linked-memory",
    "/links": "--link",
    "/message": "the message",
    "/occurrence_disposition": "--acknowledge or --skip",
    "/overdue_after_seconds": "--grace",
    "/priority": "--priority",
    "/project_id": "--project",
    "/reason": "--reason",
    "/recurrence": "--every",
    "/recurrence/end_at": "--until",
    "/recurrence/every_seconds": "--every",
    "/recurrence/max_occurrences": "--times",
    "/recurrence/missed_policy": "--policy",
    "/remindi_id": "the id",
    "/session_id": "--session",
    "/snooze_until": "--until",
    "/states": "--state",
    "/task_id": "--task",
    "/task_lineage_id": "--lineage",
    "/trigger": "the trigger",
    "/trigger/adapter": "--condition",
    "/trigger/after_seconds": "--after",
    "/trigger/at": "--at",
    "/trigger/every_seconds": "--every",
    "/trigger/first_at": "--first",
    "/trigger/goal_id": "--goal",
    "/trigger/manual_check_at": "--manual-check",
    "/trigger/parameters": "--param",
    "/trigger/poll_interval_seconds": "--poll",
}
"""How a command line calls what a pointer of ``details.errors`` points at."""

_RULES: Final = {
    "bare_claim": "says only that it is done; say what was seen (the README lists what is not enough)",
    "blank": "must not be blank",
    "control_character": "must not hold control characters other than tab and line breaks",
    "credentials": "must not hold a user or a password",
    "duplicate": "stands there twice",
    "empty_update": "nothing is to be changed; name at least one thing, such as --message",
    "end_before_start": "must not lie before --first",
    "goal_link": "needs one link goal:G of the same goal and no other goal link; name all links with --link",
    "host_missing": "must name a host",
    "needs_reference": "needs --uri, --hash or --hash-of: where it can be looked up",
    "not_in_future": "must lie in the future",
    "pair_mismatch": "a repeating item needs --every; with another trigger give --no-recurrence too",
    "required": "is missing",
    "too_far_ahead": "lies farther ahead than the service allows",
    "unknown_alias": "the owner has configured no such alias; with --manual-check TIME it is taken even so",
    "unknown_field": "is not known to this service, which may be an older one",
}
"""By ``reason``; what is not here breaks a bound, a list or a form of the published schema."""
PARAMETERS: Final = {
    "file_exists": "path_alias=ALIAS",
    "http_health": "target=ALIAS and, if wanted, expected_status:=200 or another that the alias expects",
    "observation_window_ended": "window_end=TIMESTAMP, such as 2026-12-01T09:00:00Z",
    "tcp_reachable": "target=ALIAS",
}
"""What ``--param`` may say, by adapter."""
FORMS: Final = {
    r"^[A-Za-z0-9._:-]{8,128}$": "letters, digits, dots, underscores, colons and hyphens",
    r"^[A-Za-z][A-Za-z0-9+.\-]*:.+$": "a URI, such as https://ci.example.com/runs/1",
    r"^(?:sha256:)?[0-9a-fA-F]{64}$": "a SHA-256: 64 hexadecimal digits",
    r"^[a-z][a-z0-9_]{0,63}$": "the name of an adapter; `remindi adapters list` shows them",
}
"""The patterns of published schemas in words; an id has those of its own."""
_ENDED: Final = "ended items stay as they are"
_NOT_DUE: Final = {
    "remindi_snooze": "only due and overdue items can be snoozed; give it another time with `remindi update`",
    "remindi_update": "only a due or overdue item goes on to its next occurrence",
}
_NO_NEXT: Final = (
    "it has no next occurrence, as it does not repeat or this was the last;"
    " end it with `remindi complete` or `remindi cancel`"
)


def refusal_lines(tool: str, arguments: Json, error: Json, state: str | None = None) -> list[str]:
    """What to tell of ``error`` of an envelope, a line each.

    Args:
        tool: name of the tool that refused.
        arguments: what it was given.
        error: ``code``, ``message``, ``details``.
        state: of the item, where it is known.
    """
    details = error.get("details", {})
    match error["code"]:
        case "VALIDATION_ERROR":
            lines = [
                _field_line(tool, arguments, entry["field"], entry["reason"]) for entry in details["errors"]
            ]
            return list(dict.fromkeys(lines))
        case "NOT_FOUND":
            return ["There is no item of this id (of this owner)."]
        case "VERSION_CONFLICT":
            seen, now = arguments["expected_version"], details["current_version"]
            return [
                f"It has changed: it is at version {now} now, not at {seen}; nothing was done.",
                f"Look at it with `remindi show {arguments['remindi_id']}`, then decide anew.",
            ]
        case "INVALID_STATE":
            return [_state_line(tool, state)]
        case "IDEMPOTENCY_KEY_REUSED":
            return [
                "This --key stood for another request; take a new one for a new intention.",
                "A time that counts from now, such as +2h or no --observed, makes another request each time.",
            ]
        case "ADAPTER_NOT_FOUND":
            return ["There is no such adapter; `remindi adapters list` names them."]
        case "ADAPTER_DISABLED":
            how = "with --manual-check TIME the item is taken even so"
            return [f"The adapter is disabled. The owner enables it (`remindi adapters`); {how}."]
        case "DATABASE_BUSY":
            return ["The database is busy, so it may or may not have been done; look, then try again."]
        case _:
            return [escaped(str(error["message"]))]


def _state_line(tool: str, state: str | None) -> str:
    """Why an item's state does not allow it; the state may not be known."""
    if state in STATE_WORDS[4:]:
        why = _ENDED
    elif tool == "remindi_update" and state in ("due", "overdue"):
        why = _NO_NEXT
    else:
        why = _NOT_DUE.get(tool, _ENDED)
    return (
        f"It is {escaped(state)}: {why}." if state is not None else f"Its state does not allow that: {why}."
    )


def _field_line(tool: str, arguments: Json, pointer: str, reason: str) -> str:
    if reason == "parameters":
        return _parameter_line(arguments, pointer)
    where, schema = _found(tool, pointer)
    bounds = _duration_bounds(schema) if pointer.endswith("_seconds") else _bounds(schema)
    rule = _RULES.get(reason) or bounds or escaped(f"breaks a rule ({reason})")
    return f"{where}: {rule}" if where else rule


def _parameter_line(arguments: Json, pointer: str) -> str:
    """Which ``--param`` is wrong or missing, and which the adapter takes."""
    adapter = arguments.get("trigger", {}).get("adapter")
    takes = f"{adapter} takes {PARAMETERS[adapter]}" if adapter in PARAMETERS else "the adapter takes others"
    name = pointer.removeprefix("/trigger/parameters").removeprefix("/")
    return f"--param{f' {escaped(name)}' if name else ''}: {takes}"


def _found(tool: str, pointer: str) -> tuple[str, Json]:
    """How the nearest known place is called, and its published schema."""
    steps = pointer.split("/")[1:]
    name, schema = "", _published(tool)
    for index, step in enumerate(steps, start=1):
        inner = _plain(schema.get("items") or schema.get("properties", {}).get(step, {}))
        name = OPTIONS.get("/" + "/".join(steps[:index]), name)
        schema = inner
    return name or escaped(pointer), schema


def _published(tool: str) -> Json:
    text = files("schema").joinpath("tools", f"{tool}.json").read_text(encoding="utf-8")
    schema: Json = json.loads(text)["inputSchema"]
    return schema


def _plain(schema: Json) -> Json:
    """The schema of what is not null."""
    inner: Json = schema["anyOf"][0] if "anyOf" in schema else schema
    return inner


def _bounds(schema: Json) -> str:
    """What a published schema asks for, in words; empty when it says nothing."""
    if "enum" in schema:
        return f"must be one of {', '.join(schema['enum'])}"
    match schema.get("type"):
        case "integer":
            return f"must be a whole number{_between(schema.get('minimum'), schema.get('maximum'))}"
        case "array":
            return f"must be at most {schema['maxItems']}" if "maxItems" in schema else ""
        case "object":
            return "must be a JSON object, not too deeply nested"
        case "string" if schema.get("format") == "date-time":
            return "must be a time in the years 1 to 9999"
        case "string" if schema.get("pattern", "") in FORMS:
            return f"must be {FORMS[schema['pattern']]}{_length(schema, ', ')}"
        case "string" if "maxLength" in schema:
            return f"must be text{_length(schema, ' ')}"
        case "string" if "pattern" in schema:
            return "must be an id"
        case _:
            return ""


def _duration_bounds(schema: Json) -> str:
    return f"must be {write_duration(schema['minimum'])} to {write_duration(schema['maximum'])}"


def _length(schema: Json, before: str) -> str:
    """How long a text may be, where its schema says so."""
    if "maxLength" not in schema:
        return ""
    if "minLength" not in schema:
        return f"{before}at most {schema['maxLength']} characters long"
    return f"{before}from {schema['minLength']} to {schema['maxLength']} characters long"


def _between(minimum: int | None, maximum: int | None) -> str:
    if maximum is None:
        return "" if minimum is None else f" from {minimum} on"
    return f" from {minimum or 0} to {maximum}"
