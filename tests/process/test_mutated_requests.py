"""Twenty thousand requests that went wrong by chance: each is answered, none breaks anything."""

import http.client
import socket
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Self

import pytest

from tests.process.acts import Footprint, new_item
from tests.process.mutations import Draft, Drafts
from tests.process.rest import Browser
from tests.service import ANSWER_BOUND, HOST, Answer, Headers, Service, eventually

REQUESTS = 20_000
WORKERS = 8
SESSIONS = 200
SEED = 4
# What must have come often, or the mutations are not what they should be.
WANTED = (200, 400, 401, 403, 404, 405, 409, 413, 415)
WANTED_OF_EACH = 20
RIGHTLY_UNAVAILABLE = ("MAINTENANCE_ACTIVE", "DATABASE_BUSY")
# What a pool opens when it is first used: threads of the API, connections of readers, a few that end.
GROWTH = Footprint(threads=24, descriptors=16)


class Line:
    """A connection that is kept as long as both sides know where an answer ends."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._wire: socket.socket | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def exchange(self, draft: Draft) -> Answer | None:
        """Send a request and read its answer; None when it was cut off, as only a broken framing may be."""
        if draft.framing:
            self.close()
        if self._wire is None:
            self._wire = socket.create_connection((HOST, self._port), timeout=ANSWER_BOUND)
        # A service may answer and close before it has read everything.
        with suppress(BrokenPipeError, ConnectionResetError):
            self._wire.sendall(draft.wire())
        if draft.framing:
            with suppress(OSError):
                self._wire.shutdown(socket.SHUT_WR)
        response = http.client.HTTPResponse(self._wire, method=draft.method)
        try:
            response.begin()
            endless = response.getheader("Content-Type") == "text/event-stream"
            body = b"" if endless else response.read()
            if endless or draft.framing or response.will_close:
                self.close()
            return Answer(response.status, tuple(response.getheaders()), body)
        except (http.client.RemoteDisconnected, ConnectionResetError):
            self.close()
            if draft.framing:
                return None
            raise
        finally:
            response.close()


class Sessions:
    """Sessions that were begun before anything went wrong, as the headers of their owners."""

    def __init__(self, browser: Browser) -> None:
        self._left = [browser.sign_in().headers() for _ in range(SESSIONS)]
        self._lock = threading.Lock()

    def take(self) -> Headers:
        """One that nobody else has."""
        with self._lock:
            return self._left.pop()


def fault_of(draft: Draft, answer: Answer | None) -> str | None:
    """What is wrong with an answer; None when nothing is."""
    if answer is None:
        return None
    if b"Traceback" in answer.body:
        return "it shows the inside"
    if answer.status < http.client.INTERNAL_SERVER_ERROR:
        return None
    if answer.status == http.client.SERVICE_UNAVAILABLE:
        stopped = draft.target.startswith("/mcp")
        if stopped or answer.json()["error"]["code"] in RIGHTLY_UNAVAILABLE:
            return None
    return "it is a fault of the service"


def storm(service: Service, sessions: Sessions, items: list[str], seed: int) -> Counter[int]:
    """Send one worker's requests; how often each status was answered (0: cut off)."""
    drafts, statuses = Drafts(seed, items), Counter[int]()
    own = sessions.take()
    with Line(service.port) as line:
        for number in range(REQUESTS // WORKERS):
            draft = drafts.next(own)
            answer = line.exchange(draft)
            assert fault_of(draft, answer) is None, (seed, number, draft, answer)
            statuses[answer.status if answer else 0] += 1
            if answer and answer.status == http.client.OK and draft.target.startswith("/api/v1/auth/logout"):
                own = sessions.take()
    return statuses


@pytest.mark.slow
def test_no_request_breaks_the_service(service: Service) -> None:
    with Browser(service) as browser:
        sessions = Sessions(browser)
        browser.sign_in()
        items = [browser.data("POST", "/remindi", new_item("p"))["remindi"]["id"] for _ in range(100)]
        before = Footprint.of(service.pid)
        most = Footprint(before.threads + GROWTH.threads, before.descriptors + GROWTH.descriptors)
        with ThreadPoolExecutor(WORKERS) as pool:
            storms = [
                pool.submit(storm, service, sessions, items, SEED * 100 + number) for number in range(WORKERS)
            ]
            statuses = sum((each.result() for each in storms), Counter[int]())
        assert statuses.total() == REQUESTS
        assert min(statuses[status] for status in WANTED) > WANTED_OF_EACH, statuses
        browser.data("POST", "/workloads/all/start", {})
        assert browser.data("POST", "/remindi", new_item("after"))["remindi"]["version"] == 1
        assert len(service.call("remindi_list", {"project_id": "after"})["data"]["items"]) == 1
        eventually(lambda: Footprint.of(service.pid).within(most))
    assert service.stderr() == ""
    assert not [line for line in service.log_lines() if line["level"] == "error"]
