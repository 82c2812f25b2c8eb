"""Audit: the words of administration events (contract 13.2). No value, path, URL, alias or secret is one."""

from typing import Final, Literal, NamedTuple, get_args

from remindi.adapters import ADAPTER_NAMES
from remindi.backups import Source
from remindi.identifiers import uuid_text
from remindi.settings import BY_KEY

AuditType = Literal[
    "login_succeeded",
    "login_failed",
    "logout",
    "runtime_setting_updated",
    "adapter_config_updated",
    "workload_started",
    "workload_stopped",
    "workload_restarted",
    "backup_created",
    "backup_uploaded",
    "backup_verified",
    "backup_expired",
    "restore_started",
    "restore_succeeded",
    "restore_failed",
]
AuditOutcome = Literal["succeeded", "rejected", "failed"]
AuditOrder = Literal["asc", "desc"]
AUDIT_TYPES: Final[tuple[AuditType, ...]] = get_args(AuditType)
AUDIT_OUTCOMES: Final[tuple[AuditOutcome, ...]] = get_args(AuditOutcome)

LOGIN_SUCCEEDED: Final = "login_succeeded"
LOGIN_FAILED: Final = "login_failed"
LOGOUT: Final = "logout"
RUNTIME_SETTING_UPDATED: Final = "runtime_setting_updated"
ADAPTER_CONFIG_UPDATED: Final = "adapter_config_updated"
WORKLOAD_STARTED: Final = "workload_started"
WORKLOAD_STOPPED: Final = "workload_stopped"
WORKLOAD_RESTARTED: Final = "workload_restarted"
BACKUP_CREATED: Final = "backup_created"
BACKUP_UPLOADED: Final = "backup_uploaded"
BACKUP_VERIFIED: Final = "backup_verified"
BACKUP_EXPIRED: Final = "backup_expired"
RESTORE_STARTED: Final = "restore_started"
RESTORE_SUCCEEDED: Final = "restore_succeeded"
RESTORE_FAILED: Final = "restore_failed"

SUCCEEDED: Final = "succeeded"
REJECTED: Final = "rejected"
FAILED: Final = "failed"

ALL: Final = "all"
"""Stands for every workload."""
UNKNOWN: Final = "unknown"
"""Stands for a name that nobody knows, so that no caller's text enters a row."""


def about_setting(key: str) -> dict[str, str]:
    """``details`` of what was asked of a setting."""
    return {"setting_key": key if key in BY_KEY else UNKNOWN}


def about_adapter(name: str) -> dict[str, str]:
    """``details`` of what was asked of an adapter."""
    return {"adapter_name": name if name in ADAPTER_NAMES else UNKNOWN}


def about_backup(backup_id: bytes | None, source: Source | None) -> dict[str, str]:
    """``details`` of what was asked of a backup; what is not known is left out."""
    details = {} if backup_id is None else {"backup_id": uuid_text(backup_id)}
    return details if source is None else details | {"source": source.value}


def about_restore(backup_id: bytes, operation_id: bytes | None) -> dict[str, str]:
    """``details`` of a restore, or of what never became one."""
    details = {"backup_id": uuid_text(backup_id)}
    return details if operation_id is None else details | {"operation_id": uuid_text(operation_id)}


class AuditQuery(NamedTuple):
    """``GET /admin-events``; the bounds are exclusive, empty tuples mean no filter."""

    after_sequence: int
    before_sequence: int | None
    order: AuditOrder
    types: tuple[AuditType, ...]
    outcomes: tuple[AuditOutcome, ...]
    limit: int


class AuditRow(NamedTuple):
    """One stored attempt. Its words stay as they are stored: none is refused for being of another version."""

    sequence: int
    id: bytes
    type: str
    actor_id: str
    request_id: str | None
    occurred_at: int
    outcome: str
    details_json: str
