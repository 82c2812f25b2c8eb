"""Crowds: many clients that do one thing again and again, over both doors."""

import http.client
import threading
from collections.abc import Callable

from tests.process.rest import Browser
from tests.service import Connection, Json, ProtocolError


class Refused(Exception):
    """The service is under maintenance."""


class Crowd:
    """Threads that do one thing again and again, until they are told to stop."""

    def __init__(self) -> None:
        self.stop = threading.Event()
        self.failures: list[BaseException] = []
        self.refusals = 0
        self.done = 0
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []

    def add(self, work: Callable[[], None]) -> None:
        """Have something done over and over; a refusal for maintenance is no failure."""

        def run() -> None:
            try:
                while not self.stop.is_set():
                    try:
                        work()
                    except Refused:
                        with self._lock:
                            self.refusals += 1
                        continue
                    with self._lock:
                        self.done += 1
            except BaseException as error:
                self.failures.append(error)

        thread = threading.Thread(target=run)
        self._threads.append(thread)
        thread.start()

    def end(self) -> None:
        self.stop.set()
        for thread in self._threads:
            thread.join(60)
        assert self.failures == []


def mcp(connection: Connection, tool: str, arguments: Json) -> Json:
    """The data of a tool; what is refused must be refused for maintenance."""
    try:
        envelope = connection.call(tool, arguments)
    except ProtocolError as error:
        if error.status != http.client.SERVICE_UNAVAILABLE:
            raise
        raise Refused from None
    return data_of(envelope)


def rest(browser: Browser, method: str, path: str, body: Json | None = None) -> Json:
    return data_of(browser.request(method, path, body).json())


def data_of(envelope: Json) -> Json:
    if not envelope["ok"]:
        error = envelope["error"]
        if error["code"] == "VALIDATION_ERROR":
            assert error["details"]["errors"] == [{"field": "/cursor", "reason": "cursor"}], error
        else:
            assert error["code"] == "MAINTENANCE_ACTIVE", error
            assert error["retryable"]
        raise Refused
    data: Json = envelope["data"]
    return data
