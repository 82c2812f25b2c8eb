"""The clock of one command: its instant, and the zone in which its times are meant and shown."""

from collections.abc import Mapping
from datetime import tzinfo
from time import time_ns
from typing import Self

from remindi.cli import exits
from remindi.cli.exits import Refused
from remindi.cli.times import TimeRefused, read_time
from remindi.cli.zones import zone_of
from remindi.instants import stamp


class Clock:
    """The instant of a command and the zone of its local times."""

    def __init__(self, now: int, zone: tzinfo) -> None:
        """Take milliseconds and a zone."""
        self.now = now
        self.zone = zone

    @classmethod
    def started(cls, zone: str | None, environ: Mapping[str, str]) -> Self:
        """The clock of a command that starts now, in the zone that it names.

        Raises:
            Refused: there is no such zone.
        """
        return cls(time_ns() // 1_000_000, zone_of(zone, environ))

    def stamp(self, option: str, text: str) -> str:
        """The time that an option names, as the tools take it.

        Raises:
            Refused: it names none.
        """
        try:
            return stamp(read_time(text, now=self.now, zone=self.zone))
        except TimeRefused as refused:
            raise Refused(exits.USAGE, f"{option}: {refused}.") from None
