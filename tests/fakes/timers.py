"""A timer that a test moves by hand, and whose entries it can wait for."""

import threading
from dataclasses import dataclass
from typing import TypeVar

from actors.address import Address
from actors.messages import Notice

BOUND = 10.0
"""Seconds after which a wait is a failure; a healthy one needs milliseconds."""

N = TypeVar("N", bound=Notice)


@dataclass(eq=False)
class Entry:
    """A notice that is to come."""

    at: float
    seconds: float
    address: Address
    notice: Notice
    cancelled: bool = False

    def cancel(self) -> None:
        self.cancelled = True


class ManualTimer:
    """Tells nothing until `advance` or `fire`."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._entries: list[Entry] = []
        self._now = 0.0

    def after(self, seconds: float, address: Address, notice: Notice) -> Entry:
        with self._changed:
            entry = Entry(self._now + seconds, seconds, address, notice)
            self._entries.append(entry)
            self._changed.notify_all()
            return entry

    def expect(self, kind: type[Notice], address: Address) -> Entry:
        """Wait for a notice of this kind to be on its way to an address; it stays there."""

        def pending() -> Entry | None:
            for entry in self._entries:
                if not entry.cancelled and isinstance(entry.notice, kind) and entry.address is address:
                    return entry
            return None

        with self._changed:
            assert self._changed.wait_for(lambda: pending() is not None, BOUND), f"no {kind.__name__} was set"
            found = pending()
            assert found is not None
            return found

    def pending(self) -> list[Entry]:
        """What is on its way, in time order."""
        with self._changed:
            return sorted((entry for entry in self._entries if not entry.cancelled), key=lambda e: e.at)

    def fire(self, entry: Entry) -> None:
        """Tell one notice now, whatever its time."""
        with self._changed:
            self._entries.remove(entry)
        entry.address.notify(entry.notice)

    def advance(self, seconds: float) -> None:
        """Let time pass and tell what became due."""
        with self._changed:
            self._now += seconds
        for entry in self.pending():
            if entry.at <= self._now:
                self.fire(entry)
