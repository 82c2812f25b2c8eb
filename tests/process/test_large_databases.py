"""Large databases: backup, download, upload and restore take memory that does not grow with them (P5)."""

import hashlib
import http.client
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from actors.system import SystemClock
from bench import seed
from tests.conftest import MakeService
from tests.process.rest import Browser
from tests.process.test_backups import frame, upload_head
from tests.service import HOST, OWNER, Service

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

MEGABYTES = int(os.environ.get("REMINDI_TEST_MEGABYTES", "300"))
"""Of the database; the promise speaks of 2,000."""
GROWTH = 64_000_000
PIECE = 1_048_576
PATIENCE = 900.0
"""Seconds for one answer about a database of any size."""


def most_resident(service: Service) -> int:
    """Bytes of memory that the process had at most since it started or since `forget_most`."""
    status = Path(f"/proc/{service.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) * 1_024


def forget_most(service: Service) -> int:
    """Count the most from now on (proc(5), clear_refs); what there is now."""
    Path(f"/proc/{service.pid}/clear_refs").write_text("5")
    return most_resident(service)


@contextmanager
def patient(service: Service) -> Iterator[http.client.HTTPConnection]:
    with closing(http.client.HTTPConnection(HOST, service.port, timeout=PATIENCE)) as connection:
        yield connection


def changed(service: Service, browser: Browser, path: str, body: bytes | None = None) -> int:
    """POST, however long it takes; the status."""
    headers = dict(browser.headers())
    if body is not None:
        headers["Content-Type"] = "application/json"
    with patient(service) as connection:
        connection.request("POST", f"/api/v1{path}", body, headers)
        with connection.getresponse() as response:
            response.read()
            return response.status


def downloaded(service: Service, browser: Browser, backup: str, target: Path) -> str:
    """Download into a file; its SHA-256."""
    digest = hashlib.sha256()
    with patient(service) as connection:
        connection.request("GET", f"/api/v1/backups/{backup}/download", headers=dict(browser.headers()))
        with connection.getresponse() as response, target.open("wb") as file:
            assert response.status == http.client.OK
            while piece := response.read(PIECE):
                digest.update(piece)
                file.write(piece)
    return digest.hexdigest()


def uploaded(service: Service, browser: Browser, source: Path) -> int:
    """Upload a file piece by piece; the status."""
    before, behind, length = frame(source.stat().st_size)
    with patient(service) as connection:
        connection.connect()
        connection.sock.sendall(upload_head(browser, length) + before)
        with source.open("rb") as file:
            while piece := file.read(PIECE):
                connection.sock.sendall(piece)
        connection.sock.sendall(behind)
        with http.client.HTTPResponse(connection.sock, method="POST") as response:
            response.begin()
            response.read()
            return response.status


def test_nothing_that_is_done_with_a_whole_database_takes_memory_for_it(
    make_service: MakeService, tmp_path: Path
) -> None:
    service = make_service()
    service.data.mkdir(mode=0o700)
    seed.store(service.database, OWNER, seed.large(MEGABYTES, SystemClock().now()), evaluate=False)
    assert service.database.stat().st_size > MEGABYTES * 900_000
    with service, Browser(service).sign_in() as browser:
        # What the service takes up once, for any database.
        browser.data("GET", "/overview")
        wider = {"value": 68_719_476_736, "expected_version": 1}
        browser.data("PATCH", "/settings/backups.upload_max_bytes", wider)
        grown: dict[str, int] = {}

        base = forget_most(service)
        assert changed(service, browser, "/backups") == http.client.CREATED
        grown["backup"] = most_resident(service) - base
        (record,) = browser.data("GET", "/backups")

        base = forget_most(service)
        file = tmp_path / "downloaded"
        assert downloaded(service, browser, record["id"], file) == record["sha256"]
        grown["download"] = most_resident(service) - base

        base = forget_most(service)
        assert uploaded(service, browser, file) == http.client.CREATED
        grown["upload"] = most_resident(service) - base

        base = forget_most(service)
        body = b'{"confirmation": "RESTORE REMINDI"}'
        assert changed(service, browser, f"/backups/{record['id']}/restore", body) == http.client.OK
        grown["restore"] = most_resident(service) - base
        assert browser.data("GET", "/restores/latest")["restore"]["outcome"] == "succeeded"
    assert {what: size for what, size in grown.items() if size > GROWTH} == {}, grown
