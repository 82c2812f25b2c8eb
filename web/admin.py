"""The administration listener: the API on an address of its own, served by waitress.

Waitress takes requests in whole before a thread is used for them. Events need a loop that streams, so there
are none here: readers fall back to asking again.
"""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, Final

from waitress.channel import HTTPChannel  # type: ignore[import-untyped]
from waitress.parser import HTTPRequestParser  # type: ignore[import-untyped]
from waitress.server import create_server  # type: ignore[import-untyped]

from actors.system import Identifiers
from web import answers
from web.access import log_request
from web.answers import Answer
from web.api.app import Api
from web.api.facts import FACTS, BodyFault, Facts
from web.body import MAX_BODY_BYTES
from web.door import Door
from web.health import LIVE_PATH, READY_PATH, health
from web.paths import is_of_api
from web.request_ids import REQUEST_ID_HEADER, choose_request_id

log = logging.getLogger("remindi.http")

NAME: Final = "admin"
THREADS: Final = 8
TAKEN_BYTES: Final = 2 * MAX_BODY_BYTES
"""How much of a body is read; beyond it waitress itself refuses one that does not announce it."""
CONNECTIONS: Final = 256
IDLE_SECONDS: Final = 20
"""How long a connection may say nothing, and a request take to come whole."""
LOOK_SECONDS: Final = 5
"""How often that is looked at."""


class AdminServer:
    """Serves API and health on a bound socket until it is stopped. Start it once."""

    def __init__(self, api: Api, door: Door, listener: socket.socket, ids: Identifiers) -> None:
        """Make a server.

        Args:
            api: what is served.
            door: whom it asks.
            listener: a bound stream socket; the server owns it from its start on.
            ids: of this server alone.
        """
        self._front = _Front(api, door, ids)
        self._listener = listener
        self._server: Any = None

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Start serving; coroutines run on a loop that outlives the server."""
        self._front.loop = loop
        self._server = create_server(
            self._front,
            map={},
            sockets=[self._listener],
            threads=THREADS,
            ident=None,
            # APPSEC: the client address is read by our own rule (contract 11.3).
            clear_untrusted_proxy_headers=False,
            max_request_body_size=TAKEN_BYTES,
            connection_limit=CONNECTIONS,
            channel_timeout=IDLE_SECONDS,
            cleanup_interval=LOOK_SECONDS,
            asyncore_use_poll=True,
        )
        self._server.channel_class = _Channel
        self._server.maintenance = self._end_idle
        # A daemon: a client that stays must not keep the process from ending.
        threading.Thread(target=self._server.run, name=NAME, daemon=True).start()

    def _end_idle(self, now: float) -> None:
        """End connections on which nothing moves, those of clients that do not read among them (waitress).

        Its own way is to mark them, and a connection that cannot be written to never looks at the mark.
        """
        for channel in tuple(self._server.active_channels.values()):
            waits = channel.total_outbufs_len > 0 or not channel.requests
            if waits and channel.last_activity < now - IDLE_SECONDS:
                channel.handle_close()

    def stop(self, grace_seconds: float) -> None:
        """Accept nothing more and let running requests end."""
        if self._server is not None:
            self._server.task_dispatcher.shutdown(cancel_pending=True, timeout=grace_seconds)
            self._listener.close()


class _Request(HTTPRequestParser):  # type: ignore[misc]
    """A request that is the last of its connection: others could wait for a client that does not read."""

    content_length: int

    def parse_header(self, header_plus: bytes) -> None:
        """Read the head (waitress)."""
        super().parse_header(header_plus)
        self.headers["CONNECTION"] = "close"
        self.connection_close = True
        if self.content_length >= TAKEN_BYTES:
            # Refused for what it announces, in its place of the order, and nothing of it is read. What comes
            # of it all the same is no request: this one is the last.
            self.content_length = 0
            self.body_rcv = None


class _Channel(HTTPChannel):  # type: ignore[misc]
    """A connection whose time counts from the first byte of a request, however slowly the others come."""

    parser_class = _Request
    last_activity: float

    def handle_read(self) -> None:
        """Read (waitress)."""
        began = None if self.request is None else self.last_activity
        super().handle_read()
        if began is not None and self.request is not None:
            self.last_activity = began


class _Front:
    """The WSGI application of waitress."""

    def __init__(self, api: Api, door: Door, ids: Identifiers) -> None:
        self._api = api
        self._board = door.board
        self._ids = ids
        self._lock = threading.Lock()
        self.loop: asyncio.AbstractEventLoop | None = None

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        started = time.perf_counter()
        assert self.loop is not None
        method = environ["REQUEST_METHOD"]
        # As sent, and not as waitress reads it: what is no path of ours on one listener is none on the other.
        path = environ["REQUEST_URI"].partition("?")[0]
        raw = path.encode("latin-1")
        facts = _facts(environ, self._request_id(environ), self.loop)
        own = (REQUEST_ID_HEADER.decode(), facts.request_id)
        status = 0

        def start(line: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            nonlocal status
            status = int(line[:3])
            return start_response(line, [*headers, own], *more)

        try:
            if is_of_api(raw):
                # As on the other listener: only the facts tell of the query.
                environ |= {FACTS: facts, "QUERY_STRING": ""}
                return self._api(environ, start)
            answer = self._elsewhere(raw, method)
            headers = [(name.decode(), value.decode()) for name, value in answer.headers]
            start(f"{answer.status} {HTTPStatus(answer.status).phrase}", headers)
            return [answer.body]
        finally:
            log_request(facts.request_id, method, path, status or None, started, facts.told)

    def _request_id(self, environ: dict[str, Any]) -> str:
        given = environ.get("HTTP_X_REQUEST_ID")
        with self._lock:
            return choose_request_id(None if given is None else given.encode("latin-1"), self._ids)

    def _elsewhere(self, path: bytes, method: str) -> Answer:
        if path in (LIVE_PATH, READY_PATH):
            return health(path, method, self._board)
        return answers.STARTING if self._board.startup == "starting" else answers.NOT_FOUND


def _facts(environ: dict[str, Any], request_id: str, loop: asyncio.AbstractEventLoop) -> Facts:
    """The facts of an exchange. Waitress joins doubled headers by a comma, which no header of ours takes."""
    headers = [
        (name[5:].replace("_", "-").lower().encode("latin-1"), value.encode("latin-1"))
        for name, value in environ.items()
        if name.startswith("HTTP_")
        # A comma is no part of a cookie (RFC 6265, 4.1.1): there were two headers.
        and not (name == "HTTP_COOKIE" and "," in value)
    ]
    # Nor of a media type of ours.
    if "," not in environ.get("CONTENT_TYPE", ","):
        headers.append((b"content-type", environ["CONTENT_TYPE"].encode("latin-1")))
    body: bytes = environ["wsgi.input"].read(MAX_BODY_BYTES + 1)
    length = max(len(body), int(environ.get("CONTENT_LENGTH") or 0))
    fault = BodyFault.TOO_LARGE if length > MAX_BODY_BYTES else None
    return Facts(
        request_id=request_id,
        peer=environ.get("REMOTE_ADDR", ""),
        headers=tuple(headers),
        query=environ["QUERY_STRING"].encode("latin-1"),
        body=b"" if fault else body,
        fault=fault,
        loop=loop,
        later=None,
        told={},
    )
