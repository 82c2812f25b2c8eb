"""Connecting: from a host to a connection, by checked addresses only (contract 7.5, RFC 8305)."""

import errno
import selectors
import socket
from collections import deque
from collections.abc import Iterable
from typing import Final, cast

from actors.probes.looking import Address, Deadline, Outside
from actors.probes.outcomes import DENIED, NOT_RESOLVED, PRIVATE, Settled
from remindi.adapters.networks import is_denied

ATTEMPT_DELAY_SECONDS: Final = 0.25
"""How long an address is waited for before the next one is tried beside it (RFC 8305, section 5)."""


class Unreachable(Exception):
    """No address accepts a connection."""


def checked_addresses(
    host: str, *, allow_private: bool, outside: Outside, deadline: Deadline
) -> tuple[Address, ...]:
    """Resolve a host and check what comes out; one denied address denies them all.

    Raises:
        Settled: the name does not resolve, or an address is denied.
        DeadlineReached: the time is over, before or after.
    """
    deadline.left()
    try:
        addresses = outside.resolve(host)
    except OSError:
        addresses = ()
    deadline.left()
    if not addresses:
        raise Settled(NOT_RESOLVED)
    if any(is_denied(address, allow_private=True) for address in addresses):
        raise Settled(DENIED)
    if not allow_private and any(is_denied(address, allow_private=False) for address in addresses):
        raise Settled(PRIVATE)
    return addresses


def connect(addresses: Iterable[Address], port: int, deadline: Deadline) -> socket.socket:
    """Connect to the first of the addresses that accepts; the others are given up.

    Args:
        addresses: checked ones, in the order to try them. Nothing is resolved here.
        port: of all of them.
        deadline: by which one has accepted.

    Returns:
        A connected socket that does not block.

    Raises:
        Unreachable: none accepts.
        DeadlineReached: one may still.
        OSError: the machine has no socket left.
    """
    waiting = deque(addresses)
    pending: set[socket.socket] = set()
    with selectors.DefaultSelector() as selector:
        try:
            while waiting or pending:
                left = deadline.left()
                if waiting:
                    attempt = _begin(waiting.popleft(), port)
                    if attempt is None:
                        continue
                    pending.add(attempt)
                    selector.register(attempt, selectors.EVENT_WRITE)
                for key, _ in selector.select(min(left, ATTEMPT_DELAY_SECONDS) if waiting else left):
                    attempt = cast(socket.socket, key.fileobj)
                    selector.unregister(attempt)
                    pending.remove(attempt)
                    if _is_accepted(attempt):
                        return attempt
                    attempt.close()
        finally:
            for attempt in pending:
                attempt.close()
    raise Unreachable


def _begin(address: Address, port: int) -> socket.socket | None:
    """Begin to connect; None when that failed already."""
    try:
        attempt = socket.socket(
            socket.AF_INET if address.version == 4 else socket.AF_INET6, socket.SOCK_STREAM
        )
    except OSError as error:
        # A machine without IPv6 does not reach such an address, whoever listens there.
        if error.errno == errno.EAFNOSUPPORT:
            return None
        raise
    attempt.setblocking(False)
    if attempt.connect_ex((str(address), port)) in (0, errno.EINPROGRESS):
        return attempt
    attempt.close()
    return None


def _is_accepted(attempt: socket.socket) -> bool:
    if attempt.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        return False
    try:
        # TCP lets a socket connect to itself when it was given the port that it asks: nobody listens there.
        return bool(attempt.getsockname() != attempt.getpeername())
    except OSError:
        # Accepted and torn down since.
        return True
