"""Rows: how items, their content and links lie in their tables, and how they are read back."""

from array import array
from collections.abc import Iterable, Sequence
from typing import Any, Final

import apsw

from actors.store.names import Names
from remindi.items import ConditionStatus, Content, Item, ItemRecord, Priority, State
from remindi.links import Link, LinkType
from remindi.recurrence import recurrence_from_json
from remindi.triggers import TriggerType, trigger_from_json

Row = tuple[Any, ...]

ITEM_COLUMNS: Final = (
    "item.key, item.id, item.state, item.priority, item.trigger_type, item.next_fire_at,"
    " item.original_next_fire_at, item.next_evaluation_at, item.manual_check_at, item.poll_interval_seconds,"
    " item.due_since, item.snooze_until, item.snoozed_from_state, item.last_checked_at, item.completed_at,"
    " item.cancelled_at, item.created_at, item.updated_at, item.overdue_after_seconds, item.occurrence_no,"
    " item.snooze_count, item.version, item.event_count, item.last_condition_status,"
    " item.last_condition_detail"
)
"""Selected in the order of ``Item``'s fields."""
CONTENT_COLUMNS: Final = (
    "item.project, item.task, body.message, body.instructions, body.session_id, body.task_lineage_id,"
    " body.trigger_fields, body.recurrence_fields"
)
"""Selected after the item's columns, in the order of ``Content``'s fields."""
_ITEM_WIDTH: Final = len(Item._fields)
_STATES: Final = tuple(State)
_PRIORITIES: Final = tuple(Priority)
_TRIGGERS: Final = tuple(TriggerType)
_STATUSES: Final = tuple(ConditionStatus)
_LINK_TYPES: Final = tuple(LinkType)


def item_of(row: Sequence[Any]) -> Item:
    """An item from its columns."""
    values = list(row[:_ITEM_WIDTH])
    values[2] = _STATES[values[2]]
    values[3] = _PRIORITIES[values[3]]
    values[4] = _TRIGGERS[values[4]]
    if values[12] is not None:
        values[12] = _STATES[values[12]]
    if values[23] is not None:
        values[23] = _STATUSES[values[23]]
    return Item._make(values)


def content_of(row: Sequence[Any], kind: TriggerType, names: Names) -> Content:
    """Content from its columns."""
    project, task, message, instructions, session, lineage, trigger, recurrence = row
    return Content(
        names.text(project),
        names.text_or_none(task),
        message,
        instructions,
        session,
        lineage,
        trigger_from_json(kind, trigger),
        recurrence_from_json(recurrence),
    )


def records_of(connection: apsw.Connection, rows: Sequence[Row], names: Names) -> tuple[ItemRecord, ...]:
    """Whole items from rows of item and content columns, with their links."""
    links = links_of(connection, [row[0] for row in rows])
    records = []
    for row in rows:
        item = item_of(row)
        content = content_of(row[_ITEM_WIDTH:], item.trigger_type, names)
        records.append(ItemRecord(item, content, links.get(item.key, ())))
    return tuple(records)


def links_of(connection: apsw.Connection, keys: Sequence[int]) -> dict[int, tuple[Link, ...]]:
    """The links of items by row key, in stored order; items without links are missing."""
    if not keys:
        return {}  # NOTE: an empty carray is a ValueError.
    found: dict[int, list[Link]] = {}
    for item, kind, value in connection.execute(
        "SELECT link.item, link.type, link.value FROM carray(?) AS wanted"
        " CROSS JOIN link ON link.item = wanted.value ORDER BY link.item, link.position",
        (apsw.carray(array("q", keys)),),
    ):
        found.setdefault(item, []).append(Link(_LINK_TYPES[kind], value))
    return {item: tuple(links) for item, links in found.items()}


def carray(numbers: Iterable[int]) -> Any:
    """Bind integers as one array; at least one."""
    return apsw.carray(array("q", numbers))
