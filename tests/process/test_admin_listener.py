"""The administration listener and the console: the API on an address of its own, and all alone."""

import http.client
import json
import signal
import socket
import threading
from contextlib import suppress
from typing import Any

import pytest

from tests.conftest import MakeService
from tests.process.acts import new_item
from tests.service import HOST, PASSWORD, USERNAME, Json, Service, ServiceError, eventually, free_port

BOUND = 10.0


class Client:
    """One who signs in on some port."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.authority = f"{HOST}:{port}"
        self._headers: dict[str, str] = {"Origin": f"http://{self.authority}"}

    def sign_in(self) -> None:
        self._headers["X-CSRF-Token"] = self.data("GET", "/session")["csrf_token"]
        status, answer, headers = self.request(
            "POST", "/auth/login", {"username": USERNAME, "password": PASSWORD}
        )
        assert status == 200, answer
        self._headers["X-CSRF-Token"] = answer["data"]["csrf_token"]
        self._headers["Cookie"] = headers["set-cookie"].partition(";")[0]

    def request(
        self, method: str, path: str, body: Any = None, prefix: str = "/api/v1"
    ) -> tuple[int, Json, dict[str, str]]:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=BOUND)
        headers = dict(self._headers)
        text = None
        if body is not None:
            text = body if isinstance(body, str) else json.dumps(body)
            headers["Content-Type"] = "application/json"
        try:
            connection.request(method, prefix + path, text, headers)
            answer = connection.getresponse()
            content = answer.read()
            return (
                answer.status,
                json.loads(content) if content else {},
                {name.lower(): value for name, value in answer.getheaders()},
            )
        finally:
            connection.close()

    def data(self, method: str, path: str, body: Any = None) -> Any:
        status, answer, _ = self.request(method, path, body)
        assert status == 200, answer
        return answer["data"]


@pytest.fixture
def apart(make_service: MakeService) -> tuple[Service, Client]:
    """A service whose administration is on another port."""
    port = free_port()
    service = make_service(arguments=("--admin-port", str(port)))
    service.start()
    client = Client(port)
    client.sign_in()
    return service, client


def test_the_api_is_on_its_own_address_and_off_the_public_one(apart: tuple[Service, Client]) -> None:
    service, client = apart
    added = client.data("POST", "/remindi", new_item("apart"))["remindi"]
    assert client.data("GET", f"/remindi/{added['id']}")["remindi"] == added
    assert client.data("GET", "/remindi?project_id=apart&limit=5")["items"] == [added]
    public = Client(service.port)
    for path in ("/session", "/remindi"):
        status, answer, _ = public.request("GET", path)
        assert (status, answer["error"]["code"]) == (404, "NOT_FOUND")
    assert service.call("remindi_list", {"project_id": "apart"})["data"]["items"] == [added]


def test_mcp_is_not_on_the_administration_address(apart: tuple[Service, Client]) -> None:
    service, client = apart
    status, answer, _ = client.request("POST", "/mcp", {}, prefix="")
    assert (status, "error" in answer) == (404, True)
    for name in ("/health/live", "/health/ready"):
        assert client.request("GET", name, prefix="")[0] == 200
    assert service.get("/health/ready").status == 200


def test_everything_that_needs_a_loop_works_there_too_but_events(apart: tuple[Service, Client]) -> None:
    _, client = apart
    checked = client.data("POST", "/remindi/check", {"project_id": "apart", "lifecycle_event": "checkpoint"})
    assert checked["items"] == []
    status, answer, _ = client.request("GET", "/events")
    assert (status, answer["error"]["code"]) == (404, "NOT_FOUND")
    rows = client.data("POST", "/workloads/scheduler/restart", {})
    assert [row["component"] for row in rows] == ["mcp", "scheduler"]


def test_the_order_of_refusals_is_the_same_there(apart: tuple[Service, Client]) -> None:
    _, signed_in = apart
    stranger = Client(signed_in.port)
    assert stranger.request("POST", "/remindi", "{" * 10)[0] == 401
    assert stranger.request("POST", "/remindi", "x" * 1_100_000)[0] == 401
    assert signed_in.request("POST", "/remindi", "x" * 1_100_000)[0] == 413
    assert signed_in.request("POST", "/remindi", "{")[0] == 400
    assert signed_in.request("PUT", "/remindi")[0] == 405
    headers = signed_in.request("GET", "/session")[2]
    assert headers["x-frame-options"] == "DENY"
    assert "server" not in headers
    assert headers["x-request-id"]


@pytest.mark.parametrize("name", ["Host", "Origin", "X-CSRF-Token", "Cookie"])
def test_a_doubled_header_is_none_there_too(apart: tuple[Service, Client], name: str) -> None:
    _, client = apart
    lines = [
        "POST /api/v1/auth/logout HTTP/1.1",
        f"Host: {client.authority}",
        *(f"{key}: {value}" for key, value in client._headers.items()),
        "Content-Length: 0",
        "Connection: close",
    ]
    (doubled,) = (line for line in lines if line.startswith(f"{name}: "))
    with socket.create_connection((HOST, client.port), BOUND) as wire:
        wire.sendall("\r\n".join([*lines, doubled, "", ""]).encode())
        answer = b""
        while received := wire.recv(65_536):
            answer += received
    assert int(answer.split()[1]) in (400, 401, 403)
    assert client.data("GET", "/session")["authenticated"] is True


@pytest.mark.parametrize(
    "line",
    [
        "GET //api/v1/session HTTP/1.1",
        "GET /%61pi/v1/session HTTP/1.1",
        "GET /api%2fv1/session HTTP/1.1",
        "GET http://elsewhere/api/v1/session HTTP/1.1",
        "WEBSOCKET /api/v1/session HTTP/1.1",
    ],
)
def test_what_is_no_request_of_ours_is_refused_there_too(apart: tuple[Service, Client], line: str) -> None:
    service, client = apart
    status = _status(client, [line, f"Host: {client.authority}", "Connection: close"])
    assert status in (400, 404, 405)
    assert not [one for one in service.log_lines() if one["level"] == "error"]


def test_two_cookie_headers_are_none_whatever_they_hold(apart: tuple[Service, Client]) -> None:
    _, client = apart
    lines = [
        "GET /api/v1/settings HTTP/1.1",
        f"Host: {client.authority}",
        "Cookie: a=1;",
        f"Cookie: ;{client._headers['Cookie']}",
        "Connection: close",
    ]
    assert _status(client, lines) == 401


def _status(client: Client, lines: list[str]) -> int:
    with socket.create_connection((HOST, client.port), BOUND) as wire:
        wire.sendall("\r\n".join([*lines, "", ""]).encode())
        return int(wire.makefile("rb").readline().split()[1])


def test_half_sent_bodies_hold_up_nobody_there(apart: tuple[Service, Client]) -> None:
    service, client = apart
    wires = [socket.create_connection((HOST, client.port), BOUND) for _ in range(30)]
    try:
        for wire in wires:
            wire.sendall(b"POST /api/v1/remindi HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
        assert client.data("GET", "/session")["authenticated"] is True
        assert service.stop(signal.SIGTERM) == 0
    finally:
        for wire in wires:
            wire.close()
    service.start()


def test_each_request_there_is_a_line_of_the_log(apart: tuple[Service, Client]) -> None:
    service, client = apart
    client.data("GET", "/workloads")
    line = eventually(
        lambda: next((one for one in service.log_lines() if one.get("path") == "/api/v1/workloads"), None)
    )
    assert line is not None
    assert (line["method"], line["status"]) == ("GET", 200)


def test_an_address_that_is_taken_is_named_with_its_options(make_service: MakeService) -> None:
    with socket.create_server((HOST, 0)) as taken:
        service = make_service(arguments=("--admin-port", str(taken.getsockname()[1])))
        assert service.run_to_end() == 69
        assert "--admin-host, --admin-port" in service.stderr()


def test_without_an_api_there_is_nothing_to_serve_apart(make_service: MakeService) -> None:
    service = make_service(
        env={"REMINDI_WEBUI_ENABLE": "false"}, arguments=("--admin-port", str(free_port()))
    )
    assert service.run_to_end() == 78
    assert "REMINDI_WEBUI_ENABLE is false" in service.stderr()


# -------------------------------------------------------------------- console


def test_the_console_repairs_what_does_not_run(make_service: MakeService) -> None:
    service = make_service()
    with service.start().connection() as connection:
        connection.call("remindi_add", new_item("repair"))
        overdue = new_item("repair", trigger={"type": "at_time", "at": "2020-01-01T00:00:00Z"})
    service.stop()
    console = make_service(env={"REMINDI_DB_PATH": str(service.database)}, verb="console")
    console.start()
    client = Client(console.port)
    client.sign_in()
    assert console.get("/mcp").status == 404
    rows = client.data("GET", "/workloads")
    assert [row["actual"] for row in rows] == ["stopped", "stopped"]
    assert all("console" in row["last_error"] for row in rows)
    added = client.data("POST", "/remindi", overdue)["remindi"]
    rows = client.data("POST", "/workloads/scheduler/stop", {})
    assert [row["desired"] for row in rows] == ["running", "stopped"]
    # Nobody evaluates here; only a check does.
    assert client.data("GET", f"/remindi/{added['id']}")["remindi"]["state"] == "scheduled"
    checked = client.data("POST", "/remindi/check", {"project_id": "repair", "lifecycle_event": "checkpoint"})
    assert [item["remindi_id"] for item in checked["items"]] == [added["id"]]
    second = make_service(env={"REMINDI_DB_PATH": str(service.database)})
    assert second.run_to_end() == 75, "the console has the directory"
    assert console.stop() == 0
    service.start()
    assert service.call("remindi_list", {"project_id": "repair"})["ok"]


def test_many_at_once_are_all_answered_there(apart: tuple[Service, Client]) -> None:
    _, client = apart
    failures: list[object] = []

    def work() -> None:
        try:
            for _ in range(20):
                client.data("GET", "/settings")
        except (AssertionError, OSError, ServiceError) as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.slow
def test_who_sends_a_request_for_ever_loses_the_connection(apart: tuple[Service, Client]) -> None:
    _, client = apart
    gone = threading.Event()
    with socket.create_connection((HOST, client.port), BOUND * 6) as wire:
        wire.sendall(b"GET /api/v1/session HTTP/1.1\r\nX: ")

        def dribble() -> None:
            with suppress(OSError):
                while not gone.wait(1):
                    wire.sendall(b"x")

        thread = threading.Thread(target=dribble)
        thread.start()
        with suppress(ConnectionResetError):
            assert wire.recv(1) == b""
        gone.set()
        thread.join()
    assert client.data("GET", "/session")["authenticated"] is True
