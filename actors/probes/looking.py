"""What every probe is given and gives back: the time it has, the world it may look at, what it saw.

An adapter is one module beside this one with a function
``probe(parameters, configuration, outside, deadline) -> Outcome``. It blocks, on a thread of its own; it
sends nothing that was not configured, changes nothing and never puts target data into a summary.
"""

import socket
import time
from collections.abc import Callable
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

    __slots__ = ("_at", "_monotonic")

    def __init__(self, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Begin to count."""
        self._monotonic = monotonic
        self._at = monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left, more than 0.

        Raises:
            DeadlineReached: none.
        """
        left = self._at - self._monotonic()
        if left <= 0:
            raise DeadlineReached
        return left


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
