"""Backup records: what the database knows of the files in the backup directory (contract 14.1, 14.4)."""

from typing import Final

import apsw

from actors.store.connections import first_row
from remindi.backups import BackupRecord, Source, Status

_COLUMNS: Final = (
    "id, source, status, sha256, size_bytes, schema_version, created_at, verified_at, created_by, items"
)
_RETAINED: Final = (Source.AUTOMATIC.value, Source.UPLOAD.value)
"""Sources whose backups expire; the others never do."""


def backups(connection: apsw.Connection) -> tuple[BackupRecord, ...]:
    """All records, the newest first."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM backup ORDER BY created_at DESC, key DESC")
    return tuple(_record(row) for row in rows)


def find_backup(connection: apsw.Connection, identifier: bytes) -> BackupRecord | None:
    """One record by its identifier."""
    row = first_row(connection, f"SELECT {_COLUMNS} FROM backup WHERE id = ?", (identifier,))
    return None if row is None else _record(row)


def store_backup(connection: apsw.Connection, record: BackupRecord) -> None:
    """Store a record, over what is known of the same backup."""
    connection.execute(
        f"INSERT INTO backup ({_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        " ON CONFLICT (id) DO UPDATE SET status = excluded.status, verified_at = excluded.verified_at,"
        " items = excluded.items",
        record._replace(source=record.source.value, status=record.status.value),  # type: ignore[arg-type]
    )


def expire_backups(connection: apsw.Connection, kept: int) -> tuple[BackupRecord, ...]:
    """Mark as expired what retention does not keep; those records, now expired."""
    old = connection.execute(
        f"SELECT {_COLUMNS} FROM backup WHERE status = 'ready' AND source IN (?, ?)"
        " ORDER BY created_at DESC, key DESC LIMIT -1 OFFSET ?",
        (*_RETAINED, kept),
    )
    expired = tuple(_record(row)._replace(status=Status.EXPIRED) for row in old)
    for record in expired:
        store_backup(connection, record)
    return expired


def born_at(connection: apsw.Connection) -> int:
    """When the database was made."""
    instant: int = first_row(connection, "SELECT applied_at FROM migration WHERE version = 1")[0]
    return instant


def read_generation(connection: apsw.Connection) -> bytes:
    """Which content this is."""
    value: bytes = first_row(connection, "SELECT value FROM generation")[0]
    return value


def renew_generation(connection: apsw.Connection) -> None:
    """Say that this is another content than before."""
    connection.execute("UPDATE generation SET value = randomblob(16)")


def _record(row: tuple[bytes, str, str, str, int, int, int, int, str, int]) -> BackupRecord:
    return BackupRecord(row[0], Source(row[1]), Status(row[2]), *row[3:])
