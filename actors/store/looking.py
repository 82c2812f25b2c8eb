"""Looking: a database opened so that neither it nor its log is changed, whoever has it open elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import apsw

from actors.data_directory import stopped_uncleanly
from actors.store.connections import BUSY_TIMEOUT_MS, translated


@contextmanager
def looked_at(path: Path, *, in_use: bool) -> Iterator[apsw.Connection]:
    """A connection that can only read, with SQLite's faults told as the store's.

    Args:
        path: of an existing database.
        in_use: whether a process has it open; one that nobody has open, and that was closed cleanly, is read
            as it lies there, without a file beside it.

    Raises:
        StoreError: it cannot be opened or read.
    """
    untouched = "" if in_use or stopped_uncleanly(path) else "&immutable=1"
    with translated(path):
        connection = apsw.Connection(
            f"file:{quote(str(path))}?mode=ro{untouched}",
            flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI,
        )
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            connection.execute("PRAGMA query_only = ON")
            connection.execute("PRAGMA cell_size_check = ON")
            connection.execute("PRAGMA mmap_size = 0")
            connection.execute("PRAGMA temp_store = MEMORY")
            yield connection
        finally:
            connection.close(True)
