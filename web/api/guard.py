"""The guard: the way from the event loop into the API's threads, and back.

A thread is taken only for a request that has come whole, and gives its answer away at once: no client can
hold one. Bodies are read here and never looked into.
"""

import asyncio
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, Final

from a2wsgi.wsgi import WSGIResponder

from web.answers import Answer, Header
from web.api.app import Api
from web.api.facts import FACTS, BodyFault, Facts, Later
from web.api.policy import Body, Waits
from web.body import MAX_BODY_BYTES, BodyTooLarge, BodyTooSlow, read_body
from web.exchange import Exchange, Scope

BODY_SECONDS: Final = 10.0
"""How long a client may take to send a whole body."""
WORKERS: Final = 8
"""Threads of each kind. They are bound by the interpreter: more would only be in each other's way."""


class Guard:
    """Serves the API over ASGI."""

    def __init__(self, api: Api) -> None:
        """Make a guard before an API."""
        self._api = api
        self._threads = {waits: _threads() for waits in Waits}

    async def answer(self, exchange: Exchange, scope: Scope) -> None:
        """Answer an exchange whose path lies under ``/api``.

        Raises:
            Disconnected: the client left before its body had come.
        """
        operation = self._api.operation(exchange.method, scope["path"])
        taken_later = operation is not None and operation.policy.body is Body.UPLOAD
        body, fault = (b"", None) if taken_later else await _read(exchange)
        later = Later()
        facts = Facts(
            request_id=exchange.request_id,
            peer=exchange.peer,
            headers=tuple(line for line in exchange.lines() if b"_" not in line[0]),
            query=exchange.query,
            body=body,
            fault=fault,
            loop=asyncio.get_running_loop(),
            later=later,
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
        waits = Waits.NOT if operation is None else operation.policy.waits
        answer = await _Whole(self._api, self._threads[waits]).answer(within)
        if later.run is not None and answer.status < HTTPStatus.BAD_REQUEST:
            await later.run(exchange)
            return
        # Who does not read it loses the connection (`web.wire`).
        await exchange.answer(answer)


class _Whole(WSGIResponder):
    """Keeps an answer together until it is whole.

    PERF: as it comes, a2wsgi goes to the loop and back for the head, for each piece and for the end.
    """

    def __init__(self, api: Api, threads: ThreadPoolExecutor) -> None:
        super().__init__(self._enter, threads, send_queue_size=1)
        self._api = api
        self._status = 0
        self._headers: tuple[Header, ...] = ()
        self._body = b""

    def _enter(self, environ: Any, start_response: Any) -> Iterable[bytes]:
        environ[FACTS] = environ["asgi.scope"][FACTS]
        return self._api(environ, start_response)

    def start_response(self, status: str, response_headers: list[tuple[str, str]], _: Any = None) -> Any:
        """Keep the head (WSGI)."""
        self._status = int(status[:3])
        self._headers = tuple(
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in response_headers
        )

    def send(self, message: Any) -> None:
        """Keep a piece of the body."""
        self._body += message["body"]

    async def answer(self, scope: Any) -> Answer:
        """The answer to a request."""
        await self(scope, _nothing, _nowhere)
        return Answer(self._status, self._headers, self._body)


def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(WORKERS, thread_name_prefix="api")


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


async def _nothing() -> Any:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _nowhere(_: Any) -> None:
    return
