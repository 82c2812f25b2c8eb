"""Jobs: what the worker does for those who ask, and by itself, each with its audit row (contract 13.2)."""

import json
import logging
from pathlib import Path
from typing import Final

from actors.address import ActorError, OutcomeUnknown
from actors.backups.candidates import NEWEST_SCHEMA
from actors.backups.files import DirectoryFailed
from actors.backups.meter import Abandoned
from actors.backups.restore import ASK_SECONDS, Restore, World, invalid_backup, words_of
from actors.failures import DatabaseRefused, unrefused
from actors.messages.backups import BackupFile, RestoreBackup, Restored
from actors.messages.feed import BackupsChanged
from actors.messages.readers import GetBackup, GetOrigin, ListAudit, ListBackups
from actors.messages.writer import RecordAudit, RecordBackup
from actors.store.errors import StoreError
from actors.store.verification import Invalid
from remindi import audit
from remindi.audit import AuditQuery, AuditType
from remindi.backups import BackupRecord, RestoreState, Source, Status
from remindi.errors import NOT_FOUND, ErrorCode, Refusal
from remindi.events import ActorType, Caller
from remindi.identifiers import uuid_text

log = logging.getLogger("remindi.backups")

SYSTEM: Final = Caller(ActorType.SYSTEM, "system:backup", None)
"""In whose name backups are made without being asked for (contract 14.2)."""
_LATEST_ROWS: Final = 100
"""Of the audit, among which are those of a restore that was interrupted."""
_FAILED: Final = Refusal(ErrorCode.INTERNAL_ERROR)


class Jobs:
    """The work behind each message; in the worker's thread."""

    def __init__(self, world: World) -> None:
        """Make the jobs of one backup directory and its database."""
        self._world = world
        self._candidates = world.candidates
        self._directory = world.candidates.directory

    def create(self, caller: Caller, source: Source) -> BackupRecord | str:
        """Make a backup of the live database; the record, or why there is none."""
        identifier = self._world.ids.next()
        try:
            record = self._candidates.copied(identifier, source, caller.actor_id)
            self._record(caller, record, audit.BACKUP_CREATED)
        except Abandoned:
            raise
        except Exception as error:
            reason = words_of(error)
            log.error("a backup failed: %s", reason, exc_info=_bug(error), extra={"source": source.value})
            self._audit(caller, audit.BACKUP_CREATED, audit.FAILED, audit.about_backup(None, source))
            return reason
        log.info("a backup was made", extra=_about(record))
        return record

    def upload(self, caller: Caller, temporary: Path) -> BackupRecord | Refusal:
        """Make a backup of a file that was received whole."""
        try:
            record = self._candidates.taken(self._world.ids.next(), temporary, caller.actor_id)
            self._record(caller, record, audit.BACKUP_UPLOADED)
        except Invalid as error:
            log.warning("an uploaded file is no backup: %s", error)
            refusal = invalid_backup(error)
            details = audit.about_backup(None, Source.UPLOAD) | {"failure_code": refusal.code.value}
            self._audit(caller, audit.BACKUP_UPLOADED, audit.REJECTED, details)
            return refusal
        except Abandoned:
            raise
        except Exception as error:
            log.error("an upload could not be kept: %s", words_of(error), exc_info=_bug(error))
            self._audit(caller, audit.BACKUP_UPLOADED, audit.FAILED, audit.about_backup(None, Source.UPLOAD))
            return _FAILED
        log.info("a backup was uploaded", extra=_about(record))
        return record

    def verify(self, caller: Caller, identifier: bytes) -> BackupRecord | Refusal:
        """Prove once more that a backup could be restored."""
        kind = audit.BACKUP_VERIFIED
        record = self._find(caller, identifier)
        if record is None:
            details = audit.about_backup(identifier, None) | {"failure_code": NOT_FOUND.code.value}
            self._audit(caller, kind, audit.REJECTED, details)
            return NOT_FOUND
        proven = self._proven(caller, record)
        details = audit.about_backup(identifier, record.source)
        if isinstance(proven, BackupRecord):
            self._audit(caller, kind, audit.SUCCEEDED, details)
        elif proven.code is ErrorCode.BACKUP_INVALID:
            self._audit(caller, kind, audit.REJECTED, details | {"failure_code": proven.code.value})
        else:
            self._audit(caller, kind, audit.FAILED, details)
        return proven

    def open(self, caller: Caller, identifier: bytes) -> BackupFile | Refusal:
        """Prove a backup for a download."""
        record = self._find(caller, identifier)
        if record is None:
            return NOT_FOUND
        proven = self._proven(caller, record)
        if isinstance(proven, Refusal):
            return proven
        return BackupFile(proven, self._directory.path_of(identifier))

    def restore(self, caller: Caller, identifier: bytes) -> Restored | Refusal:
        """Restore a backup."""
        record = self._find(caller, identifier)
        if record is None:
            self.store_audit(refused_restore(RestoreBackup(caller=caller, backup_id=identifier), NOT_FOUND))
            return NOT_FOUND
        return Restore(self._world, caller, record).run()

    def reconcile(self) -> None:
        """Bring records and files together: nobody has looked while the service was down (contract 14.4)."""
        known = {record.id: record for record in self._list()}
        for record in known.values():
            if record.status is Status.READY and not self._directory.holds(record):
                log.warning("the file of a backup is gone", extra=_about(record))
                self._store(record._replace(status=Status.INVALID))
            elif record.status is Status.EXPIRED and self._directory.path_of(record.id).exists():
                self._remove(record)
        self._directory.remove_orphans(known)
        for found in self._directory.manifests(NEWEST_SCHEMA):
            if found.id in known and known[found.id].status is not Status.INVALID:
                continue
            try:
                self._store(self._candidates.proven(found))
                log.info("a backup was found", extra=_about(found))
            except Abandoned:
                raise
            except Exception as error:
                log.warning("a file is no backup: %s", words_of(error), extra=_about(found))

    def learn(self) -> tuple[int, int | None]:
        """When the database was made, and its newest automatic backup."""
        origin = self._world.reader.call(GetOrigin(caller=SYSTEM), timeout=ASK_SECONDS)
        automatic = (record.created_at for record in self._list() if record.source is Source.AUTOMATIC)
        # One from the future was made under a clock that was wrong.
        now = self._world.clock.now()
        return origin.born_at, max((at for at in automatic if at <= now), default=None)

    def close_recovery(self, state: RestoreState) -> None:
        """Write into the audit what it lacks of a restore that a former process began."""
        succeeded = state.outcome == "succeeded"
        ended: AuditType = audit.RESTORE_SUCCEEDED if succeeded else audit.RESTORE_FAILED
        outcome = audit.SUCCEEDED if succeeded else audit.FAILED
        about = audit.about_restore(state.backup_id, state.operation_id)
        query = AuditQuery(0, None, "desc", (audit.RESTORE_STARTED, ended), (), _LATEST_ROWS)
        rows = self._world.reader.call(ListAudit(caller=SYSTEM, query=query), timeout=ASK_SECONDS)
        written = {row.type for row in rows if json.loads(row.details_json) == about}
        if audit.RESTORE_STARTED not in written:
            self._audit(SYSTEM, audit.RESTORE_STARTED, audit.SUCCEEDED, about, state.started_at)
        if ended not in written:
            self._audit(SYSTEM, ended, outcome, about, state.ended_at)

    def store_audit(self, row: RecordAudit) -> None:
        """Store an audit row that had to wait."""
        try:
            unrefused(self._world.writer.call(row, timeout=ASK_SECONDS))
        except Exception:
            log.warning("an audit row was not stored", exc_info=True, extra={"event_type": row.event_type})

    # ------------------------------------------------------------------ bits

    def _find(self, caller: Caller, identifier: bytes) -> BackupRecord | None:
        """The record of a backup that has not expired."""
        found = self._world.reader.call(GetBackup(caller=caller, backup_id=identifier), timeout=ASK_SECONDS)
        return None if found is None or found.status is Status.EXPIRED else found

    def _list(self) -> tuple[BackupRecord, ...]:
        return self._world.reader.call(ListBackups(caller=SYSTEM), timeout=ASK_SECONDS)

    def _proven(self, caller: Caller, record: BackupRecord) -> BackupRecord | Refusal:
        """A record that was held against its file; what became of it is stored."""
        try:
            proven = self._candidates.proven(record)
        except Invalid as error:
            log.error("a backup is damaged: %s", error, extra=_about(record))
            self._store(record._replace(status=Status.INVALID), caller)
            return invalid_backup(error)
        except (StoreError, DirectoryFailed, OSError) as error:
            log.error("a backup could not be verified: %s", words_of(error), extra=_about(record))
            return _FAILED
        self._store(proven, caller)
        return proven

    def _store(self, record: BackupRecord, caller: Caller = SYSTEM) -> None:
        message = RecordBackup(caller=caller, record=record, event_type=None, retains=False)
        unrefused(self._world.writer.call(message, timeout=ASK_SECONDS))
        if self._world.feed.listens:
            self._world.feed.notify(BackupsChanged())

    def _record(self, caller: Caller, record: BackupRecord, kind: str) -> None:
        """Store the record of a new backup, and let retention have what it does not keep."""
        message = RecordBackup(caller=caller, record=record, event_type=kind, retains=True)
        try:
            expired = unrefused(self._world.writer.call(message, timeout=ASK_SECONDS))
        except OutcomeUnknown:
            # Whether it is known or not, reconciliation finds it at the next start.
            raise
        except Exception:
            self._directory.remove(record.id)
            raise
        for old in expired:
            log.info("a backup expired", extra=_about(old))
            self._remove(old)
        if self._world.feed.listens:
            self._world.feed.notify(BackupsChanged())

    def _remove(self, record: BackupRecord) -> None:
        try:
            self._directory.remove(record.id)
        except DirectoryFailed as error:
            log.warning("the files of an expired backup stay: %s", error, extra=_about(record))

    def _audit(
        self, caller: Caller, kind: str, outcome: str, details: dict[str, str], at: int | None = None
    ) -> None:
        self.store_audit(
            RecordAudit(
                caller=caller,
                event_type=kind,
                outcome=outcome,
                details=tuple(details.items()),
                occurred_at=at,
            )
        )


def refused_restore(message: RestoreBackup, refusal: Refusal, at: int | None = None) -> RecordAudit:
    """The audit row of a restore that never began."""
    details = audit.about_restore(message.backup_id, None) | {"failure_code": refusal.code.value}
    return RecordAudit(
        caller=message.caller,
        event_type=audit.RESTORE_STARTED,
        outcome=audit.REJECTED,
        details=tuple(details.items()),
        occurred_at=at,
    )


def _bug(error: Exception) -> Exception | None:
    """What the log tells in full: an exception that nobody expects."""
    expected = (Invalid, StoreError, DirectoryFailed, OSError, ActorError, DatabaseRefused)
    return None if isinstance(error, expected) else error


def _about(record: BackupRecord) -> dict[str, str]:
    return {"backup_id": uuid_text(record.id), "source": record.source.value}
