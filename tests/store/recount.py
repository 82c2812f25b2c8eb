"""Counters and index as they would be made anew, to be compared with what was kept on the way."""

import re
from pathlib import Path
from typing import Any, Final

import apsw

from actors.store.migrations import known_migrations

COUNTERS: Final = ("item_count", "daily", "due_to_done")
Rows = dict[str, list[tuple[Any, ...]]]


def counted(path: Path) -> Rows:
    """What the counters say; places with nothing left in them are as good as absent."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = {table: list(connection.execute(f"SELECT * FROM {table}")) for table in COUNTERS}
    finally:
        connection.close(True)
    return {table: sorted(row for row in found if any(row[2:])) for table, found in rows.items()}


def recounted(path: Path) -> Rows:
    """The same from items and events, by the statements of the migration, in a copy in memory."""
    connection = apsw.Connection(":memory:")
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        with connection.backup("main", source, "main") as backup:
            backup.step()
        script = known_migrations()[1].sql
        for table in COUNTERS:
            connection.execute(f"DELETE FROM {table}")
            [statement] = re.findall(
                rf"(?:^WITH RECURSIVE[^;]*?)?^INSERT INTO {table} .*?;", script, re.MULTILINE | re.DOTALL
            )
            connection.execute(statement)
        return {table: sorted(connection.execute(f"SELECT * FROM {table}")) for table in COUNTERS}
    finally:
        source.close(True)
        connection.close(True)


def check_index(path: Path) -> None:
    """The index holds what the items say, no more and no less."""
    connection = apsw.Connection(str(path))
    try:
        connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
        # NOTE: what was never indexed that check does not miss.
        missing = connection.execute("SELECT key FROM body WHERE key NOT IN (SELECT id FROM search_docsize)")
        assert list(missing) == []
    finally:
        connection.close(True)
