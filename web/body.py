"""Request bodies: read whole, up to a cap and within a deadline, declared or chunked alike (contract 10)."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]

MAX_BODY_BYTES: Final = 1_048_576
"""The largest body of a JSON request; exactly so many bytes are processed."""
BODY_DEADLINE_SECONDS: Final = 15.0
"""How long a client may take to send a whole body."""


class BodyTooLarge(Exception):
    """More than the cap came."""


class BodyTooSlow(Exception):
    """The deadline passed before the body ended."""


class Disconnected(Exception):
    """The client left before its body ended: there is nobody to answer."""


async def read_body(
    receive: Receive, *, cap: int = MAX_BODY_BYTES, seconds: float = BODY_DEADLINE_SECONDS
) -> bytes:
    """Read a whole request body.

    Raises:
        BodyTooLarge, BodyTooSlow, Disconnected: see there.
    """
    # PERF: nearly every body lies in its first piece, which needs no timer of ours: `web.wire` ends a
    # connection on which nothing comes any more.
    body, more = await _piece(receive)
    if len(body) > cap:
        raise BodyTooLarge
    if not more:
        return body
    parts = bytearray(body)
    try:
        async with asyncio.timeout(seconds):
            while more:
                body, more = await _piece(receive)
                parts += body
                if len(parts) > cap:
                    raise BodyTooLarge
    except TimeoutError:
        raise BodyTooSlow from None
    return bytes(parts)


async def _piece(receive: Receive) -> tuple[bytes, bool]:
    """The next piece, and whether more of them follow."""
    message = await receive()
    if message["type"] == "http.disconnect":
        raise Disconnected
    return message.get("body", b""), message.get("more_body", False)
