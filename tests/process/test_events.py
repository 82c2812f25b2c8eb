"""Live events of the real process: who gets them, what ends them, and what readers that are gone cost."""

import http.client
import json
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from tests.process.acts import Footprint, new_item
from tests.service import HOST, PASSWORD, USERNAME, Json, Service, eventually
from web.api.guard import WORKERS
from web.feed import MAX_STREAMS_OF_A_SESSION

STREAMS = 50
CYCLES = 50
STREAMS_OF_A_CYCLE = 8
BOUND = 10.0


class Browser:
    """A signed-in reader."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.authority = f"{HOST}:{service.port}"
        session = self.request("GET", "/session")[1]["data"]
        self._csrf = session["csrf_token"]
        self._cookie = ""
        status, answer, headers = self.request(
            "POST", "/auth/login", {"username": USERNAME, "password": PASSWORD}
        )
        assert status == 200, answer
        self._csrf = answer["data"]["csrf_token"]
        self._cookie = headers["set-cookie"].partition(";")[0]

    def request(self, method: str, path: str, body: Json | None = None) -> tuple[int, Json, dict[str, str]]:
        headers = {"Origin": f"http://{self.authority}"}
        if hasattr(self, "_csrf"):
            headers |= {"X-CSRF-Token": self._csrf}
            headers |= {"Cookie": self._cookie} if self._cookie else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection = http.client.HTTPConnection(HOST, self.service.port, timeout=BOUND)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, f"/api/v1{path}", text, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read()), {k.lower(): v for k, v in answer.getheaders()}
        finally:
            connection.close()

    @contextmanager
    def stream(self, last: str | None = None) -> Iterator["Reader"]:
        with (
            socket.create_connection((HOST, self.service.port), BOUND) as wire,
            wire.makefile("rb") as file,
        ):
            lines = [
                "GET /api/v1/events HTTP/1.1",
                f"Host: {self.authority}",
                f"Cookie: {self._cookie}",
                *([] if last is None else [f"Last-Event-ID: {last}"]),
            ]
            wire.sendall("\r\n".join([*lines, "", ""]).encode())
            yield Reader(wire, file)


class Reader:
    """One stream, message by message."""

    def __init__(self, wire: socket.socket, file: BinaryIO) -> None:
        self.wire = wire
        self._file = file
        self._text = ""
        self.status = int(self._file.readline().split()[1])
        while self._file.readline().strip():
            continue

    def message(self) -> dict[str, str] | None:
        """The next message, comments left out; None at the end."""
        while True:
            block, end, rest = self._text.partition("\n\n")
            if not end:
                size = self._file.readline().strip()
                if not size or int(size, 16) == 0:
                    return None
                self._text += self._file.read(int(size, 16)).decode()
                self._file.readline()
                continue
            self._text = rest
            fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
            if fields:
                return fields


def items(message: dict[str, str] | None) -> Any:
    assert message is not None
    assert message["event"] == "items"
    return json.loads(message["data"])["items"]


@pytest.fixture
def browser(service: Service) -> Browser:
    return Browser(service)


def test_a_change_over_mcp_reaches_every_stream_after_its_commit(browser: Browser) -> None:
    with browser.stream() as one, browser.stream() as two:
        for reader in (one, two):
            hello = reader.message()
            assert hello is not None
            assert hello["event"] == "hello"
        added = browser.service.call("remindi_add", new_item("live"))["data"]["remindi"]
        for reader in (one, two):
            assert items(reader.message()) == [
                {"remindi_id": added["id"], "version": 1, "state": "scheduled", "event_type": "created"}
            ]


def test_settings_and_workloads_are_told(browser: Browser) -> None:
    with browser.stream() as reader:
        reader.message()
        status, _, _ = browser.request(
            "PATCH", "/settings/backups.retention_count", {"value": 20, "expected_version": 1}
        )
        assert status == 200
        told = reader.message()
        assert told is not None
        assert told["event"] == "settings"
        assert browser.request("POST", "/workloads/scheduler/stop", {})[0] == 200
        names = set()
        while "workloads" not in names:
            names.add((reader.message() or {})["event"])


def test_who_comes_back_gets_what_was_missed(browser: Browser) -> None:
    with browser.stream() as reader:
        hello = reader.message()
        assert hello is not None
    missed = browser.service.call("remindi_add", new_item("live"))["data"]["remindi"]["id"]

    def again() -> list[str]:
        with browser.stream(hello["id"]) as reader:
            reader.message()
            return [item["remindi_id"] for item in items(reader.message())]

    assert again() == [missed]


def test_without_a_session_there_is_no_stream(browser: Browser) -> None:
    browser._cookie = "remindi_session=nobody"
    with browser.stream() as reader:
        assert reader.status == 401


def test_a_sign_out_ends_the_streams_of_its_session_alone(browser: Browser) -> None:
    other = Browser(browser.service)
    with browser.stream() as mine, other.stream() as theirs:
        mine.message()
        theirs.message()
        assert browser.request("POST", "/auth/logout")[0] == 200
        bye = mine.message()
        assert bye is not None
        assert bye["event"] == "bye"
        assert mine.message() is None
        added = browser.service.call("remindi_add", new_item("live"))["data"]["remindi"]["id"]
        assert [item["remindi_id"] for item in items(theirs.message())] == [added]


def test_streams_of_one_session_are_bounded(browser: Browser) -> None:
    with ExitStack() as open_ones:
        for _ in range(MAX_STREAMS_OF_A_SESSION):
            open_ones.enter_context(browser.stream()).message()
        status, answer, headers = browser.request("GET", "/events")
        assert (status, answer["error"]["code"]) == (429, "LIMIT_EXCEEDED")
        assert int(headers["retry-after"]) >= 1
    assert eventually(lambda: _opens(browser))


def _opens(browser: Browser) -> bool:
    with browser.stream() as reader:
        return reader.status == 200


def test_streams_opened_and_killed_leave_nothing_behind(browser: Browser) -> None:
    service = browser.service
    browser.request("GET", "/settings")
    before = _descriptors(service), _threads(service)
    browsers = [Browser(service) for _ in range(STREAMS // 10)]
    for _ in range(3):
        with ExitStack() as open_ones:
            readers = [
                open_ones.enter_context(one.stream()) for one in browsers for _ in range(STREAMS // 5 // 2)
            ]
            for reader in readers:
                reader.message()
                # Closed with a reset: nobody says goodbye.
                reader.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            assert browser.request("GET", "/session")[0] == 200
    browser.service.call("remindi_add", new_item("live"))
    eventually(lambda: _descriptors(service) <= before[0] + 2)
    assert _threads(service) <= before[1] + 16


def _descriptors(service: Service) -> int:
    return sum(1 for _ in Path(f"/proc/{service.pid}/fd").iterdir())


def _threads(service: Service) -> int:
    return sum(1 for _ in Path(f"/proc/{service.pid}/task").iterdir())


def test_readers_that_do_not_read_hold_up_nobody(browser: Browser) -> None:
    service = browser.service
    with ExitStack() as open_ones:
        for _ in range(MAX_STREAMS_OF_A_SESSION):
            open_ones.enter_context(browser.stream())
        done = threading.Barrier(5)

        def write() -> None:
            with service.connection() as connection:
                for _ in range(50):
                    assert connection.call("remindi_add", new_item("live"))["ok"]
            done.wait(BOUND * 3)

        threads = [threading.Thread(target=write) for _ in range(4)]
        for thread in threads:
            thread.start()
        done.wait(BOUND * 3)
        for thread in threads:
            thread.join()
        assert browser.request("GET", "/workloads")[0] == 200


def test_a_stop_ends_streams_at_once(service: Service) -> None:
    browser = Browser(service)
    with ExitStack() as open_ones:
        readers = [open_ones.enter_context(browser.stream()) for _ in range(10)]
        for reader in readers:
            reader.message()
        assert service.stop(signal.SIGTERM) == 0
        assert [reader.message() for reader in readers] == [None] * 10
    assert not [line for line in service.log_lines() if line["level"] in ("error", "warning", "critical")]
    service.start()


@pytest.mark.slow
def test_a_quiet_stream_stays_open(browser: Browser) -> None:
    with browser.stream() as reader:
        reader.message()
        reader.wire.settimeout(40)
        beats = 0
        while beats < 6:
            line = reader._file.readline()
            assert line, "the stream ended"
            beats += line.startswith(b": ")
        assert browser.service.call("remindi_add", new_item("live"))["ok"]


@pytest.mark.slow
def test_fifty_cycles_of_workloads_and_streams_leave_nothing_behind(browser: Browser) -> None:
    """Streams are cut off amid a transition; what one of fifty left behind would be seen fifty times."""
    service = browser.service

    def cycle() -> None:
        with ExitStack() as open_ones:
            readers = [open_ones.enter_context(browser.stream()) for _ in range(STREAMS_OF_A_CYCLE)]
            assert [(reader.message() or {}).get("event") for reader in readers] == ["hello"] * len(readers)
            for action, actual in (("stop", "stopped"), ("start", "running"), ("restart", "running")):
                status, answer, _ = browser.request("POST", f"/workloads/all/{action}", {})
                assert status == 200, answer
                assert {row["actual"] for row in answer["data"]} == {actual}
                while (readers[0].message() or {})["event"] != "workloads":
                    continue
            for reader in readers:
                reader.wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        assert service.call("remindi_add", new_item("cycles"))["ok"]

    for _ in range(3):
        cycle()
    before = Footprint.of(service.pid)
    for _ in range(CYCLES):
        cycle()
    # The API's threads come as they are needed, at most so many of each kind.
    most = Footprint(before.threads + 2 * WORKERS, before.descriptors + 2)
    eventually(lambda: Footprint.of(service.pid).within(most))
    # Every stream that was left behind would take one of these places.
    with ExitStack() as open_ones:
        for _ in range(MAX_STREAMS_OF_A_SESSION):
            assert open_ones.enter_context(browser.stream()).status == 200
    assert service.stop() == 0
    assert service.stderr() == ""
    assert not [line for line in service.log_lines() if line["level"] in ("error", "warning", "critical")]
