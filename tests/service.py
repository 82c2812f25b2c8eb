"""The real process under test: start, talk, stop, kill, start again.

A `Service` owns one data directory below a temporary folder and at most one process on it. It speaks to that
process as anybody would (HTTP, MCP, signals, files) and never looks inside.
"""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar, cast

HOST = "127.0.0.1"
TOKEN = "test-token-of-visible-ascii"
OWNER = "owner-under-test"
USERNAME = "tester"
PASSWORD = "a password for tests only"

LEGACY = "2025-11-25"
MODERN = "2026-07-28"

Era = Literal["legacy", "modern"]
Json = dict[str, Any]
Headers = Sequence[tuple[str, str]]

# Bounds for broken code, in seconds; a healthy service needs a tenth of them on a busy machine.
START_BOUND = 30.0
STOP_BOUND = 15.0
ANSWER_BOUND = 30.0

# How long one look at a condition waits for the next one, in seconds.
GLANCE = 0.02

T = TypeVar("T")


class ServiceError(Exception):
    """The process did not do what the harness asked: not ready, ended early, or did not stop."""


class ProtocolError(Exception):
    """A request was answered on the protocol level: an HTTP refusal or a JSON-RPC error."""

    def __init__(self, answer: "Answer") -> None:
        super().__init__(f"HTTP {answer.status}: {answer.body[:500]!r}")
        self.answer = answer
        self.status = answer.status

    @property
    def code(self) -> int | None:
        """The JSON-RPC error code, if the body holds one."""
        try:
            return cast(int, self.answer.json()["error"]["code"])
        except (ValueError, LookupError, TypeError):
            return None


@dataclass(frozen=True, slots=True)
class Answer:
    """One HTTP answer, exactly as it came."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the one value of a header, None without it; a doubled header is an error."""
        values = [value for key, value in self.headers if key.lower() == name.lower()]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None

    def json(self) -> Any:
        """Parse the body."""
        return json.loads(self.body)


def free_port() -> int:
    """Return a port of the loopback address that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return cast(int, probe.getsockname()[1])


def eventually(look: Callable[[], T], *, within: float = 10.0) -> T:
    """Return the first truthy result of `look`; fail after `within` seconds without one."""
    pause = threading.Event()
    deadline = time.monotonic() + within
    while not (seen := look()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not seen within {within} s: {look}")
        pause.wait(GLANCE)
    return seen


def envelope(
    method: str, params: Mapping[str, Any], era: Era, request_id: int | str = 1
) -> tuple[Json, Headers]:
    """Return the JSON-RPC message and the headers with which a client of that era sends it."""
    message: Json = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": dict(params)}
    headers = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    if era == "legacy":
        return message, [*headers, ("MCP-Protocol-Version", LEGACY)]
    message["params"]["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "remindi-tests", "version": "1"},
        **params.get("_meta", {}),
    }
    headers += [("MCP-Protocol-Version", MODERN), ("Mcp-Method", method)]
    if "name" in params:
        headers.append(("Mcp-Name", params["name"]))
    return message, headers


class Connection:
    """One keep-alive HTTP connection to a service. Not for use by two threads at once.

    It never repeats a request by itself: a lost answer is an exception, as tests of durability need it.
    """

    def __init__(self, port: int, token: str | None) -> None:
        self._http = http.client.HTTPConnection(HOST, port, timeout=ANSWER_BOUND)
        self._token = token

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection; the next request would open it again."""
        self._http.close()

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Headers = (),
        body: bytes | None = None,
        authorize: bool = False,
    ) -> Answer:
        """Send one request and read its whole answer."""
        self._http.putrequest(method, path, skip_accept_encoding=True)
        if authorize and self._token is not None:
            self._http.putheader("Authorization", f"Bearer {self._token}")
        for name, value in headers:
            self._http.putheader(name, value)
        if body is not None:
            self._http.putheader("Content-Length", str(len(body)))
        self._http.endheaders(body)
        with self._http.getresponse() as response:
            return Answer(response.status, tuple(response.getheaders()), response.read())

    def get(self, path: str) -> Answer:
        """GET a path without credentials."""
        return self.request("GET", path)

    def rpc(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        era: Era = "legacy",
        *,
        headers: Headers = (),
    ) -> Json:
        """Send one JSON-RPC request to `/mcp` and return its result.

        Raises `ProtocolError` for any other answer.
        """
        message, own = envelope(method, params or {}, era)
        body = json.dumps(message).encode()
        answer = self.request("POST", "/mcp", headers=[*own, *headers], body=body, authorize=True)
        if answer.status != http.client.OK or "result" not in (parsed := answer.json()):
            raise ProtocolError(answer)
        assert parsed["id"] == message["id"]
        return cast(Json, parsed["result"])

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, era: Era = "legacy") -> Json:
        """Call a tool and return its envelope (contract 1.1), a refusal by the tool included.

        What holds for each answer is asserted here: the text mirrors the structured content, and `isError`
        says the opposite of `ok`.
        """
        result = self.rpc("tools/call", {"name": tool, "arguments": dict(arguments or {})}, era)
        structured = cast(Json, result["structuredContent"])
        (text,) = result["content"]
        assert text["type"] == "text"
        assert json.loads(text["text"]) == structured
        assert result.get("isError", False) is not structured["ok"]
        return structured


class Service:
    """One Remindi process on its own data directory, as a context manager.

    `env` overrides the environment variable by variable; None removes one. `prefix` is put before the command
    and must become the service by exec (`taskset -c 0`, `strace -D`), so that signals reach it. `command`
    replaces `python -m remindi`, and `verb` its `serve`.
    """

    def __init__(
        self,
        root: Path,
        *,
        env: Mapping[str, str | None] | None = None,
        prefix: Sequence[str] = (),
        command: Sequence[str] = (sys.executable, "-m", "remindi"),
        verb: str = "serve",
        arguments: Sequence[str] = (),
    ) -> None:
        self.root = root
        self.data = root / "data"
        self.database = self.data / "remindi.db"
        self.backups = root / "backups"
        self.port = free_port()
        self.prefix = tuple(prefix)
        self.command = tuple(command)
        self.verb = verb
        self.arguments = tuple(arguments)
        self.env = self._environment(env or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._stdout = root / "stdout.log"
        self._stderr = root / "stderr.log"
        root.mkdir(parents=True, exist_ok=True)
        (root / "tmp").mkdir(exist_ok=True)

    def _environment(self, changes: Mapping[str, str | None]) -> dict[str, str]:
        """Build the environment from nothing: what the machine has set must not decide a test."""
        env: dict[str, str | None] = {
            "PATH": os.defpath,
            "HOME": str(self.root),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "REMINDI_DB_PATH": str(self.database),
            "REMINDI_BACKUP_DIR": str(self.backups),
            "REMINDI_OWNER_ID": OWNER,
            "REMINDI_MCP_TOKEN": TOKEN,
            "REMINDI_WEBUI_USERNAME": USERNAME,
            "REMINDI_WEBUI_PASSWORD": PASSWORD,
            **changes,
        }
        return {name: value for name, value in env.items() if value is not None}

    # ------------------------------------------------------------- process

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        if kind is not None:
            self.kill()
        elif (code := self.stop()) != 0:
            raise ServiceError(f"the service ended with {code}\n{self.output()}")

    @property
    def pid(self) -> int:
        """The process id; an error if no process was started."""
        return self._running().pid

    @property
    def token(self) -> str | None:
        """The bearer token of the environment."""
        return self.env.get("REMINDI_MCP_TOKEN")

    @property
    def url(self) -> str:
        """The address of the MCP door."""
        return f"http://{HOST}:{self.port}/mcp"

    def launch(self) -> None:
        """Start the process and return at once."""
        if self._process is not None:
            raise ServiceError("the service runs already")
        line = [
            *self.prefix,
            *self.command,
            self.verb,
            "--host",
            HOST,
            "--port",
            str(self.port),
            *self.arguments,
        ]
        with self._stdout.open("ab") as stdout, self._stderr.open("ab") as stderr:
            self._process = subprocess.Popen(
                line,
                env=self.env,
                cwd=self.root,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                start_new_session=True,
            )

    def start(self, *, within: float = START_BOUND) -> Self:
        """Start the process and return when `/health/ready` answers 200."""
        self.launch()
        deadline = time.monotonic() + within
        while not self.ready():
            code = self._ended(GLANCE)
            if code is not None:
                self._process = None
                raise ServiceError(f"the service ended with {code} before it was ready\n{self.output()}")
            if time.monotonic() > deadline:
                self.kill()
                raise ServiceError(f"the service was not ready within {within} s\n{self.output()}")
        return self

    def ready(self) -> bool:
        """Return whether `/health/ready` answers 200 now."""
        try:
            return self.get("/health/ready").status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    def run_to_end(self, *, within: float = START_BOUND) -> int:
        """Start a process that is to refuse its start; return its exit code."""
        self.launch()
        return self.wait(within=within)

    def stop(self, number: signal.Signals = signal.SIGTERM, *, within: float = STOP_BOUND) -> int:
        """Ask the process to end and return its exit code (negative: the signal that ended it)."""
        self._running().send_signal(number)
        return self.wait(within=within)

    def wait(self, *, within: float = STOP_BOUND) -> int:
        """Wait for the process to end by itself and return its exit code."""
        code = self._ended(within)
        if code is None:
            self.kill()
            raise ServiceError(f"the service did not end within {within} s\n{self.output()}")
        self._process = None
        return code

    def kill(self) -> None:
        """End the process with SIGKILL, as a crash does."""
        process = self._running()
        process.kill()
        process.wait()
        self._process = None
        # Half a line is what a kill may leave of the log; the next start would go on in it.
        os.truncate(self._stdout, self._stdout.read_bytes().rfind(b"\n") + 1)

    def restart(self) -> int:
        """Stop the process, start it again and return the exit code of the first one."""
        code = self.stop()
        self.start()
        return code

    def alive(self) -> bool:
        """Return whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise ServiceError("the service does not run")
        return self._process

    def _ended(self, within: float) -> int | None:
        try:
            return self._running().wait(within)
        except subprocess.TimeoutExpired:
            return None

    # -------------------------------------------------------------- output

    def log_lines(self) -> list[Json]:
        """Return the log so far, parsed; a line that is no JSON object fails the test (contract 17.4)."""
        complete, _, _ = self._stdout.read_bytes().rpartition(b"\n")
        lines = [json.loads(line) for line in complete.splitlines()]
        assert all(isinstance(line, dict) for line in lines)
        return lines

    def stderr(self) -> str:
        """Return what the process wrote to standard error so far."""
        return self._stderr.read_text(errors="replace")

    def output(self) -> str:
        """Return the end of both streams, for the message of a failure."""
        streams = {"stdout": self._stdout, "stderr": self._stderr}
        return "\n".join(
            f"--- {name}\n{path.read_text(errors='replace')[-4000:]}" for name, path in streams.items()
        )

    # -------------------------------------------------------------- speech

    def connection(self, *, token: str | None = None) -> Connection:
        """Return a connection of its own, for a thread or for many requests."""
        return Connection(self.port, token or self.token)

    def get(self, path: str) -> Answer:
        """GET a path on a fresh connection, without credentials."""
        with self.connection() as connection:
            return connection.get(path)

    def rpc(self, method: str, params: Mapping[str, Any] | None = None, era: Era = "legacy") -> Json:
        """Send one JSON-RPC request on a fresh connection and return its result."""
        with self.connection() as connection:
            return connection.rpc(method, params, era)

    def call(self, tool: str, arguments: Mapping[str, Any] | None = None, era: Era = "legacy") -> Json:
        """Call a tool on a fresh connection and return its envelope."""
        with self.connection() as connection:
            return connection.call(tool, arguments, era)

    def raw(self, method: str, path: str, headers: Headers | None = None, body: bytes = b"") -> Answer:
        """Send one request byte by byte as given and read its answer.

        Given headers are sent as they are, doubled or missing ones too; only a Content-Length is added to a
        body that has neither a length nor chunks. Without headers, those of a well-behaved legacy client are
        sent.
        """
        if headers is None:
            headers = [
                ("Host", f"{HOST}:{self.port}"),
                ("Authorization", f"Bearer {self.token}"),
                ("Content-Type", "application/json"),
                ("Accept", "application/json, text/event-stream"),
            ]
        names = {name.lower() for name, _ in headers}
        if body and not names & {"content-length", "transfer-encoding"}:
            headers = [*headers, ("Content-Length", str(len(body)))]
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in headers)
        return self.send(head.encode("latin-1") + b"\r\n" + body, method=method)

    def send(self, request: bytes, *, method: str = "POST") -> Answer:
        """Send bytes on a fresh connection and read one answer.

        A service may answer and close before it has read everything: what it said counts, not the broken
        pipe.
        """
        with self.dial() as wire:
            with suppress(BrokenPipeError, ConnectionResetError):
                wire.sendall(request)
            return read_answer(wire, method=method)

    @contextmanager
    def dial(self) -> Iterator[socket.socket]:
        """Open a bare TCP connection to the service."""
        with socket.create_connection((HOST, self.port), timeout=ANSWER_BOUND) as wire:
            yield wire


def read_answer(wire: socket.socket, *, method: str = "POST") -> Answer:
    """Read one whole HTTP answer from a connection."""
    response = http.client.HTTPResponse(wire, method=method)
    try:
        response.begin()
        return Answer(response.status, tuple(response.getheaders()), response.read())
    finally:
        response.close()


def chunked(body: bytes, *, size: int = 65_536) -> bytes:
    """Return a body in chunked transfer coding."""
    source = BytesIO(body)
    blocks = iter(lambda: source.read(size), b"")
    return b"".join(b"%x\r\n%b\r\n" % (len(block), block) for block in blocks) + b"0\r\n\r\n"
