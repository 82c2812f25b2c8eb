"""What every probe is given and gives back: the time it has, the world it may look at, what it saw.

An adapter is one module beside this one with a function
``probe(parameters, configuration, outside, deadline) -> Outcome``. It blocks, on a thread of its own; it
sends nothing that was not configured, changes nothing and never puts target data into a summary.
"""

import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Protocol

from actors.messages.probes import Outcome
from actors.system import Clock, SystemClock

__all__ = [
    "Address",
    "Deadline",
    "DeadlineReached",
    "Outcome",
    "Outside",
    "Resolver",
    "system_resolver",
]

Address = IPv4Address | IPv6Address


class DeadlineReached(Exception):
    """The time of a probe is over; its outcome is unknown."""


class Deadline:
    """The moment by which a probe is over, on the monotonic clock."""

    __slots__ = ("_at", "_lock", "_monotonic", "_over", "_watched")

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin to count."""
        self._monotonic = monotonic
        self._at = monotonic() + seconds
        self._lock = threading.Lock()
        self._watched: list[socket.socket] = []
        self._over = False

    def left(self) -> float:
        """Seconds that are left, more than 0.

        Raises:
            DeadlineReached: none.
        """
        left = self._at - self._monotonic()
        if left <= 0:
            raise DeadlineReached
        return left

    def watch(self, connection: socket.socket) -> None:
        """Shut a connection down when the time is over and its reader did not notice.

        A library may go on reading as long as something comes, and looks at no clock meanwhile.
        """
        with self._lock:
            if not self._over:
                self._watched.append(connection)
                return
        _shut(connection)

    def end(self) -> None:
        """End the time, from another thread: what is watched is shut down."""
        with self._lock:
            self._over = True
            watched, self._watched = self._watched, []
        for connection in watched:
            _shut(connection)


def _shut(connection: socket.socket) -> None:
    # NOTE: the method of TLS sockets would take their state away while the other thread is inside.
    with suppress(OSError):
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


class Resolver(Protocol):
    """From a host to its addresses."""

    def __call__(self, host: str) -> tuple[Address, ...]:
        """The addresses of a name, or the one that an IP literal is, in the order to try them.

        Raises:
            OSError: the name does not resolve.
        """
        ...


def system_resolver(host: str) -> tuple[Address, ...]:
    """Ask the machine's resolver (``Resolver``)."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None
    # A scope such as `%eth0` belongs to no address that a probe may reach.
    return tuple(dict.fromkeys(ip_address(str(entry[4][0]).partition("%")[0]) for entry in found))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """What probes may use of the world; tests give their own."""

    clock: Clock = field(default_factory=SystemClock)
    resolve: Resolver = system_resolver
