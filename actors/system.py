"""Clock, random source and identifier source of the real world; tests give their own."""

import random
import secrets
import time
from typing import Protocol

from remindi.identifiers import COUNTER_BITS, uuid7, uuid7_order


class Clock(Protocol):
    """The two clocks everything depends on."""

    def now(self) -> int:
        """Wall clock, an instant in milliseconds (UTC). May jump."""
        ...

    def monotonic(self) -> float:
        """Seconds since some moment; never jumps."""
        ...


class SystemClock:
    """The machine's clocks."""

    def now(self) -> int:
        """Wall clock, cut to milliseconds."""
        return time.time_ns() // 1_000_000

    def monotonic(self) -> float:
        """The monotonic clock in seconds."""
        return time.monotonic()


class Random(Protocol):
    """The chance everything depends on."""

    def getrandbits(self, bits: int, /) -> int:
        """A non-negative integer of at most so many random bits."""
        ...

    def uniform(self, low: float, high: float, /) -> float:
        """A number between the two, chosen evenly."""
        ...


def system_random() -> Random:
    """A fast generator seeded by the operating system; never for secrets."""
    return random.Random(secrets.randbits(256))


class Identifiers:
    """UUIDv7s that strictly rise, also when the clock is set back; for one thread (RFC 9562, 6.2)."""

    def __init__(self, clock: Clock, chance: Random, above: bytes | None = None) -> None:
        """Make a source whose identifiers rise above ``above``, the newest one stored."""
        self._clock = clock
        self._chance = chance
        self._last, self._counter = (0, 0) if above is None else uuid7_order(above)

    def next(self) -> bytes:
        """The next identifier, 16 bytes."""
        now = self._clock.now()
        if now > self._last:
            self._last, self._counter = now, 0
        else:
            self._counter += 1
            if self._counter >> COUNTER_BITS:
                self._last, self._counter = self._last + 1, 0
        return uuid7(self._last, self._counter, self._chance.getrandbits(54))
