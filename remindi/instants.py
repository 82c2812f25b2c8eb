"""Instants: integer milliseconds since 1970-01-01T00:00:00Z, their one parser and their one text form.

Contract 1.7 (stamps out) and 2.4 (timestamps in, RFC 3339). Nothing here reads a clock.
"""

import re
from datetime import date
from functools import lru_cache
from typing import Final

MS_PER_SECOND: Final = 1_000
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
_MONTH_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def parse_instant(text: str) -> int:
    """Read an RFC 3339 date and time with offset; the fraction is cut to milliseconds.

    Raises:
        ValueError: the text is no such timestamp, names no real day or time, lies outside the
            years 0001-9999 in UTC, or claims a leap second where none may stand (contract 2.4).
    """
    found = _RFC3339.fullmatch(text)
    if found is None:
        raise ValueError("not an RFC 3339 timestamp with an offset")
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    fraction, sign, offset_hours, offset_minutes = found.groups()[6:]
    if not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        raise ValueError("no such day")
    if hour > 23 or minute > 59 or second > 60:
        raise ValueError("no such time of day")
    offset = 0
    if sign is not None:
        if int(offset_hours) > 23 or int(offset_minutes) > 59:
            raise ValueError("no such offset")
        offset = (int(offset_hours) * 60 + int(offset_minutes)) * (1 if sign == "+" else -1)
    minutes = _days_from_civil(year, month, day) * 1_440 + hour * 60 + minute - offset
    if second == 60:
        if not _ends_a_month(minutes):
            raise ValueError("no leap second may stand here")
        instant = minutes * 60_000 + 59_999
    else:
        milliseconds = int((fraction or "0")[:3].ljust(3, "0"))
        instant = minutes * 60_000 + second * MS_PER_SECOND + milliseconds
    if not EARLIEST <= instant <= LATEST:
        raise ValueError("outside the years 0001-9999")
    return instant


def stamp(instant: int) -> str:
    """Write an instant as the UTC text of contract 1.7: ``YYYY-MM-DDTHH:MM:SS.sssZ``."""
    day, rest = divmod(instant, MS_PER_DAY)
    seconds, milliseconds = divmod(rest, MS_PER_SECOND)
    return f"{_day_text(day)}T{_second_text(seconds)}.{milliseconds:03d}Z"


def stamp_or_none(instant: int | None) -> str | None:
    """``stamp`` for an instant that may be absent."""
    return None if instant is None else stamp(instant)


@lru_cache(maxsize=4_096)
def _day_text(day: int) -> str:
    return date.fromordinal(day + _EPOCH_ORDINAL).isoformat()


@lru_cache(maxsize=86_400)
def _second_text(second: int) -> str:
    return f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"


def _days_in(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and leap else _MONTH_DAYS[month - 1]


def _days_from_civil(year: int, month: int, day: int) -> int:
    """Days from 1970-01-01 in the proleptic Gregorian calendar; unlike ``date`` it knows year 0."""
    if year >= 1:
        return date(year, month, day).toordinal() - _EPOCH_ORDINAL
    return date(400, month, day).toordinal() - 146_097 - _EPOCH_ORDINAL


def _ends_a_month(minutes: int) -> bool:
    """Whether this UTC minute is the last of a month: the only place for second 60."""
    day, minute_of_day = divmod(minutes, 1_440)
    ordinal = day + 1 + _EPOCH_ORDINAL
    if minute_of_day != 1_439 or not 1 <= ordinal - 1 <= date.max.toordinal():
        return False
    return ordinal > date.max.toordinal() or date.fromordinal(ordinal).day == 1
