"""Durations: how a command line says them, and how far away an instant is, in words. Pure."""

import re
from typing import Final

UNITS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
"""Seconds by unit, longest first."""
HOW_TO_SAY: Final = "a duration such as 90s, 15m, 2h, 3d, 1w or 1d12h"

_DURATION: Final = re.compile("".join(rf"(?:([0-9]{{1,9}}) ?{unit} ?)?" for unit in UNITS))
_DAYS_OF_A_YEAR: Final = 365.25


class DurationRefused(ValueError):
    """A text is no duration; says what to write."""


def read_duration(text: str) -> int:
    """Seconds of ``2h``, ``1d12h``, ``1h 30m``: each unit once, the longer before the shorter; ``0`` is none.

    Raises:
        DurationRefused: it is none of these.
    """
    wanted = text.strip().lower()
    if wanted == "0":
        return 0
    found = _DURATION.fullmatch(wanted)
    if found is None or not any(found.groups()):
        needs_unit = (
            f" (say {wanted}s, {wanted}m or {wanted}h)" if wanted.isascii() and wanted.isdigit() else ""
        )
        raise DurationRefused(f"must be {HOW_TO_SAY}{needs_unit}")
    return sum(int(count) * seconds for count, seconds in zip(found.groups("0"), UNITS.values(), strict=True))


def write_duration(seconds: int) -> str:
    """The shortest text that ``read_duration`` reads back."""
    parts = []
    for unit, length in UNITS.items():
        count, seconds = divmod(seconds, length)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def relative(instant: int, now: int) -> str:
    """How far an instant is away, rounded: ``in 3 h``, ``2 d ago``, ``now``. Both in milliseconds."""
    seconds = round(abs(instant - now) / 1_000)
    if seconds == 0:
        return "now"
    if seconds < 60:
        distance = f"{seconds} s"
    elif (minutes := round(seconds / 60)) < 60:
        distance = f"{minutes} min"
    elif (hours := round(seconds / 3_600)) < 48:
        distance = f"{hours} h"
    elif (days := round(seconds / 86_400)) < 730:
        distance = f"{days} d"
    else:
        distance = f"{round(days / _DAYS_OF_A_YEAR)} y"
    return f"in {distance}" if instant > now else f"{distance} ago"
