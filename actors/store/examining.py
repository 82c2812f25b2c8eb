"""Examining: everything that can be told of a database by looking at it, however broken it is."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import apsw

from actors.messages.control import LeaseRow
from actors.store import backups, leases
from actors.store.connections import first_row, snapshot
from actors.store.control import read_settings
from actors.store.copying import Counts, count
from actors.store.errors import StoreError
from actors.store.looking import looked_at
from actors.store.migrations import applied_version, known_migrations
from actors.store.verification import Invalid, broken_invariants, check_schema
from remindi.backups import BackupRecord
from remindi.settings import BACKUP_INTERVAL_SECONDS

T = TypeVar("T")

SHOWN: Final = 3
"""Faults that are told, of those that SQLite finds."""


class Examined(NamedTuple):
    """What was found. A fact is null where the database is too broken, or too old, to tell it."""

    unreadable: str | None = None
    """Why nothing else could be told; a line that says what to do."""
    schema_version: int | None = None
    schema_fault: str | None = None
    """Why this Remindi must not open it, as a sentence."""
    damage: tuple[str, ...] = ()
    """The first faults of SQLite's integrity check."""
    dangling: bool | None = None
    """Whether rows refer to nothing."""
    broken: tuple[str, ...] | None = None
    """Which of our own invariants do not hold, each as the end of a sentence."""
    unindexed: int | None = None
    """Items that the search index does not know, or knows too many."""
    counts: Counts | None = None
    lease: LeaseRow | None = None
    backups: tuple[BackupRecord, ...] | None = None
    interval_seconds: int | None = None
    """Of automatic backups."""

    @property
    def sound(self) -> bool:
        """Whether a start would take it, and a backup of it would pass verification."""
        return (
            self.unreadable is None
            and self.schema_fault is None
            and not self.damage
            and self.dangling is False
            and self.broken == ()
        )


def examine(path: Path, owner: str, *, in_use: bool) -> Examined:
    """Look at a database, which is read whole; it is never changed, and neither is its log.

    Args:
        path: of an existing file.
        owner: whom all items must belong to.
        in_use: as of ``looked_at``.
    """
    try:
        with looked_at(path, in_use=in_use) as connection, snapshot(connection):
            return _examined(connection, path, owner)
    except StoreError as error:
        return Examined(unreadable=str(error))


def _examined(connection: apsw.Connection, path: Path, owner: str) -> Examined:
    # What is no database at all, or that of another program, says so here.
    first_row(connection, "SELECT count(*) FROM sqlite_schema")
    version, fault = _schema(connection, path)
    if fault is not None:
        return Examined(schema_version=version, schema_fault=fault, damage=_damage(connection))
    newest = version == len(known_migrations())
    return Examined(
        schema_version=version,
        damage=_damage(connection),
        dangling=_told(lambda: first_row(connection, "PRAGMA foreign_key_check") is not None),
        broken=_told(lambda: broken_invariants(connection, owner)),
        unindexed=_told(lambda: _unindexed(connection)),
        counts=_told(lambda: count(connection)),
        lease=_told(lambda: leases.read_lease(connection)),
        backups=_told(lambda: backups.backups(connection)) if newest else None,
        interval_seconds=_told(lambda: read_settings(connection)[BACKUP_INTERVAL_SECONDS]),
    )


def _schema(connection: apsw.Connection, path: Path) -> tuple[int | None, str | None]:
    """The version, and what is wrong with the schema."""
    try:
        version = applied_version(connection, path)
        if version:
            check_schema(connection)
    except StoreError as error:
        return None, str(error)
    except Invalid as error:
        return None, f"{path}: {error}."
    return version, None if version else f"{path} is empty: it has no tables."


def _damage(connection: apsw.Connection) -> tuple[str, ...]:
    try:
        rows = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({SHOWN})")]
    except apsw.Error as error:
        return (str(error),)
    return () if rows == ["ok"] else tuple(line for row in rows for line in row.splitlines())[:SHOWN]


def _unindexed(connection: apsw.Connection) -> int:
    """How far the number of indexed items is from that of all; older schemas have no index."""
    if first_row(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'search'") is None:
        return 0
    row = first_row(connection, "SELECT (SELECT count(*) FROM body) - (SELECT count(*) FROM search_docsize)")
    return abs(int(row[0]))


def _told(ask: Callable[[], T]) -> T | None:
    """What can be told; None where the file is too broken."""
    with suppress(apsw.Error, StoreError):
        return ask()
    return None
