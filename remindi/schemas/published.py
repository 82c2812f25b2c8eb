"""The eight tools as ``tools/list`` answers them (contract 1.8)."""

from typing import Any, Final, NamedTuple

from remindi import tools
from remindi.schemas.answers import output_schema
from remindi.schemas.arguments import input_schema
from remindi.schemas.texts import TOOL_TEXTS

_READ_ONLY: Final = (tools.LIST, tools.HISTORY)
_DESTRUCTIVE: Final = (tools.COMPLETE, tools.SNOOZE, tools.UPDATE, tools.CANCEL)
_OPEN_WORLD: Final = (tools.CHECK,)


class ToolSchema(NamedTuple):
    """One tool. The schemas are plain JSON objects; nobody changes them."""

    name: str
    title: str
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any]
    annotations: dict[str, bool]
    """The four hints, by their names on the wire."""


def _tool(name: str) -> ToolSchema:
    text = TOOL_TEXTS[name]
    annotations = {
        "readOnlyHint": name in _READ_ONLY,
        "destructiveHint": name in _DESTRUCTIVE,
        # A check, too: what it changes time would change anyway.
        "idempotentHint": True,
        "openWorldHint": name in _OPEN_WORLD,
    }
    return ToolSchema(
        name, text.title, text.description, input_schema(name), output_schema(name), annotations
    )


TOOLS: Final = tuple(_tool(name) for name in tools.TOOL_NAMES)
"""In the order of ``tools/list``."""
