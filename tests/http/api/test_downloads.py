"""Downloads: what is said of a backup, that it comes as it is, and what becomes of one that nobody reads."""

import asyncio
import base64
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from actors.address import Unavailable
from actors.messages.backups import BackupFile, OpenBackup
from remindi.backups import BackupRecord
from remindi.errors import ErrorCode, Refusal
from tests.fakes.api import RECORD, Browser, House
from web import downloads

BACKUP = "0190aaaa-bbbb-7ccc-addd-eeeeffff0002"
PATH = f"/backups/{BACKUP}/download"


def kept(home: House, content: bytes) -> tuple[Path, BackupRecord]:
    """A backup that the controller finds in order."""
    path = Path(home.config.backup_dir) / f"remindi-{BACKUP}.sqlite3"
    path.write_bytes(content)
    record = RECORD._replace(size_bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    home.backups.script[OpenBackup] = lambda _: BackupFile(record, path)
    return path, record


@pytest.mark.parametrize("size", [1, downloads.PIECE_BYTES, 3 * downloads.PIECE_BYTES + 5])
def test_a_backup_comes_as_it_is_with_all_that_is_said_of_it(browser: Browser, size: int) -> None:
    content = os.urandom(size)
    kept(browser.house, content)
    answered = browser.send("GET", PATH, browser.headers(), stays=True)
    assert (answered.status, answered.body) == (200, content)
    assert answered.header("Content-Type") == "application/vnd.sqlite3"
    assert answered.header("Content-Disposition") == f'attachment; filename="remindi-{BACKUP}.sqlite3"'
    assert answered.header("Content-Length") == str(size)
    digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
    assert answered.header("Repr-Digest") == f"sha-256=:{digest}:"
    assert answered.header("Accept-Ranges") == "none"
    assert answered.header("Cache-Control") == "no-store"
    assert answered.header("X-Request-Id")


def test_ranges_are_not_served(browser: Browser) -> None:
    kept(browser.house, b"0123456789")
    answered = browser.send("GET", PATH, browser.headers(("Range", "bytes=1-2")), stays=True)
    assert (answered.status, answered.body) == (200, b"0123456789")


def test_head_says_the_same_without_the_file(browser: Browser) -> None:
    kept(browser.house, b"0123456789")
    head = browser.request("HEAD", PATH)
    assert (head.status, head.body, head.header("Content-Length")) == (200, b"", "10")


def test_an_id_that_is_none_is_told(browser: Browser) -> None:
    assert browser.get("/backups/x/download").errors == [("/id", "format")]


@pytest.mark.parametrize("code", [ErrorCode.NOT_FOUND, ErrorCode.BACKUP_INVALID])
def test_what_the_controller_refuses_is_not_sent(browser: Browser, code: ErrorCode) -> None:
    browser.house.backups.script[OpenBackup] = lambda _: Refusal(code)
    answered = browser.get(PATH)
    assert (answered.status, answered.code) == (code.http_status, code.value)


def test_without_a_controller_nothing_is_sent(browser: Browser) -> None:
    def gone(_: Any) -> Any:
        raise Unavailable

    browser.house.backups.script[OpenBackup] = gone
    assert browser.get(PATH).code == "DATABASE_BUSY"


def test_a_file_that_has_just_gone_is_not_found(browser: Browser) -> None:
    path, _ = kept(browser.house, b"x")
    path.unlink()
    assert browser.get(PATH).code == "NOT_FOUND"


def test_a_file_of_another_size_or_kind_is_not_sent(browser: Browser, tmp_path: Path) -> None:
    path, record = kept(browser.house, b"x")
    browser.house.backups.script[OpenBackup] = lambda _: BackupFile(record._replace(size_bytes=2), path)
    assert browser.get(PATH).code == "BACKUP_INVALID"
    other = tmp_path / "link"
    other.symlink_to(path)
    browser.house.backups.script[OpenBackup] = lambda _: BackupFile(record, other)
    assert browser.get(PATH).code == "NOT_FOUND"


def test_during_maintenance_nothing_is_sent(browser: Browser) -> None:
    browser.house.board.maintenance = "paused"
    assert browser.get(PATH).code == "MAINTENANCE_ACTIVE"
    assert browser.house.backups.asked == []


class Reader:
    """A client of one download that reads when it is told to."""

    def __init__(self, browser: Browser) -> None:
        self.house = browser.house
        self.headers = browser.headers()
        self.pieces: list[bytes] = []
        self.status = 0
        self.leaves = asyncio.Event()
        self.reads = asyncio.Event()
        self.got = asyncio.Event()

    async def call(self) -> None:
        asked = False
        path = f"/api/v1{PATH}"

        async def receive() -> Any:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self.leaves.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            self.status = message.get("status", self.status)
            self.pieces.append(message.get("body", b""))
            if len(self.pieces) > 1:
                self.got.set()
                await self.reads.wait()

        headers = [(name.lower().encode(), value.encode()) for name, value in self.headers]
        scope = {"type": "http", "method": "GET", "path": path, "raw_path": path.encode()}
        await self.house.app(
            scope | {"query_string": b"", "headers": headers, "client": ("192.0.2.7", 1)}, receive, send
        )


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_retention_may_remove_what_is_being_read(browser: Browser) -> None:
    content = os.urandom(3 * downloads.PIECE_BYTES)
    path, _ = kept(browser.house, content)
    reader = Reader(browser)

    async def read() -> None:
        task = asyncio.create_task(reader.call())
        await reader.got.wait()
        path.unlink()
        reader.reads.set()
        await task

    browser.house.loop.run(read())
    assert b"".join(reader.pieces) == content


def test_who_leaves_gives_its_file_back(browser: Browser) -> None:
    kept(browser.house, os.urandom(8 * downloads.PIECE_BYTES))
    browser.get(PATH)
    before = descriptors()
    reader = Reader(browser)

    async def leave() -> None:
        task = asyncio.create_task(reader.call())
        await reader.got.wait()
        reader.leaves.set()
        await asyncio.sleep(0)
        reader.reads.set()
        await task

    browser.house.loop.run(leave())
    assert len(b"".join(reader.pieces)) < 8 * downloads.PIECE_BYTES
    assert descriptors() == before


def test_who_is_cut_off_gives_its_file_back(browser: Browser) -> None:
    kept(browser.house, os.urandom(8 * downloads.PIECE_BYTES))
    browser.get(PATH)
    before = descriptors()
    reader = Reader(browser)

    async def cut_off() -> None:
        task = asyncio.create_task(reader.call())
        await reader.got.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    browser.house.loop.run(cut_off())
    assert descriptors() == before


def test_only_so_many_are_sent_at_a_time(browser: Browser) -> None:
    kept(browser.house, b"x" * 10)
    readers = [Reader(browser) for _ in range(downloads.AT_ONCE)]

    async def crowd() -> Reader:
        tasks = [asyncio.create_task(reader.call()) for reader in readers]
        for reader in readers:
            await reader.got.wait()
        late = Reader(browser)
        late.reads.set()
        await late.call()
        for reader in readers:
            reader.reads.set()
        await asyncio.gather(*tasks)
        return late

    late = browser.house.loop.run(crowd())
    assert late.status == 429
    assert [reader.status for reader in readers] == [200] * downloads.AT_ONCE
    assert browser.get(PATH).status == 200
