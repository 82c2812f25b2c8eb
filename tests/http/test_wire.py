"""The server on a real socket: malformed HTTP, sizes, slow and stalled clients, the stop (17.1, P14)."""

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from actors.messages.readers import ListItems
from remindi.answers import ListPage
from tests.fakes.doors import DoorStage, call, message
from tests.service import TOKEN, Answer, chunked, eventually, read_answer
from web.body import MAX_BODY_BYTES
from web.server import HttpServer, ServerFailed
from web.wire import LINGER_BYTES, MAX_HEAD_BYTES

PING = json.dumps(message()).encode()
BOUND = 10.0
HEAD = (
    b"Host: remindi.test\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n"
    b"Content-Type: application/json\r\nAccept: application/json\r\n"
)


class Served:
    """An application on a port of its own."""

    def __init__(self, stage: DoorStage, app: Any = None) -> None:
        self.stage = stage
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.port: int = listener.getsockname()[1]
        self.deaths: list[str] = []
        self.server = HttpServer(app or stage.app, listener, on_death=self.deaths.append)
        self.server.start()

    @contextmanager
    def dial(self) -> Iterator[socket.socket]:
        """Open a connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=BOUND) as wire:
            yield wire

    def send(self, request: bytes, *, method: str = "POST") -> Answer:
        """Send bytes as they are and read one answer."""
        with self.dial() as wire:
            with suppress(BrokenPipeError, ConnectionResetError):
                wire.sendall(request)
            return read_answer(wire, method=method)


@pytest.fixture
def served() -> Iterator[Served]:
    made = Served(DoorStage())
    yield made
    assert made.server.stop(BOUND)


def post(body: bytes, *more: bytes, head: bytes = HEAD) -> bytes:
    """Return a request with a declared body."""
    own = b"".join(line + b"\r\n" for line in more)
    return b"POST /mcp HTTP/1.1\r\n" + head + own + b"Content-Length: %d\r\n\r\n" % len(body) + body


def post_chunked(body: bytes, *more: bytes) -> bytes:
    """Return a request whose body comes in chunks."""
    own = b"".join(line + b"\r\n" for line in (*more, b"Transfer-Encoding: chunked"))
    return b"POST /mcp HTTP/1.1\r\n" + HEAD + own + b"\r\n" + chunked(body)


def closed(wire: socket.socket) -> bool:
    """Return whether the other side ended the connection; wait for it."""
    try:
        while wire.recv(65_536):
            pass
    except ConnectionResetError:
        pass
    return True


def answers_of(wire: socket.socket, count: int) -> list[Answer]:
    """Read answers that come one after the other; `read_answer` may read beyond its own."""
    read: list[Answer] = []
    with wire.makefile("rb") as stream:
        for _ in range(count):
            status = int(stream.readline().split()[1])
            headers: list[tuple[str, str]] = []
            while line := stream.readline().strip():
                name, _, value = line.decode("latin-1").partition(":")
                headers.append((name, value.strip()))
            length = dict(headers).get("content-length", "0")
            read.append(Answer(status, tuple(headers), stream.read(int(length))))
    return read


def refused(answer: Answer, status: int) -> None:
    """Assert that an answer is a small refusal like any other."""
    assert answer.status == status, answer
    assert list(answer.json()) == ["error"]
    assert answer.header("Content-Type") == "application/json"
    assert answer.header("X-Request-Id")
    assert answer.header("Server") is None


# ------------------------------------------------------------------ malformed HTTP


POST = b"POST /mcp HTTP/1.1\r\n" + HEAD
MALFORMED = {
    "no request line": b"nonsense\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00",
    "another version": b"POST /mcp HTTP/9.9\r\n" + HEAD + b"\r\n",
    "length and chunks": post(PING, b"Transfer-Encoding: chunked"),
    "chunks and length": POST + b"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
    "two lengths": post(PING, b"Content-Length: 1"),
    "a negative length": POST + b"Content-Length: -1\r\n\r\n",
    "a signed length": POST + b"Content-Length: +5\r\n\r\n12345",
    "a list of lengths": POST + b"Content-Length: 5 5\r\n\r\n12345",
    "a huge length": POST + b"Content-Length: " + b"9" * 40 + b"\r\n\r\n",
    "a chunk without size": POST + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "a name with a space": POST + b"Name With Space: x\r\n\r\n",
    "a NUL in a value": POST + b"X: a\x00b\r\n\r\n",
    "CONNECT": b"CONNECT remindi.test:443 HTTP/1.1\r\n" + HEAD + b"\r\n",
    "another authority": b"POST http://evil.example/mcp HTTP/1.1\r\n" + HEAD + b"\r\n",
    "no path": b"POST mcp HTTP/1.1\r\n" + HEAD + b"\r\n",
}


@pytest.mark.parametrize("request_bytes", MALFORMED.values(), ids=MALFORMED)
def test_malformed_http_is_refused_and_the_connection_ended(served: Served, request_bytes: bytes) -> None:
    with served.dial() as wire:
        wire.sendall(request_bytes)
        answer = read_answer(wire)
        refused(answer, 400)
        assert answer.header("Connection") == "close"
        assert closed(wire)
    assert served.send(post(PING)).status == 200


def test_a_request_hidden_behind_a_doubtful_length_is_never_served(served: Served) -> None:
    hidden = post(json.dumps(call("remindi_list", {})).encode())
    for coding in (b"chunked", b"identity", b"chunked, x", b"chunked, identity"):
        with served.dial() as wire:
            wire.sendall(post(b"0\r\n\r\n", b"Transfer-Encoding: " + coding) + hidden)
            with suppress(ConnectionResetError):
                read_answer(wire)
            assert closed(wire)
    assert served.stage.reader.asked == []


def test_a_missing_host_reaches_the_gate_in_either_version(served: Served) -> None:
    for version in (b"1.1", b"1.0"):
        head = HEAD.replace(b"Host: remindi.test\r\n", b"")
        request = post(PING, head=head).replace(b"HTTP/1.1", b"HTTP/" + version)
        refused(served.send(request), 400)


@pytest.mark.parametrize(
    ("doubled", "status"),
    [
        (b"Host: remindi.test", 400),
        (b"Authorization: Bearer " + TOKEN.encode(), 401),
        (b"Origin: http://remindi.test\r\nOrigin: http://remindi.test", 403),
        (b"Content-Type: application/json", 415),
        (b"MCP-Protocol-Version: 2025-11-25\r\nMCP-Protocol-Version: 2025-11-25", 400),
        (b"Accept: application/json", 200),
        (b"X-Other: 1\r\nX-Other: 2", 200),
    ],
)
def test_doubled_headers_are_judged_by_what_they_are(served: Served, doubled: bytes, status: int) -> None:
    assert served.send(post(PING, doubled)).status == status


def test_a_target_in_absolute_form_is_its_path(served: Served) -> None:
    request = post(PING).replace(b"POST /mcp", b"POST http://remindi.test/mcp")
    assert served.send(request).status == 200


@pytest.mark.parametrize("protocol", [b"websocket", b"h2c"])
@pytest.mark.parametrize("cut", [0, 1, 10, 20])
def test_a_declined_upgrade_is_an_ordinary_request_with_its_body(
    served: Served, protocol: bytes, cut: int
) -> None:
    # Were the body taken for the next request, it would be served as one.
    for form in (post, post_chunked):
        hidden = post(json.dumps(call("remindi_list", {})).encode())
        for body, status in ((PING, 200), (hidden, 400)):
            wanted = form(body).replace(
                b"\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: " + protocol + b"\r\n", 1
            )
            with served.dial() as wire:
                split = len(wanted) - cut
                wire.sendall(wanted[:split])
                wire.sendall(wanted[split:] + post(PING))
                assert [answer.status for answer in answers_of(wire, 2)] == [status, 200]
    assert served.stage.reader.asked == []


def test_a_declined_upgrade_without_a_body_keeps_what_follows(served: Served) -> None:
    with served.dial() as wire:
        wire.sendall(b"GET /health/live HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n" + post(PING))
        assert [answer.status for answer in answers_of(wire, 2)] == [200, 200]


def test_white_space_around_values_is_no_part_of_them(served: Served) -> None:
    head = HEAD.replace(b"Host: remindi.test", b"Host:  \t remindi.test \t")
    assert served.send(post(PING, b"X-Request-Id:\t r-1 \t", head=head)).header("X-Request-Id") == "r-1"


# --------------------------------------------------------------------------- sizes


@pytest.mark.parametrize("form", [post, post_chunked])
def test_a_body_of_exactly_the_cap_is_processed_and_one_more_byte_is_not(
    served: Served, form: Callable[[bytes], bytes]
) -> None:
    padding = b" " * (MAX_BODY_BYTES - len(PING))
    assert served.send(form(PING + padding)).status == 200
    refused(served.send(form(PING + padding + b" ")), 413)


def test_after_a_refused_body_the_connection_goes_on(served: Served) -> None:
    with served.dial() as wire:
        wire.sendall(post(b" " * (MAX_BODY_BYTES + 1)) + post(PING))
        first, second = answers_of(wire, 2)
        refused(first, 413)
        assert second.status == 200


def test_a_last_connection_ends_when_the_refused_body_has_come(served: Served) -> None:
    request = post(b" " * (MAX_BODY_BYTES + 1), b"Connection: close")
    with served.dial() as wire:
        wire.sendall(request[:2_000])
        answer = read_answer(wire)
        refused(answer, 413)
        assert answer.header("Connection") == "close"
        wire.sendall(request[2_000:])
        # An end, and no reset.
        assert wire.recv(1) == b""


@pytest.mark.parametrize("more", [b"X: y", b"Connection: close"])
def test_a_refused_body_without_end_is_not_read_for_ever(served: Served, more: bytes) -> None:
    piece = b"%x\r\n%b\r\n" % (65_536, b" " * 65_536)
    with served.dial() as wire:
        wire.sendall(post_chunked(b"", more)[: -len(b"0\r\n\r\n")])
        sent = 0
        with suppress(BrokenPipeError, ConnectionResetError):
            while sent < 64 * LINGER_BYTES:
                wire.sendall(piece)
                sent += len(piece)
        assert sent < 64 * LINGER_BYTES


@pytest.mark.parametrize("pieces", [1, 50])
def test_a_head_over_its_bound_is_refused_in_one_piece_or_many(served: Served, pieces: int) -> None:
    line = b"X: " + b"x" * (MAX_HEAD_BYTES // 50) + b"\r\n"
    request = b"POST /mcp HTTP/1.1\r\n" + HEAD + line * 51
    step = -(-len(request) // pieces)
    with served.dial() as wire:
        with suppress(BrokenPipeError, ConnectionResetError):
            for start in range(0, len(request), step):
                wire.sendall(request[start : start + step])
            wire.sendall(b"\r\n")
        refused(read_answer(wire), 431)
        assert closed(wire)


def test_a_header_line_without_end_is_refused(served: Served) -> None:
    with served.dial() as wire:
        wire.sendall(b"GET /health/live HTTP/1.1\r\nX: ")
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(64):
                wire.sendall(b"x" * 65_536)
        with suppress(ConnectionResetError):
            refused(read_answer(wire), 431)
        assert closed(wire)


def test_a_large_head_within_its_bound_is_served(served: Served) -> None:
    assert served.send(post(PING, b"X: " + b"x" * (MAX_HEAD_BYTES - 1_000))).status == 200


def test_pipelined_requests_are_answered_in_order(served: Served) -> None:
    bodies = [json.dumps(message(message_id=number)).encode() for number in range(20)]
    with served.dial() as wire:
        wire.sendall(b"".join(map(post, bodies)))
        assert [answer.json()["id"] for answer in answers_of(wire, 20)] == list(range(20))


# ------------------------------------------------------------------ slow and stalled


def test_a_head_that_does_not_end_in_time_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.wire.HEAD_SECONDS", 0.05)
    served = Served(DoorStage())
    with served.dial() as silent, served.dial() as slow:
        slow.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        refused(read_answer(slow), 408)
        assert closed(slow)
        assert closed(silent)
    assert served.server.stop(BOUND)


def test_a_second_head_has_its_deadline_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.wire.HEAD_SECONDS", 0.2)
    served = Served(DoorStage())
    with served.dial() as wire:
        wire.sendall(post(PING))
        assert read_answer(wire).status == 200
        wire.sendall(b"POST /mcp HTTP/1.1\r\nHost: ")
        refused(read_answer(wire), 408)
        assert closed(wire)
    assert served.server.stop(BOUND)


@pytest.mark.parametrize("begun", [b"", b"{"])
def test_a_body_that_stalls_is_refused(monkeypatch: pytest.MonkeyPatch, begun: bytes) -> None:
    monkeypatch.setattr("web.wire.STALL_SECONDS", 0.05)
    served = Served(DoorStage())
    with served.dial() as wire:
        wire.sendall(post(PING)[: -len(PING)] + begun)
        refused(read_answer(wire), 408)
        assert closed(wire)
    assert served.server.stop(BOUND)


def test_a_body_waits_for_an_application_that_does_not_read_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as an upload whose disk is slow: it is not the client that stalls."""
    monkeypatch.setattr("web.wire.STALL_SECONDS", 0.05)
    size = 4 * MAX_BODY_BYTES
    paused, go_on = threading.Event(), threading.Event()

    async def slow(_: Any, receive: Any, send: Any) -> None:
        came, more = 0, True
        while more:
            piece = await receive()
            assert piece["type"] == "http.request"
            came, more = came + len(piece["body"]), piece["more_body"]
            if not paused.is_set():
                paused.set()
                await asyncio.to_thread(go_on.wait, BOUND)
        head = [(b"content-length", b"%d" % len(str(came)))]
        await send({"type": "http.response.start", "status": 200, "headers": head})
        await send({"type": "http.response.body", "body": str(came).encode()})

    served = Served(DoorStage(), slow)
    with served.dial() as wire:
        wire.sendall(post(b" " * size)[:400_000])
        assert paused.wait(BOUND)
        threading.Event().wait(0.3)
        go_on.set()
        wire.sendall(post(b" " * size)[400_000:])
        assert read_answer(wire).body == str(size).encode()
    assert served.server.stop(BOUND)


def test_a_refused_body_that_trickles_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.wire.LINGER_SECONDS", 0.05)
    served = Served(DoorStage())
    with served.dial() as wire:
        wire.sendall(post(b" " * (MAX_BODY_BYTES + 1))[:1_000])
        refused(read_answer(wire), 413)
        assert closed(wire)
    assert served.server.stop(BOUND)


@pytest.mark.parametrize("requests", [1, 2])
def test_a_client_that_does_not_read_loses_the_connection(
    monkeypatch: pytest.MonkeyPatch, requests: int
) -> None:
    monkeypatch.setattr("web.wire.UNREAD_SECONDS", 0.2)
    served = Served(DoorStage(), large)
    with served.dial() as wire:
        connections = served.server._server.server_state.connections
        eventually(lambda: connections)
        wire.sendall(post(PING) * requests)
        eventually(lambda: not connections)
        # What had been sent may still be read; the rest is gone with the connection.
        assert closed(wire)
    assert served.server.stop(BOUND)


def test_a_client_that_reads_slowly_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.wire.UNREAD_SECONDS", 0.5)
    served = Served(DoorStage(), large)
    with served.dial() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        wire.sendall(post(PING))
        came = 0
        pause = threading.Event()
        while came < LARGE:
            received = wire.recv(1 << 20)
            assert received, "cut off"
            came += len(received)
            pause.wait(0.02)
    assert served.server.stop(BOUND)


LARGE = 24_000_000


async def large(_scope: Any, _receive: Any, send: Any) -> None:
    """Answer with much in one piece."""
    length = (b"content-length", b"%d" % LARGE)
    await send({"type": "http.response.start", "status": 200, "headers": [length]})
    await send({"type": "http.response.body", "body": b"x" * LARGE})


def test_too_many_connections_are_turned_away_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("web.wire.MAX_CONNECTIONS", 2)
    served = Served(DoorStage())
    with served.dial() as first, served.dial() as second:
        for wire in (first, second):
            wire.sendall(post(PING))
            assert read_answer(wire).status == 200
        with served.dial() as third:
            answer = read_answer(third)
            refused(answer, 503)
            assert answer.header("Retry-After") == "1"
            assert closed(third)
    assert eventually(lambda: served.send(post(PING)).status == 200)
    assert served.server.stop(BOUND)


def test_a_client_that_leaves_in_the_middle_of_its_body_disturbs_nobody(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(30):
        with served.dial() as wire:
            wire.sendall(post(PING)[:-3])
    assert served.send(post(PING)).status == 200
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


def test_a_client_that_leaves_before_its_answer_disturbs_nobody(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(30):
        with served.dial() as wire:
            wire.sendall(post(json.dumps(call("remindi_list", {})).encode()))
    assert served.send(post(PING)).status == 200
    assert [record for record in caplog.records if record.levelname in ("WARNING", "ERROR")] == []


# ------------------------------------------------------------------------ the stop


def test_the_stop_ends_idle_and_half_sent_connections_at_once() -> None:
    served = Served(DoorStage())
    with served.dial() as idle, served.dial() as head, served.dial() as body, served.dial() as silent:
        idle.sendall(post(PING))
        assert read_answer(idle).status == 200
        head.sendall(b"POST /mcp HTTP/1.1\r\n")
        body.sendall(post(PING)[:-3])
        # All of it has arrived: each is answered in the order in which it came.
        assert served.send(post(PING)).status == 200
        assert served.server.stop(BOUND)
        assert all(closed(wire) for wire in (idle, head, body, silent))
    assert not served.server.alive
    assert served.deaths == []


def test_the_stop_lets_a_running_request_finish() -> None:
    begun, may_end = threading.Event(), threading.Event()

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        begun.set()
        await asyncio.to_thread(may_end.wait, BOUND)
        await DoorStage().app(scope, receive, send)

    served = Served(DoorStage(), slow)
    with served.dial() as wire:
        wire.sendall(post(PING))
        assert begun.wait(BOUND)
        stopping = threading.Thread(target=lambda: stopped.append(served.server.stop(BOUND)))
        stopped: list[bool] = []
        stopping.start()
        eventually(lambda: not accepts(served.port))
        may_end.set()
        answer = read_answer(wire)
        stopping.join(BOUND)
    assert (answer.status, answer.header("Connection"), stopped) == (200, "close", [True])


def accepts(port: int) -> bool:
    """Return whether somebody listens on a port."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=BOUND).close()
    except OSError:
        return False
    return True


def test_the_stop_cuts_off_what_does_not_end_and_keeps_its_budget(caplog: pytest.LogCaptureFixture) -> None:
    begun = threading.Event()

    async def endless(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        begun.set()
        await asyncio.Event().wait()

    served = Served(DoorStage(), endless)
    with served.dial() as wire:
        wire.sendall(post(PING))
        assert begun.wait(BOUND)
        # True is only said of a thread that ended within the budget.
        assert served.server.stop(0.5)
        assert closed(wire)
    assert "requests were cut off" in caplog.messages


def test_a_stuck_application_cannot_hold_the_stop() -> None:
    stage = DoorStage()
    begun, may_end = threading.Event(), threading.Event()

    def stuck(_: ListItems) -> ListPage:
        begun.set()
        may_end.wait(BOUND)
        return ListPage((), None)

    stage.reader.script[ListItems] = stuck
    served = Served(stage)
    with served.dial() as wire:
        wire.sendall(post(json.dumps(call("remindi_list", {})).encode()))
        assert begun.wait(BOUND)
        assert served.server.stop(0.2) is False
    may_end.set()
    assert eventually(lambda: not served.server.alive)


def test_a_server_that_breaks_says_so_and_leaves_no_socket_behind(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("web.server._TICK_SECONDS", 0.01)
    served = Served(DoorStage())

    async def broken(_: int) -> bool:
        raise RuntimeError

    monkeypatch.setattr(served.server._server, "on_tick", broken)
    assert eventually(lambda: served.deaths) == ["http"]
    assert not accepts(served.port)
    assert served.server.stop(BOUND)
    assert "the HTTP server broke" in caplog.messages


def test_a_socket_that_cannot_be_listened_on_is_a_failed_start() -> None:
    listener = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listener.bind(("127.0.0.1", 0))
    server = HttpServer(DoorStage().app, listener)
    with pytest.raises(ServerFailed):
        server.start()
    listener.close()
