"""Lists: pages of whole items, each filter driven by the index that already has the order.

What no index has in order is sorted by narrow columns before it is read whole: the few items that hold rare
words, and other orders than the contract's within a project, a task or a link, which are small beside all.
Frequent words drive nothing: the page is walked in its order, and who holds them is looked up in their set.
"""

from typing import Any, Final

import apsw

from actors.store import search
from actors.store.connections import first_row
from actors.store.names import Names
from actors.store.rows import CONTENT_COLUMNS, ITEM_COLUMNS, carray, records_of
from remindi.answers import ListPage
from remindi.items import ACTIVE_STATES, TERMINAL_STATES, Item, Priority, State
from remindi.links import LinkType
from remindi.requests import ListPosition, ListQuery, Sort

_ACTIVE: Final = "completed_at IS NULL AND cancelled_at IS NULL"
_NEWEST: Final = "item.key <= :newest"
_HOLD_WORDS: Final = "IN (SELECT rowid FROM search WHERE search MATCH :words)"
_AFTER: Final = "item.created_at <= :place AND (item.created_at < :place OR item.key > :key)"
_FIRE_OFFSET: Final = 1 << 47
_RANK: Final = 1 << 50
"""``upcoming``, the fire time in its order, lies below it: one integer holds rank and fire time."""
_PLACES: Final = {
    Sort.CREATED: "item.created_at",
    Sort.FIRE_TIME: "item.upcoming",
    Sort.PRIORITY: f"item.rank * {_RANK} + item.upcoming",
}


def list_page(connection: apsw.Connection, owner: int, query: ListQuery, names: Names) -> ListPage:
    """One page of a list; within the caller's transaction (contract 5.2)."""
    bindings = _bindings(connection, owner, query, names)
    if bindings is None:
        return ListPage((), None)
    rows = list(connection.execute(_statement(query, few="found" in bindings), bindings))
    records = records_of(connection, rows[: query.limit], names)
    position = None
    if len(rows) > query.limit:
        last = records[-1].item
        position = ListPosition(bindings["newest"], _place(query.sort, last), last.key)
    return ListPage(records, position)


def _statement(query: ListQuery, *, few: bool) -> str:
    """The cheapest way to the page; ``few``: all items that hold the words are known, and bound."""
    if few:
        found = "carray(:found) AS found CROSS JOIN item NOT INDEXED ON item.key = found.value"
        return _sorted(query, found, _filters(query))
    clauses = [*_filters(query), *([] if query.text is None else [f"item.key {_HOLD_WORDS}"])]
    if query.sort == Sort.CREATED:
        return _by_creation(query, clauses)
    narrowing = (
        query.remindi_id,
        query.linked_goal_id,
        query.linked_memory_hash,
        query.task_id,
        query.project_id,
    )
    if any(narrow is not None for narrow in narrowing):
        source, driven = _driver(query)
        return _sorted(query, source, [*driven, *clauses])
    return _walk(query)


def _by_creation(query: ListQuery, wanted: list[str]) -> str:
    """The contract's order, which every driving index has."""
    source, driven = _driver(query)
    clauses = [*driven, *wanted]
    created_at, key = "item.created_at", "item.key"
    if source.startswith("link"):
        created_at, key = "link.created_at", "link.item"
    if query.after is not None:
        clauses.append(_AFTER.replace("item.created_at", created_at).replace("item.key", key))
    return (
        f"SELECT {ITEM_COLUMNS}, {CONTENT_COLUMNS} FROM {source} CROSS JOIN body ON body.key = item.key"
        f" WHERE {' AND '.join([*clauses, _NEWEST])} ORDER BY {created_at} DESC, {key} LIMIT :limit"
    )


def _walk(query: ListQuery) -> str:
    """Another order of all items: ranges of the one index for both, merged as they are read."""
    ended = [flag for flag, states in enumerate((ACTIVE_STATES, TERMINAL_STATES)) if _wants(query, states)]
    if query.sort == Sort.PRIORITY:
        ranges = [f"item.ended = {flag}" for flag in ended]
        columns, order = "item.rank AS rank, item.upcoming AS fire", ["rank", "fire", "key"]
        after = "(item.rank, item.upcoming, item.key) > (:rank, :upcoming, :key)"
    else:
        ranks = range(len(Priority))
        ranges = [f"item.ended = {flag} AND item.rank = {rank}" for flag in ended for rank in ranks]
        columns, order = "item.upcoming AS fire", ["fire", "key"]
        after = "(item.upcoming, item.key) > (:place, :key)"
    clauses = [*_filters(query), _NEWEST, *([] if query.after is None else [after])]
    keys = " UNION ALL ".join(
        f"SELECT item.key AS key, {columns} FROM item INDEXED BY item_sorted"
        f" WHERE {' AND '.join([one, *clauses])}"
        for one in ranges
    )
    if query.text is not None:
        # NOTE: the limit keeps the set of the words out of each range, which would make it anew.
        walked = f"{keys} ORDER BY {', '.join(order)} LIMIT -1"
        keys = f"SELECT * FROM ({walked}) AS walked WHERE walked.key {_HOLD_WORDS}"
    return _rows(keys, order)


def _sorted(query: ListQuery, source: str, wanted: list[str]) -> str:
    """Any order of what a driving table finds."""
    clauses = [*wanted, _NEWEST]
    place = _PLACES[query.sort]
    descending = " DESC" if query.sort == Sort.CREATED else ""
    if query.after is not None:
        clauses.append(_AFTER if descending else f"({place}, item.key) > (:place, :key)")
    keys = f"SELECT item.key AS key, {place} AS place FROM {source} WHERE {' AND '.join(clauses)}"
    return _rows(keys, [f"place{descending}", "key"])


def _rows(keys: str, order: list[str]) -> str:
    """A page whose rows are found first, by narrow columns."""
    return (
        f"SELECT {ITEM_COLUMNS}, {CONTENT_COLUMNS}"
        f" FROM ({keys} ORDER BY {', '.join(order)} LIMIT :limit) AS page"
        " CROSS JOIN item ON item.key = page.key CROSS JOIN body ON body.key = page.key"
        f" ORDER BY {', '.join(f'page.{column}' for column in order)}"
    )


def _driver(query: ListQuery) -> tuple[str, list[str]]:
    """The table expression that drives the page, and the conditions that make its index fit."""
    if query.remindi_id is not None:
        return "item", []
    if query.linked_goal_id is not None or query.linked_memory_hash is not None:
        kind, value = _driving_link(query)
        # NOTE: SQLite uses a partial index only where its own condition stands word for word.
        clauses = [f"link.type = {kind:d}", "link.type IN (0, 1)", f"link.value = :{value}"]
        if query.project_id is not None:
            clauses.append("link.project = :project")
        index = "link_value" if query.project_id is None else "link_project"
        return f"link INDEXED BY {index} CROSS JOIN item NOT INDEXED ON item.key = link.item", clauses
    if query.task_id is not None:
        return "item INDEXED BY item_task", []
    index = "item_all" if query.project_id is None else "item_project"
    if _wants(query, TERMINAL_STATES):
        return f"item INDEXED BY {index}", []
    active = "item_active" if query.project_id is None else "item_project_active"
    return f"item INDEXED BY {active}", [_ACTIVE]


def _driving_link(query: ListQuery) -> tuple[LinkType, str]:
    return (LinkType.GOAL, "goal") if query.linked_goal_id is not None else (LinkType.MEMORY, "memory")


def _wants(query: ListQuery, states: tuple[State, ...]) -> bool:
    """Whether items of any of these states are asked for."""
    return not query.states or not set(query.states).isdisjoint(states)


def _filters(query: ListQuery) -> list[str]:
    """What is asked of each item, whatever drives the page."""
    clauses = ["item.owner = :owner"]
    if query.remindi_id is not None:
        clauses.append("item.id = :id")
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
    return clauses


def _place(sort: Sort, item: Item) -> int:
    """Where an item stands in an order; as ``_PLACES`` has it."""
    if sort == Sort.CREATED:
        return item.created_at
    fire = _RANK - 1 if item.next_fire_at is None else item.next_fire_at + _FIRE_OFFSET
    return fire if sort == Sort.FIRE_TIME else (Priority.CRITICAL - item.priority) * _RANK + fire


def _bindings(
    connection: apsw.Connection, owner: int, query: ListQuery, names: Names
) -> dict[str, Any] | None:
    """Bindings of every clause; None when no item can match: nobody used a name, or none holds the words."""
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
    if query.text is not None:
        found = search.find(connection, query.text)
        if found is None or found.few == []:
            return None
        if found.few is None:
            bindings["words"] = found.expression
        else:
            bindings["found"] = carray(found.few)
    if query.states:
        bindings["states"] = carray(query.states)
    if query.trigger_types:
        bindings["trigger_types"] = carray(query.trigger_types)
    if query.after is None:
        bindings["newest"] = first_row(connection, "SELECT ifnull(max(key), 0) FROM item")[0]
    else:
        bindings["newest"], bindings["place"], bindings["key"] = query.after
        bindings["rank"], bindings["upcoming"] = divmod(query.after.place, _RANK)
    return bindings
