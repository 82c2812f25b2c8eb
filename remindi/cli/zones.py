"""Zones: in which one a command line's local times are meant, and shown."""

from collections.abc import Mapping
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from remindi.cli import exits
from remindi.cli.exits import Refused

LOCALTIME: Final = Path("/etc/localtime")


def zone_of(name: str | None, environ: Mapping[str, str], localtime: Path = LOCALTIME) -> tzinfo:
    """The zone of that name; without one that of ``TZ``; without that the machine's; else UTC.

    Raises:
        Refused: a zone is named that is not known here.
    """
    if name is not None:
        return _named(name, "--zone")
    if "TZ" in environ:
        return _named(environ["TZ"].removeprefix(":") or "UTC", "TZ")
    return _of_machine(localtime)


def _named(name: str, by: str) -> tzinfo:
    if name in ("UTC", "UTC0", "Z"):
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        other = "" if by == "--zone" else ", or name one with --zone"
        raise Refused(
            exits.USAGE,
            f"{by} names no time zone that is known here; write it as Europe/Berlin or UTC{other}.",
        ) from None


def _of_machine(localtime: Path) -> tzinfo:
    """What the system's link says; a copy of a zone's file has no name."""
    try:
        _, found, name = str(localtime.resolve(strict=True)).partition("/zoneinfo/")
        if found:
            return UTC if name in ("UTC", "Etc/UTC") else ZoneInfo(name)
        with localtime.open("rb") as file:
            return ZoneInfo.from_file(file, key="the zone of this machine")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
