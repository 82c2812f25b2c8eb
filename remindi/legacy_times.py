"""Legacy times: events of v1 may hold nine-number time arrays where a stamp belongs (contract 1.7).

They are answered with a stamp; the stored row is left alone.
"""

from datetime import date
from typing import Any, Final

from remindi.instants import EARLIEST, LATEST, MS_PER_DAY, stamp

TIME_KEYS: Final = frozenset(
    {
        "prior_next_fire_at",
        "snooze_until",
        "next_fire_at",
        "next_evaluation_at",
        "previous_schedule",
        "next_schedule",
    }
)
"""The keys of event details that hold a time (contract 1.5)."""
_SCHEDULE_KEYS: Final = ("before_trigger", "after_trigger")
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()


def with_stamps(details: dict[str, Any]) -> dict[str, Any]:
    """Event details whose time arrays, at the time keys only, became stamps. The argument stays as it is."""
    return {
        key: with_stamps(value) if key in _SCHEDULE_KEYS and isinstance(value, dict) else _stamped(key, value)
        for key, value in details.items()
    }


def _stamped(key: str, value: Any) -> Any:
    if key not in TIME_KEYS or not isinstance(value, list):
        return value
    instant = _instant(value)
    return value if instant is None else stamp(instant)


def _instant(parts: list[Any]) -> int | None:
    """The instant of (year, day of year, hour, minute, second, nanosecond, offset h, m, s), if it is one."""
    if len(parts) != 9 or not all(type(part) is int for part in parts):
        return None
    year, day_of_year, hour, minute, second, nanosecond, offset_hours, offset_minutes, offset_seconds = parts
    if not 1 <= year <= 9_999 or not 1 <= day_of_year <= 366:
        return None
    day = date(year, 1, 1).toordinal() + day_of_year - 1 - _EPOCH_ORDINAL
    local_seconds = hour * 3_600 + minute * 60 + second
    offset = offset_hours * 3_600 + offset_minutes * 60 + offset_seconds
    instant = day * MS_PER_DAY + (local_seconds - offset) * 1_000 + nanosecond // 1_000_000
    return instant if EARLIEST <= instant <= LATEST else None
