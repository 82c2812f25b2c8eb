"""Uploads: what is taken in, what is refused in which words, and that nothing of it stays behind."""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from actors.address import OutcomeUnknown, Unavailable
from actors.messages.backups import TakeUpload
from actors.messages.writer import UpdateSetting
from remindi.errors import ErrorCode, Refusal
from tests.fakes.api import Answered, Browser, Header, House, Multipart
from web import uploads
from web.body import MAX_BODY_BYTES

PATH = "/backups/upload"
FRAME = "frame-of-the-tests"
BOUND = 10.0
DISPOSITION = 'Content-Disposition: form-data; name="file"; filename="x"'
KIND = "Content-Type: application/vnd.sqlite3"


def upload(
    browser: Browser,
    body: bytes,
    *more: Header,
    length: int | None = None,
    media_type: str = Multipart.media_type,
    pieces: Sequence[bytes] | None = None,
) -> Answered:
    framing = [
        ("Content-Type", media_type),
        ("Content-Length", str(len(body) if length is None else length)),
    ]
    return browser.send("POST", f"/api/v1{PATH}", browser.headers(*framing, *more), pieces or body)


def left(home: House) -> list[str]:
    """What lies in the backup directory, once the threads of uploads have ended their work."""
    return sorted(path.name for path in Path(home.config.backup_dir).iterdir())


def settle(home: House) -> None:
    """Wait for what was submitted to the threads of uploads before."""
    resource = home.app._guard._api._router.find("/api/v1/backups/upload")[0]
    for _ in range(2):
        resource._uploads._threads.submit(lambda: None).result(BOUND)


def nothing_is_left(home: House) -> None:
    settle(home)
    assert left(home) == []
    assert home.backups.uploaded == []


def reason(answered: Answered) -> str:
    return str(answered.json()["error"]["details"].get("reason"))


def limit(home: House, value: int) -> None:
    stored = home.core.write(
        UpdateSetting(
            caller=home.core.caller(), key="backups.upload_max_bytes", value=value, expected_version=1
        )
    )
    assert not isinstance(stored, Refusal)


@pytest.mark.parametrize("size", [0, 1, uploads.PIECE_BYTES, MAX_BODY_BYTES + 1, 3 * uploads.PIECE_BYTES + 7])
@pytest.mark.parametrize("piece", [65_536, 1_000_003])
def test_a_file_comes_in_as_it_is(browser: Browser, size: int, piece: int) -> None:
    file = os.urandom(size)
    body = Multipart.of(file)
    pieces = [body[at : at + piece] for at in range(0, len(body), piece)]
    answered = upload(browser, body, pieces=pieces)
    assert (answered.status, answered.data["source"]) == (201, "upload")
    assert answered.header("Cache-Control") == "no-store"
    assert browser.house.backups.uploaded == [file]
    assert left(browser.house) == []


def test_a_file_comes_in_byte_by_byte(browser: Browser) -> None:
    file = b"\r\n--frame-of-the-test\r\n--frame-of-the-tests-\r\r\n"
    body = Multipart.of(file)
    pieces = [body[at : at + 1] for at in range(len(body))]
    assert upload(browser, body, pieces=pieces).status == 201
    assert browser.house.backups.uploaded == [file]


@pytest.mark.parametrize(
    "kind",
    [
        "application/vnd.sqlite3",
        "application/x-sqlite3",
        "application/octet-stream",
        "Application/X-SQLite3; x=y",
    ],
)
def test_three_media_types_are_taken(browser: Browser, kind: str) -> None:
    assert upload(browser, Multipart.of(b"x", kind=kind)).status == 201


def framed(*lines: str, file: bytes = b"x", end: str = f"\r\n--{FRAME}--\r\n") -> bytes:
    return "\r\n".join((*lines, "", "")).encode() + file + end.encode()


GOOD = framed(f"--{FRAME}", DISPOSITION, KIND)
HOSTILE: dict[str, bytes] = {
    "nothing": b"",
    "text": b"not a frame",
    "preamble": b"a preamble\r\n" + GOOD,
    "empty line before": b"\r\n" + GOOD,
    "line feeds": GOOD.replace(b"\r\n", b"\n"),
    "other boundary": GOOD.replace(FRAME.encode(), b"another-frame"),
    "missing end": GOOD.removesuffix(f"\r\n--{FRAME}--\r\n".encode()),
    "half an end": GOOD.removesuffix(b"-\r\n"),
    "only an end": f"--{FRAME}--\r\n".encode(),
    "two parts": GOOD.removesuffix(b"--\r\n") + b"\r\n" + GOOD[len(FRAME) + 4 :],
    "field before": framed(f"--{FRAME}", 'Content-Disposition: form-data; name="a"', "", "b")[:-2] + GOOD,
    "part behind the end": GOOD + GOOD,
    "epilogue": GOOD + b"epilogue",
    "long epilogue": GOOD + b"x" * 300_000,
    "blank lines behind": GOOD + b"\r\n\r\n",
    "wrong name": framed(f"--{FRAME}", 'Content-Disposition: form-data; name="files"', KIND),
    "no name": framed(f"--{FRAME}", "Content-Disposition: form-data", KIND),
    "an extended name": framed(f"--{FRAME}", "Content-Disposition: form-data; name*=UTF-8''file", KIND),
    "an attachment": framed(f"--{FRAME}", 'Content-Disposition: attachment; name="file"', KIND),
    "no disposition": framed(f"--{FRAME}", KIND),
    "two dispositions": framed(f"--{FRAME}", DISPOSITION, DISPOSITION, KIND),
    "no type": framed(f"--{FRAME}", DISPOSITION),
    "two types": framed(f"--{FRAME}", DISPOSITION, KIND, KIND),
    "text type": framed(f"--{FRAME}", DISPOSITION, "Content-Type: text/plain"),
    "nested": framed(f"--{FRAME}", DISPOSITION, "Content-Type: multipart/mixed; boundary=inner"),
    "base64": framed(f"--{FRAME}", DISPOSITION, KIND, "Content-Transfer-Encoding: base64"),
    "a huge header": framed(f"--{FRAME}", DISPOSITION, KIND, "X: " + "y" * 2_000),
    "a huge name": framed(f"--{FRAME}", DISPOSITION, KIND, "X" * 2_000 + ": y"),
    "endless headers": framed(f"--{FRAME}", DISPOSITION, KIND, *(f"X-{n}: y" for n in range(100))),
    "endless header": f"--{FRAME}\r\nX: ".encode() + b"y" * 600_000,
    "no headers": framed(f"--{FRAME}"),
    "a header without a name": framed(f"--{FRAME}", ": x", DISPOSITION, KIND),
    "a folded header": framed(f"--{FRAME}", "Content-Disposition: form-data;", ' name="file"', KIND),
    "nul in a name": framed(f"--{FRAME}", 'Content-Disposition: form-data; name="file\0"', KIND),
    "padding behind the boundary": framed(f"--{FRAME}  ", DISPOSITION, KIND),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("piece", [1_000_000, 7])
def test_a_frame_that_is_not_exactly_one_file_is_refused(browser: Browser, name: str, piece: int) -> None:
    body = HOSTILE[name]
    step = piece if len(body) < 10_000 else max(piece, 10_001)
    pieces = [body[at : at + step] for at in range(0, len(body), step)] or [b""]
    answered = upload(browser, body, pieces=pieces)
    assert (answered.status, answered.code) == (400, "BACKUP_INVALID"), name
    assert reason(answered).endswith(".")
    assert browser.house.audit()[-1] == (
        "backup_uploaded",
        "rejected",
        {"source": "upload", "failure_code": "BACKUP_INVALID"},
    )
    nothing_is_left(browser.house)


@pytest.mark.parametrize(
    "media_type",
    [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=" + "x" * 71,
        'multipart/form-data; boundary="a b "',
        "multipart/form-data; boundary=a\x01b",
        "multipart/form-data; other=x",
        "multipart/form-data; boundary*=UTF-8''x",
    ],
)
def test_a_boundary_must_be_one(browser: Browser, media_type: str) -> None:
    answered = upload(browser, GOOD, media_type=media_type)
    assert (answered.status, answered.code) == (400, "BACKUP_INVALID")
    assert browser.house.audit()[-1][1] == "rejected"


@pytest.mark.parametrize("media_type", ["application/json", "multipart/mixed; boundary=x", "text/plain", ""])
def test_another_media_type_is_told(browser: Browser, media_type: str) -> None:
    answered = upload(browser, GOOD, media_type=media_type)
    assert (answered.status, answered.errors) == (415, [("", "media_type")])


def test_without_a_length_nothing_is_read(browser: Browser) -> None:
    headers = browser.headers(("Content-Type", Multipart.media_type), ("Transfer-Encoding", "chunked"))
    answered = browser.send("POST", f"/api/v1{PATH}", headers, GOOD)
    assert (answered.status, answered.errors) == (411, [("", "required")])
    nothing_is_left(browser.house)


@pytest.mark.parametrize("lie", [-1, 1, 1_000])
def test_a_length_that_is_not_true_is_told(browser: Browser, lie: int) -> None:
    answered = upload(browser, GOOD, length=len(GOOD) + lie)
    assert (answered.status, answered.code) == (400, "BACKUP_INVALID")
    nothing_is_left(browser.house)


def test_an_upload_over_its_limit_is_told_the_limit_before_it_is_read(browser: Browser) -> None:
    read = Reading(browser, GOOD, length=1_073_741_824 + 100_000)
    answered = read.run()
    assert (answered.status, answered.code) == (413, "LIMIT_EXCEEDED")
    assert "1073741824" in reason(answered)
    assert read.received == 0
    assert browser.house.audit()[-1][2] == {"source": "upload", "failure_code": "LIMIT_EXCEEDED"}


@pytest.mark.parametrize(("size", "status"), [(500_000, 201), (500_001, 413)])
def test_the_limit_is_that_of_the_file_and_followed_live(browser: Browser, size: int, status: int) -> None:
    limit(browser.house, 500_000)
    answered = upload(browser, Multipart.of(b"x" * size))
    assert answered.status == status
    settle(browser.house)
    assert left(browser.house) == []


def test_the_json_routes_keep_their_limit(browser: Browser) -> None:
    """P3: an upload may be larger than any JSON."""
    assert upload(browser, Multipart.of(b"x" * (2 * MAX_BODY_BYTES))).status == 201
    assert browser.post("/remindi", b" " * (MAX_BODY_BYTES + 1)).status == 413


class Reading:
    """An upload over ASGI whose client is told when it is read, and may stop, wait or leave."""

    def __init__(self, browser: Browser, body: bytes, *, length: int | None = None) -> None:
        self._browser = browser
        self._body = body
        self._length = len(body) if length is None else length
        self.received = 0
        self.sent: list[Any] = []
        self.halfway = asyncio.Event()
        self.go_on = asyncio.Event()

    async def call(self, *, leave: bool = False, wait: bool = False) -> None:
        framing = [("Content-Type", Multipart.media_type), ("Content-Length", str(self._length))]
        path = f"/api/v1{PATH}"
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [
                (name.lower().encode(), value.encode()) for name, value in self._browser.headers(*framing)
            ],
            "client": ("192.0.2.7", 1),
        }

        async def receive() -> Any:
            self.received += 1
            if self.received == 1:
                half = self._body[: len(self._body) // 2] if leave or wait else self._body
                return {"type": "http.request", "body": half, "more_body": leave or wait}
            if leave:
                return {"type": "http.disconnect"}
            self.halfway.set()
            await self.go_on.wait()
            rest = self._body[len(self._body) // 2 :]
            return {"type": "http.request", "body": rest, "more_body": False}

        async def send(message: Any) -> None:
            self.sent.append(message)

        await self._browser.house.app(scope, receive, send)

    def run(self) -> Answered:
        self._browser.house.loop.run(self.call())
        start, *rest = self.sent
        return Answered(
            start["status"],
            tuple((name.decode(), value.decode()) for name, value in start["headers"]),
            b"".join(message["body"] for message in rest),
        )


@pytest.mark.parametrize("why", ["session", "csrf", "host", "maintenance", "held"])
def test_who_may_not_upload_is_told_before_anything_is_read(browser: Browser, why: str) -> None:
    home = browser.house
    if why == "session":
        browser.cookie = None
    elif why == "csrf":
        browser.csrf = "another"
    elif why == "host":
        browser.host = "bad host"
    else:
        home.board.maintenance = "paused" if why == "maintenance" else "held"
    reading = Reading(browser, GOOD)
    answered = reading.run()
    expected = {"session": 401, "csrf": 403, "host": 400}.get(why, 503)
    assert answered.status == expected
    assert reading.received == 0
    nothing_is_left(home)


def test_a_client_that_leaves_leaves_nothing(browser: Browser) -> None:
    home = browser.house
    reading = Reading(browser, Multipart.of(b"x" * 600_000))
    home.loop.run(reading.call(leave=True))
    assert reading.sent == []
    nothing_is_left(home)
    assert home.audit()[-1] == (
        "backup_uploaded",
        "rejected",
        {"source": "upload", "failure_code": "BACKUP_INVALID"},
    )


def test_an_upload_that_is_cut_off_by_a_stop_leaves_nothing(browser: Browser) -> None:
    home = browser.house
    reading = Reading(browser, Multipart.of(b"x" * 600_000))

    async def cut_off() -> None:
        task = asyncio.create_task(reading.call(wait=True))
        await reading.halfway.wait()
        assert len(left(home)) == 1
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    home.loop.run(cut_off())
    nothing_is_left(home)


def test_only_so_many_come_in_at_a_time(browser: Browser) -> None:
    home = browser.house
    file = b"x" * 600_000
    readings = [Reading(browser, Multipart.of(file)) for _ in range(uploads.AT_ONCE)]

    async def crowd() -> Reading:
        tasks = [asyncio.create_task(reading.call(wait=True)) for reading in readings]
        for reading in readings:
            await reading.halfway.wait()
        late = Reading(browser, Multipart.of(file))
        await late.call()
        for reading in readings:
            reading.go_on.set()
        await asyncio.gather(*tasks)
        return late

    late = home.loop.run(crowd())
    assert late.received == 0
    head = dict(late.sent[0]["headers"])
    assert (late.sent[0]["status"], head[b"retry-after"]) == (429, b"10")
    assert [reading.sent[0]["status"] for reading in readings] == [201] * uploads.AT_ONCE
    assert home.backups.uploaded == [file] * uploads.AT_ONCE
    assert upload(browser, Multipart.of(file)).status == 201


def test_who_sends_next_to_nothing_loses_its_place(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PROGRESS_SECONDS", 0.0)
    home = browser.house
    reading = Reading(browser, Multipart.of(b"x" * 100))
    home.loop.run(reading.call(wait=True))
    assert reading.sent[0]["status"] == 400
    assert b"too slowly" in reading.sent[1]["body"]
    nothing_is_left(home)


def test_the_temporary_file_is_private_and_lies_beside_its_target(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """P2: where temporary files lie otherwise does not matter."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    assert upload(browser, Multipart.of(b"x" * 3_000_000)).status == 201
    (asked,) = browser.house.backups.asked
    assert asked.temporary.parent == Path(browser.house.config.backup_dir)
    assert asked.temporary.name.startswith(".tmp-")


@pytest.mark.parametrize(
    ("answer", "status", "kept"),
    [
        (lambda _: Refusal(ErrorCode.BACKUP_INVALID, reason="It is no database."), 400, True),
        (lambda _: raising(Unavailable()), 503, False),
        (lambda _: raising(OutcomeUnknown()), 503, True),
    ],
)
def test_what_the_controller_says_is_told(
    browser: Browser, answer: Callable[[Any], Any], status: int, kept: bool
) -> None:
    home = browser.house
    home.backups.script[TakeUpload] = answer
    assert upload(browser, GOOD).status == status
    settle(home)
    # The file is the controller's once it was told of it.
    assert bool(left(home)) is kept


def raising(error: Exception) -> Any:
    raise error


def test_a_directory_that_cannot_be_written_is_told(browser: Browser) -> None:
    home = browser.house
    Path(home.config.backup_dir).rmdir()
    answered = upload(browser, GOOD)
    assert (answered.status, answered.code) == (500, "INTERNAL_ERROR")
    assert "backup directory" in reason(answered)
    assert home.audit()[-1] == ("backup_uploaded", "failed", {"source": "upload"})
    Path(home.config.backup_dir).mkdir()


def test_a_name_with_a_query_is_refused(browser: Browser) -> None:
    headers = browser.headers(("Content-Type", Multipart.media_type), ("Content-Length", str(len(GOOD))))
    answered = browser.send("POST", f"/api/v1{PATH}?x=1", headers, GOOD)
    assert answered.errors == [("/x", "unknown_field")]
