"""The timer: one thread that tells an address a notice after so many seconds. Nothing else sleeps."""

import heapq
import itertools
import logging
import threading
import time
from typing import Protocol

from actors.address import Address
from actors.messages import Notice

log = logging.getLogger("remindi.actors")


class Alarm(Protocol):
    """A notice that is to come."""

    def cancel(self) -> None:
        """Call the notice off; one that is on its way already still arrives."""
        ...


class Timer(Protocol):
    """What actors know of time passing; tests move it by hand."""

    def after(self, seconds: float, address: Address, notice: Notice) -> Alarm:
        """Tell ``address`` the notice once, ``seconds`` of the monotonic clock from now."""
        ...


class _Pending:
    """An entry of the timer's heap."""

    __slots__ = ("address", "cancelled", "notice")

    def __init__(self, address: Address, notice: Notice) -> None:
        self.address = address
        self.notice = notice
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class ThreadTimer:
    """The timer of the running service."""

    def __init__(self) -> None:
        """Make a timer; ``start`` sets it going."""
        self._changed = threading.Condition()
        self._heap: list[tuple[float, int, _Pending]] = []
        self._order = itertools.count()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="timer", daemon=True)

    def start(self) -> None:
        """Begin to tell."""
        self._thread.start()

    def stop(self, timeout: float) -> bool:
        """Tell nothing any more; whether the thread ended within ``timeout`` seconds."""
        with self._changed:
            self._stopped = True
            self._heap.clear()
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(timeout)
        return not self._thread.is_alive()

    def after(self, seconds: float, address: Address, notice: Notice) -> Alarm:
        """Tell ``address`` the notice once, ``seconds`` from now."""
        pending = _Pending(address, notice)
        entry = (time.monotonic() + max(0.0, seconds), next(self._order), pending)
        with self._changed:
            heapq.heappush(self._heap, entry)
            if self._heap[0] is entry:
                self._changed.notify()
        return pending

    def _run(self) -> None:
        while (pending := self._next()) is not None:
            try:
                pending.address.notify(pending.notice)
            except Exception:
                # A notice that cannot be told must not end the timer: everybody's next look depends on it.
                log.exception("the timer failed to tell", extra={"actor": pending.address.name})

    def _next(self) -> _Pending | None:
        """Wait for the next notice that is due; None when the timer is stopped."""
        with self._changed:
            while not self._stopped:
                if not self._heap:
                    self._changed.wait()
                    continue
                at, _, pending = self._heap[0]
                if pending.cancelled:
                    heapq.heappop(self._heap)
                elif (left := at - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    heapq.heappop(self._heap)
                    return pending
            return None
