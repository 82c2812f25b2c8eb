"""Bad HTTP, byte by byte: every refusal is small, plain JSON and no server error, and the service goes on.

After each module-wide battery the process holds no more threads and descriptors than before.
"""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Final

import pytest

from tests.process.acts import (
    ERAS,
    Footprint,
    all_items,
    assert_plain_refusal,
    fresh,
    head,
    new_item,
    tool_request,
)
from tests.service import TOKEN, Answer, Era, Headers, Service, chunked, eventually, read_answer

PING: Final = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

Made = Callable[[Service], bytes]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that is attacked by this module alone; it must be as it was before, and stop cleanly."""
    with Service(tmp_path_factory.mktemp("attacked") / "service") as service:
        for era in ERAS:
            service.call("remindi_add", new_item("warm"), era)
            service.call("remindi_check", {"project_id": "warm", "lifecycle_event": "checkpoint"}, era)
        # The first thread of the API comes with its first request.
        service.get("/api/v1/session")
        before = Footprint.of(service.pid)
        yield service
        eventually(lambda: Footprint.of(service.pid).within(before))
        assert service.call("remindi_list", {"project_id": "warm"})["ok"]
        assert [line for line in service.log_lines() if line["level"] == "error"] == []
        assert service.stderr() == ""


def message(service: Service, line: str = "POST /mcp HTTP/1.1", **changes: object) -> bytes:
    """A ping with its request line, headers or body changed; ``more`` headers come on top."""
    headers = changes.get("headers", head(service))
    more = changes.get("more", [("Content-Length", str(len(PING)))])
    body = changes.get("body", PING)
    assert isinstance(headers, list)
    assert isinstance(more, list)
    assert isinstance(body, bytes)
    text = f"{line}\r\n" + "".join(f"{name}: {value}\r\n" for name, value in [*headers, *more])
    return text.encode("latin-1") + b"\r\n" + body


def with_headers(*more: tuple[str, str], without: tuple[str, ...] = ()) -> Made:
    framed = any(name.lower() in ("content-length", "transfer-encoding") for name, _ in more)
    length = [] if framed else [LENGTH]
    return lambda service: message(service, headers=head(service, more, without=without), more=length)


def with_line(line: str) -> Made:
    return lambda service: message(service, line)


def exactly(request: bytes) -> Made:
    return lambda _: request


LENGTH: Final = ("Content-Length", str(len(PING)))

REFUSALS: Final[dict[str, tuple[Made, tuple[int, ...]]]] = {
    "no Host": (with_headers(without=("host",)), (400,)),
    "Host twice": (with_headers(("Host", "127.0.0.1")), (400,)),
    "Host twice in other letters": (with_headers(("hOST", "evil.example")), (400,)),
    "an empty Host": (with_headers(("Host", ""), without=("host",)), (400,)),
    "a Host with user info": (with_headers(("Host", "a@127.0.0.1"), without=("host",)), (400,)),
    "a Host with white space": (with_headers(("Host", "a b"), without=("host",)), (400,)),
    "a Host with a path": (with_headers(("Host", "127.0.0.1/x"), without=("host",)), (400,)),
    "a Host with a port too large": (with_headers(("Host", "127.0.0.1:65536"), without=("host",)), (400,)),
    "a Host of 30,000 characters": (with_headers(("Host", "a" * 30_000), without=("host",)), (400,)),
    "a Host beyond ASCII": (with_headers(("Host", "b\u00fccher.example"), without=("host",)), (400,)),
    "Authorization twice, equal": (with_headers(("Authorization", f"Bearer {TOKEN}")), (401,)),
    "Authorization twice, a bad one first": (
        with_headers(("Authorization", "Bearer x"), ("Authorization", f"Bearer {TOKEN}"),
                     without=("authorization",)), (401,)),
    "no Authorization": (with_headers(without=("authorization",)), (401,)),
    "another scheme": (with_headers(("Authorization", f"Basic {TOKEN}"), without=("authorization",)), (401,)),
    "bearer in lower case": (
        with_headers(("Authorization", f"bearer {TOKEN}"), without=("authorization",)), (401,)),
    "two spaces before the token": (
        with_headers(("Authorization", f"Bearer  {TOKEN}"), without=("authorization",)), (401,)),
    "a token and more": (
        with_headers(("Authorization", f"Bearer {TOKEN}x"), without=("authorization",)), (401,)),
    "a token in a list": (
        with_headers(("Authorization", f"Bearer {TOKEN}, Bearer x"), without=("authorization",)), (401,)),
    "a token beyond ASCII": (
        with_headers(("Authorization", "Bearer \u00e9" * 4), without=("authorization",)), (401,)),
    "a token of 30,000 characters": (
        with_headers(("Authorization", "Bearer " + "x" * 30_000), without=("authorization",)), (401,)),
    "a header with an underscore for Authorization": (
        with_headers(("Authorization_", f"Bearer {TOKEN}"), without=("authorization",)), (401,)),
    "Origin twice": (with_headers(("Origin", "http://a"), ("Origin", "http://a")), (403,)),
    "a null Origin": (with_headers(("Origin", "null")), (403,)),
    "another Origin": (with_headers(("Origin", "https://evil.example")), (403,)),
    "an Origin with a path": (with_headers(("Origin", "http://127.0.0.1/")), (403,)),
    "an Origin list": (with_headers(("Origin", "http://a http://b")), (403,)),
    "a Cookie": (with_headers(("Cookie", "a=b")), (400,)),
    "a query": (with_line("POST /mcp?token=secret-in-a-query HTTP/1.1"), (400,)),
    "Content-Length twice, differing": (
        with_headers(("Content-Length", "40"), ("Content-Length", "41")), (400,)),
    "Content-Length twice, equal": (with_headers(LENGTH, LENGTH), (400,)),
    "Content-Length as a list": (with_headers(("Content-Length", "40, 40")), (400,)),
    "a negative Content-Length": (with_headers(("Content-Length", "-1")), (400,)),
    "a signed Content-Length": (with_headers(("Content-Length", "+40")), (400,)),
    "a hexadecimal Content-Length": (with_headers(("Content-Length", "0x28")), (400,)),
    "an empty Content-Length": (with_headers(("Content-Length", "")), (400,)),
    "a Content-Length of 40 digits": (with_headers(("Content-Length", "9" * 40)), (400, 413)),
    "a Content-Length of 10,000 digits": (with_headers(("Content-Length", "9" * 10_000)), (400, 413)),
    "a Content-Length beyond 64 bits": (with_headers(("Content-Length", str(2**64 + 40))), (400, 413)),
    "a declared gigabyte": (with_headers(("Content-Length", str(2**30))), (413,)),
    "Content-Length and chunks": (
        with_headers(("Content-Length", "40"), ("Transfer-Encoding", "chunked")), (400,)),
    "chunks and Content-Length": (
        with_headers(("Transfer-Encoding", "chunked"), ("Content-Length", "40")), (400,)),
    "chunks twice": (
        with_headers(("Transfer-Encoding", "chunked"), ("Transfer-Encoding", "chunked")), (400,)),
    "another coding after chunks": (with_headers(("Transfer-Encoding", "chunked, gzip")), (400,)),
    "an unknown coding": (with_headers(("Transfer-Encoding", "xchunked")), (400,)),
    "a coding with a tab": (with_headers(("Transfer-Encoding", "\x0bchunked")), (400,)),
    "a chunk that is no number": (
        lambda service: message(service, more=[("Transfer-Encoding", "chunked")], body=b"zz\r\n"), (400,)),
    "a chunk size beyond 64 bits": (
        lambda service: message(service, more=[("Transfer-Encoding", "chunked")], body=b"f" * 17 + b"\r\n"),
        (400,)),
    "a negative chunk": (
        lambda service: message(service, more=[("Transfer-Encoding", "chunked")], body=b"-1\r\n"), (400,)),
    "a chunk longer than its size": (
        lambda service: message(service, more=[("Transfer-Encoding", "chunked")], body=b"1\r\nabc\r\n"),
        (400,)),
    "a compressed body": (with_headers(("Content-Encoding", "gzip")), (415,)),
    "no Content-Type": (with_headers(without=("content-type",)), (415,)),
    "another Content-Type": (
        with_headers(("Content-Type", "text/plain"), without=("content-type",)), (415,)),
    "Content-Type twice": (with_headers(("Content-Type", "text/plain")), (415,)),
    "another charset": (
        with_headers(("Content-Type", "application/json; charset=utf-16"), without=("content-type",)),
        (415,)),
    "Accept without JSON": (with_headers(("Accept", "text/html"), without=("accept",)), (406,)),
    "JSON not acceptable": (
        with_headers(("Accept", "application/json;q=0, */*"), without=("accept",)), (406,)),
    "an unknown protocol version": (with_headers(("MCP-Protocol-Version", "1999-01-01")), (400,)),
    "a protocol version of 30,000 characters": (with_headers(("MCP-Protocol-Version", "9" * 30_000)), (400,)),
    "a protocol version twice": (
        with_headers(("MCP-Protocol-Version", "2025-06-18"), ("MCP-Protocol-Version", "2025-06-18")), (400,)),
    "white space before the colon": (with_headers(("X-A ", "b")), (400,)),
    "a NUL in a header": (with_headers(("X-A", "a\x00b")), (400,)),
    "a line feed alone in a header": (with_headers(("X-A", "a\nX-B: c")), (200, 400)),
    "a carriage return alone in a header": (with_headers(("X-A", "a\rX-B: c")), (400,)),
    "a folded header": (with_headers(("X-A", "a\r\n b")), (200, 400)),
    "a header name beyond ASCII": (with_headers(("X-\u00e9", "a")), (400,)),
    "an empty header name": (with_headers(("", "a")), (400,)),
    "a header of 33,000 bytes": (with_headers(("X-A", "a" * 33_000)), (431,)),
    "a header of a megabyte": (with_headers(("X-A", "a" * 1_000_000)), (431,)),
    "5,000 headers": (with_headers(*[(f"X-{i}", "a") for i in range(5_000)]), (431,)),
    "a target of 33,000 bytes": (with_line("POST /" + "a" * 33_000 + " HTTP/1.1"), (431,)),
    "a target of a megabyte": (with_line("POST /" + "a" * 1_000_000 + " HTTP/1.1"), (431,)),
    "HTTP 0.9": (exactly(b"GET /mcp\r\n\r\n"), (400,)),
    "HTTP 3.0": (with_line("POST /mcp HTTP/3.0"), (400,)),
    "an HTTP version of letters": (with_line("POST /mcp HTTP/x.y"), (400,)),
    "a TLS client": (exactly(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64), (400,)),
    "an HTTP/2 preface": (exactly(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), (400, 404, 505)),
    "no target": (with_line("POST  HTTP/1.1"), (400,)),
    "a target with a space": (with_line("POST /m cp HTTP/1.1"), (400,)),
    "a method of letters that is none": (with_line("FETCH /mcp HTTP/1.1"), (400, 405)),
    "a method in lower case": (with_line("post /mcp HTTP/1.1"), (400,)),
    "a method beyond ASCII": (with_line("P\u00d6ST /mcp HTTP/1.1"), (400,)),
    "GET": (with_line("GET /mcp HTTP/1.1"), (405,)),
    "PUT": (with_line("PUT /mcp HTTP/1.1"), (405,)),
    "PATCH": (with_line("PATCH /mcp HTTP/1.1"), (405,)),
    "DELETE": (with_line("DELETE /mcp HTTP/1.1"), (405,)),
    "OPTIONS": (with_line("OPTIONS /mcp HTTP/1.1"), (405,)),
    "TRACE": (with_line("TRACE /mcp HTTP/1.1"), (400, 405)),
    "CONNECT": (with_line("CONNECT 127.0.0.1:80 HTTP/1.1"), (400, 404, 405)),
    "OPTIONS of everything": (with_line("OPTIONS * HTTP/1.1"), (400, 404)),
    "a slash behind": (with_line("POST /mcp/ HTTP/1.1"), (404,)),
    "a slash in front": (with_line("POST //mcp HTTP/1.1"), (404,)),
    "another case": (with_line("POST /MCP HTTP/1.1"), (404,)),
    "an escaped letter": (with_line("POST /%6dcp HTTP/1.1"), (404,)),
    "an escaped NUL": (with_line("POST /mcp%00 HTTP/1.1"), (404,)),
    "a path parameter": (with_line("POST /mcp;a=b HTTP/1.1"), (404,)),
    "dots": (with_line("POST /a/../mcp HTTP/1.1"), (404,)),
    "dots to files": (with_line("GET /../../../../etc/passwd HTTP/1.1"), (404,)),
    "a fragment": (with_line("POST /mcp#a HTTP/1.1"), (200, 400, 404)),
    "another authority in the target": (with_line("POST http://evil.example/mcp HTTP/1.1"), (400,)),
    "another scheme in the target": (with_line("POST file:///etc/passwd HTTP/1.1"), (400,)),
    "an oauth resource": (with_line("GET /.well-known/oauth-protected-resource HTTP/1.1"), (404,)),
    "an oauth resource of mcp": (with_line("GET /.well-known/oauth-protected-resource/mcp HTTP/1.1"), (404,)),
    "an oauth server": (with_line("GET /.well-known/oauth-authorization-server HTTP/1.1"), (404,)),
    "an openid server": (with_line("GET /.well-known/openid-configuration HTTP/1.1"), (404,)),
    "registration": (with_line("POST /register HTTP/1.1"), (404,)),
    "the root": (with_line("GET / HTTP/1.1"), (404,)),
    "the api": (with_line("GET /api/v1/items HTTP/1.1"), (404,)),
    "a POST to health": (with_line("POST /health/ready HTTP/1.1"), (405,)),
}  # fmt: skip
"""What is sent, and the statuses that are a right answer to it."""
FRAMINGS: Final = [
    name for name in REFUSALS if any(word in name for word in ("Content-Length", "chunk", " coding"))
]


@pytest.mark.parametrize("name", REFUSALS)
def test_a_bad_request_is_refused_and_the_next_one_is_answered(attacked: Service, name: str) -> None:
    made, statuses = REFUSALS[name]
    answer = attacked.send(made(attacked))
    assert answer.status in statuses, answer
    if answer.status != 200:
        assert_plain_refusal(answer)
        assert TOKEN.encode() not in answer.body
        assert b"evil" not in answer.body
    assert "location" not in {header.lower() for header, _ in answer.headers}
    assert attacked.get("/health/ready").status == 200


@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS"])
@pytest.mark.parametrize("credentials", [[], [("Authorization", "Bearer wrong-token-of-sixteen")]])
def test_authentication_comes_before_the_method_and_starts_no_oauth(
    attacked: Service, method: str, credentials: Headers
) -> None:
    answer = attacked.raw(method, "/mcp", head(attacked, credentials, without=["Authorization"]), PING)
    assert answer.status == 401, answer
    assert answer.header("WWW-Authenticate") == 'Bearer realm="remindi"'
    assert_plain_refusal(answer)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health_answers_under_any_host_and_method_that_reads(attacked: Service, method: str) -> None:
    request = f"{method} /health/live HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    answer = attacked.send(request.encode(), method=method)
    assert answer.status == 200


@pytest.mark.parametrize(
    "name", [b"Upgrade: websocket", b"Upgrade: h2c", b"Expect: 100-continue", b"Expect: 200-ok"]
)
def test_what_is_not_offered_is_passed_over(attacked: Service, name: bytes) -> None:
    request = message(attacked).replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\n" + name + b"\r\n\r\n", 1)
    with attacked.dial() as wire:
        wire.sendall(request)
        answer = read_answer(wire)
        if answer.status == 100:
            answer = read_answer(wire)
    assert answer.status in (200, 400, 417), answer


@pytest.mark.parametrize("name", FRAMINGS)
def test_no_framing_is_taken_for_a_whole_one_because_of_an_upgrade(attacked: Service, name: str) -> None:
    """Where another protocol is asked for, the first parser does not look at how the body is framed."""
    made, statuses = REFUSALS[name]
    asked = b"\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n"
    answer = attacked.send(made(attacked).replace(b"\r\n\r\n", asked, 1))
    assert answer.status in statuses, answer
    assert attacked.get("/health/ready").status == 200


def test_pipelined_requests_are_answered_in_their_order(attacked: Service) -> None:
    project = fresh("pipeline")
    requests = []
    for number in range(50):
        body, headers = tool_request(
            "remindi_add", json.dumps(new_item(project, message=f"number {number}")).encode(), "legacy"
        )
        own = [*head(attacked, without=["Content-Type", "Accept"]), *headers, ("X-Request-Id", f"n{number}")]
        requests.append(message(attacked, headers=own, more=[("Content-Length", str(len(body)))], body=body))
    with attacked.dial() as wire:
        wire.sendall(b"".join(requests))
        file = wire.makefile("rb")
        answers = [_next_answer(file) for _ in requests]
    assert [answer.header("X-Request-Id") for answer in answers] == [f"n{i}" for i in range(50)]
    assert all(answer.status == 200 for answer in answers)
    with attacked.connection() as connection:
        stored = [item["message"] for item in all_items(connection, project)]
    assert sorted(stored) == sorted(f"number {i}" for i in range(50))


def _next_answer(file: object) -> Answer:
    """Read one answer of several from a buffered connection."""
    read = file.readline  # type: ignore[attr-defined]
    status = int(read().split()[1])
    headers: list[tuple[str, str]] = []
    while line := read().strip():
        name, _, value = line.decode("latin-1").partition(": ")
        headers.append((name, value))
    length = int({name.lower(): value for name, value in headers}["content-length"])
    return Answer(status, tuple(headers), file.read(length))  # type: ignore[attr-defined]


def test_garbage_behind_a_request_does_not_undo_its_answer(attacked: Service) -> None:
    with attacked.dial() as wire:
        wire.sendall(message(attacked))
        first = read_answer(wire)
        with suppress(OSError):
            wire.sendall(b"\x00\x01garbage\r\n\r\n")
            wire.shutdown(socket.SHUT_WR)
            assert b" 400 " in wire.recv(4_096)
    assert first.status == 200


def test_a_smuggled_request_is_not_served(attacked: Service) -> None:
    project = fresh("smuggled")
    body, headers = tool_request("remindi_add", json.dumps(new_item(project)).encode(), "legacy")
    inner = message(
        attacked,
        headers=[*head(attacked, without=["Content-Type", "Accept"]), *headers],
        more=[("Content-Length", str(len(body)))],
        body=body,
    )
    for more in (
        [("Transfer-Encoding", "chunked"), ("Content-Length", str(5 + len(inner)))],
        [("Content-Length", str(5 + len(inner))), ("Transfer-Encoding", "chunked")],
        [("Content-Length", "5"), ("Content-Length", str(5 + len(inner)))],
        [("Transfer-Encoding", "xchunked"), ("Content-Length", str(5 + len(inner)))],
        [("Transfer-Encoding", "chunked, identity")],
    ):
        answer = attacked.send(message(attacked, more=more, body=b"0\r\n\r\n" + inner))
        assert answer.status == 400, answer
    with attacked.connection() as connection:
        assert all_items(connection, project) == []


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("coding", ["declared", "chunked"])
def test_a_client_that_leaves_amid_its_body_stores_nothing(
    attacked: Service, share: float, coding: str, era: Era
) -> None:
    project = fresh("half")
    body, headers = tool_request("remindi_add", json.dumps(new_item(project)).encode(), era)
    own = [*head(attacked, without=["Content-Type", "Accept"]), *headers]
    if coding == "declared":
        whole, more = body, [("Content-Length", str(len(body)))]
    else:
        whole, more = chunked(body, size=16), [("Transfer-Encoding", "chunked")]
    before = Footprint.of(attacked.pid)
    with ExitStack() as wires:
        for _ in range(30):
            wire = wires.enter_context(attacked.dial())
            wire.sendall(message(attacked, headers=own, more=more, body=whole[: int(len(whole) * share)]))
        assert attacked.get("/health/ready").status == 200
    eventually(lambda: Footprint.of(attacked.pid).within(before))
    with attacked.connection() as connection:
        assert all_items(connection, project) == []


def test_a_hundred_connections_that_say_nothing_keep_nobody_out(attacked: Service) -> None:
    with ExitStack() as wires:
        for _ in range(100):
            wires.enter_context(attacked.dial())
        assert attacked.call("remindi_list", {"project_id": "warm"})["ok"]


def test_a_client_that_never_reads_its_answers_keeps_nobody_out(attacked: Service) -> None:
    request = message(attacked)
    with attacked.dial() as wire:
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        wire.settimeout(0.2)
        with suppress(TimeoutError, OSError):
            for _ in range(2_000):
                wire.sendall(request * 20)
        assert attacked.call("remindi_list", {"project_id": "warm"})["ok"]


@pytest.mark.parametrize("version", ["HTTP/1.1", "HTTP/1.0"])
@pytest.mark.parametrize("connection", ["keep-alive", "close"])
def test_an_answer_in_the_middle_of_an_upload_is_read_by_a_client_that_still_sends(
    attacked: Service, version: str, connection: str
) -> None:
    body, line = b"x" * 2_000_000, f"POST /mcp {version}"
    framings = {"Content-Length": (str(len(body)), body), "Transfer-Encoding": ("chunked", chunked(body))}
    for name, (value, sent) in framings.items():
        more = [(name, value), ("Connection", connection)]
        answer = attacked.send(message(attacked, line, more=more, body=sent))
        assert answer.status == 413


def test_more_connections_than_are_taken_are_told_so(attacked: Service) -> None:
    with ExitStack() as wires:
        dialled = [wires.enter_context(attacked.dial()) for _ in range(520)]
        last = dialled[-1]
        last.settimeout(10)
        assert read_answer(last, method="GET").status == 503
    eventually(lambda: attacked.get("/health/ready").status == 200)


def test_the_log_holds_no_query_no_token_and_no_body(attacked: Service) -> None:
    attacked.send(message(attacked, "POST /mcp?secret-in-a-query HTTP/1.1"))
    attacked.raw("POST", "/mcp", head(attacked), b'{"secret-in-a-body":1}')
    eventually(lambda: len(attacked.log_lines()) > 2)
    text = json.dumps(attacked.log_lines())
    assert "secret-in-a-" not in text
    assert TOKEN not in text


def test_a_request_id_of_ours_is_kept_and_any_other_is_replaced(attacked: Service) -> None:
    for given, kept in (("abc-1", True), ("a b", False), ("x" * 129, False), ("<b>", False), ("", False)):
        answer = attacked.raw("POST", "/mcp", head(attacked, [("X-Request-Id", given)]), PING)
        assert (answer.header("X-Request-Id") == given) is kept, (given, answer)
    doubled = head(attacked, [("X-Request-Id", "one"), ("X-Request-Id", "two")])
    assert attacked.raw("POST", "/mcp", doubled, PING).header("X-Request-Id") not in ("one", "two")
