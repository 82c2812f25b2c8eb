"""Connections: how SQLite is opened, for the one writer and for readers. The pragmas are per connection."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import apsw

from actors.store.errors import Busy, Damaged, ForeignDatabase, StorageFailed, StoreError

BUSY_TIMEOUT_MS: Final = 5_000
APPLICATION_ID: Final = 0x52454D49
"""``REMI``: says whose file this is (SQLite's ``application_id``)."""
_STATEMENT_CACHE: Final = 500
_SMALLEST_DATABASE: Final = 512
"""Bytes: the smallest page of SQLite."""


def open_writer(path: Path) -> apsw.Connection:
    """Open the database for writing, creating it when absent.

    Raises:
        StoreError: the file cannot be opened, is no database, or another program's; it is left as it is.
    """
    _refuse_scrap(path)
    with translated(path):
        connection = apsw.Connection(
            str(path),
            flags=apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE,
            statementcachesize=_STATEMENT_CACHE,
        )
        try:
            _secure(connection)
            # NOTE: before the journal mode is set, which would rewrite the header of whatever file this is.
            if _value(connection, "SELECT count(*) FROM sqlite_schema") and (
                _value(connection, "PRAGMA application_id") != APPLICATION_ID
            ):
                raise ForeignDatabase(f"{path} is the database of another program; name another file.")
            if not _value(connection, "PRAGMA user_version") and not _value(connection, "PRAGMA page_count"):
                connection.execute("PRAGMA page_size = 4096")
            if _value(connection, "PRAGMA journal_mode = WAL") != "wal":
                raise StorageFailed(
                    f"{path}: SQLite cannot use a write-ahead log here; use a local file system."
                )
            _tune(connection, cache_kib=65_536)
            # NOTE: none inside COMMIT (p99.9 12 ms); the writer checkpoints after answering.
            connection.execute("PRAGMA wal_autocheckpoint = 0")
        except BaseException:
            # It may hold locks for as long as somebody remembers the exception.
            connection.close(True)
            raise
    return connection


def open_reader(path: Path) -> apsw.Connection:
    """Open an existing database for reading only.

    Raises:
        StoreError: the file cannot be opened or is no database.
    """
    with translated(path):
        connection = apsw.Connection(
            str(path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=_STATEMENT_CACHE
        )
        _secure(connection)
        _tune(connection, cache_kib=16_384)
        connection.execute("PRAGMA query_only = ON")
    return connection


@contextmanager
def translated(path: Path | None = None) -> Iterator[None]:
    """Turn SQLite's exceptions into the store's, naming the file where one is given.

    Raises:
        StoreError: instead of any ``apsw`` error of the environment; errors of our own SQL pass through.
    """
    where = "the database" if path is None else str(path)
    try:
        yield
    except apsw.BusyError as error:
        raise Busy(f"{where} stayed locked by another program.") from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise Damaged(f"{where} is damaged or no SQLite database; restore a backup.") from error
    except apsw.FullError as error:
        raise StorageFailed(f"{where}: the disk is full; free some space.") from error
    except (apsw.CantOpenError, apsw.PermissionsError, apsw.ReadOnlyError) as error:
        raise StorageFailed(f"{where} cannot be opened for writing; check owner and rights.") from error
    except apsw.IOError as error:
        raise StorageFailed(f"{where}: input/output error ({error}).") from error


@contextmanager
def snapshot(connection: apsw.Connection) -> Iterator[None]:
    """One consistent view for several reads; short, since it holds the write-ahead log back."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        # SQLite ends a transaction by itself when reading fails; the failure is what is to be told.
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def first_row(connection: apsw.Connection, sql: str, bindings: tuple[Any, ...] = ()) -> Any:
    """The first row of a query, or None."""
    for row in connection.execute(sql, bindings):
        return row
    return None


def _refuse_scrap(path: Path) -> None:
    """Refuse a file that is smaller than any database: SQLite would take it as empty and overwrite it."""
    try:
        size = path.stat().st_size
    except OSError:
        return
    # What a crash left of a file's first page is none: the journal beside it restores the empty file.
    if 0 < size < _SMALLEST_DATABASE and not path.with_name(f"{path.name}-journal").exists():
        raise Damaged(f"{path} is no SQLite database; name another file or restore a backup.")


def _secure(connection: apsw.Connection) -> None:
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    # NOTE: else SQLite prepares a statement anew for each binding, which cost 180 us a check.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)


def _tune(connection: apsw.Connection, *, cache_kib: int) -> None:
    connection.execute("PRAGMA foreign_keys = ON")
    # NOTE: without it INSERT OR REPLACE deletes a row and fires no trigger that forbids it.
    connection.execute("PRAGMA recursive_triggers = ON")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute(f"PRAGMA cache_size = -{cache_kib}")


def _value(connection: apsw.Connection, sql: str) -> Any:
    row = first_row(connection, sql)
    return None if row is None else row[0]


__all__ = [
    "APPLICATION_ID",
    "StoreError",
    "first_row",
    "open_reader",
    "open_writer",
    "snapshot",
    "translated",
]
