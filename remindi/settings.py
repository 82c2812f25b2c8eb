"""Settings: the eleven live integers with their bounds (contract section 12)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from remindi.errors import FieldError


class Setting(NamedTuple):
    """One row of the table; ``unit`` and ``meaning`` are for people."""

    key: str
    default: int
    minimum: int
    maximum: int
    unit: str
    meaning: str


POLL_INTERVAL_SECONDS: Final = "scheduler.poll_interval_seconds"
LEASE_SECONDS: Final = "scheduler.lease_seconds"
ADAPTER_TIMEOUT_SECONDS: Final = "adapters.timeout_seconds"
ADAPTER_CONCURRENCY: Final = "adapters.max_concurrency"
BACKUP_RETENTION_COUNT: Final = "backups.retention_count"
UPLOAD_MAX_BYTES: Final = "backups.upload_max_bytes"
BACKUP_INTERVAL_SECONDS: Final = "backups.interval_seconds"
IDEMPOTENCY_RETENTION_DAYS: Final = "idempotency.retention_days"
MAX_CATCH_UP: Final = "recurrence.max_catch_up_occurrences"
DEFAULT_OVERDUE_SECONDS: Final = "remindi.default_overdue_seconds"
MAX_SNOOZE_SECONDS: Final = "remindi.max_snooze_seconds"

SETTINGS: Final = (
    Setting(ADAPTER_CONCURRENCY, 8, 1, 64, "probes", "Probes that run at a time."),
    Setting(
        ADAPTER_TIMEOUT_SECONDS, 5, 1, 60, "seconds", "Deadline of one probe and of one check's probing."
    ),
    Setting(BACKUP_INTERVAL_SECONDS, 86_400, 300, 2_592_000, "seconds", "Time between automatic backups."),
    Setting(BACKUP_RETENTION_COUNT, 14, 1, 1_000, "backups", "Automatic and uploaded backups that are kept."),
    Setting(
        UPLOAD_MAX_BYTES, 1_073_741_824, 1, 68_719_476_736, "bytes", "Largest backup that may be uploaded."
    ),
    Setting(IDEMPOTENCY_RETENTION_DAYS, 30, 1, 3_650, "days", "How long idempotency keys are remembered."),
    Setting(MAX_CATCH_UP, 10, 1, 1_000, "occurrences", "Missed occurrences that catch_up replays."),
    Setting(DEFAULT_OVERDUE_SECONDS, 0, 0, 31_536_000, "seconds", "Grace of an item that names none."),
    Setting(MAX_SNOOZE_SECONDS, 31_536_000, 1, 31_536_000, "seconds", "How far ahead a snooze may reach."),
    Setting(
        LEASE_SECONDS,
        90,
        1,
        86_400,
        "seconds",
        "Length of the scheduler's lease; above twice the poll interval.",
    ),
    Setting(POLL_INTERVAL_SECONDS, 30, 1, 3_600, "seconds", "Pause between two scheduler passes."),
)
"""Ordered by key."""
BY_KEY: Final = {setting.key: setting for setting in SETTINGS}


class Settings:
    """An immutable snapshot of all values, each within its bounds."""

    __slots__ = ("_values",)

    def __init__(self, stored: Mapping[str, int]) -> None:
        """Take stored values; the nearest bound counts for one outside, the default for a missing one."""
        self._values = MappingProxyType(
            {
                row.key: min(max(stored.get(row.key, row.default), row.minimum), row.maximum)
                for row in SETTINGS
            }
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self._values == other._values

    def __hash__(self) -> int:
        return hash(tuple(self._values.values()))

    def __getitem__(self, key: str) -> int:
        """The value of a setting, by its key."""
        return self._values[key]


DEFAULTS: Final = Settings({})


def check_setting(key: str, value: int, settings: Settings) -> tuple[FieldError, ...]:
    """Why a candidate value is refused; empty when it may be stored (contract 11.9, 12)."""
    row = BY_KEY.get(key)
    if row is None:
        return (FieldError("/key", "unknown_setting"),)
    if value < row.minimum:
        return (FieldError("/value", "too_small"),)
    if value > row.maximum:
        return (FieldError("/value", "too_large"),)
    poll = value if key == POLL_INTERVAL_SECONDS else settings[POLL_INTERVAL_SECONDS]
    lease = value if key == LEASE_SECONDS else settings[LEASE_SECONDS]
    if key in (POLL_INTERVAL_SECONDS, LEASE_SECONDS) and lease <= 2 * poll:
        return (FieldError("/value", "lease_not_above_twice_poll"),)
    return ()
