"""Verification: whether a file is a whole database of ours that could be restored (contract 14.3).

The file may come from anybody. Its schema is compared with our own before anything else is asked of it, so
that no trigger, view or virtual table of a stranger is ever run.
"""

import os
import re
import secrets
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

import apsw

from actors.data_directory import TEMPORARY_PREFIX
from actors.store.connections import APPLICATION_ID, first_row, open_reader, snapshot
from actors.store.copying import SYNC_BYTES, Counts, Progress, count, nothing
from actors.store.errors import StorageFailed, StoreError
from actors.store.migrations import LEDGER, known_migrations, migrate

PAGE_SIZE: Final = 4_096
_MAGIC: Final = b"SQLite format 3\x00"
_HEADER_BYTES: Final = 100
_CHECK: Final = re.compile(r"\bCHECK \(")
_LEDGER_ROWS: Final = 1_000
"""More migrations than anybody will ever have; a stranger's ledger may hold any number."""
_SCHEMA_ROWS: Final = 1_000
"""The same of tables, indexes and triggers."""
Schema = frozenset[tuple[str, str, str, str | None]]

_INVARIANTS: Final = (
    (
        "SELECT 1 FROM item JOIN name ON name.id = item.owner WHERE name.text <> ?1 LIMIT 1",
        "it holds items of another owner",
    ),
    (
        (
            "SELECT 1 FROM item LEFT JOIN evidence ON evidence.item = item.key"
            " WHERE (item.state = 4) <> (evidence.item IS NOT NULL) LIMIT 1"
        ),
        "it holds a completed item without its evidence, or evidence of an item that is not completed",
    ),
    (
        "SELECT 1 FROM evidence LEFT JOIN item ON item.key = evidence.item WHERE item.key IS NULL LIMIT 1",
        "it holds evidence of no item",
    ),
    (
        (
            "SELECT 1 FROM item WHERE (snooze_until IS NULL) <> (snoozed_from_state IS NULL)"
            " OR (snooze_until IS NULL) = (state = 3) LIMIT 1"
        ),
        "it holds an item that is snoozed by halves",
    ),
    (
        (
            "SELECT 1 FROM body WHERE NOT json_valid(trigger_fields)"
            " OR (recurrence_fields IS NOT NULL AND NOT json_valid(recurrence_fields)) LIMIT 1"
        ),
        "it holds an item with malformed JSON",
    ),
    ("SELECT 1 FROM event WHERE NOT json_valid(details) LIMIT 1", "it holds an event with malformed JSON"),
    (
        "SELECT 1 FROM evidence WHERE metadata IS NOT NULL AND NOT json_valid(metadata) LIMIT 1",
        "it holds evidence with malformed JSON",
    ),
    (
        "SELECT 1 FROM adapter WHERE NOT json_valid(configuration) LIMIT 1",
        "it holds an adapter with malformed JSON",
    ),
    (
        "SELECT 1 FROM audit WHERE NOT json_valid(details) LIMIT 1",
        "it holds an audit row with malformed JSON",
    ),
    (
        "SELECT 1 FROM idempotency WHERE NOT json_valid(answer) LIMIT 1",
        "it holds an answer with malformed JSON",
    ),
    (
        "SELECT 1 FROM item LEFT JOIN body USING (key) WHERE body.key IS NULL LIMIT 1",
        "it holds an item without its message",
    ),
)
"""What must find nothing, ``?1`` being the owner, and what it means when it does."""


class Invalid(Exception):
    """The file is no backup of ours; the text is the end of a sentence for people, without any path."""


class Verified(NamedTuple):
    """A file that could be restored as it is."""

    schema_version: int
    """As it was found."""
    counts: Counts


def verify(path: Path, owner: str, *, scratch: Path, now: int, progress: Progress = nothing) -> Verified:
    """Check a database file by all of contract 14.3, migrated as a copy where its schema is older than ours.

    Args:
        path: of a file that nobody writes; it is never changed.
        owner: whom all items must belong to.
        scratch: an existing directory for the migrated copy, which is removed in every case.
        now: an instant for the ledger of the copy.
        progress: told what has been read.

    Raises:
        Invalid: it failed a check.
        StoreError: the disk failed, so nobody knows.
    """
    size = _check_header(path)
    progress(0, size)
    with _immutable(path) as connection:
        version = check_schema(connection)
        _check_content(connection, owner, version)
        counts = count(connection)
    if version < len(known_migrations()):
        _drill(path, owner, scratch, now)
    progress(size, size)
    return Verified(version, counts)


def verify_live(path: Path, owner: str) -> Counts:
    """Check a database that is in use by all of contract 14.3, as of one moment.

    Raises:
        Invalid: it failed a check.
        StoreError: the disk failed, so nobody knows.
    """
    connection = open_reader(path)
    try:
        with _judged(), snapshot(connection):
            _check_content(connection, owner, check_schema(connection))
            return count(connection)
    finally:
        connection.close(True)


def _drill(path: Path, owner: str, scratch: Path, now: int) -> None:
    """Prove that a file of an older schema can be brought up, on a copy."""
    copy = scratch / f"{TEMPORARY_PREFIX}drill-{secrets.token_hex(8)}.sqlite3"
    try:
        copy_file(path, copy)
        connection = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            _harden(connection)
            connection.execute("PRAGMA journal_mode = MEMORY")
            with _judged():
                migrate(connection, copy, now)
        finally:
            connection.close(True)
        with _immutable(copy) as connection:
            _check_content(connection, owner, check_schema(connection))
    finally:
        for leftover in (copy, Path(f"{copy}-journal"), Path(f"{copy}-wal"), Path(f"{copy}-shm")):
            with suppress(FileNotFoundError):
                leftover.unlink()


def copy_file(source: Path, destination: Path) -> None:
    """Copy a file that nobody writes, byte for byte, into a new private one; durable when this returns.

    Raises:
        StorageFailed: reading or writing failed.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        with source.open("rb") as read, os.fdopen(os.open(destination, flags, 0o600), "wb") as write:
            while piece := read.read(SYNC_BYTES):
                write.write(piece)
                write.flush()
                os.fsync(write.fileno())
    except OSError as error:
        raise StorageFailed(f"{destination}: {(error.strerror or 'it failed').lower()}.") from error


def _check_header(path: Path) -> int:
    """Magic, page size and length, by hand; the length in bytes."""
    try:
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise StorageFailed(f"{path}: {(error.strerror or 'it cannot be read').lower()}.") from error
    if not header.startswith(_MAGIC) or len(header) < _HEADER_BYTES:
        raise Invalid("it is no SQLite database")
    (page_size,) = struct.unpack_from(">H", header, 16)
    if page_size != PAGE_SIZE:
        raise Invalid(f"its page size is not {PAGE_SIZE}")
    (pages,) = struct.unpack_from(">I", header, 28)
    if size != pages * PAGE_SIZE:
        raise Invalid("its length is not what its header says: it was cut off or is still being written")
    if struct.unpack_from(">I", header, 68) != (APPLICATION_ID,):
        raise Invalid("it is the database of another program")
    return size


@contextmanager
def _immutable(path: Path) -> Iterator[apsw.Connection]:
    """A database file that is read as it lies there: no log, no lock, no trust."""
    with _judged():
        connection = apsw.Connection(
            f"file:{quote(str(path))}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        try:
            _harden(connection)
            yield connection
        finally:
            connection.close(True)


@contextmanager
def _judged() -> Iterator[None]:
    """Tell what is wrong with the file from what is wrong with the disk."""
    try:
        yield
    except apsw.IOError as error:
        raise StorageFailed(f"Reading a backup failed ({error}).") from error
    except apsw.FullError as error:
        raise StorageFailed("The disk is full; free some space.") from error
    except (apsw.Error, StoreError, UnicodeDecodeError, OverflowError) as error:
        if isinstance(error, StorageFailed):
            raise
        raise Invalid("it is damaged: SQLite cannot read it") from error


def _harden(connection: apsw.Connection) -> None:
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0)
    connection.config(apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0)
    connection.execute("PRAGMA cell_size_check = ON")
    connection.execute("PRAGMA mmap_size = 0")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA cache_size = -16384")


def check_schema(connection: apsw.Connection) -> int:
    """The schema version of a file whose tables are exactly those that our own scripts make.

    Raises:
        Invalid: they are not.
    """
    found = _schema_of(connection)
    versions = {_schema_after(version): version for version in range(1, len(known_migrations()) + 1)}
    version = versions.get(found)
    # A table whose declaration is ours may be read whatever the others are.
    ledger = _ledger(connection) if _LEDGER_ENTRY in found else []
    ours = [(script.version, script.name, script.sha256) for script in known_migrations()]
    newest = ledger[-1][0] if ledger else 0
    if newest > len(ours):
        raise Invalid(
            f"it has schema {newest} and this Remindi knows schema {len(ours)}:"
            " it was written by a newer version"
        )
    if version is None:
        raise Invalid("its tables are not those that Remindi makes")
    if ledger != ours[:version]:
        raise Invalid("the ledger of its migrations is not that of this Remindi")
    return version


def _ledger(connection: apsw.Connection) -> list[tuple[int, str, str]]:
    rows = connection.execute(
        "SELECT version, name, sha256 FROM migration ORDER BY version DESC LIMIT ?", (_LEDGER_ROWS,)
    )
    return [(row[0], row[1], row[2]) for row in rows][::-1]


def _check_content(connection: apsw.Connection, owner: str, version: int) -> None:
    if first_row(connection, "PRAGMA integrity_check(1)") != ("ok",):
        raise Invalid("it is damaged: SQLite's integrity check found errors")
    if first_row(connection, "PRAGMA foreign_key_check") is not None:
        raise Invalid("it holds rows that refer to nothing")
    for meaning in broken_invariants(connection, owner)[:1]:
        raise Invalid(meaning)
    # NOTE: SQLite forgets CHECK constraints of a file that is open for reading only, its own check too.
    for table, constraints in _constraints(version):
        broken = " OR ".join(f"NOT ({constraint})" for constraint in constraints)
        if first_row(connection, f"SELECT 1 FROM {table} WHERE {broken} LIMIT 1") is not None:
            raise Invalid(f"it holds a row that breaks a rule of the table {table}")


@cache
def _constraints(version: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The CHECK constraints of each table of a schema of ours."""
    schema = _schema_after(version)
    tables = ((name, sql) for kind, name, _, sql in schema if kind == "table" and sql is not None)
    found = ((name, tuple(_checks_in(sql))) for name, sql in tables)
    return tuple(sorted((name, constraints) for name, constraints in found if constraints))


def _checks_in(sql: str) -> Iterator[str]:
    """The conditions behind each CHECK of a declaration of ours, which hold no parenthesis in a text."""
    for begin in _CHECK.finditer(sql):
        depth = 1
        for place in range(begin.end(), len(sql)):
            depth += {"(": 1, ")": -1}.get(sql[place], 0)
            if depth == 0:
                yield sql[begin.end() : place]
                break


def broken_invariants(connection: apsw.Connection, owner: str) -> tuple[str, ...]:
    """Which of our own rules a database breaks, each as the end of a sentence (contract 14.3, 16)."""
    return tuple(
        meaning
        for query, meaning in _INVARIANTS
        if first_row(connection, query, (owner,) if "?1" in query else ()) is not None
    )


def _schema_of(connection: apsw.Connection) -> Schema:
    """What ``sqlite_schema`` says, but for statistics; of a stranger's only the beginning."""
    rows = connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT GLOB 'sqlite_stat*' LIMIT ?",
        (_SCHEMA_ROWS,),
    )
    return frozenset((row[0], row[1], row[2], row[3]) for row in rows)


@cache
def _schema_after(version: int) -> Schema:
    """The schema that our first ``version`` scripts make."""
    connection = apsw.Connection(":memory:")
    try:
        connection.execute(LEDGER)
        for script in known_migrations()[:version]:
            for _ in connection.execute(script.sql):
                pass
        return _schema_of(connection)
    finally:
        connection.close(True)


_LEDGER_ENTRY: Final = next(entry for entry in _schema_after(0) if entry[1] == "migration")
