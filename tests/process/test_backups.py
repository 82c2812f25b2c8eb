"""Backups of the real process over its API: there and back again, live, and with clients that misbehave."""

import base64
import hashlib
import json
import os
import signal
import socket
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.conftest import MakeService
from tests.process.acts import new_item
from tests.process.rest import Browser
from tests.process.test_admin_listener import Client
from tests.process.test_events import Browser as Watcher
from tests.service import HOST, Answer, Json, Service, eventually, free_port
from web import uploads
from web.body import MAX_BODY_BYTES

FRAME = "frame"
HALF_SENT = 30
CONFIRMED = {"confirmation": "RESTORE REMINDI"}
MEGABYTE = 1_048_576


def upload_head(browser: Browser, length: int) -> bytes:
    """The head of an upload, up to the first byte of its file."""
    own = "".join(f"{name}: {value}\r\n" for name, value in browser.headers())
    return (
        f"POST /api/v1/backups/upload HTTP/1.1\r\n{own}"
        f"Content-Type: multipart/form-data; boundary={FRAME}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


def frame(size: int) -> tuple[bytes, bytes, int]:
    """What stands before and behind a file of so many bytes, and the length of all."""
    before = (
        f'--{FRAME}\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n'
        "Content-Type: application/vnd.sqlite3\r\n\r\n"
    ).encode()
    behind = f"\r\n--{FRAME}--\r\n".encode()
    return before, behind, len(before) + size + len(behind)


def upload(service: Service, browser: Browser, file: bytes) -> Answer:
    before, behind, length = frame(len(file))
    return service.send(upload_head(browser, length) + before + file + behind)


def resident(service: Service) -> int:
    """Bytes of memory that the process has."""
    status = Path(f"/proc/{service.pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1_024


def messages_of(service: Service, project: str) -> set[str]:
    items = service.call("remindi_list", {"project_id": project, "limit": 100})["data"]["items"]
    return {item["message"] for item in items}


def fill(service: Service, count: int) -> None:
    """Items that make a database larger than any JSON body."""
    with service.connection() as connection:
        for number in range(count):
            item = {**new_item("filling"), "message": "x" * 1_900, "idempotency_key": f"fill-{number:05}"}
            assert connection.call("remindi_add", item)["ok"]


@pytest.mark.parametrize("elsewhere", [False, True])
def test_a_backup_goes_out_and_comes_back_and_is_what_there_is_then(
    make_service: MakeService, elsewhere: bool, tmp_path: Path
) -> None:
    """P2, P3: also where TMPDIR is of no use; a backup is larger than a JSON body may be."""
    changes = {"TMPDIR": str(tmp_path / "nowhere")} if elsewhere else {}
    with make_service(env=changes) as service, Browser(service).sign_in() as browser:
        fill(service, 700)
        assert service.call("remindi_add", {**new_item("mine"), "message": "kept"})["ok"]
        made = browser.request("POST", "/backups")
        assert made.status == 201, made.body
        record = made.json()["data"]
        sent = browser.request("GET", f"/backups/{record['id']}/download")
        assert (sent.status, len(sent.body)) == (200, record["size_bytes"])
        assert len(sent.body) > MAX_BODY_BYTES
        digest = hashlib.sha256(sent.body)
        assert digest.hexdigest() == record["sha256"]
        said = base64.b64encode(digest.digest()).decode()
        assert sent.header("Repr-Digest") == f"sha-256=:{said}:"

        assert service.call(
            "remindi_add", {**new_item("mine"), "message": "lost", "idempotency_key": "key-of-later"}
        )["ok"]
        taken = upload(service, browser, sent.body)
        assert taken.status == 201, taken.body
        uploaded = taken.json()["data"]
        assert (uploaded["source"], uploaded["sha256"]) == ("upload", record["sha256"])
        before = browser.data("GET", "/remindi?limit=1")["next_cursor"]

        restored = browser.data("POST", f"/backups/{uploaded['id']}/restore", CONFIRMED)
        assert (restored["restored"], restored["rolled_back"]) == (True, False)
        assert messages_of(service, "mine") == {"kept"}
        latest = browser.data("GET", "/restores/latest")
        assert latest["maintenance"] == "running"
        assert latest["restore"]["outcome"] == "succeeded"
        assert latest["restore"]["operation_id"] == restored["operation_id"]
        listed = {row["id"]: row for row in browser.data("GET", "/backups")}
        assert listed[latest["restore"]["pre_restore_backup_id"]]["source"] == "pre_restore"
        assert uploaded["id"] in listed
        refused = browser.request("GET", f"/remindi?limit=1&cursor={before}")
        assert refused.json()["error"]["details"]["errors"] == [{"field": "/cursor", "reason": "cursor"}]
        assert browser.request("POST", "/remindi", " " * MAX_BODY_BYTES).status == 413
        names = [event["event_type"] for event in browser.data("GET", "/admin-events?limit=200")]
        assert {"restore_started", "restore_succeeded"} <= set(names)

        service.restart()
        assert messages_of(service, "mine") == {"kept"}
        with Browser(service).sign_in() as later:
            assert later.data("GET", "/restores/latest")["restore"]["outcome"] == "succeeded"
        assert not list(service.backups.glob(".tmp-*"))


def test_who_watches_sees_a_backup_and_a_restore_get_on(service: Service) -> None:
    watcher = Watcher(service)
    with watcher.stream() as reader:
        assert reader.message() is not None
        status, made, _ = watcher.request("POST", "/backups")
        assert status == 201, made
        status, _, _ = watcher.request("POST", f"/backups/{made['data']['id']}/restore", CONFIRMED)
        assert status == 200
        seen: set[str] = set()
        while not {"backup", "restore", "reset"} <= seen:
            message = reader.message()
            assert message is not None
            seen.add(message["event"])


def test_half_sent_uploads_hold_up_nobody(service: Service) -> None:
    """P13: those beyond the first few are told so at once; none leaves a file, a thread or a descriptor."""
    with Browser(service).sign_in() as browser:
        before, _, length = frame(10 * MEGABYTE)
        with ExitStack() as open_ones:
            wires = []
            for _ in range(HALF_SENT):
                wire = open_ones.enter_context(socket.create_connection((HOST, service.port), 10.0))
                wire.sendall(upload_head(browser, length) + before + b"x" * 100_000)
                wires.append(wire)
            for path in ("/settings", "/overview", "/backups", "/workloads"):
                assert browser.request("GET", path).status == 200
            assert service.call("remindi_add", new_item("half"))["ok"]
            for wire in wires[uploads.AT_ONCE :]:
                assert wire.recv(12) == b"HTTP/1.1 429"
        backups = service.backups
        eventually(lambda: not list(backups.glob(".tmp-*")))


def test_a_stop_does_not_wait_for_an_upload(service: Service) -> None:
    """P14."""
    with Browser(service).sign_in() as browser, service.dial() as wire:
        before, _, length = frame(10 * MEGABYTE)
        wire.sendall(upload_head(browser, length) + before + b"x" * 300_000)
        backups = service.backups
        eventually(lambda: list(backups.glob(".tmp-*")))
        assert service.stop(signal.SIGTERM) == 0
    service.start()
    assert not list(backups.glob(".tmp-*"))


def test_the_administration_listener_sends_backups_and_takes_none(make_service: MakeService) -> None:
    port = free_port()
    with make_service(arguments=("--admin-port", str(port))) as service:
        client = Client(port)
        client.sign_in()
        status, made, _ = client.request("POST", "/backups")
        assert status == 201, made
        record = made["data"]
        browser = Browser(service)
        browser.cookie = client._headers["Cookie"].partition("=")[2]
        with socket.create_connection((HOST, port), 10.0) as wire:
            wire.sendall(
                f"GET /api/v1/backups/{record['id']}/download HTTP/1.1\r\nHost: {HOST}:{port}\r\n"
                f"Cookie: {client._headers['Cookie']}\r\n\r\n".encode()
            )
            received = b""
            while piece := wire.recv(1_000_000):
                received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert b"accept-ranges: none" in head.lower()
        assert hashlib.sha256(body).hexdigest() == record["sha256"]
        for size in (100, 10 * MEGABYTE):
            status, answer, _ = refused_upload(client, size)
            assert (status, answer["error"]["code"]) == (413, "LIMIT_EXCEEDED")
            assert "--admin-port" in answer["error"]["details"]["reason"]
        assert [row["id"] for row in client.data("GET", "/backups")] == [record["id"]]


def refused_upload(client: Client, size: int) -> tuple[int, Json, bytes]:
    """Announce an upload; nothing of it is sent before the answer when it is large."""
    head = "".join(f"{name}: {value}\r\n" for name, value in client._headers.items())
    with socket.create_connection((HOST, client.port), 10.0) as wire:
        wire.sendall(
            f"POST /api/v1/backups/upload HTTP/1.1\r\nHost: {client.authority}\r\n{head}"
            f"Content-Type: multipart/form-data; boundary={FRAME}\r\nContent-Length: {size}\r\n\r\n".encode()
            + (b"x" * size if size < 1_000 else b"")
        )
        answer = b""
        while piece := wire.recv(65_536):
            answer += piece
    lines, _, body = answer.partition(b"\r\n\r\n")
    return int(lines.split()[1]), json.loads(body), lines


@pytest.mark.slow
def test_a_gigabyte_comes_in_without_memory(service: Service) -> None:
    """P5: a large upload is refused for what it is, after all of it has come, and the process stays small."""
    size = 1_000 * MEGABYTE
    with Browser(service).sign_in() as browser:
        before, behind, length = frame(size)
        piece = os.urandom(MEGABYTE)
        start = resident(service)
        most = 0
        with service.dial() as wire:
            wire.settimeout(120)
            wire.sendall(upload_head(browser, length) + before)
            for number in range(size // MEGABYTE):
                wire.sendall(piece)
                if number % 100 == 0:
                    most = max(most, resident(service))
                    assert browser.request("GET", "/settings").status == 200
            wire.sendall(behind)
            answer = b""
            while b"}}" not in answer:
                answer += wire.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 400")
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "BACKUP_INVALID"
        assert max(most, resident(service)) - start < 64 * MEGABYTE
        assert not list(service.backups.glob(".tmp-*"))
