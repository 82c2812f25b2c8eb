"""Instants: integer milliseconds since 1970-01-01T00:00:00Z, their one parser and their one text form.

Contract 1.7 (stamps out) and 2.4 (timestamps in, RFC 3339). Nothing here reads a clock.
"""

import re
from datetime import date
from functools import lru_cache
from typing import Final

MS_PER_SECOND: Final = 1_000
MS_PER_MINUTE: Final = 60_000
MS_PER_DAY: Final = 86_400_000
_EPOCH_ORDINAL: Final = date(1970, 1, 1).toordinal()
EARLIEST: Final = (1 - _EPOCH_ORDINAL) * MS_PER_DAY
"""0001-01-01T00:00:00.000Z, the first instant the contract admits."""
LATEST: Final = (date(9999, 12, 31).toordinal() + 1 - _EPOCH_ORDINAL) * MS_PER_DAY - 1
"""9999-12-31T23:59:59.999Z, the last instant the contract admits."""

_RFC3339: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_MINUTES: Final = tuple(f"{minute // 60:02d}:{minute % 60:02d}" for minute in range(1_440))


def parse_instant(text: str) -> int:
    """Read an RFC 3339 date and time with offset; the fraction is cut to milliseconds.

    Raises:
        ValueError: the text is no such timestamp, names no real day or time, lies outside the
            years 0001-9999 in UTC, or claims a leap second where none may stand (contract 2.4).
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError("not an RFC 3339 timestamp with an offset")
    year, month, day, hour, minute, second = map(int, found.group(1, 2, 3, 4, 5, 6))
    fraction, sign = found.group(7, 8)
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError("no such time of day")
    minutes = _days_from_civil(year, month, day) * 1_440 + hour * 60 + minute
    if sign is not None:
        minutes -= _offset(sign, int(found[9]), int(found[10]))
    if second == 60:
        if not _ends_a_month(minutes):
            raise ValueError("no leap second may stand here")
        instant = minutes * MS_PER_MINUTE + 59_999
    else:
        milliseconds = 0 if fraction is None else int(fraction[:3].ljust(3, "0"))
        instant = minutes * MS_PER_MINUTE + second * MS_PER_SECOND + milliseconds
    if not EARLIEST <= instant <= LATEST:
        raise ValueError("outside the years 0001-9999")
    return instant


@lru_cache(maxsize=16_384)
def stamp(instant: int) -> str:
    """Write an instant as the UTC text of contract 1.7: ``YYYY-MM-DDTHH:MM:SS.sssZ``."""
    # PERF: a page shows hundreds of stamps, and mostly those that it showed before.
    day, rest = divmod(instant, MS_PER_DAY)
    minute, rest = divmod(rest, MS_PER_MINUTE)
    second, milliseconds = divmod(rest, MS_PER_SECOND)
    return f"{_day_text(day)}T{_MINUTES[minute]}:{second:02d}.{milliseconds:03d}Z"


def stamp_or_none(instant: int | None) -> str | None:
    """``stamp`` for an instant that may be absent."""
    return None if instant is None else stamp(instant)


@lru_cache(maxsize=4_096)
def _day_text(day: int) -> str:
    return date.fromordinal(day + _EPOCH_ORDINAL).isoformat()


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the proleptic Gregorian calendar; unlike ``date`` it knows year 0.

    Raises:
        ValueError: there is no such day.
    """
    if year >= 1:
        return date(year, month, day).toordinal() - _EPOCH_ORDINAL
    return date(year + 400, month, day).toordinal() - 146_097 - _EPOCH_ORDINAL


def _offset(sign: str, hours: int, minutes: int) -> int:
    """Minutes by which local time is ahead of UTC."""
    if hours > 23 or minutes > 59:
        raise ValueError("no such offset")
    ahead = hours * 60 + minutes
    return ahead if sign == "+" else -ahead


def _ends_a_month(minutes: int) -> bool:
    """Whether this UTC minute is the last of a month: the only place for second 60."""
    day, minute_of_day = divmod(minutes, 1_440)
    ordinal = day + 1 + _EPOCH_ORDINAL
    if minute_of_day != 1_439 or not 1 <= ordinal - 1 <= date.max.toordinal():
        return False
    return ordinal > date.max.toordinal() or date.fromordinal(ordinal).day == 1
