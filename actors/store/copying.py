"""Copies of a database: consistent, while it is being written, into one file (contract 14.1)."""

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from actors.store.connections import first_row, open_reader, snapshot, translated
from actors.store.errors import StorageFailed

Progress = Callable[[int, int], None]
"""Told how many bytes of how many are done; what it raises ends the work."""

STEP_PAGES: Final = 1_024
"""Pages of one step: 4 MiB, so that nobody waits long for the disk or the lock of a step."""
SYNC_BYTES: Final = 4 * 1_048_576
"""How much of a copy waits for its fsync at least, so that the last one is short."""

SYNC_SECONDS: Final = 600.0
"""How long the last piece but one may take to become durable."""


class Counts(NamedTuple):
    """What a database holds."""

    items: int
    events: int
    evidence: int


def nothing(_done: int, _total: int) -> None:
    """Take no notice of progress."""


def copy_database(
    source: Path, destination: Path, *, progress: Progress = nothing, pages: int = STEP_PAGES
) -> Counts:
    """Copy a live database into a new file; durable when this returns.

    The copy is that of one moment, whatever is written meanwhile: its snapshot is pinned, so it never starts
    over. SQLite's log of the source cannot start over before it ends.

    Args:
        source: of a database that this process has open elsewhere.
        destination: an empty private file, or none yet.
        progress: told after each step.
        pages: of one step.

    Returns:
        What the copied moment held, counted in the source.

    Raises:
        StoreError: reading or writing failed; the destination is worthless.
    """
    reader = open_reader(source)
    try:
        with translated(source), snapshot(reader):
            counts = count(reader)
            with translated(destination):
                _copy(reader, destination, progress, pages)
    finally:
        reader.close(True)
    return counts


def count(connection: apsw.Connection) -> Counts:
    """Count what a database holds."""
    row = first_row(
        connection,
        "SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM event), (SELECT count(*) FROM evidence)",
    )
    return Counts(*row)


def pour(
    source: apsw.Connection, destination: apsw.Connection, *, pages: int, after: Callable[[int, int], None]
) -> None:
    """Put the pages of one open database in place of another's, in one transaction of the latter.

    Args:
        source: read from.
        destination: has no open transaction.
        pages: of one step; -1 for all at once.
        after: told after each step how many pages of how many are copied.
    """
    backup = destination.backup("main", source, "main")
    try:
        while not backup.done:
            backup.step(pages)
            after(backup.page_count - backup.remaining, backup.page_count)
    except BaseException:
        # What was copied so far is rolled back; what it would complain of is known.
        backup.close(True)
        raise
    backup.finish()


def _copy(reader: apsw.Connection, destination: Path, progress: Progress, pages: int) -> None:
    descriptor = os.open(destination, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    syncer = _Syncer(descriptor)
    try:
        copy = apsw.Connection(str(destination))
        try:
            page_size = first_row(reader, "PRAGMA page_size")[0]

            def after(done: int, total: int) -> None:
                syncer.wrote(done * page_size)
                progress(done * page_size, total * page_size)

            # NOTE: nothing is to be rolled back into a new file, and the last fsync is our own.
            copy.execute("PRAGMA journal_mode = OFF")
            copy.execute("PRAGMA synchronous = OFF")
            pour(reader, copy, pages=pages, after=after)
            if first_row(copy, "PRAGMA journal_mode = DELETE") != ("delete",):
                raise StorageFailed(f"{destination} could not be made a single file.")
        finally:
            copy.close(True)
        syncer.finish()
    except OSError as error:
        raise StorageFailed(f"{destination}: {(error.strerror or 'writing failed').lower()}.") from error
    finally:
        syncer.close()
        os.close(descriptor)


class _Syncer:
    """Makes a file durable as it grows, in a thread beside whoever writes it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sync")
        self._running: Future[None] | None = None
        self._begun_at = 0

    def wrote(self, size: int) -> None:
        """Hear that the file has grown.

        Raises:
            OSError: a former piece could not be made durable.
        """
        if size - self._begun_at < SYNC_BYTES or (self._running and not self._running.done()):
            return
        if self._running is not None:
            self._running.result(0)
        self._begun_at = size
        self._running = self._thread.submit(os.fsync, self._descriptor)

    def finish(self) -> None:
        """Make all of it durable.

        Raises:
            OSError: it could not be done.
        """
        if self._running is not None:
            self._running.result(SYNC_SECONDS)
        os.fsync(self._descriptor)

    def close(self) -> None:
        """End the thread."""
        self._thread.shutdown()
