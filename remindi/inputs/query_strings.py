"""Query strings of the REST routes, read by the rules of the tools (contract 2.1, 3.2, 11.8, 11.9).

A parameter comes at most once, numbers are decimal, lists are set apart by commas and an empty one means no
filter; what is wrong is told by the name of the parameter alone. Beside the package's face, because the audit
knows the adapters, whose models are made of this package's fields.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final

from pydantic import Field

from remindi.audit import AuditOrder, AuditOutcome, AuditQuery, AuditType
from remindi.errors import FieldError, Refusal, invalid
from remindi.inputs.failures import Arguments, Failure, duplicates, pointer, read
from remindi.inputs.fields import UNIQUE, Integer, Text, Word
from remindi.inputs.queries import (
    MAX_PAGE,
    ListArguments,
    Paged,
    list_filters_unique,
    list_query,
    read_history,
)
from remindi.requests import HistoryQuery, ListQuery, Sort

Parameters = Iterable[tuple[str, str]]
"""Names and values, decoded, in the order of the query string."""

MAX_TEXT_CHARACTERS: Final = 256
AUDIT_PAGE: Final = 100

_NUMBERS: Final = frozenset({"limit", "after_sequence", "before_sequence"})
_LISTS: Final = frozenset({"states", "trigger_types", "event_types", "event_type", "outcome"})
_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]{0,30})", re.ASCII)


class ListParameters(ListArguments):
    """``GET /remindi``: the filters of ``remindi_list``, words, and other orders."""

    q: Annotated[
        Annotated[str, Text(MAX_TEXT_CHARACTERS, trimmed=True)] | None,
        Field(
            description="Only items whose message or instructions hold all these words, whatever their case "
            "and accents; the last one may be the beginning of a word."
        ),
    ] = None
    sort: Annotated[
        Sort,
        Word(Sort),
        Field(
            description="created: newest first. fire_time: by next_fire_at, items without one last. "
            "priority: critical first, then as by fire_time. Among equals the older item comes first."
        ),
    ] = Sort.CREATED


class AuditParameters(Arguments):
    """``GET /admin-events``."""

    after_sequence: Annotated[
        int, Integer(0), Field(description="Only rows whose sequence is above this number.")
    ] = 0
    before_sequence: Annotated[
        Annotated[int, Integer(0)] | None, Field(description="Only rows whose sequence is below this number.")
    ] = None
    limit: Annotated[int, Integer(1, MAX_PAGE), Field(description="How many to return at most.")] = AUDIT_PAGE
    order: Annotated[AuditOrder, Field(description="asc: oldest first; desc: newest first.")] = "asc"
    event_type: Annotated[
        list[AuditType],
        Field(json_schema_extra=UNIQUE, description="Only rows of these types, set apart by commas."),
    ] = Field(default=[])
    outcome: Annotated[
        list[AuditOutcome],
        Field(
            json_schema_extra=UNIQUE, description="Only rows with one of these outcomes, set apart by commas."
        ),
    ] = Field(default=[])


def read_list_parameters(parameters: Parameters, now: int) -> Paged[ListQuery] | Refusal:
    """Read the query of ``GET /remindi``."""
    arguments = _arguments(parameters)
    if isinstance(arguments, Refusal):
        return arguments
    found = read(ListParameters, arguments, now, content=list_filters_unique)
    if isinstance(found, Refusal):
        return _by_name(found)
    return Paged(list_query(found)._replace(text=found.q, sort=found.sort), found.cursor)


def read_history_parameters(
    parameters: Parameters, now: int, remindi_id: bytes
) -> Paged[HistoryQuery] | Refusal:
    """Read the query of ``GET /remindi/{id}/history``."""
    arguments = _arguments(parameters)
    if isinstance(arguments, Refusal):
        return arguments
    found = read_history(arguments, now, remindi_id)
    return _by_name(found) if isinstance(found, Refusal) else found


def read_audit_parameters(parameters: Parameters, now: int) -> AuditQuery | Refusal:
    """Read the query of ``GET /admin-events``."""
    arguments = _arguments(parameters)
    if isinstance(arguments, Refusal):
        return arguments
    found = read(AuditParameters, arguments, now, content=_words_unique)
    if isinstance(found, Refusal):
        return _by_name(found)
    return AuditQuery(
        found.after_sequence,
        found.before_sequence,
        found.order,
        tuple(found.event_type),
        tuple(found.outcome),
        found.limit,
    )


def _arguments(parameters: Parameters) -> dict[str, Any] | Refusal:
    """Parameters as a tool's arguments would be; what can be none stays text, and is then refused."""
    arguments: dict[str, Any] = {}
    repeated: dict[str, Failure] = {}
    for name, text in parameters:
        if name in arguments:
            repeated[name] = (pointer((name,)), "duplicate")
        arguments[name] = _value(name, text)
    return invalid(*repeated.values()) if repeated else arguments


def _value(name: str, text: str) -> Any:
    if name in _LISTS:
        return text.split(",") if text else []
    if name in _NUMBERS and _DECIMAL.fullmatch(text) is not None:
        return int(text)
    return text


def _by_name(refusal: Refusal) -> Refusal:
    """Faults of a list's entries as faults of the parameter, each told once."""
    told = dict.fromkeys(FieldError("/" + field.split("/")[1], reason) for field, reason in refusal.errors)
    return refusal._replace(errors=tuple(told))


def _words_unique(arguments: Mapping[str, Any]) -> list[Failure]:
    return [
        failure
        for name in ("event_type", "outcome")
        for failure in duplicates(f"/{name}", arguments.get(name, ()))
    ]
