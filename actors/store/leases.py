"""The scheduler's lease as a row that is compared before it is changed (contract 8.3)."""

from typing import Final

import apsw

from actors.messages.control import LeaseRow
from actors.store.connections import first_row

LEASE_NAME: Final = "trigger-evaluator"


def read_lease(connection: apsw.Connection) -> LeaseRow | None:
    """The lease, whoever holds it."""
    row = first_row(
        connection,
        "SELECT holder, acquired_at, expires_at, version FROM lease WHERE name = ?",
        (LEASE_NAME,),
    )
    return None if row is None else LeaseRow(*row)


def acquire_lease(connection: apsw.Connection, holder: str, now: int, length_ms: int) -> LeaseRow | None:
    """Take the lease when it is absent or expired; None when it is held, also by the same holder."""
    held = read_lease(connection)
    if held is not None and held.expires_at > now:
        return None
    taken = LeaseRow(holder, now, now + length_ms, 1 if held is None else held.version + 1)
    _store_lease(connection, taken)
    return taken


def renew_lease(connection: apsw.Connection, held: LeaseRow, now: int, length_ms: int) -> LeaseRow | None:
    """Renew exactly the lease held; None when it is lost."""
    stored = read_lease(connection)
    if stored is None or (stored.holder, stored.version) != (held.holder, held.version):
        return None
    if stored.expires_at <= now:
        return None
    renewed = stored._replace(expires_at=now + length_ms, version=stored.version + 1)
    _store_lease(connection, renewed)
    return renewed


def release_lease(connection: apsw.Connection, held: LeaseRow) -> bool:
    """Delete exactly the lease held."""
    connection.execute(
        "DELETE FROM lease WHERE name = ? AND holder = ? AND version = ?",
        (LEASE_NAME, held.holder, held.version),
    )
    return connection.changes() == 1


def drop_leases(connection: apsw.Connection) -> None:
    """Drop what a dead process left; only while the lock of the data directory is held."""
    connection.execute("DELETE FROM lease")


def holds_lease(connection: apsw.Connection, holder: str, now: int) -> bool:
    """Whether a scheduler may write under its lease now."""
    held = read_lease(connection)
    return held is not None and held.holder == holder and held.expires_at > now


def _store_lease(connection: apsw.Connection, lease: LeaseRow) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO lease (name, holder, acquired_at, expires_at, version)"
        " VALUES (?, ?, ?, ?, ?)",
        (LEASE_NAME, *lease),
    )
