"""Checks: the page of ready items in the contract's order, found without looking at the rest (contract 5.1).

A page merges sources that are each a range of a partial index. *Settled* items are ready as stored.
*Ripe* items become ready, or move to another rank, by being evaluated as of the walk's instant; a row
of theirs says so, and the writer then evaluates it with the domain's own function. What a write after
the start of the walk did is told apart by its number, so that later pages keep the order of the first.
"""

from array import array
from functools import cache
from typing import Any, Final, NamedTuple

import apsw

from actors.store.connections import first_row
from actors.store.names import Names
from actors.store.rows import links_of
from remindi.answers import CheckItem, CheckPage
from remindi.events import LifecycleEvent
from remindi.items import Priority, State
from remindi.lifecycle import readiness
from remindi.requests import CheckPosition, CheckQuery
from remindi.triggers import TriggerType

_STATES: Final = tuple(State)
_PRIORITIES: Final = tuple(Priority)
_TRIGGERS: Final = tuple(TriggerType)
_FIRST_PAGE: Final = (1 << 63) - 1
"""No write is later than the first page."""

# The place of a row among ready items, were its rank the given SQL: as the generated column ``ready``.
_PLACE: Final = (
    "({rank}) * 4503599627370496 + (3 - priority) * 1125899906842624"
    " + ifnull(next_fire_at + 140737488355328, 1125899906842623)"
)
_DUE_RANK: Final = "iif(trigger_type = 6 AND last_condition_status IS NOT 0, 2, 1)"
_MANUAL_REACHED: Final = "(trigger_type <> 6 OR state <> 0 OR ifnull(manual_check_at <= :as_of, 0))"
# Whether time alone changes a row by an evaluation as of the walk; what this very check made due is settled.
_RIPE: Final = f"(wake <= :as_of AND (state <> 1 OR last_checked_at IS NOT :as_of) AND {_MANUAL_REACHED})"

_SETTLED: Final = f"""
SELECT key, ready AS place, 0 AS ripe FROM item INDEXED BY item_ready
WHERE owner = :owner AND project = :project AND ready IS NOT NULL AND (ready, key) > (:rank, :key)
    AND state_change <= :change AND NOT (state = 1 AND ifnull({_RIPE}, 0)) {{task}}
ORDER BY ready, key LIMIT :limit
"""
_RIPE_RANK: Final = f"iif(state = 1 OR (state = 3 AND overdue_at <= :as_of), 0, {_DUE_RANK})"
_RIPENED: Final = f"""
SELECT key, {_PLACE.format(rank=_RIPE_RANK)} AS place, 1 AS ripe FROM item INDEXED BY item_project_wake
WHERE owner = :owner AND project = :project AND {_RIPE} AND state_change <= :change {{task}}
    AND ({_PLACE.format(rank=_RIPE_RANK)}, key) > (:rank, :key)
ORDER BY 2, key LIMIT :limit
"""
# Later pages only: items that a write after the first page made due or overdue, at the place they had then.
# Another check may have observed what this walk would: a context, or that a manual check was reached.
_SINCE_RANK: Final = (
    "iif(state = 2 AND due_change <= :change AND overdue_at <= :as_of AND last_checked_at IS :as_of, 0,"
    f" iif(trigger_type = 6 AND due_change > :change, 2, {_DUE_RANK}))"
)
_SETTLED_SINCE: Final = f"""
SELECT key, {_PLACE.format(rank=_SINCE_RANK)} AS place, 0 AS ripe FROM item INDEXED BY item_ready_since
WHERE owner = :owner AND project = :project AND state IN (1, 2) AND state_change > :change
    AND (due_change <= :change OR due_since <= :as_of
        OR (trigger_type = 6 AND manual_check_at <= :as_of) {{observed}})
    {{task}} AND ({_PLACE.format(rank=_SINCE_RANK)}, key) > (:rank, :key)
ORDER BY 2, key LIMIT :limit
"""
# Scheduled items that the caller's context makes due; each clause is one range of the context index.
_CONTEXT_CLAUSES: Final = {
    TriggerType.NEXT_SESSION: "(trigger_type = 3 AND waits_for IS NOT :session)",
    TriggerType.NEXT_CONTINUATION: (
        "(trigger_type = 4 AND waits_for = :lineage"
        " AND (SELECT session_id FROM body WHERE body.key = item.key) IS NOT :session_text)"
    ),
    TriggerType.GOAL_ACTIVE: "(trigger_type = 5 AND waits_for IN (SELECT value FROM carray(:goals)))",
}
_CONTEXT: Final = f"""
SELECT key, {_PLACE.format(rank="1")} AS place, 1 AS ripe FROM item INDEXED BY item_context
WHERE owner = :owner AND project = :project AND state = 0 AND {{clause}} AND state_change <= :change {{task}}
    AND trigger_type IN (3, 4, 5) AND ({_PLACE.format(rank="1")}, key) > (:rank, :key)
ORDER BY 2, key LIMIT :limit
"""
# What include_scheduled appends: everything active that is not ready as of the walk.
_UPCOMING: Final = f"""
SELECT key, upcoming AS place, 0 AS ripe FROM item INDEXED BY item_upcoming
WHERE owner = :owner AND project = :project AND state IN (0, 3) AND (upcoming, key) > (:rank, :key)
    AND state_change <= :change AND NOT ifnull({_RIPE}, 0) {{context}} {{task}}
ORDER BY upcoming, key LIMIT :limit
"""
_PAGE: Final = """
SELECT page.key, page.place, page.ripe, item.id, item.state, item.priority, item.trigger_type, item.task,
    item.occurrence_no, item.version, item.due_since, item.next_fire_at, item.last_condition_status,
    body.message, body.instructions
FROM ({sources}) AS page CROSS JOIN item ON item.key = page.key CROSS JOIN body ON body.key = page.key
ORDER BY page.place, page.key LIMIT :limit
"""
_NOBODY: Final = -1


class PageRow(NamedTuple):
    """One row of a page, before it is shown or evaluated."""

    key: int
    place: int
    ripe: int
    id: bytes
    state: int
    priority: int
    trigger_type: int
    task: int | None
    occurrence_no: int
    version: int
    due_since: int | None
    next_fire_at: int | None
    last_condition_status: int | None
    message: str
    instructions: str | None


class FoundPage(NamedTuple):
    """The rows of a page with the place where the next one starts."""

    ready: tuple[PageRow, ...]
    upcoming: tuple[PageRow, ...]
    next: CheckPosition | None

    @property
    def unsettled(self) -> bool:
        """Whether evaluating the page would write."""
        return any(row.ripe for row in self.ready)


_EMPTY: Final = FoundPage((), (), None)


def find_page(
    connection: apsw.Connection,
    owner: int,
    query: CheckQuery,
    as_of: int,
    names: Names,
    *,
    newest: int | None = None,
) -> FoundPage:
    """The rows of one page of a check, evaluated as of ``as_of``; within the caller's transaction.

    Args:
        newest: number of the newest write that this transaction sees, where it is not yet committed.
    """
    bindings = _bindings(owner, query, as_of, names)
    if bindings is None:
        return _EMPTY
    after = query.after
    task = "" if query.task_id is None else "AND task = :task"
    contexts = _context_clauses(bindings)
    bindings["limit"] = query.limit + 1
    ready: list[PageRow] = []
    upcoming: list[PageRow] = []
    if after is None or after.ready:
        sql = _ready_sql(contexts, task, later=after is not None)
        ready = [PageRow._make(row) for row in connection.execute(sql, bindings)]
    missing = query.limit + 1 - len(ready)
    if query.include_scheduled and missing > 0:
        bindings["limit"] = missing
        if after is None or after.ready:
            bindings["rank"] = bindings["key"] = _NOBODY
        sql = _upcoming_sql(contexts, task)
        upcoming = [PageRow._make(row) for row in connection.execute(sql, bindings)]
    position = None
    if len(ready) + len(upcoming) > query.limit:
        last = (ready + upcoming)[query.limit - 1]
        if after is not None:
            newest = after.change
        elif newest is None:
            newest = change_number(connection)
        position = CheckPosition(as_of, newest, query.limit <= len(ready), last.place, last.key)
        upcoming = upcoming[: max(0, query.limit - len(ready))]
        ready = ready[: query.limit]
    return FoundPage(tuple(ready), tuple(upcoming), position)


def shown_page(connection: apsw.Connection, page: FoundPage, as_of: int, names: Names) -> CheckPage:
    """The page as it is answered; its rows must be settled."""
    links = links_of(connection, [row.key for row in (*page.ready, *page.upcoming)])
    items = tuple(
        CheckItem(
            row.id,
            readiness(_STATES[row.state], _TRIGGERS[row.trigger_type], row.last_condition_status),
            row.message,
            row.occurrence_no,
            row.version,
            _STATES[row.state],
            _PRIORITIES[row.priority],
            names.text_or_none(row.task),
            row.instructions,
            row.due_since,
            row.next_fire_at,
            links.get(row.key, ()),
        )
        for row in (*page.ready, *page.upcoming)
    )
    return CheckPage(as_of, items, page.next)


def change_number(connection: apsw.Connection) -> int:
    """The number of the newest committed write, as this transaction sees it."""
    number: int = first_row(connection, "SELECT value FROM change_counter")[0]
    return number


@cache
def _ready_sql(contexts: tuple[str, ...], task: str, *, later: bool) -> str:
    sources = [_SETTLED, _RIPENED, *(_CONTEXT.replace("{clause}", clause) for clause in contexts)]
    if later:
        observed = "".join(f" OR {clause}" for clause in contexts)
        sources.append(_SETTLED_SINCE.replace("{observed}", observed))
    union = " UNION ALL ".join(f"SELECT * FROM ({source})" for source in sources)
    return _PAGE.replace("{sources}", union).replace("{task}", task)


@cache
def _upcoming_sql(contexts: tuple[str, ...], task: str) -> str:
    fired = "".join(f" AND NOT (state = 0 AND ifnull({clause}, 0))" for clause in contexts)
    return _PAGE.replace("{sources}", _UPCOMING.replace("{context}", fired)).replace("{task}", task)


def _bindings(owner: int, query: CheckQuery, as_of: int, names: Names) -> dict[str, Any] | None:
    """Bindings of every source; None when no item can match, since nobody ever used the names."""
    project = names.find(query.project_id)
    task = None if query.task_id is None else names.find(query.task_id)
    if project is None or (query.task_id is not None and task is None):
        return None
    after = query.after
    return {
        "owner": owner,
        "project": project,
        "task": task,
        "as_of": as_of,
        "change": _FIRST_PAGE if after is None else after.change,
        "rank": _NOBODY if after is None else after.rank,
        "key": _NOBODY if after is None else after.key,
    } | _context_bindings(query, names)


def _context_bindings(query: CheckQuery, names: Names) -> dict[str, Any]:
    """What the context clauses compare with; a goal that no item waits for is left out."""
    context = query.context
    bindings: dict[str, Any] = {}
    if context.session_id is not None:
        known = names.find(context.session_id)
        # NOTE: a session that nobody stored differs from every stored one.
        bindings["session"] = _NOBODY if known is None else known
        if context.lifecycle_event == LifecycleEvent.CONTINUATION and context.task_lineage_id is not None:
            lineage = names.find(context.task_lineage_id)
            if lineage is not None:
                bindings["lineage"] = lineage
                bindings["session_text"] = context.session_id
    goals = [number for goal in context.active_goal_ids if (number := names.find(goal)) is not None]
    if goals:
        bindings["goals"] = apsw.carray(array("q", goals))
    return bindings


def _context_clauses(bindings: dict[str, Any]) -> tuple[str, ...]:
    needs = {
        TriggerType.NEXT_SESSION: "session",
        TriggerType.NEXT_CONTINUATION: "lineage",
        TriggerType.GOAL_ACTIVE: "goals",
    }
    return tuple(clause for kind, clause in _CONTEXT_CLAUSES.items() if needs[kind] in bindings)
