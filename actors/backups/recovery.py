"""Recovery: what a start does with the journal of a restore that did not end (contract 15.2, 17.1 step 5)."""

import logging
from pathlib import Path
from typing import Final

from actors.backups.candidates import NEWEST_SCHEMA
from actors.backups.files import BackupDirectory, DirectoryFailed, sha256_of
from actors.backups.journal import (
    INSTALLS,
    Journal,
    JournalUnusable,
    drop_journal,
    read_journal,
    read_latest,
    write_latest,
)
from actors.store.copying import nothing
from actors.store.errors import StoreError
from actors.store.replacing import install
from actors.store.verification import Invalid, verify, verify_live
from actors.system import Clock
from remindi.backups import Phase, RestoreOutcome, RestoreState
from remindi.identifiers import parse_uuid, uuid_text

log = logging.getLogger("remindi.backups")

_SUCCEEDED: Final[frozenset[Phase]] = frozenset(("workloads_restarted", "succeeded"))
_INTERRUPTED: Final = "The service ended during the restore; the former database is live."


class RecoveryFailed(Exception):
    """The start must not go on; the text is one line that says why and what to do."""


def recover(directory: BackupDirectory, database: Path, owner: str, clock: Clock) -> RestoreState | None:
    """Follow the journal, before anybody opens the database, and end the restore that a former process began.

    Returns:
        How it ended; None when there is nothing to follow.

    Raises:
        RecoveryFailed: the journal says nothing that can be followed, or what it asks for is impossible.
    """
    try:
        journal = read_journal(directory)
    except JournalUnusable as error:
        raise RecoveryFailed(str(error)) from None
    if journal is None:
        _end_latest(directory, clock)
        return None
    about = {"operation_id": uuid_text(journal.operation_id), "phase": journal.phase}
    log.warning("a restore was interrupted", extra=about)
    if journal.phase in INSTALLS:
        _install(directory, database, owner, clock, journal)
    else:
        _keep(database, owner, journal)
    state = _ended(directory, clock, journal)
    try:
        write_latest(directory, state)
        drop_journal(directory)
    except OSError as error:
        raise RecoveryFailed(
            f"{directory.path} (REMINDI_BACKUP_DIR) cannot be written: {error.strerror}."
        ) from None
    log.warning("the interrupted restore was ended", extra=about | {"outcome": state.outcome})
    return state


def _install(directory: BackupDirectory, database: Path, owner: str, clock: Clock, journal: Journal) -> None:
    assert journal.pre_restore_file is not None
    source, identifier = directory.path / journal.pre_restore_file, _identifier(journal.pre_restore_file)
    try:
        if not source.is_file():
            raise Invalid("its file is gone")
        said = next(
            (record for record in directory.manifests(NEWEST_SCHEMA) if record.id == identifier), None
        )
        if said is not None and sha256_of(source, nothing) != (said.sha256, said.size_bytes):
            raise Invalid("its SHA-256 is not that of its manifest")
        verify(source, owner, scratch=directory.path, now=clock.now())
        install(source, database)
        verify_live(database, owner)
    except Invalid as error:
        raise RecoveryFailed(
            f"The restore {uuid_text(journal.operation_id)} was interrupted, and the backup to go back to,"
            f" {source}, cannot be used: {error}. Put another backup in place with `remindi backup restore`."
        ) from None
    except (StoreError, DirectoryFailed, OSError) as error:
        raise RecoveryFailed(
            f"The restore {uuid_text(journal.operation_id)} was interrupted, and going back failed: {error}"
            " Start again when that is mended; nothing is lost."
        ) from None


def _keep(database: Path, owner: str, journal: Journal) -> None:
    try:
        verify_live(database, owner)
    except (Invalid, StoreError) as error:
        raise RecoveryFailed(
            f"The restore {uuid_text(journal.operation_id)} was interrupted, and {database} cannot be used:"
            f" {error}. Put a backup in place with `remindi backup restore`."
        ) from None


def _ended(directory: BackupDirectory, clock: Clock, journal: Journal) -> RestoreState:
    """The final state of an interrupted restore."""
    succeeded = journal.phase in _SUCCEEDED
    outcome: RestoreOutcome = "succeeded" if succeeded else "failed"
    now = clock.now()
    latest = read_latest(directory)
    if latest is None or latest.operation_id != journal.operation_id:
        latest = RestoreState(
            operation_id=journal.operation_id,
            backup_id=_identifier(journal.candidate_file),
            outcome=outcome,
            rolled_back=False,
            reason=None,
            pre_restore_id=None,
            phases=(),
            started_at=now,
            ended_at=now,
        )
    pre_restore = journal.pre_restore_file
    reached = {journal.phase, *(reached.phase for reached in latest.phases)}
    return latest._replace(
        outcome=outcome,
        rolled_back=journal.phase in INSTALLS or "rollback_verified" in reached,
        reason=None if succeeded else latest.reason or _INTERRUPTED,
        pre_restore_id=latest.pre_restore_id if pre_restore is None else _identifier(pre_restore),
        ended_at=now,
    )


def _end_latest(directory: BackupDirectory, clock: Clock) -> None:
    """End the state of a restore whose journal had gone already when the service ended."""
    latest = read_latest(directory)
    if latest is None or latest.outcome != "running":
        return
    succeeded = any(reached.phase in _SUCCEEDED for reached in latest.phases)
    ended = latest._replace(
        outcome="succeeded" if succeeded else "failed",
        reason=None if succeeded else latest.reason or _INTERRUPTED,
        ended_at=clock.now(),
    )
    try:
        write_latest(directory, ended)
    except OSError as error:
        log.warning("the state of a restore could not be kept", extra={"error": str(error)})


def _identifier(name: str) -> bytes:
    return parse_uuid(name.removeprefix("remindi-").removesuffix(".sqlite3"))
