"""Times as people write them in a stated zone, and as they are shown. Pure: clock and zone are given.

A local time that a change of clocks skips or repeats is refused: only its writer knows what was meant.
"""

import re
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from remindi.cli.durations import DurationRefused, read_duration, relative
from remindi.instants import EARLIEST, LATEST, parse_instant, stamp

HOW_TO_SAY: Final = (
    'a time such as "2026-12-01 09:00", "tomorrow 09:00", "mon 09:00", +2h, "in 90m"'
    " or 2026-12-01T09:00:00+01:00"
)
WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

_AHEAD: Final = re.compile(r"(?:\+|in ) ?(.+)")
_LOCAL: Final = re.compile(
    r"(?:([0-9]{4}-[0-9]{2}-[0-9]{2})[t ]|([a-z]+) )([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}))?"
)
_TIME_ALONE: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")
_DAY_ALONE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}|[a-z]+")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


class TimeRefused(ValueError):
    """A text is no time, or not one time; says what to write."""


def read_time(text: str, *, now: int, zone: tzinfo) -> int:
    """The instant that a text names.

    Args:
        text: RFC 3339 with an offset; ``now``; ``+2h`` or ``in 2h``; or a local time of ``zone``: a date,
            ``today``, ``tomorrow`` or a weekday, and a time of day. A weekday is the next one on which that
            time is still to come.
        now: milliseconds.
        zone: of local times.

    Raises:
        TimeRefused: it is none of these, or the clocks of ``zone`` skip or repeat it.
    """
    wanted = " ".join(text.lower().split())
    try:
        return parse_instant(wanted)
    except ValueError:
        pass
    if wanted == "now":
        return now
    try:
        if (ahead := _AHEAD.fullmatch(wanted)) is not None:
            return _within_years(now + read_duration(ahead[1]) * 1_000)
        if (local := _LOCAL.fullmatch(wanted)) is not None:
            return _of_local(_local_time(local, now, zone), zone)
    except TimeRefused:
        raise
    except DurationRefused as refused:
        raise TimeRefused(f'what follows + or "in" {refused}') from None
    except (ValueError, OverflowError):
        raise TimeRefused(f"there is no such day or time; write {HOW_TO_SAY}") from None
    if _TIME_ALONE.fullmatch(wanted) is not None:
        raise TimeRefused(f'say on which day: "today {wanted}" or "tomorrow {wanted}"')
    if _is_day(wanted):
        raise TimeRefused(f'say at what time: "{wanted} 09:00"')
    raise TimeRefused(f"must be {HOW_TO_SAY}")


def shown_time(instant: int, zone: tzinfo) -> str:
    """An instant as date, time and offset of a zone, to the second: ``2026-12-01 09:00:00+01:00``."""
    try:
        local = _moment(instant).astimezone(zone)
    except OverflowError:
        return stamp(instant)
    return local.isoformat(sep=" ", timespec="seconds")


def shown_with_distance(instant: int, now: int, zone: tzinfo) -> str:
    """The same, with how far away it is."""
    return f"{shown_time(instant, zone)} ({relative(instant, now)})"


def _local_time(found: re.Match[str], now: int, zone: tzinfo) -> datetime:
    """The local date and time of a match, without a zone."""
    day, word, hour, minute, second = found.groups()
    here = _moment(now).astimezone(zone).replace(tzinfo=None)
    clock = timedelta(hours=int(hour), minutes=int(minute), seconds=int(second or 0))
    if int(hour) > 23 or int(minute) > 59 or int(second or 0) > 59:
        raise ValueError("no such time of day")

    def on(days_ahead: int) -> datetime:
        return datetime.combine(here.date() + timedelta(days=days_ahead), datetime.min.time()) + clock

    if day is not None:
        return datetime.combine(date.fromisoformat(day), datetime.min.time()) + clock
    if word in ("today", "tomorrow"):
        return on(1 if word == "tomorrow" else 0)
    weekday = _weekday(word)
    if weekday is None:
        raise TimeRefused(f"must be {HOW_TO_SAY}")
    days_ahead = (weekday - here.weekday()) % 7
    return on(days_ahead) if on(days_ahead) > here else on(days_ahead + 7)


def _of_local(local: datetime, zone: tzinfo) -> int:
    """The one instant of a local time.

    Raises:
        TimeRefused: there are two, or none.
    """
    first, second = (_instant(local.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    if first == second:
        return _within_years(first)
    written = f"{_rfc3339(first, zone)} or {_rfc3339(second, zone)}"
    there = local.isoformat(sep=" ")
    if _moment(first).astimezone(zone).replace(tzinfo=None) == local:
        raise TimeRefused(f"{there} comes twice in {zone}, where clocks go back; write {written}")
    raise TimeRefused(f"{there} does not exist in {zone}, where clocks go forward; write {written}")


def _rfc3339(instant: int, zone: tzinfo) -> str:
    local = _moment(instant).astimezone(zone)
    offset = local.utcoffset()
    if offset is None or offset.seconds % 60:
        # Offsets of long ago have seconds, which RFC 3339 does not know.
        local = _moment(instant)
    return local.isoformat(timespec="seconds")


def _within_years(instant: int) -> int:
    if not EARLIEST <= instant <= LATEST:
        raise ValueError("outside the years 0001-9999")
    return instant


def _weekday(word: str) -> int | None:
    """The number of a weekday, by its name or its first three letters."""
    named = [number for number, name in enumerate(WEEKDAYS) if word in (name, name[:3])]
    return named[0] if named else None


def _is_day(wanted: str) -> bool:
    if _DAY_ALONE.fullmatch(wanted) is None:
        return False
    return wanted[0].isdigit() or wanted in ("today", "tomorrow") or _weekday(wanted) is not None


def _instant(moment: datetime) -> int:
    return (moment.astimezone(UTC) - _EPOCH) // _MILLISECOND


def _moment(instant: int) -> datetime:
    return _EPOCH + instant * _MILLISECOND
