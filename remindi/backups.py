"""Backups: the words of records, manifests and restores (contract sections 14 and 15). Pure.

A record is what the database knows of a backup, a manifest the same beside the file, without its status.
"""

from enum import Enum
from typing import Final, Literal, NamedTuple, get_args


class Source(Enum):
    """Who made a backup (contract 14.2)."""

    MANUAL = "manual"
    AUTOMATIC = "automatic"
    UPLOAD = "upload"
    PRE_RESTORE = "pre_restore"


class Status(Enum):
    """What has become of a backup (contract 14.1)."""

    READY = "ready"
    EXPIRED = "expired"
    """By retention; its files go."""
    INVALID = "invalid"
    """The file is gone or damaged."""


class BackupRecord(NamedTuple):
    """One backup as the database knows it."""

    id: bytes
    source: Source
    status: Status
    sha256: str
    """64 lower-case hex digits."""
    size_bytes: int
    schema_version: int
    created_at: int
    verified_at: int
    """When it last passed every check of contract 14.3, migrated as a copy where its schema is older."""
    created_by: str
    items: int
    """How many items it held when it was verified; shown by the overview, no part of the view."""


MaintenanceState = Literal["running", "draining", "paused", "held"]
"""Of the database: ``held`` is closed until the next start: even a rollback failed (contract 15.3)."""

HELD_REASON: Final = "restore_rollback_failed"
"""``details.reason`` of MAINTENANCE_ACTIVE while held."""

Phase = Literal[
    "requested",
    "candidate_verified",
    "workloads_quiesced",
    "pre_restore_backup_verified",
    "live_replaced",
    "replacement_verified",
    "workloads_restarted",
    "succeeded",
    "rollback_started",
    "pre_restore_reinstalled",
    "rollback_verified",
    "workloads_restarted_or_held",
    "failed",
]
"""What a restore's journal says has been reached (contract 15.2)."""
PHASES: Final[tuple[Phase, ...]] = get_args(Phase)

RestoreOutcome = Literal["running", "succeeded", "failed", "held"]


class PhaseReached(NamedTuple):
    """A phase and when its journal entry was durable."""

    phase: Phase
    at: int


class RestoreState(NamedTuple):
    """The latest restore, as it is shown while it runs and after it, also after a restart."""

    operation_id: bytes
    backup_id: bytes
    outcome: RestoreOutcome
    rolled_back: bool
    reason: str | None
    """Why it failed, in one sentence for the person who reads it; null otherwise."""
    pre_restore_id: bytes | None
    """The backup that was made of the former content, once it is there."""
    phases: tuple[PhaseReached, ...]
    started_at: int
    ended_at: int | None


JobKind = Literal["create", "automatic", "upload", "verify", "download", "restore", "reconcile"]


JobStep = Literal["copying", "verifying", "replacing", "waiting"]


class Job(NamedTuple):
    """What the backup controller is at."""

    kind: JobKind
    step: JobStep
    done_bytes: int
    total_bytes: int
    """Zero where nobody can tell yet."""


class AutomaticFailure(NamedTuple):
    """The last automatic backup that failed, while none has succeeded since."""

    at: int
    reason: str
    """One sentence."""
    next_try_at: int


class BackupsState(NamedTuple):
    """What the backup controller knows beside the records."""

    job: Job | None = None
    next_automatic_at: int | None = None
    failure: AutomaticFailure | None = None


def file_name(backup_id: str) -> str:
    """The name of a backup's file, from its dashed UUID; the manifest has ``.json`` behind it."""
    return f"remindi-{backup_id}.sqlite3"
