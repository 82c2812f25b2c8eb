"""Figures of the administration API: items over REST, and how soon an open event stream hears of a commit."""

import http.client
import itertools
import json
import selectors
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, Final

from bench import load
from tests.service import HOST, PASSWORD, USERNAME, Service

Row = tuple[str, str, str]
STREAMS: Final = 100
STREAMS_OF_A_SESSION: Final = 10
CHANGES: Final = 40


class SignedIn:
    """One session of the administration API."""

    def __init__(self, service: Service) -> None:
        self._port = service.port
        self.authority = f"{HOST}:{service.port}"
        token = self._ask("GET", "/session", {})[0]["csrf_token"]
        headers = {"Origin": f"http://{self.authority}", "X-CSRF-Token": token}
        body = json.dumps({"username": USERNAME, "password": PASSWORD})
        session, cookie = self._ask(
            "POST", "/auth/login", headers | {"Content-Type": "application/json"}, body
        )
        self.cookie = (cookie or "").partition(";")[0]
        self._csrf = session["csrf_token"]

    def _ask(
        self, method: str, path: str, headers: dict[str, str], body: str | None = None
    ) -> tuple[Any, str | None]:
        connection = http.client.HTTPConnection(HOST, self._port)
        connection.request(method, f"/api/v1{path}", body, headers)
        answer = connection.getresponse()
        found = json.loads(answer.read())["data"], answer.getheader("Set-Cookie")
        connection.close()
        return found

    def data(self, path: str) -> Any:
        return self._ask("GET", path, {"Cookie": self.cookie})[0]

    def change(self, path: str, body: Any = None) -> Any:
        """A POST, however long it takes; its ``data``."""
        headers = {
            "Cookie": self.cookie,
            "Origin": f"http://{self.authority}",
            "X-CSRF-Token": self._csrf,
        }
        if body is None:
            return self._ask("POST", path, headers)[0]
        return self._ask("POST", path, headers | {"Content-Type": "application/json"}, json.dumps(body))[0]

    def request(self, path: str) -> bytes:
        """A GET, ready for the wire."""
        lines = (f"GET /api/v1{path} HTTP/1.1", f"Host: {self.authority}", f"Cookie: {self.cookie}", "", "")
        return "\r\n".join(lines).encode()


def rest(service: Service, best: Callable[[Callable[[], load.Rate]], load.Rate]) -> Iterator[Row]:
    """Reads of items at 8 connections."""
    owner = SignedIn(service)
    one = owner.data("/remindi?limit=1")["items"][0]["id"]
    for what, path, target in (
        ("`GET /remindi?limit=100`", "/remindi?project_id=project-3&limit=100", 500),
        ("`GET /remindi/{id}`", f"/remindi/{one}", 1_500),
    ):
        request = owner.request(path)
        rate = best(
            lambda request=request: load.run(  # type: ignore[misc]
                service.port, itertools.repeat(request, 2_000), 8, mark=b'"ok":true'
            )
        )
        yield (
            f"{what}, 8 connections",
            f">= {target:,}/s",
            f"{rate.per_second:,.0f}/s (p50 {rate.p50:.2f} ms, p95 {rate.p95:.2f} ms)",
        )


def events(service: Service, adds: Callable[[int], load.Rate], change: Callable[[], object]) -> Iterator[Row]:
    """How soon all open streams hear of a change, and what they cost the writers."""
    alone = adds(0)
    with ExitStack() as opened, selectors.DefaultSelector() as selector:
        wires = []
        for number in range(STREAMS):
            if number % STREAMS_OF_A_SESSION == 0:
                owner = SignedIn(service)
            wire = opened.enter_context(socket.create_connection((HOST, service.port)))
            wire.sendall(owner.request("/events"))
            selector.register(wire, selectors.EVENT_READ)
            wires.append(wire)
        _all_hear(selector, b"event: hello")
        took = []
        for _ in range(CHANGES):
            change()
            changed = time.perf_counter()
            _all_hear(selector, b"event: items")
            took.append(1_000 * (time.perf_counter() - changed))
        watched = adds(1)
        for wire in wires:
            selector.unregister(wire)
    yield (
        f"a commit reaches the last of {STREAMS} open streams after its answer",
        "<= 100 ms",
        f"p50 {statistics.median(took):.0f} ms, max {max(took):.0f} ms",
    )
    yield (
        f"durable `remindi_add`, 32 connections, with {STREAMS} open streams",
        ">= 90 % of without",
        f"{100 * watched.per_second / alone.per_second:.0f} % ({watched.per_second:,.0f}/s)",
    )


def _all_hear(selector: selectors.BaseSelector, mark: bytes) -> None:
    """Read until every stream brought the mark."""
    waiting = {key.fileobj for key in selector.get_map().values()}
    texts: dict[Any, bytes] = {}
    deadline = time.monotonic() + 10
    while waiting:
        if time.monotonic() > deadline:
            raise TimeoutError("a stream did not hear of a change")
        for key, _ in selector.select(1):
            wire = key.fileobj
            assert isinstance(wire, socket.socket)
            texts[wire] = texts.get(wire, b"") + wire.recv(65_536)
            if mark in texts[wire]:
                waiting.discard(wire)
