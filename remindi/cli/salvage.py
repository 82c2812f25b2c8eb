"""Salvage: a backup put in place of a database that is lost or too broken to be opened, of a stopped service.

The broken files are kept aside under a name that tells what they are. Interrupted at any moment, the same
command may be run again.
"""

import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from actors.backups.files import BackupDirectory, DirectoryFailed, sha256_of
from actors.backups.journal import JOURNAL_NAME, drop_journal
from actors.backups.recovery import RecoveryFailed, recover
from actors.data_directory import (
    DIRECTORY_MODE,
    TEMPORARY_PREFIX,
    DirectoryInUse,
    DirectoryUnusable,
    remove_leftovers,
)
from actors.store.copying import nothing
from actors.store.errors import StoreError
from actors.store.examining import Examined, examine
from actors.store.migrations import known_migrations
from actors.store.replacing import install
from actors.store.verification import Invalid, Verified, verify
from actors.system import SystemClock
from remindi.backups import BackupRecord
from remindi.cli import exits
from remindi.cli.endings import Said
from remindi.cli.exits import Refused, cause
from remindi.cli.operator import lock_stopped
from remindi.cli.store_refusals import refusal_of_store
from remindi.config import Config
from remindi.identifiers import uuid_text
from remindi.instants import stamp

Confirm = Callable[[Sequence[str]], None]
"""Says what will happen, and raises unless it is confirmed."""
_BESIDE: Final = ("-wal", "-shm", "-journal")


class Source(NamedTuple):
    """What is put in place."""

    path: Path
    record: BackupRecord | None
    """Of its manifest; null for a file from elsewhere."""


def why_broken(config: Config) -> str | None:
    """Why the database of a stopped service cannot be opened, as a sentence; None when it can, or one runs.

    An interrupted restore is ended first, as a start would.

    Raises:
        Refused: the data directory cannot be used.
    """
    database = Path(config.db_path)
    try:
        with _locked(database):
            recover(BackupDirectory(Path(config.backup_dir)), database, config.owner_id, SystemClock())
            if not database.exists():
                return f"There is no database at {database} (REMINDI_DB_PATH)."
            return _broken(examine(database, config.owner_id, in_use=False))
    except DirectoryInUse:
        return None
    except RecoveryFailed as error:
        return str(error)


def manifests(config: Config) -> list[BackupRecord]:
    """What the backup directory says of itself, the oldest first, while no database can be asked."""
    directory = BackupDirectory(Path(config.backup_dir))
    return sorted(directory.manifests(len(known_migrations())), key=lambda record: record.created_at)


def put_in_place(config: Config, source: Source, broken: str, confirm: Confirm) -> Said:
    """Verify a backup, keep aside what is there, and put the backup in its place.

    Args:
        config: of the service.
        source: the backup.
        broken: why this is needed.
        confirm: asks.

    Raises:
        Refused: it could not be done; the line says what is there now.
    """
    database = Path(config.db_path)
    try:
        with _locked(database):
            verified = _verified(config, source)
            confirm(
                [
                    broken,
                    f"Put in place: {source.path}, {verified.counts.items} items, {_made(source)}.",
                    "What is there now is kept aside in the data directory.",
                ]
            )
            remove_leftovers(database.parent)
            temporary = _copied(source.path, database)
            try:
                kept = _keep_aside(database)
                temporary.replace(database)
                BackupDirectory(database.parent).sync()
            finally:
                _remove(temporary)
            _end_restore(Path(config.backup_dir))
            fault = _broken(examine(database, config.owner_id, in_use=False))
    except DirectoryInUse as error:
        raise Refused(exits.RUNNING, str(error)) from None
    except DirectoryUnusable as error:
        raise Refused(exits.DATA_DIRECTORY, str(error)) from None
    except StoreError as error:
        raise refusal_of_store(error) from None
    except OSError as error:
        raise Refused(
            exits.DATA_DIRECTORY, f"{database.parent} (REMINDI_DB_PATH) cannot be written: {cause(error)}"
        ) from None
    if fault is not None:
        raise Refused(exits.DATABASE, fault)
    data = {
        "restored": str(source.path),
        "items": verified.counts.items,
        "kept": [str(path) for path in kept],
    }
    lines = [f"{source.path} is in place: {verified.counts.items} items. Start the service."]
    lines += [f"What was there is kept: {path}" for path in kept]
    return Said(data, lines)


def _broken(examined: Examined) -> str | None:
    if examined.sound:
        return None
    if examined.damage:
        return f"The database is damaged: {'; '.join(examined.damage)}."
    if examined.broken:
        return f"Of the database: {'; '.join(examined.broken)}."
    return examined.unreadable or examined.schema_fault or "The database holds rows that refer to nothing."


def _verified(config: Config, source: Source) -> Verified:
    directory = Path(config.backup_dir)
    scratch = directory if directory.is_dir() else Path(config.db_path).parent
    try:
        if source.record is not None and sha256_of(source.path, nothing)[0] != source.record.sha256:
            raise Invalid("its SHA-256 is not that of its manifest")
        return verify(source.path, config.owner_id, scratch=scratch, now=SystemClock().now())
    except Invalid as error:
        raise Refused(exits.FAILED, f"{source.path} is no backup: {error}. Nothing was changed.") from None
    except DirectoryFailed as error:
        raise Refused(exits.DATA_DIRECTORY, str(error)) from None


def _made(source: Source) -> str:
    if source.record is None:
        return "a file from elsewhere"
    return f"backup {uuid_text(source.record.id)} of {stamp(source.record.created_at)}"


def _copied(source: Path, database: Path) -> Path:
    """A database of the source's content beside the live one, durable."""
    temporary = database.parent / f"{TEMPORARY_PREFIX}{secrets.token_hex(16)}.db"
    try:
        BackupDirectory(database.parent).require_space(source.stat().st_size)
        install(source, temporary)
        descriptor = os.open(temporary, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fchmod(descriptor, 0o600)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except DirectoryFailed as error:
        _remove(temporary)
        raise Refused(exits.DATA_DIRECTORY, str(error).replace("backup", "data")) from None
    except BaseException:
        _remove(temporary)
        raise
    return temporary


def _keep_aside(database: Path) -> list[Path]:
    """Give what is there other names; the database itself keeps its own beside, until it is replaced.

    Its log goes first: none may lie beside the content that comes.
    """
    when = stamp(SystemClock().now()).translate(str.maketrans("", "", "-:."))
    aside = database.with_name(f"{database.name}.damaged-{when}")
    kept = []
    if database.exists():
        aside.hardlink_to(database)
        kept.append(aside)
    for suffix in _BESIDE:
        path = database.with_name(f"{database.name}{suffix}")
        if path.exists():
            path.rename(aside.with_name(f"{aside.name}{suffix}"))
            kept.append(aside.with_name(f"{aside.name}{suffix}"))
    BackupDirectory(database.parent).sync()
    return kept


def _end_restore(backup_directory: Path) -> None:
    """Drop the journal of a restore that this one takes the place of."""
    if (backup_directory / JOURNAL_NAME).exists():
        drop_journal(BackupDirectory(backup_directory))


def _remove(temporary: Path) -> None:
    for path in (temporary, *(temporary.with_name(f"{temporary.name}{suffix}") for suffix in _BESIDE)):
        with suppress(OSError):
            path.unlink()


@contextmanager
def _locked(database: Path) -> Iterator[None]:
    try:
        database.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(
            exits.DATA_DIRECTORY, f"{database.parent} (REMINDI_DB_PATH) cannot be made: {cause(error)}"
        ) from None
    lock = lock_stopped(database)
    try:
        yield
    finally:
        lock.release()
