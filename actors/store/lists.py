"""Lists: pages of whole items, newest first, each filter driven by the index that already has the order."""

from typing import Any, Final

import apsw

from actors.store.connections import first_row
from actors.store.names import Names
from actors.store.rows import CONTENT_COLUMNS, ITEM_COLUMNS, carray, records_of
from remindi.answers import ListPage
from remindi.items import ACTIVE_STATES
from remindi.links import LinkType
from remindi.requests import ListPosition, ListQuery

_ACTIVE: Final = "completed_at IS NULL AND cancelled_at IS NULL"
_AFTER: Final = "item.created_at <= :created_at AND (item.created_at < :created_at OR item.key > :key)"


def list_page(connection: apsw.Connection, owner: int, query: ListQuery, names: Names) -> ListPage:
    """One page of a list; within the caller's transaction (contract 5.2)."""
    bindings = _bindings(owner, query, names)
    if bindings is None:
        return ListPage((), None)
    source, clauses = _source(query)
    if query.after is None:
        bindings["newest"] = first_row(connection, "SELECT ifnull(max(key), 0) FROM item")[0]
    else:
        bindings["newest"] = query.after.newest_key
        clauses.append(_after(source))
    sql = (
        f"SELECT {ITEM_COLUMNS}, {CONTENT_COLUMNS} FROM {source} CROSS JOIN body ON body.key = item.key"
        f" WHERE {' AND '.join(clauses)} AND item.key <= :newest ORDER BY {_order(source)} LIMIT :limit"
    )
    rows = list(connection.execute(sql, bindings))
    records = records_of(connection, rows[: query.limit], names)
    position = None
    if len(rows) > query.limit:
        last = records[-1].item
        position = ListPosition(bindings["newest"], last.created_at, last.key)
    return ListPage(records, position)


def _source(query: ListQuery) -> tuple[str, list[str]]:
    """The table expression that drives the page in its order, and the conditions on top of it."""
    clauses = ["item.owner = :owner"]
    active = bool(query.states) and set(query.states) <= set(ACTIVE_STATES)
    if query.remindi_id is not None:
        source = "item"
        clauses.append("item.id = :id")
    elif query.linked_goal_id is not None or query.linked_memory_hash is not None:
        index = "link_value" if query.project_id is None else "link_project"
        source = f"link INDEXED BY {index} CROSS JOIN item ON item.key = link.item"
        # NOTE: SQLite uses a partial index only where its own condition stands word for word.
        kind, value = _driving_link(query)
        clauses += [f"link.type = {kind:d}", "link.type IN (0, 1)", f"link.value = :{value}"]
        if query.project_id is not None:
            clauses.append("link.project = :project")
    elif query.task_id is not None:
        source = "item INDEXED BY item_task"
    elif query.project_id is not None:
        source = f"item INDEXED BY {'item_project_active' if active else 'item_project'}"
    else:
        source = f"item INDEXED BY {'item_active' if active else 'item_all'}"
    if source.endswith("active"):
        clauses.append(_ACTIVE)
    if query.project_id is not None:
        clauses.append("item.project = :project")
    if query.task_id is not None:
        clauses.append("item.task = :task")
    if query.states:
        clauses.append("item.state IN (SELECT value FROM carray(:states))")
    if query.trigger_types:
        clauses.append("item.trigger_type IN (SELECT value FROM carray(:trigger_types))")
    for kind, value, wanted in (
        (LinkType.GOAL, "goal", query.linked_goal_id),
        (LinkType.MEMORY, "memory", query.linked_memory_hash),
    ):
        if wanted is not None:
            clauses.append(
                "EXISTS (SELECT 1 FROM link AS other WHERE other.item = item.key"
                f" AND other.type = {kind:d} AND other.value = :{value})"
            )
    return source, clauses


def _driving_link(query: ListQuery) -> tuple[LinkType, str]:
    return (LinkType.GOAL, "goal") if query.linked_goal_id is not None else (LinkType.MEMORY, "memory")


def _after(source: str) -> str:
    if source.startswith("link"):
        return _AFTER.replace("item.created_at", "link.created_at").replace("item.key", "link.item")
    return _AFTER


def _order(source: str) -> str:
    return (
        "link.created_at DESC, link.item" if source.startswith("link") else "item.created_at DESC, item.key"
    )


def _bindings(owner: int, query: ListQuery, names: Names) -> dict[str, Any] | None:
    """Bindings of every clause; None when a name that is asked for was never used."""
    bindings: dict[str, Any] = {
        "owner": owner,
        "id": query.remindi_id,
        "goal": query.linked_goal_id,
        "memory": query.linked_memory_hash,
        "limit": query.limit + 1,
    }
    for field, text in (("project", query.project_id), ("task", query.task_id)):
        if text is not None:
            bindings[field] = names.find(text)
            if bindings[field] is None:
                return None
    if query.states:
        bindings["states"] = carray(query.states)
    if query.trigger_types:
        bindings["trigger_types"] = carray(query.trigger_types)
    if query.after is not None:
        bindings["created_at"], bindings["key"] = query.after.created_at, query.after.key
    return bindings
