"""A busy service: many writers over both doors, the scheduler at work, backups, a stream and a download open.

P6 and P7: SQLite's log stays within bounds, nothing is refused, and nobody hears that a database is locked.
"""

import http.client
import os
import socket
from contextlib import ExitStack
from functools import partial

import pytest

from tests.process.acts import LONG_AGO, fresh, new_item
from tests.process.crowd import Crowd, mcp, rest
from tests.process.rest import Browser
from tests.service import HOST, Connection, Json, Service, eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

WRITES = int(os.environ.get("REMINDI_TEST_WRITES", "15000"))
"""The promise speaks of 100,000."""
WRITERS = 16
"""Of each door."""
LOG_BYTES = 160 * 1_048_576
"""What the log may grow to: 64 MB until it is moved, and what is written while a backup holds it."""


def held_open(service: Service, browser: Browser, path: str) -> socket.socket:
    """A request whose answer nobody reads."""
    connection = socket.create_connection((HOST, service.port))
    own = "".join(f"{name}: {value}\r\n" for name, value in browser.headers())
    connection.sendall(f"GET /api/v1{path} HTTP/1.1\r\n{own}\r\n".encode())
    return connection


def reached(project: str) -> Json:
    """An item for the scheduler to see to."""
    trigger = {"type": "at_time", "at": LONG_AGO}
    return {**new_item(project), "trigger": trigger, "idempotency_key": fresh("key")}


def add_by_tool(connection: Connection, project: str) -> None:
    mcp(connection, "remindi_add", reached(project))


def add_by_api(browser: Browser, project: str) -> None:
    rest(browser, "POST", "/remindi", reached(project))


def test_a_busy_service_refuses_nothing_and_its_log_stays_small(service: Service) -> None:
    log = service.database.with_name("remindi.db-wal")
    largest = 0
    with ExitStack() as cleanup:
        admin = cleanup.enter_context(Browser(service).sign_in())
        assert (
            admin.request(
                "PATCH",
                "/settings/scheduler.poll_interval_seconds",
                {
                    "value": 1,
                    "expected_version": 1,
                },
            ).status
            == http.client.OK
        )
        made = admin.request("POST", "/backups").json()["data"]
        cleanup.callback(held_open(service, admin, "/events").close)
        cleanup.callback(held_open(service, admin, f"/backups/{made['id']}/download").close)
        crowd = Crowd()

        for number in range(WRITERS):
            project = f"busy-{number}"
            connection: Connection = cleanup.enter_context(service.connection())
            browser = cleanup.enter_context(Browser(service).sign_in())
            crowd.add(partial(add_by_tool, connection, project))
            crowd.add(partial(add_by_api, browser, project))
        try:
            while crowd.done < WRITES and not crowd.failures:
                answer = admin.request("POST", "/backups")
                assert answer.status == http.client.CREATED, answer.body
                largest = max(largest, log.stat().st_size)
        finally:
            crowd.end()
        assert crowd.refusals == 0
        assert largest < LOG_BYTES
        # What the scheduler still has before it is done in its own time.
        eventually(lambda: admin.data("GET", "/workloads")[1]["backlog"] == 0, within=60.0)
    assert service.stop() == 0
    assert not log.exists()
    lines = service.log_lines()
    assert [line for line in lines if line["level"] == "error"] == []
    assert not [line for line in lines if "locked" in line["message"]]
    refused = [line for line in lines if line.get("status", 0) >= 500]
    # Whoever waits for the start asks before it is ready.
    assert not [line for line in refused if line["path"] != "/health/ready"]
    service.start()
