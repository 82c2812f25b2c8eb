"""Fields: the kinds of values in arguments, each with its rule and its published form (contract 2.2-2.4).

Each class is an annotation that alone decides what is read, whatever type it annotates. So
``Annotated[int | None, Integer(0, 9)] = None`` refuses null and is None only when absent, while
``Annotated[int, Integer(0, 9)] | None`` takes null. Failures are raised as ``PydanticCustomError`` whose type
``remindi.inputs.failures`` knows.
"""

import json
import re
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final, LiteralString

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from remindi.identifiers import UUID_PATTERN, parse_uuid
from remindi.instants import parse_instant
from remindi.items import words

MAX_NESTING: Final = 64
"""Levels of objects and arrays within a caller's own object, itself included."""
MAX_INTEGER: Final = 2**63 - 1
MAX_CURSOR_CHARACTERS: Final = 2_048
UNIQUE: Final[dict[str, Any]] = {"uniqueItems": True}
"""Published of arrays whose entries ``remindi.inputs.failures.duplicates`` compares."""

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")


def refuse(kind: LiteralString) -> PydanticCustomError:
    """The failure of one value: a reason of step 2, or a kind that ``remindi.inputs.failures`` maps."""
    return PydanticCustomError(kind, kind)


def checked_characters(text: str) -> None:
    """Refuse lone surrogates, and control characters other than tab, line feed and carriage return."""
    if _SURROGATE.search(text) is not None:
        raise refuse("shape_format")
    if _CONTROL.search(text) is not None:
        raise refuse("control_character")


class StringField:
    """A kind of value that is sent as a string: how it is read and how it is published."""

    __slots__ = ()

    def read(self, text: str) -> Any:
        """The value as it goes on; raises what ``refuse`` makes."""
        raise NotImplementedError

    def published(self) -> JsonSchemaValue:
        """Its JSON Schema."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take a string, then ``read`` it."""
        return core_schema.no_info_after_validator_function(self.read, core_schema.str_schema(strict=True))

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Publish ``published``."""
        return self.published()


@dataclass(frozen=True, slots=True)
class Text(StringField):
    """Text of at most ``maximum`` characters as sent (contract 2.2)."""

    maximum: int
    trimmed: bool = False
    """Whether Unicode white space is taken off both ends."""
    blank: bool = False
    """Whether blank text is taken."""

    def read(self, text: str) -> str:
        """The text as it is stored."""
        # PERF: most text is printable throughout, and asking that costs far less than two searches.
        if not text.isprintable():
            checked_characters(text)
        if len(text) > self.maximum:
            raise refuse("too_long")
        stripped = text.strip()
        if not stripped and not self.blank:
            raise refuse("blank")
        return stripped if self.trimmed else text

    def published(self) -> JsonSchemaValue:
        """Both bounds; what is not blank has a character at least."""
        return {"type": "string", "minLength": 0 if self.blank else 1, "maxLength": self.maximum}


@dataclass(frozen=True, slots=True)
class Context(StringField):
    """Trimmed text whose blank form counts as absent: ``session_id``, ``task_lineage_id`` (contract 2.2)."""

    maximum: int

    def read(self, text: str) -> str | None:
        """The text as it is stored; None when it is blank."""
        checked_characters(text)
        if len(text) > self.maximum:
            raise refuse("too_long")
        return text.strip() or None

    def published(self) -> JsonSchemaValue:
        """Both bounds."""
        return {"type": "string", "minLength": 0, "maxLength": self.maximum}


class Token(StringField):
    """ASCII text that a pattern describes whole, as sent; a fault is told as length or as ``format``."""

    __slots__ = ("_maximum", "_minimum", "_pattern", "_search")

    def __init__(self, pattern: str, *, minimum: int | None = None, maximum: int | None = None) -> None:
        """Take a pattern that is anchored by ``^`` and ``$``, and the bounds to tell apart, if any."""
        self._pattern = pattern
        self._minimum = minimum
        self._maximum = maximum
        # In Python, other than in JSON Schema, "$" also stands before a final line feed.
        self._search = re.compile(pattern.removesuffix("$") + r"\Z").search

    def read(self, text: str) -> str:
        """The text as sent."""
        if self._search(text) is not None:
            return text
        checked_characters(text)
        if self._minimum is not None and len(text) < self._minimum:
            raise refuse("too_short")
        if self._maximum is not None and len(text) > self._maximum:
            raise refuse("too_long")
        raise refuse("content_format")

    def published(self) -> JsonSchemaValue:
        """Pattern and bounds."""
        bounds = {"minLength": self._minimum, "maxLength": self._maximum}
        stated = {name: bound for name, bound in bounds.items() if bound is not None}
        return {"type": "string", "pattern": self._pattern, **stated}


class Cursor(StringField):
    """A cursor as sent; whether it is one of ours is seen when it is opened."""

    __slots__ = ()

    def read(self, text: str) -> str:
        """The text as sent."""
        checked_characters(text)
        if not text:
            raise refuse("too_short")
        if len(text) > MAX_CURSOR_CHARACTERS:
            raise refuse("too_long")
        return text

    def published(self) -> JsonSchemaValue:
        """Both bounds."""
        return {"type": "string", "minLength": 1, "maxLength": MAX_CURSOR_CHARACTERS}


class Uuid(StringField):
    """A UUID in any spelling of contract 2.3, read into its 16 bytes."""

    __slots__ = ()

    def read(self, text: str) -> bytes:
        """The 16 bytes."""
        try:
            return parse_uuid(text)
        except ValueError:
            raise refuse("shape_format") from None

    def published(self) -> JsonSchemaValue:
        """Every spelling; no ``format``, which some clients do not know."""
        return {"type": "string", "pattern": UUID_PATTERN}


class Instant(StringField):
    """A timestamp of contract 2.4, read into milliseconds."""

    __slots__ = ()

    def read(self, text: str) -> int:
        """The instant."""
        try:
            return parse_instant(text)
        except ValueError:
            raise refuse("shape_format") from None

    def published(self) -> JsonSchemaValue:
        """The one format that all clients take."""
        return {"type": "string", "format": "date-time"}


@dataclass(frozen=True, slots=True)
class Integer:
    """A JSON integer between two bounds, both included; no boolean and no ``1.0`` (contract 2.3)."""

    minimum: int
    maximum: int = MAX_INTEGER

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read an integer in the bounds."""
        return core_schema.int_schema(strict=True, ge=self.minimum, le=self.maximum)

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Publish the bounds that the contract states; not all clients can read the 64-bit one."""
        published: JsonSchemaValue = {"type": "integer", "minimum": self.minimum}
        if self.maximum != MAX_INTEGER:
            published["maximum"] = self.maximum
        return published


@dataclass(frozen=True, slots=True)
class Word:
    """One of the wire words of an enumeration, in lower case."""

    kind: type[IntEnum]

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read a word into its member."""
        members = dict(zip(words(self.kind), self.kind, strict=True))

        def read(word: Any) -> IntEnum:
            if type(word) is not str:
                raise refuse("shape_type")
            member = members.get(word)
            if member is None:
                raise refuse("enum")
            return member

        return core_schema.no_info_plain_validator_function(read)

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Publish the words."""
        return {"type": "string", "enum": list(words(self.kind))}


class OwnObject:
    """A JSON object that belongs to the caller, kept as JSON text value for value (contract 1.7)."""

    __slots__ = ()

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        """Read an object into its text."""
        return core_schema.no_info_plain_validator_function(object_text)

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Publish an open object; its inside is the caller's."""
        return {"type": "object"}


_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def object_text(value: Any) -> str:
    """A caller's object as JSON text; refuses what JSON cannot hold, and more than ``MAX_NESTING`` levels."""
    if type(value) is not dict:
        raise refuse("shape_type")
    try:
        text = _write(value)
    except (ValueError, TypeError, RecursionError):
        raise refuse("json") from None
    if not text.isprintable() and _SURROGATE.search(text) is not None:
        raise refuse("shape_format")
    # PERF: with fewer brackets than levels allowed there is nothing to walk.
    if text.count("{") + text.count("[") > MAX_NESTING and not _within(value, MAX_NESTING):
        raise refuse("json")
    return text


def _within(value: Any, levels: int) -> bool:
    if isinstance(value, dict):
        return levels > 0 and all(_within(inner, levels - 1) for inner in value.values())
    if isinstance(value, list):
        return levels > 0 and all(_within(inner, levels - 1) for inner in value)
    return True
