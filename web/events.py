"""Events: one open stream of server-sent events, from its head to its end (WHATWG HTML, 9.2)."""

import asyncio
from typing import Final

from actors.address import ActorError
from actors.messages.sessions import GetSession
from remindi.errors import ErrorCode, Refusal
from web.api.answering import SECURITY_HEADERS, Refused, refused_answer
from web.body import Disconnected, Receive
from web.door import SESSIONS_SECONDS, Door
from web.exchange import Exchange
from web.feed import BYE, Stream, encoded
from web.request_ids import REQUEST_ID_HEADER

HEARTBEAT_SECONDS: Final = 15.0
"""How often a stream says that it lives, when there is nothing else, and asks whether its session does.

A stream outlives its session by no more.
"""
SEND_SECONDS: Final = 30.0
"""How long a reader may take to make room."""
RETRY_SECONDS: Final = 10
LAST_EVENT_ID: Final = b"last-event-id"
_HEARTBEAT: Final = b": still here\n\n"
_HEADERS: Final = (
    (b"content-type", b"text/event-stream"),
    # A proxy that gathers answers would keep every message to itself.
    (b"x-accel-buffering", b"no"),
    *SECURITY_HEADERS,
)


async def serve(exchange: Exchange, door: Door, token: str | None) -> None:
    """Send a reader what happens until it leaves, its session ends, or the service stops.

    Args:
        exchange: of a request that was let in.
        door: whom to ask, and the feed.
        token: of the reader's session; null without one, when authentication is off.

    Raises:
        Disconnected: the reader does not read.
    """
    if door.feed.is_full(token):
        # Nothing comes between this look and the subscription.
        full = Refused(Refusal(ErrorCode.LIMIT_EXCEEDED), status=429, retry_after=RETRY_SECONDS)
        await exchange.answer(refused_answer(exchange, full))
        return
    last = exchange.one(LAST_EVENT_ID)
    stream = door.feed.subscribe(token, None if last is None else last.decode("latin-1"))
    gone = asyncio.create_task(_gone(exchange.receive, stream))
    try:
        exchange.status = 200
        await exchange.send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [*_HEADERS, (REQUEST_ID_HEADER, exchange.request_id.encode("ascii"))],
            }
        )
        looked_at = door.clock.monotonic()
        while exchange.method != "HEAD" and not gone.done():
            last_words = stream.over
            await _send(exchange, stream.take())
            if last_words is not None:
                await _send(exchange, encoded(last_words, {}) if last_words else b"")
                break
            if not await _changes(stream):
                await _send(exchange, _HEARTBEAT)
            if door.clock.monotonic() - looked_at >= HEARTBEAT_SECONDS:
                looked_at = door.clock.monotonic()
                if await _is_over(door, token):
                    stream.end(BYE)
        await exchange.send({"type": "http.response.body", "body": b""})
    finally:
        door.feed.leave(stream)
        gone.cancel()


async def _send(exchange: Exchange, piece: bytes) -> None:
    if not piece:
        return
    try:
        async with asyncio.timeout(SEND_SECONDS):
            await exchange.send({"type": "http.response.body", "body": piece, "more_body": True})
    except TimeoutError:
        raise Disconnected from None


async def _changes(stream: Stream) -> bool:
    """Wait for something to send; False when nothing came for long."""
    try:
        async with asyncio.timeout(HEARTBEAT_SECONDS):
            await stream.changed.wait()
    except TimeoutError:
        return False
    return True


async def _gone(receive: Receive, stream: Stream) -> None:
    """Wait for the reader to leave."""
    while (await receive())["type"] != "http.disconnect":
        continue
    stream.changed.set()


async def _is_over(door: Door, token: str | None) -> bool:
    try:
        return await door.sessions.acall(GetSession(token=token), timeout=SESSIONS_SECONDS) is None
    except ActorError:
        # The store is being restarted: what it says next decides.
        return False
