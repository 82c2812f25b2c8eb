"""Importing: items of an export into a database that nobody else has open, all of them or none."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from actors.store import items, search
from actors.store.checks import change_number
from actors.store.connections import open_writer, translated
from actors.store.exporting import find_exported
from actors.store.looking import looked_at
from actors.store.migrations import known_migrations
from actors.store.names import Names
from actors.store.write import WriteStore
from actors.system import Clock, system_random
from remindi.exports import Exported, item_lines
from remindi.identifiers import uuid_text

SHOWN: Final = 20
"""Items that are named, of those that differ."""
_COUNTERS: Final = ("item_count", "daily", "due_to_done")
_COUNTED_BY: Final = 2
"""The migration that made the counters, and counted."""
_INSERT_EVENT: Final = (
    "INSERT INTO event (key, id, type, actor_type, actor, request_id, occurred_at, prior_version,"
    " new_version, details) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


class Differing(Exception):
    """Items are there already and are not the same."""

    def __init__(self, first: tuple[str, ...], count: int) -> None:
        """Take how many there are, and the identifiers of the first ``SHOWN``."""
        super().__init__()
        self.first = first
        self.count = count


class Unfit(Exception):
    """An item fits its own rules and not this database, such as one whose evidence is another's."""


class Imported(NamedTuple):
    """What an import did, or would do."""

    added: int
    present: int
    """Were there already, the same in all."""


def import_items(path: Path, owner: str, exported: Iterable[Exported], clock: Clock) -> Imported:
    """Store items that are missing, in one transaction.

    They get row keys above those that are there, so among items made in the same millisecond those that came
    this way are listed as younger. Keys of idempotency are no part of an export: a retry of a change that was
    made before it would be carried out again.

    Args:
        path: of the database, which is made when there is none.
        owner: whose items they become.
        exported: read whole; what it raises undoes all.
        clock: for a schema that has to be brought up.

    Raises:
        Differing: items are there already, and differ; nothing was stored.
        Unfit: see there; nothing was stored.
        StoreError: the database cannot be used; nothing was stored.
    """
    # Brings the schema up and adds missing control rows.
    WriteStore(path, owner, clock, system_random()).close()
    connection = open_writer(path)
    try:
        with translated(path), _transaction(connection):
            return _store(connection, owner, exported)
    finally:
        connection.close(True)


def try_import(path: Path, exported: Iterable[Exported]) -> Imported:
    """Say what an import would do, and change nothing.

    Args:
        path: of a database that nobody has open, or of none.
        exported: as of ``import_items``.

    Raises:
        Differing, StoreError: as of ``import_items``.
    """
    if not path.exists():
        return Imported(sum(1 for _ in exported), 0)
    with looked_at(path, in_use=False) as connection:
        sorting = _Sorting(connection, Names(connection))
        for _ in sorting.missing(exported):
            pass
        return sorting.sorted_out()


class _Sorting:
    """Tells items that are missing from those that are there."""

    def __init__(self, connection: apsw.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self._added = self._present = self._differing = 0
        self._first: list[str] = []

    def missing(self, exported: Iterable[Exported]) -> Iterator[Exported]:
        """Those that are missing; after the first that differs only others that differ are looked for."""
        for each in exported:
            there = find_exported(self._connection, each.record.item.id, self._names)
            if there is None:
                self._added += 1
                if not self._differing:
                    yield each
            elif item_lines(there) == item_lines(each):
                self._present += 1
            else:
                self._differing += 1
                if len(self._first) < SHOWN:
                    self._first.append(uuid_text(each.record.item.id))

    def sorted_out(self) -> Imported:
        if self._differing:
            raise Differing(tuple(self._first), self._differing)
        return Imported(self._added, self._present)


def _store(connection: apsw.Connection, owner: str, exported: Iterable[Exported]) -> Imported:
    names = Names(connection)
    number, change = names.intern(owner), change_number(connection) + 1
    key = items.next_key(connection)
    sorting = _Sorting(connection, names)
    for each in sorting.missing(exported):
        try:
            _insert(connection, number, key, each, change, names)
        except apsw.ConstraintError as error:
            raise Unfit(uuid_text(each.record.item.id)) from error
        key += 1
    imported = sorting.sorted_out()
    if imported.added:
        search.index_new(connection)
        _count_anew(connection)
        connection.execute("UPDATE change_counter SET value = ?", (change,))
    return imported


def _insert(
    connection: apsw.Connection, owner: int, key: int, exported: Exported, change: int, names: Names
) -> None:
    item = exported.record.item._replace(key=key)
    items.insert(connection, owner, exported.record._replace(item=item), change, names)
    connection.executemany(
        _INSERT_EVENT,
        [
            (
                (key << items.SEQUENCE_BITS) + event.sequence,
                event.id,
                event.type,
                event.caller.actor_type,
                names.intern(event.caller.actor_id),
                event.caller.request_id,
                event.occurred_at,
                event.prior_version,
                event.new_version,
                event.details_json,
            )
            for event in exported.events
        ],
    )
    if exported.evidence is not None:
        items.insert_evidence(connection, item, exported.evidence, names)


def _count_anew(connection: apsw.Connection) -> None:
    """Count all items and events again, as the migration did that made the counters."""
    for table in _COUNTERS:
        connection.execute(f"DELETE FROM {table}")
    for statement in known_migrations()[_COUNTED_BY - 1].sql.split(";\n"):
        if any(f"INSERT INTO {table} " in statement for table in _COUNTERS):
            connection.execute(statement)


@contextmanager
def _transaction(connection: apsw.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
