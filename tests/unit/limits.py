"""Limits of contract 2.1, 2.5 and 2.6, copied from there by hand: field by field, tool by tool."""

from typing import Final, NamedTuple

from remindi import tools
from tests.unit.samples import MOST, TRIGGERS, Arguments, changed


class TextLimit(NamedTuple):
    """A text field; ``empty`` is the reason for which empty text is refused, None when it is taken."""

    tool: str
    field: str
    maximum: int
    empty: str | None


class IntegerLimit(NamedTuple):
    """An integer field; no maximum but that of 64 bits where it is None."""

    tool: str
    field: str
    minimum: int
    maximum: int | None


class ArrayLimit(NamedTuple):
    """An array field, whose entries are unique."""

    tool: str
    field: str
    maximum: int


YEAR: Final = 31_536_000
_ANY: Final = None

TEXTS: Final = (
    *[TextLimit(tool, "/project_id", 512, "blank") for tool in (tools.ADD, tools.CHECK, tools.LIST)],
    *[TextLimit(tool, "/task_id", 512, "blank") for tool in (tools.ADD, tools.CHECK, tools.LIST)],
    *[TextLimit(tool, "/session_id", 512, _ANY) for tool in (tools.ADD, tools.CHECK)],
    *[TextLimit(tool, "/task_lineage_id", 512, _ANY) for tool in (tools.ADD, tools.CHECK)],
    *[TextLimit(tool, "/message", 8_192, "blank") for tool in (tools.ADD, tools.UPDATE)],
    *[TextLimit(tool, "/instructions", 32_768, _ANY) for tool in (tools.ADD, tools.UPDATE)],
    *[TextLimit(tool, "/trigger/goal_id", 512, "blank") for tool in (tools.ADD, tools.UPDATE)],
    *[TextLimit(tool, "/reason", 4_096, "blank") for tool in (tools.SNOOZE, tools.UPDATE, tools.CANCEL)],
    TextLimit(tools.COMPLETE, "/completion_note", 4_096, _ANY),
    TextLimit(tools.COMPLETE, "/evidence/summary", 4_096, "blank"),
    TextLimit(tools.LIST, "/linked_goal_id", 2_048, "blank"),
    TextLimit(tools.LIST, "/linked_memory_hash", 2_048, "blank"),
    *[TextLimit(tool, "/cursor", 2_048, "too_short") for tool in (tools.CHECK, tools.LIST, tools.HISTORY)],
)
"""Fields whose form is free."""
INTEGERS: Final = (
    *[IntegerLimit(tool, "/overdue_after_seconds", 0, YEAR) for tool in (tools.ADD, tools.UPDATE)],
    *[IntegerLimit(tool, "/trigger/after_seconds", 1, YEAR) for tool in (tools.ADD, tools.UPDATE)],
    *[IntegerLimit(tool, "/trigger/every_seconds", 60, YEAR) for tool in (tools.ADD, tools.UPDATE)],
    *[IntegerLimit(tool, "/trigger/poll_interval_seconds", 30, 86_400) for tool in (tools.ADD, tools.UPDATE)],
    *[IntegerLimit(tool, "/recurrence/every_seconds", 60, YEAR) for tool in (tools.ADD, tools.UPDATE)],
    *[IntegerLimit(tool, "/recurrence/max_occurrences", 1, 1_000_000) for tool in (tools.ADD, tools.UPDATE)],
    *[
        IntegerLimit(tool, "/expected_version", 1, None)
        for tool in (tools.COMPLETE, tools.SNOOZE, tools.UPDATE, tools.CANCEL)
    ],
    *[IntegerLimit(tool, "/limit", 1, 200) for tool in (tools.CHECK, tools.LIST, tools.HISTORY)],
    IntegerLimit(tools.HISTORY, "/after_sequence", 0, None),
)
ARRAYS: Final = (
    *[ArrayLimit(tool, "/links", 100) for tool in (tools.ADD, tools.UPDATE)],
    ArrayLimit(tools.CHECK, "/active_goal_ids", 1_000),
    ArrayLimit(tools.LIST, "/states", 6),
    ArrayLimit(tools.LIST, "/trigger_types", 7),
    ArrayLimit(tools.HISTORY, "/event_types", 13),
)
MUTATIONS: Final = (tools.ADD, tools.COMPLETE, tools.SNOOZE, tools.UPDATE, tools.CANCEL)


def with_field(tool: str, field: str) -> Arguments:
    """Full arguments of a tool in which ``field`` may stand: of a trigger, one of the right type."""
    holder, _, name = field.removeprefix("/").partition("/")
    if holder != "trigger" or name in ("", "type"):
        return MOST[tool]
    return changed(MOST[tool], "/trigger", next(trigger for trigger in TRIGGERS.values() if name in trigger))
