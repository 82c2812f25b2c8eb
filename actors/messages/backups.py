"""What the backup controller is asked and told (contract sections 14 and 15)."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from actors.messages import Notice, Request
from actors.messages.writer import RecordAudit
from remindi.backups import BackupRecord
from remindi.errors import Refusal


class BackupFile(NamedTuple):
    """A backup that has just passed every check, and where it lies."""

    record: BackupRecord
    path: Path


class Restored(NamedTuple):
    """A restore that succeeded."""

    operation_id: bytes
    backup_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateBackup(Request[BackupRecord | Refusal]):
    """Make a manual backup.

    WORKLOAD_CONFLICT is no answer of it: backups wait for each other. MAINTENANCE_ACTIVE during a restore;
    INTERNAL_ERROR when it failed, which the audit and the log know.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeUpload(Request[BackupRecord | Refusal]):
    """Verify a file that a door has received whole, and make it a backup; BACKUP_INVALID leaves nothing.

    The file is the controller's from here on, whatever becomes of it.
    """

    temporary: Path
    """``.tmp-…`` in the backup directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyBackup(Request[BackupRecord | Refusal]):
    """Check a backup by all of contract 14.3, as a restore would use it.

    NOT_FOUND for one that is unknown or expired; BACKUP_INVALID for one that fails, whose record is invalid
    from then on.
    """

    backup_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBackup(Request[BackupFile | Refusal]):
    """Verify a backup for a download; refusals as of ``VerifyBackup``. No audit row."""

    backup_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreBackup(Request[Restored | Refusal]):
    """Restore a backup, for one who has passed the guards of contract 15.1 up to the confirmation.

    WORKLOAD_CONFLICT while another restore runs, NOT_FOUND, BACKUP_INVALID: nothing changed. RESTORE_FAILED:
    the former content is live, or the service is held closed. How far it is shows on the board.
    """

    backup_id: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPostponed(Notice):
    """An audit row that could not be stored during maintenance: it follows when that ends."""

    record: RecordAudit


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleLearned(Notice):
    """What the next automatic backup is counted from; told by a job."""

    born_at: int
    newest_at: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AutomaticEnded(Notice):
    """An automatic backup was made or failed; told by its job."""

    made_at: int | None
    """When it was made; null when it failed."""
    failure: str | None
    """Why it failed, in one sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEnded(Notice):
    """The worker has ended a job."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockTicked(Notice):
    """It is time to look at the schedule, or to extend a pause."""

    generation: int
