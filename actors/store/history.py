"""History: an item's events in their order and its completion evidence."""

from typing import Final

import apsw

from actors.store.connections import first_row
from actors.store.items import SEQUENCE_BITS
from actors.store.names import Names
from actors.store.rows import carray
from remindi.answers import HistoryPage
from remindi.errors import NOT_FOUND, Refusal
from remindi.events import ActorType, Caller, Event, EventType
from remindi.evidence import Evidence, EvidenceRecord, EvidenceType
from remindi.requests import HistoryQuery

_MAX_SEQUENCE: Final = (1 << SEQUENCE_BITS) - 1
_EVENTS: Final = (
    "SELECT key, id, type, actor_type, actor, request_id, occurred_at, prior_version, new_version, details"
    " FROM event WHERE key > ? AND key <= ? {types} ORDER BY key LIMIT ?"
)
_TYPES: Final = tuple(EventType)
_ACTORS: Final = tuple(ActorType)


def history_page(
    connection: apsw.Connection, owner: int, query: HistoryQuery, names: Names
) -> HistoryPage | Refusal:
    """One page of an item's history; within the caller's transaction (contract 5.2)."""
    row = first_row(connection, "SELECT key FROM item WHERE id = ? AND owner = ?", (query.remindi_id, owner))
    if row is None:
        return NOT_FOUND
    base: int = row[0] << SEQUENCE_BITS
    bounds = (base + min(query.after_sequence, _MAX_SEQUENCE), base + _MAX_SEQUENCE)
    if query.event_types:
        sql = _EVENTS.format(types="AND type IN (SELECT value FROM carray(?))")
        rows = list(connection.execute(sql, (*bounds, carray(query.event_types), query.limit + 1)))
    else:
        rows = list(connection.execute(_EVENTS.format(types=""), (*bounds, query.limit + 1)))
    events = tuple(
        Event(
            key - base,
            identifier,
            _TYPES[kind],
            Caller(_ACTORS[actor_type], names.text(actor), request_id),
            occurred_at,
            prior_version,
            new_version,
            details,
        )
        for (
            key,
            identifier,
            kind,
            actor_type,
            actor,
            request_id,
            occurred_at,
            prior_version,
            new_version,
            details,
        ) in rows[: query.limit]
    )
    return HistoryPage(
        events,
        _evidence(connection, row[0], query.remindi_id, names),
        events[-1].sequence if len(rows) > query.limit else None,
    )


def _evidence(
    connection: apsw.Connection, key: int, remindi_id: bytes, names: Names
) -> EvidenceRecord | None:
    row = first_row(
        connection,
        "SELECT id, type, summary, reference_uri, content_hash, observed_at, metadata,"
        " recorded_at, recorded_by FROM evidence WHERE item = ?",
        (key,),
    )
    if row is None:
        return None
    identifier, kind, summary, uri, content_hash, observed_at, metadata, recorded_at, recorded_by = row
    evidence = Evidence(EvidenceType(kind), summary, uri, content_hash, observed_at, metadata)
    return EvidenceRecord(identifier, remindi_id, evidence, recorded_at, names.text(recorded_by))
