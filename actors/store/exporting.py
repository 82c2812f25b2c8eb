"""Exporting: every item of an owner with all that belongs to it, as it was at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from actors.store.connections import first_row, snapshot
from actors.store.errors import Damaged
from actors.store.history import history_page
from actors.store.items import SEQUENCE_BITS
from actors.store.looking import looked_at
from actors.store.migrations import applied_version
from actors.store.names import Names
from actors.store.rows import CONTENT_COLUMNS, ITEM_COLUMNS, records_of
from remindi.errors import Refusal
from remindi.exports import Exported
from remindi.items import ItemRecord
from remindi.requests import HistoryQuery

_PAGE: Final = 200
_SELECT: Final = f"SELECT {ITEM_COLUMNS}, {CONTENT_COLUMNS} FROM item JOIN body USING (key)"
_NEXT_ITEMS: Final = f"{_SELECT} WHERE item.id > ? AND item.owner = ? ORDER BY item.id LIMIT {_PAGE}"
_ONE_ITEM: Final = f"{_SELECT} WHERE item.id = ?"
_ALL_EVENTS: Final = 1 << SEQUENCE_BITS


class Export(NamedTuple):
    """What is read for an export."""

    schema_version: int
    items: Iterator[Exported]
    """In the order of their identifiers; to be read while the source is open."""


@contextmanager
def exporting(path: Path, owner: str, *, in_use: bool) -> Iterator[Export]:
    """All items of one moment, whatever is written meanwhile; SQLite's log cannot start over before the end.

    Args:
        path: of an existing database.
        owner: of the items.
        in_use: as of ``looked_at``.

    Raises:
        StoreError: the database cannot be read, or is none of ours.
    """
    with looked_at(path, in_use=in_use) as connection, snapshot(connection):
        names = Names(connection)
        version = applied_version(connection, path)
        yield Export(version, _items(connection, names.find(owner), names))


def find_exported(connection: apsw.Connection, identifier: bytes, names: Names) -> Exported | None:
    """One item of any owner."""
    row = first_row(connection, _ONE_ITEM, (identifier,))
    if row is None:
        return None
    (record,) = records_of(connection, [row], names)
    (owner,) = first_row(connection, "SELECT owner FROM item WHERE id = ?", (identifier,))
    return _whole(connection, owner, record, names)


def _items(connection: apsw.Connection, owner: int | None, names: Names) -> Iterator[Exported]:
    last = b""
    while owner is not None and (rows := list(connection.execute(_NEXT_ITEMS, (last, owner)))):
        for record in records_of(connection, rows, names):
            yield _whole(connection, owner, record, names)
        last = rows[-1][1]


def _whole(connection: apsw.Connection, owner: int, record: ItemRecord, names: Names) -> Exported:
    query = HistoryQuery(record.item.id, 0, (), _ALL_EVENTS)
    page = history_page(connection, owner, query, names)
    if isinstance(page, Refusal):
        raise Damaged("An item is found by one index and not by another; run `remindi doctor`.")
    return Exported(record, page.events, page.completion_evidence)
