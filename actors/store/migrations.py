"""Migrations: numbered scripts in ``schema/migrations``, applied once, checksummed for ever (contract 16)."""

import hashlib
import logging
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final, NamedTuple

import apsw

from actors.store.connections import APPLICATION_ID, first_row
from actors.store.errors import AlteredSchema, Damaged, NewerSchema

log = logging.getLogger("remindi.store")
_NAME: Final = re.compile(r"([0-9]{4})_[a-z0-9_]+\.sql")
LEDGER: Final = """
CREATE TABLE IF NOT EXISTS migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
"""


class Migration(NamedTuple):
    """One script."""

    version: int
    name: str
    sql: str
    sha256: str


@cache
def known_migrations() -> tuple[Migration, ...]:
    """The scripts that this build ships, in order."""
    found = []
    for entry in files("schema").joinpath("migrations").iterdir():
        matched = _NAME.fullmatch(entry.name)
        if matched is not None:
            script = entry.read_bytes()
            digest = hashlib.sha256(script).hexdigest()
            found.append(Migration(int(matched[1]), entry.name, script.decode(), digest))
    found.sort()
    if [script.version for script in found] != list(range(1, len(found) + 1)):
        raise RuntimeError("migrations are not numbered 1, 2, 3, ...")
    return tuple(found)


def migrate(connection: apsw.Connection, path: Path, now: int) -> bool:
    """Bring the database to our schema in one exclusive transaction; True when anything was applied.

    Raises:
        NewerSchema: a higher version than ours was applied; the file is left as it is.
        AlteredSchema: a name or checksum in the ledger differs from ours, or it is empty or gone.
        Damaged: a quick check failed before or after migrating.
    """
    known = known_migrations()
    if len(_applied(connection, path)) == len(known):
        return False
    connection.execute("BEGIN EXCLUSIVE")
    try:
        applied = _applied(connection, path)
        if applied:
            quick_check(connection, path)
        connection.execute(LEDGER)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        for script in known[len(applied) :]:
            for _ in connection.execute(script.sql):
                pass  # NOTE: apsw runs a script of several statements lazily, as its rows are read.
            connection.execute(
                "INSERT INTO migration (version, name, sha256, applied_at) VALUES (?, ?, ?, ?)",
                (script.version, script.name, script.sha256, now),
            )
            log.info("migration applied", extra={"migration": script.name})
        quick_check(connection, path)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return True


def applied_version(connection: apsw.Connection, path: Path) -> int:
    """The schema version of a database; 0 of an empty file.

    Raises:
        NewerSchema, AlteredSchema: as of ``migrate``.
    """
    return len(_applied(connection, path))


def quick_check(connection: apsw.Connection, path: Path) -> None:
    """SQLite's quick check and the foreign keys.

    Raises:
        Damaged: either found something.
    """
    verdict = first_row(connection, "PRAGMA quick_check(1)")
    if verdict is None or verdict[0] != "ok" or first_row(connection, "PRAGMA foreign_key_check") is not None:
        raise Damaged(f"{path} is damaged: SQLite's check found errors; restore a backup.")


def _without_ledger(path: Path) -> AlteredSchema:
    return AlteredSchema(f"{path} does not say which migrations made its tables; restore a backup.")


def _applied(connection: apsw.Connection, path: Path) -> list[int]:
    """The versions of the ledger, after comparing them with ours."""
    if first_row(connection, "SELECT 1 FROM sqlite_schema WHERE name = 'migration'") is None:
        if first_row(connection, "SELECT 1 FROM sqlite_schema") is not None:
            raise _without_ledger(path)
        return []
    known = {script.version: script for script in known_migrations()}
    ledger = list(connection.execute("SELECT version, name, sha256 FROM migration ORDER BY version"))
    if not ledger:
        raise _without_ledger(path)
    newest = ledger[-1][0]
    if newest > len(known):
        raise NewerSchema(
            f"{path} has schema {newest} and this Remindi knows schema {len(known)}: it was written by a "
            "newer version. Start that version, or restore a backup made before the update."
        )
    for position, (version, name, digest) in enumerate(ledger, start=1):
        ours = known.get(version)
        if version != position or ours is None or ours.name != name or ours.sha256 != digest:
            raise AlteredSchema(
                f"{path}: migration {version} differs from the one this Remindi ships; "
                "restore a backup or use the version that wrote it."
            )
    return [version for version, _, _ in ledger]
