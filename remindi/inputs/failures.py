"""Failures: from what a model found wrong to the entries of ``details.errors`` (contract 3.2, 3.3).

Step 1 (shape) is reported alone; only arguments of the right shape are told what else is wrong with them.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from remindi.errors import MAX_FIELD_ERRORS, REASONS, Reason, Refusal, invalid

Failure = tuple[str, Reason]
"""JSON pointer and reason."""
Rule = Callable[[Mapping[str, Any]], Iterable[Failure]]
"""What no field alone can tell, looked up in arguments as they were sent."""


class Arguments(BaseModel):
    """Base of all models of arguments: closed, strict, immutable."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _few_unknown_keys(cls, given: Any) -> Any:
        """Drop unknown keys that would not be reported anyway."""
        # APPSEC: a body of 100,000 unknown keys would otherwise cost half a second of failures.
        fields = cls.__pydantic_fields__
        if type(given) is not dict or len(given) <= len(fields) + MAX_FIELD_ERRORS:
            return given
        unknown = [name for name in given if name not in fields][:MAX_FIELD_ERRORS]
        return {name: given[name] for name in [*fields, *unknown] if name in given}


NOTHING_KNOWN: Final[Mapping[str, Any]] = MappingProxyType({})
Model = TypeVar("Model", bound=Arguments)

_TYPES: Final = frozenset(
    {
        "string_type",
        "int_type",
        "bool_type",
        "list_type",
        "dict_type",
        "model_type",
        "model_attributes_type",
        "shape_type",
    }
)
_SHAPE: Final[dict[str, Reason]] = {
    **dict.fromkeys(_TYPES, "type"),
    "missing": "required",
    "extra_forbidden": "unknown_field",
    "enum": "enum",
    "literal_error": "enum",
    "string_unicode": "format",
    "shape_format": "format",
}
"""Kinds of failures of step 1, by pydantic's or our own name."""
_CONTENT: Final[dict[str, Reason]] = {
    "greater_than_equal": "too_small",
    "less_than_equal": "too_large",
    "content_format": "format",
}
"""Kinds of failures of step 2 whose name is not the reason itself."""
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def read(
    model: type[Model],
    arguments: Mapping[str, Any],
    now: int,
    *,
    at: str = "",
    known: Mapping[str, Any] = NOTHING_KNOWN,
    shape: Rule | None = None,
    content: Rule | None = None,
) -> Model | Refusal:
    """Read arguments into a model, or say by contract 3.3 what is wrong with them.

    Args:
        model: what the arguments have to fit.
        arguments: a decoded JSON object.
        now: the present instant; the rules of evidence and snoozing are relative to it.
        at: JSON pointer of ``arguments`` within what the caller sent.
        known: fields that the door has from elsewhere (a path) and that the arguments must not name.
        shape: a rule of step 1 on the whole; looked up only when every field has the right shape.
        content: a rule of step 2 on the whole; looked up only when the shape is right.
    """
    given = {**arguments, **known}
    misshapen: list[Failure] = [(f"{at}/{name}", "unknown_field") for name in known if name in arguments]
    failures: list[Failure] = []
    try:
        values = model.__pydantic_validator__.validate_python(given, context=now)
    except ValidationError as error:
        _sort_out(error, at, misshapen, failures)
        values = None
    if not misshapen and shape is not None:
        misshapen.extend(shape(given))
    if misshapen:
        return invalid(*misshapen)
    # The entries of an array that is too long were not looked at, so their shape is unknown.
    if content is not None and not any(reason == "too_many" for _, reason in failures):
        failures.extend(content(given))
    return invalid(*failures) if failures else values


def _sort_out(error: ValidationError, at: str, shape: list[Failure], content: list[Failure]) -> None:
    for found in error.errors(include_url=False, include_context=False):
        kind, value = found["type"], found["input"]
        field = at + pointer(_plain(found["loc"]))
        if kind in ("union_tag_invalid", "union_tag_not_found"):
            shape.append((f"{field}/type", _of_tag(value)))
        elif kind in _SHAPE:
            shape.append((field, _of_shape(kind, value)))
        elif kind == "too_long" and isinstance(value, list):
            content.append((field, "too_many"))
        else:
            content.append((field, _CONTENT.get(kind) or _own(kind)))


def _of_shape(kind: str, value: Any) -> Reason:
    if kind in _TYPES or kind == "literal_error":
        if value is None:
            return "null_not_allowed"
        if not isinstance(value, str):
            return "type"
    return _SHAPE[kind]


def _of_tag(value: Mapping[str, Any]) -> Reason:
    """What is wrong with the ``type`` of a trigger, if it is none of the seven."""
    if "type" not in value:
        return "required"
    return _of_shape("literal_error", value["type"])


def _own(kind: str) -> Reason:
    for reason in REASONS:
        if reason == kind:
            return reason
    raise LookupError(f"no reason for failures of kind {kind}")


def _plain(place: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """A place without the steps that pydantic adds: the chosen trigger, and the mark of a key."""
    if len(place) > 1 and place[0] == "trigger":
        return (place[0], *place[2:])
    return place[:-1] if place and place[-1] == "[key]" else place


def pointer(place: Iterable[int | str]) -> str:
    """A JSON pointer (RFC 6901); what is no Unicode in a key becomes a question mark."""
    return "".join(
        "/" + _SURROGATE.sub("?", str(step)).replace("~", "~0").replace("/", "~1") for step in place
    )


def duplicates(field: str, values: Iterable[Any]) -> list[Failure]:
    """A failure for each value that came before, at its index under ``field``; no more than are reported."""
    seen: set[Any] = set()
    failures: list[Failure] = []
    for index, value in enumerate(values):
        if value in seen:
            failures.append((f"{field}/{index}", "duplicate"))
            if len(failures) == MAX_FIELD_ERRORS:
                break
        seen.add(value)
    return failures
