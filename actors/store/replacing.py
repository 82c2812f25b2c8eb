"""Replacing: another content in place of a database's own, whatever happens meanwhile (contract 15.2)."""

import os
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote

import apsw

from actors.store import backups
from actors.store.connections import first_row, open_writer, translated
from actors.store.copying import Progress, nothing, pour
from actors.store.errors import Damaged, ForeignDatabase

_STEP_PAGES: Final = 4_096
_CACHE_KIB: Final = -2_048


def pour_file(connection: apsw.Connection, source: Path, progress: Progress) -> None:
    """Copy a file's pages into an open database in one transaction.

    SQLite's backup API writes through the log as every transaction does: no file is renamed, and no log of
    the former content can be replayed over the new one.
    """
    read = apsw.Connection(
        f"file:{quote(str(source))}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    )
    cache = first_row(connection, "PRAGMA cache_size")[0]
    try:
        page_size = first_row(read, "PRAGMA page_size")[0]
        # No page is met twice: what the cache holds of them is memory and no speed.
        connection.execute(f"PRAGMA cache_size = {_CACHE_KIB}")
        pour(
            read,
            connection,
            pages=_STEP_PAGES,
            after=lambda done, total: progress(done * page_size, total * page_size),
        )
    except BaseException:
        # What did not become the content fills the log; the disk may be full of it.
        with suppress(apsw.Error):
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        raise
    finally:
        read.close(True)
        connection.execute(f"PRAGMA cache_size = {cache}")


def set_apart(connection: apsw.Connection) -> None:
    """Say that a content that was poured in is another than before, and empty the log that it filled."""
    if first_row(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'generation'") is not None:
        backups.renew_generation(connection)
    # NOTE: readers of the former content may hold the log for a moment; the next checkpoint takes it then.
    with suppress(apsw.BusyError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)


def install(source: Path, live: Path, progress: Progress = nothing) -> None:
    """Put a verified file in place of a database that nobody has open, damaged or not.

    Interrupted, it may be run again; the source is never changed.

    Args:
        source: of a file that nobody writes.
        live: the database; its log, if one is left, belongs to a content that is given up.
        progress: told bytes of bytes.

    Raises:
        StoreError: it could not be done.
    """
    try:
        connection = open_writer(live)
    except (Damaged, ForeignDatabase):
        _empty(live)
        connection = open_writer(live)
    try:
        with translated(live):
            try:
                pour_file(connection, source, progress)
            except apsw.CorruptError:
                connection.close(True)
                _empty(live)
                connection = open_writer(live)
                pour_file(connection, source, progress)
            set_apart(connection)
    finally:
        connection.close(True)


def _empty(live: Path) -> None:
    """Make a damaged database an empty file, without what SQLite keeps beside it."""
    for beside in ("-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            live.with_name(f"{live.name}{beside}").unlink()
    descriptor = os.open(live, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        os.ftruncate(descriptor, 0)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
