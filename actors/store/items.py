"""Items in the store: found, inserted, rewritten, and their history appended."""

from collections.abc import Iterable
from typing import Any, Final

import apsw

from actors.store import search
from actors.store.connections import first_row
from actors.store.names import Names
from actors.store.rows import CONTENT_COLUMNS, ITEM_COLUMNS, item_of, records_of
from actors.system import Identifiers
from remindi.events import Caller
from remindi.evidence import EvidenceRecord
from remindi.items import Content, Item, ItemRecord
from remindi.lifecycle import Change
from remindi.links import Link
from remindi.recurrence import recurrence_json
from remindi.triggers import GoalActive, NextContinuation, NextSession, trigger_json

SEQUENCE_BITS: Final = 24
"""An event's row key is its item's key shifted by so many bits, plus its sequence."""

_INSERT_ITEM: Final = (
    "INSERT INTO item (owner, project, task, waits_for, state_change, due_change, key, id, state, priority,"
    " trigger_type, next_fire_at, original_next_fire_at, next_evaluation_at, manual_check_at,"
    " poll_interval_seconds, due_since, snooze_until, snoozed_from_state, last_checked_at, completed_at,"
    " cancelled_at, created_at, updated_at, overdue_after_seconds, occurrence_no, snooze_count, version,"
    f" event_count, last_condition_status, last_condition_detail) VALUES ({', '.join('?' * 31)})"
)
_REWRITE_EVALUATED: Final = (
    "UPDATE item SET state_change = iif(state = ?1, state_change, ?2),"
    " due_change = iif(?1 = 1 AND state = 0, ?2, due_change), state = ?1, next_evaluation_at = ?3,"
    " due_since = ?4, snooze_until = ?5, snoozed_from_state = ?6, last_checked_at = ?7, updated_at = ?8,"
    " version = ?9, event_count = ?10, last_condition_status = ?11, last_condition_detail = ?12"
    " WHERE key = ?13"
)
_REWRITE_ALL: Final = (
    "UPDATE item SET state_change = iif(state = ?1, state_change, ?2),"
    " due_change = iif(?1 = 1 AND state = 0, ?2, due_change), state = ?1, next_evaluation_at = ?3,"
    " due_since = ?4, snooze_until = ?5, snoozed_from_state = ?6, last_checked_at = ?7, updated_at = ?8,"
    " version = ?9, event_count = ?10, last_condition_status = ?11, last_condition_detail = ?12,"
    " completed_at = ?14, cancelled_at = ?15, snooze_count = ?16, priority = ?17, trigger_type = ?18,"
    " next_fire_at = ?19, original_next_fire_at = ?20, manual_check_at = ?21, poll_interval_seconds = ?22,"
    " overdue_after_seconds = ?23, occurrence_no = ?24 WHERE key = ?13"
)
_INSERT_EVENT: Final = (
    "INSERT INTO event (key, id, type, actor_type, actor, request_id, occurred_at, prior_version,"
    " new_version, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


def find_record(
    connection: apsw.Connection, owner: int, identifier: bytes, names: Names
) -> ItemRecord | None:
    """A whole item by its identifier; another owner's is not found."""
    row = first_row(
        connection,
        f"SELECT {ITEM_COLUMNS}, {CONTENT_COLUMNS} FROM item JOIN body USING (key)"
        " WHERE item.id = ? AND owner = ?",
        (identifier, owner),
    )
    return None if row is None else records_of(connection, [row], names)[0]


def find_item(connection: apsw.Connection, owner: int, identifier: bytes) -> Item | None:
    """The narrow part of an item by its identifier; another owner's is not found."""
    row = first_row(
        connection, f"SELECT {ITEM_COLUMNS} FROM item WHERE id = ? AND owner = ?", (identifier, owner)
    )
    return None if row is None else item_of(row)


def item_by_key(connection: apsw.Connection, key: int) -> Item:
    """The narrow part of an item that is known to exist."""
    row = first_row(connection, f"SELECT {ITEM_COLUMNS} FROM item WHERE key = ?", (key,))
    return item_of(row)


def message(connection: apsw.Connection, key: int) -> str:
    """What an item that is known to exist says."""
    text: str = first_row(connection, "SELECT message FROM body WHERE key = ?", (key,))[0]
    return text


def next_key(connection: apsw.Connection) -> int:
    """The row key of the next item; keys rise with creation and none is used twice."""
    newest = first_row(connection, "SELECT max(key) FROM item")[0]
    return 1 if newest is None else newest + 1


def insert(connection: apsw.Connection, owner: int, record: ItemRecord, change: int, names: Names) -> None:
    """Insert an item with its content and links."""
    item, content, links = record
    project = names.intern(content.project_id)
    task = None if content.task_id is None else names.intern(content.task_id)
    connection.execute(
        _INSERT_ITEM, (owner, project, task, _waits_for(content, names), change, change, *item)
    )
    connection.execute(
        "INSERT INTO body (key, message, instructions, session_id, task_lineage_id, trigger_fields,"
        " recurrence_fields) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            item.key,
            content.message,
            content.instructions,
            content.source_session_id,
            content.source_task_lineage_id,
            trigger_json(content.trigger),
            recurrence_json(content.recurrence),
        ),
    )
    _insert_links(connection, item, project, links)


def rewrite_evaluated(connection: apsw.Connection, item: Item, change: int) -> None:
    """Store what an evaluation changed; touches no index that evaluation cannot move."""
    connection.execute(_REWRITE_EVALUATED, _evaluated_bindings(item, change))


def rewrite(connection: apsw.Connection, item: Item, change: int) -> None:
    """Store what a mutation changed in the narrow part."""
    connection.execute(
        _REWRITE_ALL,
        (
            *_evaluated_bindings(item, change),
            item.completed_at,
            item.cancelled_at,
            item.snooze_count,
            item.priority,
            item.trigger_type,
            item.next_fire_at,
            item.original_next_fire_at,
            item.manual_check_at,
            item.poll_interval_seconds,
            item.overdue_after_seconds,
            item.occurrence_no,
        ),
    )


def rewrite_content(connection: apsw.Connection, before: ItemRecord, after: ItemRecord, names: Names) -> None:
    """Store what an update changed in content and links."""
    item, content, links = after
    # NOTE: triggers of different types may be equal as tuples: next_session and next_continuation are empty.
    if content != before.content or item.trigger_type != before.item.trigger_type:
        texts = before.content.message, before.content.instructions
        if texts != (content.message, content.instructions):
            search.index_again(connection, item.key, texts, (content.message, content.instructions))
        connection.execute(
            "UPDATE body SET message = ?, instructions = ?, trigger_fields = ?, recurrence_fields = ?"
            " WHERE key = ?",
            (
                content.message,
                content.instructions,
                trigger_json(content.trigger),
                recurrence_json(content.recurrence),
                item.key,
            ),
        )
        connection.execute(
            "UPDATE item SET waits_for = ? WHERE key = ?", (_waits_for(content, names), item.key)
        )
    if links != before.links:
        connection.execute("DELETE FROM link WHERE item = ?", (item.key,))
        _insert_links(connection, item, names.intern(content.project_id), links)


def append_events(
    connection: apsw.Connection,
    changes: Iterable[Change],
    *,
    caller: Caller,
    now: int,
    names: Names,
    identifiers: Identifiers,
) -> None:
    """Append the events of changes to their items' histories; each ``event_count`` already counts them."""
    actor = names.intern(caller.actor_id)
    rows = []
    for item, events in changes:
        first = (item.key << SEQUENCE_BITS) + item.event_count - len(events) + 1
        for key, event in enumerate(events, start=first):
            kind, details, prior_version, new_version = event
            rows.append(
                (
                    key,
                    identifiers.next(),
                    kind,
                    caller.actor_type,
                    actor,
                    caller.request_id,
                    now,
                    prior_version,
                    new_version,
                    details,
                )
            )
    connection.executemany(_INSERT_EVENT, rows)


def insert_evidence(connection: apsw.Connection, item: Item, record: EvidenceRecord, names: Names) -> None:
    """Store the one evidence record of a completed item."""
    evidence = record.evidence
    connection.execute(
        "INSERT INTO evidence (item, id, type, summary, reference_uri, content_hash, observed_at,"
        " recorded_at, recorded_by, metadata) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            item.key,
            record.id,
            evidence.type,
            evidence.summary,
            evidence.reference_uri,
            evidence.content_hash,
            evidence.observed_at,
            record.recorded_at,
            names.intern(record.recorded_by),
            evidence.metadata_json,
        ),
    )


def newest_identifier(connection: apsw.Connection) -> bytes | None:
    """The highest identifier of any item: new ones must lie above it, whatever the clock says."""
    newest: bytes | None = first_row(connection, "SELECT max(id) FROM item")[0]
    return newest


def _evaluated_bindings(item: Item, change: int) -> tuple[Any, ...]:
    return (
        item.state,
        change,
        item.next_evaluation_at,
        item.due_since,
        item.snooze_until,
        item.snoozed_from_state,
        item.last_checked_at,
        item.updated_at,
        item.version,
        item.event_count,
        item.last_condition_status,
        item.last_condition_detail,
        item.key,
    )


def _insert_links(connection: apsw.Connection, item: Item, project: int, links: tuple[Link, ...]) -> None:
    if links:
        connection.executemany(
            "INSERT INTO link (item, position, type, value, project, created_at) VALUES (?, ?, ?, ?, ?, ?)",
            [
                (item.key, position, link.type, link.value, project, item.created_at)
                for position, link in enumerate(links)
            ],
        )


def _waits_for(content: Content, names: Names) -> int | None:
    """The name that the item's context trigger is compared with, if it has one."""
    match content.trigger:
        case NextSession():
            waited = content.source_session_id
        case NextContinuation():
            waited = content.source_task_lineage_id
        case GoalActive(goal_id):
            waited = goal_id
        case _:
            waited = None
    return None if waited is None else names.intern(waited)
