"""Ripe items: what time alone changes next, in the order of a scheduler pass (contract 8.1)."""

from typing import Any, Final

import apsw

from actors.messages.readers import DueCondition, ProbeTarget, Waiting
from actors.messages.writer import RipePosition
from actors.store.connections import first_row
from actors.store.names import Names
from actors.store.rows import ITEM_COLUMNS, item_of
from remindi.items import Item
from remindi.triggers import Condition, TriggerType, trigger_from_json

# A scheduled condition waits for its probe, whose result brings the manual check along; but not for ever.
_RIPE: Final = (
    f"SELECT {ITEM_COLUMNS}, item.wake FROM item INDEXED BY item_wake WHERE owner = ? AND wake <= ?"
    " AND (wake, key) > (?, ?) AND (state <> 1 OR last_checked_at IS NOT ?)"
    " AND NOT (trigger_type = 6 AND state = 0 AND ifnull(manual_check_at > ?, 1))"
    " ORDER BY wake, key LIMIT ?"
)
_BEFORE_ALL: Final = (-(1 << 62), -1)


def ripe_items(
    connection: apsw.Connection,
    owner: int,
    as_of: int,
    after: RipePosition | None,
    limit: int,
    patience_ms: int,
) -> list[tuple[Item, int]]:
    """Items whose own time is reached, with that time; those this pass has made due are left out.

    Conditions are among them ``patience_ms`` after their manual check was reached: no probe said anything.
    """
    start = _BEFORE_ALL if after is None else (after.wake, after.key)
    rows = connection.execute(_RIPE, (owner, as_of, *start, as_of, as_of - patience_ms, limit))
    return [(item_of(row), row[-1]) for row in rows]


def due_conditions(
    connection: apsw.Connection,
    owner: int,
    as_of: int,
    project_id: str | None,
    after: DueCondition | None,
    limit: int,
    names: Names,
) -> tuple[ProbeTarget, ...]:
    """Scheduled condition items whose probe is due, by the time they wake, then by key."""
    bindings: list[Any] = [owner]
    index, scope = "item_wake", ""
    if project_id is not None:
        project = names.find(project_id)
        if project is None:
            return ()
        bindings.append(project)
        index, scope = "item_project_wake", "AND project = ?"
    start = _BEFORE_ALL if after is None else after
    rows = connection.execute(
        "SELECT item.key, item.version, item.wake, body.trigger_fields"
        f" FROM item INDEXED BY {index} CROSS JOIN body ON body.key = item.key"
        f" WHERE owner = ? {scope} AND wake <= ? AND (wake, item.key) > (?, ?) AND trigger_type = 6"
        " AND state = 0 ORDER BY wake, item.key LIMIT ?",
        (*bindings, as_of, *start, limit),
    )
    targets = []
    for key, version, wake, fields in rows:
        condition = trigger_from_json(TriggerType.CONDITION, fields)
        assert isinstance(condition, Condition)
        targets.append(ProbeTarget(key, version, condition, wake))
    return tuple(targets)


def waiting(connection: apsw.Connection, owner: int, as_of: int, limit: int) -> Waiting:
    """How many items a pass has left waiting, counted up to ``limit``, and since when the oldest does."""
    row = first_row(
        connection,
        "SELECT count(*), min(wake) FROM (SELECT wake FROM item INDEXED BY item_wake"
        " WHERE owner = ? AND wake <= ? AND (state <> 1 OR last_checked_at IS NOT ?) ORDER BY wake LIMIT ?)",
        (owner, as_of, as_of, limit),
    )
    return Waiting(row[0], row[1])
