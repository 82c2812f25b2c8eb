"""The administration API over ASGI: a client like a browser's, before real or scripted actors."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import apsw

from actors.address import Address
from actors.board import Board
from actors.messages.backups import (
    AuditPostponed,
    CreateBackup,
    OpenBackup,
    RestoreBackup,
    TakeUpload,
    VerifyBackup,
)
from actors.messages.probes import CheckConfiguration, NotProbed, RunProbe
from actors.messages.workloads import TurnWorkloads, Workload
from actors.sessions import SessionStore
from actors.system import Identifiers, system_random
from remindi.backups import BackupRecord, Source, Status
from remindi.config import Config
from remindi.cursors import Cursors
from remindi.errors import NOT_FOUND
from tests.fakes.addresses import AnsweringAddress
from tests.fakes.clocks import ManualClock
from tests.fakes.core import OWNER, TOKEN, Core
from tests.fakes.scripted import Stage, alone
from web.asgi import create_app
from web.door import Door

HOST: Final = "remindi.test:8000"
ORIGIN: Final = f"http://{HOST}"
NAME, PASSWORD = "Ada", "correct horse"
PEER: Final = "192.0.2.7"
Json = dict[str, Any]
Header = tuple[str, str]
RUNNING: Final = (
    Workload("mcp", "running", "running", None, None, None, None),
    Workload("scheduler", "running", "running", None, 1_800_000_000_000, 0, 0),
)


RECORD: Final = BackupRecord(
    id=bytes.fromhex("0190aaaabbbb7cccadddeeeeffff0002"),
    source=Source.MANUAL,
    status=Status.READY,
    sha256="ab" * 32,
    size_bytes=8_192,
    schema_version=3,
    created_at=1_800_000_000_000,
    verified_at=1_800_000_001_000,
    created_by="webui:somebody",
    items=3,
)


class Multipart(bytes):
    """A body of ``multipart/form-data``."""

    media_type = "multipart/form-data; boundary=frame-of-the-tests"

    @classmethod
    def of(
        cls, file: bytes, *headers: str, name: str = "file", kind: str = "application/vnd.sqlite3"
    ) -> "Multipart":
        """One part, as a browser sends it, with more headers."""
        lines = (
            "--frame-of-the-tests",
            f'Content-Disposition: form-data; name="{name}"; filename="backup.sqlite3"',
            f"Content-Type: {kind}",
            *headers,
        )
        head = "".join(f"{line}\r\n" for line in lines) + "\r\n"
        return cls(head.encode() + file + b"\r\n--frame-of-the-tests--\r\n")


@dataclass(frozen=True, slots=True)
class Answered:
    """What the application sent."""

    status: int
    headers: tuple[Header, ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the one value of a header."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None

    def json(self) -> Json:
        """Parse the envelope."""
        parsed: Json = json.loads(self.body)
        return parsed

    @property
    def data(self) -> Any:
        """``data`` of a success."""
        envelope = self.json()
        assert envelope["ok"], envelope
        return envelope["data"]

    @property
    def code(self) -> str | None:
        """Code of a refusal."""
        envelope = self.json()
        return None if envelope["ok"] else str(envelope["error"]["code"])

    @property
    def errors(self) -> list[tuple[str, str]]:
        """What ``details.errors`` says."""
        return [
            (error["field"], error["reason"]) for error in self.json()["error"]["details"].get("errors", [])
        ]


class Backups(AnsweringAddress):
    """A backup controller by script: it makes one, takes what is uploaded, and knows no other."""

    def __init__(self) -> None:
        self.uploaded: list[bytes] = []
        self.postponed: list[AuditPostponed] = []
        super().__init__(
            "backups",
            {
                CreateBackup: lambda _: RECORD,
                TakeUpload: self._take,
                VerifyBackup: lambda _: NOT_FOUND,
                OpenBackup: lambda _: NOT_FOUND,
                RestoreBackup: lambda _: NOT_FOUND,
            },
        )

    def notify(self, notice: Any) -> bool:
        """Keep an audit row."""
        self.postponed.append(notice)
        return True

    def _take(self, message: TakeUpload) -> BackupRecord:
        assert message.temporary.stat().st_mode & 0o777 == 0o600
        self.uploaded.append(message.temporary.read_bytes())
        message.temporary.unlink()
        return RECORD._replace(source=Source.UPLOAD)


class Loop:
    """An event loop on a thread of its own, as the HTTP server has."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="http", daemon=True)
        self._thread.start()

    def run(self, work: Any) -> Any:
        """Run a coroutine there and return what it returns."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


async def exchange(
    app: Any,
    method: str,
    path: str,
    headers: Sequence[Header],
    body: bytes | Sequence[bytes] = b"",
    *,
    peer: str = PEER,
    stays: bool = False,
) -> Answered:
    """Send one request to an ASGI application as the server would; the client may stay until its answer."""
    raw, _, query = path.partition("?")
    pieces = [body] if isinstance(body, bytes) else list(body)
    messages = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces, start=1)
    ]
    scope = {
        "type": "http",
        "method": method,
        "path": raw,
        "raw_path": raw.encode("ascii"),
        "query_string": query.encode("latin-1"),
        "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers],
        "client": (peer, 4711),
    }
    sent: list[Mapping[str, Any]] = []

    async def receive() -> Json:
        if stays and not messages:
            await asyncio.Future()
        return messages.pop(0) if messages else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *rest = sent
    return Answered(
        start["status"],
        tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]),
        b"".join(message.get("body", b"") for message in rest),
    )


@dataclass
class House:
    """A ready service without its process: real writer, reader and session store, the rest by script."""

    core: Core
    config: Config
    board: Board
    door: Door
    probes: AnsweringAddress
    workloads: AnsweringAddress
    backups: "Backups"
    loop: Loop
    app: Any = field(init=False)

    def __post_init__(self) -> None:
        self.app = create_app(self.door, with_api=self.door.config.webui_enable)

    def browser(self, **kept: Any) -> "Browser":
        """A browser that knows nothing yet."""
        return Browser(self, **kept)

    def signed_in(self) -> "Browser":
        """A browser in which somebody has signed in."""
        browser = self.browser()
        assert browser.sign_in().status == 200
        return browser

    def audit(self) -> list[tuple[str, str, Json]]:
        """Type, outcome and details of every audit row, in order."""
        connection = apsw.Connection(str(self.core.path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            rows = connection.execute("SELECT type, outcome, details FROM audit ORDER BY sequence").fetchall()
        finally:
            connection.close()
        return [(str(kind), str(outcome), json.loads(str(details))) for kind, outcome, details in rows]


@contextmanager
def house(path: Path, **config: Any) -> Iterator[House]:
    """A house on a database of its own; each option is a field of the configuration."""
    settings = Config(
        **{
            "owner_id": OWNER,
            "mcp_token": TOKEN,
            "webui_username": NAME,
            "webui_password": PASSWORD,
            "backup_dir": str(path.with_suffix(".backups")),
            **config,
        }
    )
    Path(settings.backup_dir).mkdir(mode=0o700)
    board = Board()
    board.startup = "ready"
    board.mcp_open = True
    board.workloads = RUNNING
    backups = Backups()
    clock = ManualClock()
    probes = AnsweringAddress("probes", {RunProbe: lambda _: NotProbed(), CheckConfiguration: lambda _: None})
    workloads = AnsweringAddress("workloads", {TurnWorkloads: lambda _: RUNNING})
    sessions = Address("sessions")
    stage = Stage()
    loop = Loop()
    number = iter(range(1, 1_000_000))
    try:
        with Core(path, clock) as core:
            stage.put(
                sessions,
                SessionStore(
                    "sessions",
                    alone,
                    config=settings,
                    clock=clock,
                    secret=lambda size: next(number).to_bytes(size, "big"),
                ),
            )
            door = Door(
                config=settings,
                board=board,
                writer=core.writer,
                reader=core.reader,
                probes=probes,
                sessions=sessions,
                workloads=workloads,
                backups=backups,
                cursors=Cursors(TOKEN),
                clock=clock,
                ids=Identifiers(clock, system_random()),
                actor_id="mcp:under-test",
            )
            yield House(core, settings, board, door, probes, workloads, backups, loop)
            stage.clear()
    finally:
        stage.clear()
        loop.stop()


class Browser:
    """Sends what a browser on our own page sends, unless a test says otherwise."""

    def __init__(self, house: House, *, peer: str = PEER, host: str = HOST) -> None:
        self.house = house
        self.peer = peer
        self.host = host
        self.cookie: str | None = None
        self.csrf: str | None = None

    def headers(self, *more: Header, without: Sequence[str] = ()) -> list[Header]:
        """Return what it sends, with more headers or without some."""
        given: list[Header] = [("Host", self.host), ("Origin", f"http://{self.host}")]
        if self.cookie is not None:
            given.append(("Cookie", f"remindi_session={self.cookie}"))
        if self.csrf is not None:
            given.append(("X-CSRF-Token", self.csrf))
        return [header for header in given if header[0] not in without] + list(more)

    def send(
        self,
        method: str,
        path: str,
        headers: Sequence[Header],
        body: bytes | Sequence[bytes] = b"",
        *,
        peer: str | None = None,
        stays: bool = False,
    ) -> Answered:
        """Send exactly this; a path that begins with ``/api`` is whole."""
        whole = path if path.startswith("/api") else f"/api/v1{path}"
        answered: Answered = self.house.loop.run(
            exchange(self.house.app, method, whole, headers, body, peer=peer or self.peer, stays=stays)
        )
        return answered

    def request(self, method: str, path: str, body: Any = None, *more: Header) -> Answered:
        """Send a request, with a JSON body if one is given."""
        if body is None:
            return self.send(method, path, self.headers(*more))
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        media_type = body.media_type if isinstance(body, Multipart) else "application/json"
        framing = [("Content-Type", media_type), ("Content-Length", str(len(text)))]
        return self.send(method, path, self.headers(*framing, *more), text)

    def get(self, path: str) -> Answered:
        """GET a path."""
        return self.request("GET", path)

    def post(self, path: str, body: Any = None) -> Answered:
        """POST a JSON body."""
        return self.request("POST", path, body)

    def patch(self, path: str, body: Any) -> Answered:
        """PATCH with a JSON body."""
        return self.request("PATCH", path, body)

    def sign_in(self, username: str = NAME, password: str = PASSWORD) -> Answered:
        """Sign in, and keep cookie and token if that works."""
        self.csrf = self.get("/session").data["csrf_token"]
        answered = self.post("/auth/login", {"username": username, "password": password})
        if answered.status == 200:
            self.keep(answered)
        return answered

    def keep(self, answered: Answered) -> None:
        """Keep what an answer gives to keep."""
        cookie = answered.header("Set-Cookie")
        if cookie is not None:
            self.cookie = cookie.partition(";")[0].partition("=")[2]
        self.csrf = answered.data["csrf_token"]
