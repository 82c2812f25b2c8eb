"""The guard: the way from the event loop into the API's threads, and back.

A thread is taken only for a request that has come whole, and gives its answer away at once: no client can
hold one. Bodies are read here and never looked into.
"""

import asyncio
from collections.abc import MutableMapping
from typing import Any, Final

from a2wsgi import WSGIMiddleware

from web.api.app import Api
from web.api.facts import FACTS, BodyFault, Facts
from web.body import MAX_BODY_BYTES, BodyTooLarge, BodyTooSlow, Disconnected, read_body
from web.exchange import Exchange, Scope

BODY_SECONDS: Final = 10.0
"""How long a client may take to send a whole body."""
SEND_SECONDS: Final = 30.0
"""How long it may take to make room for the next piece of an answer."""
WORKERS: Final = 8
"""Threads of each kind. They are bound by the interpreter: more would only be in each other's way."""


class Guard:
    """Serves the API over ASGI."""

    def __init__(self, api: Api) -> None:
        """Make a guard before an API."""
        self._api = api
        self._prompt = _threads(api)
        # Whoever waits for a probe or for a workload must not keep the others waiting.
        self._waiting = _threads(api)

    async def answer(self, exchange: Exchange, scope: Scope) -> None:
        """Answer an exchange whose path lies under ``/api``.

        Raises:
            Disconnected: the client left, or does not read.
        """
        body, fault = await _read(exchange)
        facts = Facts(
            request_id=exchange.request_id,
            peer=exchange.peer,
            headers=tuple(line for line in exchange.lines() if b"_" not in line[0]),
            query=exchange.query,
            body=body,
            fault=fault,
            loop=asyncio.get_running_loop(),
            told=exchange.told,
        )
        within: Scope = {
            "type": "http",
            "http_version": "1.1",
            "method": exchange.method,
            "path": scope["path"],
            "query_string": b"",
            "headers": (),
            FACTS: facts,
        }
        waits = exchange.method not in ("GET", "HEAD") and self._api.waits(exchange.method, scope["path"])
        await (self._waiting if waits else self._prompt)(within, _no_more, _Sender(exchange).send)


class _Sender:
    """Sends an answer on, each piece within its time."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self._exchange.status = message["status"]
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await self._exchange.send(message)
        except TimeoutError:
            raise Disconnected from None


def _threads(api: Api) -> Any:
    """The API on threads of its own, as an ASGI application."""

    def enter(environ: Any, start_response: Any) -> Any:
        environ[FACTS] = environ["asgi.scope"][FACTS]
        return api(environ, start_response)

    return WSGIMiddleware(enter, workers=WORKERS)


async def _read(exchange: Exchange) -> tuple[bytes, BodyFault | None]:
    fields = exchange.fields
    length = fields.get(b"content-length")
    if length is None and b"transfer-encoding" not in fields:
        return b"", None
    # NOTE: a malformed or doubled length never comes here; the HTTP parser refuses it.
    if length is not None and (len(length) > 18 or int(length) > MAX_BODY_BYTES):
        return b"", BodyFault.TOO_LARGE
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await read_body(exchange.receive), None
    except BodyTooLarge:
        return b"", BodyFault.TOO_LARGE
    except (BodyTooSlow, TimeoutError):
        return b"", BodyFault.TOO_SLOW


async def _no_more() -> MutableMapping[str, Any]:
    return {"type": "http.request", "body": b"", "more_body": False}
