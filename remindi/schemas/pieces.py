"""Pieces: JSON Schemas of which those of answers are made, in the form that all clients take."""

from collections.abc import Sequence
from typing import Any

from remindi.schemas.arguments import Schema


def closed_object(
    properties: Schema, *, description: str | None = None, optional: Sequence[str] = ()
) -> Schema:
    """An object with these properties and no other."""
    schema: Schema = {"type": "object"}
    if description is not None:
        schema["description"] = description
    return {
        **schema,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def string(description: str, **keywords: Any) -> Schema:
    """Text."""
    return {"type": "string", "description": description, **keywords}


def word(description: str, words: Sequence[str]) -> Schema:
    """One of some words."""
    return {"type": "string", "description": description, "enum": list(words)}


def timestamp(description: str) -> Schema:
    """A stamp of contract 1.7."""
    return {"type": "string", "description": description, "format": "date-time"}


def integer(description: str, minimum: int) -> Schema:
    """An integer from ``minimum`` on."""
    return {"type": "integer", "description": description, "minimum": minimum}


def boolean(description: str) -> Schema:
    """True or false."""
    return {"type": "boolean", "description": description}


def array(description: str, items: Schema, **keywords: Any) -> Schema:
    """An array."""
    return {"type": "array", "description": description, "items": items, **keywords}


def open_object(description: str) -> Schema:
    """An object of whatever its owner put in."""
    return {"type": "object", "description": description}


def nullable(schema: Schema) -> Schema:
    """That, or null."""
    return {"anyOf": [schema, {"type": "null"}]}
