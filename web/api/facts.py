"""Facts: all that the API knows of an exchange, gathered once by whoever took the request in.

The WSGI environment is not looked at any further: it folds doubled headers into one, and ``-`` and ``_``.
"""

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum
from typing import Any, Final, NamedTuple

from web.exchange import Exchange

FACTS: Final = "remindi.facts"
"""Their key in the WSGI environment."""


class BodyFault(Enum):
    """What kept a body from being read whole; judged when its turn comes (contract 11.1)."""

    TOO_LARGE = "too large"
    TOO_SLOW = "too slow"


class Later:
    """What becomes of an exchange on the loop, once its request is let in."""

    __slots__ = ("run",)

    def __init__(self) -> None:
        """Make one for which nobody has stated anything yet."""
        self.run: Callable[[Exchange], Awaitable[None]] | None = None


class Facts(NamedTuple):
    """One exchange."""

    request_id: str
    peer: str
    """The connecting address; empty when it has none."""
    headers: tuple[tuple[bytes, bytes], ...]
    """As sent, names in lower case, values without white space around; no name with an underscore."""
    query: bytes
    """As sent, without the question mark."""
    body: bytes
    """Whole, and not looked into; empty when there is a fault."""
    fault: BodyFault | None
    loop: asyncio.AbstractEventLoop
    """Where coroutines run for as long as the process lives."""
    later: Later | None
    """Where a responder leaves what is to be done on the loop; null where there is none that streams."""
    told: dict[str, str]
    """What the log line of the exchange says besides."""

    def values(self, name: bytes) -> list[str]:
        """The values of a header, in order."""
        return [value.decode("latin-1") for key, value in self.headers if key == name]

    def one(self, name: bytes) -> str | None:
        """The value of a header that came exactly once."""
        values = self.values(name)
        return values[0] if len(values) == 1 else None


def facts_of(environ: dict[str, Any]) -> Facts:
    """The facts of a WSGI environment."""
    facts: Facts = environ[FACTS]
    return facts
