"""Who listens: the one ASGI application. It routes by path, names each exchange and logs it once.

Where the WebUI will be mounted, ``_elsewhere`` answers for now: nothing is there.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from remindi import views
from remindi.errors import NOT_FOUND, ErrorCode, Refusal
from web import answers
from web.access import MAX_LOGGED_PATH, log_request
from web.answers import RETRY_SOON, Answer, Header, Send, json_answer
from web.api.answering import SECURITY_HEADERS
from web.api.app import Api
from web.api.guard import Guard
from web.body import BodyTooLarge, BodyTooSlow, Disconnected, Receive, read_body
from web.door import Door
from web.exchange import Exchange, Scope
from web.health import LIVE_PATH, READY_PATH, health
from web.mcp import gate
from web.mcp.rpc import Rpc
from web.mcp.tools import Tools
from web.paths import MCP_PATH, is_of_api
from web.request_ids import REQUEST_ID_HEADER, choose_request_id

__all__ = ["Door", "create_app"]

App = Callable[[Scope, Receive, Send], Awaitable[None]]

log = logging.getLogger("remindi.http")


def create_app(door: Door, *, with_api: bool) -> App:
    """Make the application of one process.

    Args:
        door: whom it may ask. Its ``board`` decides from the first request on who is let in, so the
            application may listen before anybody else has started.
        with_api: whether the administration API is served here.
    """
    return _Edge(door, Guard(Api(door)) if with_api else None)


class _Edge:
    def __init__(self, door: Door, guard: Guard | None) -> None:
        self._door = door
        self._gate = gate.Gate(door.config, door.board)
        self._rpc = Rpc(Tools(door))
        self._guard = guard
        door.feed.show(door.board)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one HTTP exchange (ASGI)."""
        if scope["type"] != "http":
            raise RuntimeError(f"{scope['type']} is not served")
        started = time.perf_counter()
        exchange = Exchange(scope, receive, send)
        exchange.request_id = choose_request_id(exchange.one(REQUEST_ID_HEADER), self._door.ids)
        try:
            if self._guard is not None and is_of_api(exchange.path):
                await self._guard.answer(exchange, scope)
            else:
                await exchange.answer(await self._answer(exchange))
        except Disconnected:
            pass
        except asyncio.CancelledError:
            # Only the server's stop cancels a request, after its connection is gone: nobody is left.
            log.warning("a request was cut off", extra={"request_id": exchange.request_id})
        except Exception:
            log.exception("a request failed", extra={"request_id": exchange.request_id})
            if exchange.status == 0:
                await exchange.answer(answers.FAILED)
        log_request(
            exchange.request_id,
            exchange.method,
            exchange.path[:MAX_LOGGED_PATH].decode("latin-1"),
            exchange.status or None,
            started,
            exchange.told,
        )

    async def _answer(self, exchange: Exchange) -> Answer:
        path = exchange.path
        if path == MCP_PATH:
            return await self._mcp(exchange)
        if path in (LIVE_PATH, READY_PATH):
            return health(path, exchange.method, self._door.board)
        return self._elsewhere(exchange)

    async def _mcp(self, exchange: Exchange) -> Answer:
        """Contract 10.1, the body and the method after all else."""
        refused = self._gate.refuse(exchange)
        if refused is not None:
            return refused
        try:
            body = await read_body(exchange.receive)
        except BodyTooLarge:
            return answers.BODY_TOO_LARGE
        except BodyTooSlow:
            return answers.BODY_TOO_SLOW
        if exchange.method != "POST":
            return gate.METHOD
        return await self._rpc.answer(exchange, body)

    def _elsewhere(self, exchange: Exchange) -> Answer:
        """Every other path: a small JSON 404, never a page and never a redirect."""
        starting = self._door.board.startup == "starting"
        if is_of_api(exchange.path):
            if starting:
                return _api_refusal(exchange, Refusal(ErrorCode.MAINTENANCE_ACTIVE), RETRY_SOON)
            return _api_refusal(exchange, NOT_FOUND)
        return answers.STARTING if starting else answers.NOT_FOUND


def _api_refusal(exchange: Exchange, refusal: Refusal, *headers: Header) -> Answer:
    envelope = views.failure(exchange.request_id, refusal, always_details=True)
    return json_answer(refusal.code.http_status, views.to_json(envelope), *SECURITY_HEADERS, *headers)
