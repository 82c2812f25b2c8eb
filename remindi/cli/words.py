"""Refusals in words: what is wrong with an adapter's file, by field and rule."""

import re
from typing import Any, Final

from remindi.adapters import ADAPTER_NAMES, FILE_EXISTS
from remindi.adapters.configuration import (
    ALIAS_PATTERN,
    MAX_CONTENT_TYPE_CHARACTERS,
    MAX_HOST_CHARACTERS,
    MAX_PORT,
    MAX_RESPONSE_BYTES,
    MAX_STATUS,
    MIN_STATUS,
)

Json = dict[str, Any]

_YES_OR_NO: Final = "true or false"
_PATH: Final = "an absolute path without '..' under one of the roots, also where symbolic links on it lead"
_RULES: Final = {
    "/enabled": _YES_OR_NO,
    "/expected_version": "the version that `remindi adapters show` gave, a whole number from 1 on",
    "/configuration": "an object, as `remindi adapters show` gives it",
    "/configuration/aliases": "an object that maps alias names to what they stand for",
    "/configuration/aliases/*": "an object, as the README shows it",
    "/configuration/aliases/*/url": "an https URL with a host and without user, password, '#' or white space",
    "/configuration/aliases/*/expected_statuses": "a list of different statuses, at least one",
    "/configuration/aliases/*/expected_statuses/*": f"a whole number from {MIN_STATUS} to {MAX_STATUS}",
    "/configuration/aliases/*/max_response_bytes": f"a whole number from 1 to {MAX_RESPONSE_BYTES}",
    "/configuration/aliases/*/expected_content_type": (
        f"null, or 1 to {MAX_CONTENT_TYPE_CHARACTERS} characters without control characters"
    ),
    "/configuration/aliases/*/allow_redirects": _YES_OR_NO,
    "/configuration/aliases/*/allow_private": _YES_OR_NO,
    "/configuration/aliases/*/host": (
        f"a host name or an address of 1 to {MAX_HOST_CHARACTERS} characters without control characters"
    ),
    "/configuration/aliases/*/port": f"a whole number from 1 to {MAX_PORT}",
    "/configuration/roots": "a list of absolute paths of directories that can be read",
    "/configuration/roots/*": "the absolute path of a directory that is there and that the service may enter",
}
"""What a field must be, by its pointer with a star for each name and number of the file's own."""
_ALIAS: Final = "an alias name has 1 to 128 letters, digits, dots, underscores and hyphens"
_ALIAS_NAME: Final = re.compile(ALIAS_PATTERN.removesuffix("$") + r"\Z")


def refusal_lines(adapter: str, error: Json, given: Any = None) -> list[str]:
    """What to tell of ``error`` of an envelope, a line each.

    Args:
        adapter: name as it was given.
        error: ``code``, ``message``, ``details``.
        given: the file's value, where there is one: its writer is told which entry of a list is meant.
    """
    match error["code"]:
        case "VALIDATION_ERROR":
            return [field_line(adapter, entry, given) for entry in error["details"]["errors"]]
        case "ADAPTER_NOT_FOUND":
            return [f"there is no adapter {printable(adapter)}; there are {', '.join(ADAPTER_NAMES)}"]
        case "VERSION_CONFLICT":
            version = error["details"]["current_version"]
            stale = f"{adapter} has changed since and is at version {version} now; nothing was set."
            return [f"{stale} Show it again, edit that, and set it."]
        case _:
            return [error["message"]]


def field_line(adapter: str, entry: Json, given: Any = None) -> str:
    """One entry of ``details.errors``: the field and its rule."""
    steps = [_unescaped(step) for step in entry["field"].split("/")[1:]]
    if not steps:
        return "the file must hold one JSON object with enabled and configuration"
    where = printable(_where(steps, given))
    rule = _rule(adapter, steps)
    match entry["reason"]:
        case "unknown_field":
            return f"{where}: is not known here; leave it out"
        case "required":
            return f"{where}: is missing; it must be {rule}"
        case "duplicate":
            return f"{where}: stands there twice"
        case _ if _is_alias(steps) and _ALIAS_NAME.match(steps[2]) is None:
            return f"{where}: {_ALIAS}"
        case _:
            return f"{where}: must be {rule}"


def printable(text: str) -> str:
    """Text of a file or a command line without what a terminal would obey."""
    return "".join(character if character.isprintable() else "?" for character in text)


def _where(steps: list[str], given: Any) -> str:
    """A field by its names; an entry of a list by its place, counted from 1, and its text."""
    place, where = given, ""
    for step in steps:
        if isinstance(place, list) and step.isdecimal() and int(step) < len(place):
            place = place[int(step)]
            where += f", entry {int(step) + 1}" + (f" ({place})" if isinstance(place, str) else "")
        else:
            place = place.get(step) if isinstance(place, dict) else None
            where += f".{step}"
    return where.removeprefix(".")


def _rule(adapter: str, steps: list[str]) -> str:
    if _is_alias(steps) and adapter == FILE_EXISTS:
        return _PATH
    if steps == ["configuration", "type"]:
        return f'"{adapter}"'
    kinds = [
        "*" if index == 2 or (index == 4 and steps[3] == "expected_statuses") else step
        for index, step in enumerate(steps)
    ]
    return _RULES.get("/" + "/".join(kinds), "as the README shows it")


def _is_alias(steps: list[str]) -> bool:
    return len(steps) == 3 and steps[:2] == ["configuration", "aliases"]


def _unescaped(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")
