"""What a command makes of answers that do not come, come late, or are no Remindi's."""

import json
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from remindi.cli import exits
from tests.process.acts import all_items, fresh
from tests.process.relay import Act, Relay, answer, carried_to, silence
from tests.process.shell import remindi
from tests.service import HOST, Json, Service


def tool_answer(envelope: Json) -> Act:
    result = {"jsonrpc": "2.0", "id": 1, "result": {"structuredContent": envelope}}
    return answer("200 OK", json.dumps(result).encode(), "Content-Type: application/json")


BUSY: Final = tool_answer(
    {"ok": False, "request_id": "r", "error": {"code": "DATABASE_BUSY", "message": "busy", "retryable": True}}
)
PROMISE: Final = ("add", "once", "--next-session")


@pytest.fixture
def project() -> str:
    return fresh("project")


def stored(service: Service, project: str) -> Sequence[Json]:
    with service.connection() as connection:
        return all_items(connection, project)


@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(silence, id="hung up"),
        pytest.param(answer("502 Bad Gateway", b"<html>"), id="a gateway's 502"),
        pytest.param(answer("504 Gateway Timeout"), id="a gateway's 504"),
        pytest.param(answer("200 OK", b"{", length=100), id="half an answer"),
        pytest.param(lambda wire, _: wire.sendall(b"HTTP/1.1 200"), id="half a head"),
        pytest.param(BUSY, id="outcome unknown"),
    ],
)
def test_a_lost_answer_is_asked_for_again_under_the_same_key_and_has_one_effect(
    shared_service: Service, project: str, lost: Act
) -> None:
    with Relay(carried_to(shared_service, lost), carried_to(shared_service)) as relay:
        done = remindi(shared_service, *PROMISE, "--project", project, port=relay.port)
    assert (done.code, done.err) == (exits.OK, "")
    first, second = relay.bodies()
    assert first == second
    (item,) = stored(shared_service, project)
    assert item["id"] == done.id()


def test_two_commands_have_two_keys(shared_service: Service, project: str) -> None:
    with Relay(carried_to(shared_service)) as relay:
        for _ in range(2):
            assert remindi(shared_service, *PROMISE, "--project", project, port=relay.port).code == exits.OK
    assert len({body["idempotency_key"] for body in relay.bodies()}) == 2
    assert len(stored(shared_service, project)) == 2


def test_an_answer_that_is_lost_twice_leaves_a_doubt_that_is_told(
    shared_service: Service, project: str
) -> None:
    with Relay(carried_to(shared_service, silence)) as relay:
        done = remindi(shared_service, *PROMISE, "--project", project, port=relay.port)
    assert done.code == exits.UNAVAILABLE
    assert len(relay.requests) == 2
    assert "did not answer" in done.err
    assert "It may have been carried out all the same: look with `remindi list`" in done.err
    assert len(stored(shared_service, project)) == 1


def test_a_service_that_goes_away_in_between_leaves_the_same_doubt(
    shared_service: Service, project: str
) -> None:
    stopped = answer("503 Service Unavailable", b'{"error": "The service is stopping; try again."}')
    with Relay(carried_to(shared_service, silence), stopped) as relay:
        done = remindi(shared_service, *PROMISE, "--project", project, port=relay.port)
    assert done.code == exits.UNAVAILABLE
    assert "The service is stopping" in done.err
    assert "It may have been carried out" in done.err


def test_a_question_that_is_lost_twice_leaves_no_doubt(shared_service: Service) -> None:
    with Relay(silence) as relay:
        done = remindi(shared_service, "list", port=relay.port)
    assert done.code == exits.UNAVAILABLE
    assert len(relay.requests) == 2
    assert "It may have been carried out" not in done.err


@pytest.mark.parametrize(
    ("act", "code", "word"),
    [
        (answer("200 OK", b"<html>Welcome</html>"), exits.UNAVAILABLE, "is no Remindi"),
        (answer("200 OK", b"[]"), exits.UNAVAILABLE, "is no Remindi"),
        (answer("200 OK", b'{"result": {}}'), exits.UNAVAILABLE, "is no Remindi"),
        (answer("200 OK", b"[" * 200_000), exits.UNAVAILABLE, "is no Remindi"),
        (tool_answer({"ok": True, "data": []}), exits.UNAVAILABLE, "is no Remindi"),
        (tool_answer({"ok": False, "error": {}}), exits.UNAVAILABLE, "is no Remindi"),
        (answer("404 Not Found", b"<html>"), exits.UNAVAILABLE, "answered HTTP 404"),
        (answer("403 Forbidden", b"<html>"), exits.UNAVAILABLE, "answered HTTP 403"),
        (answer("500 Oops", b'{"error": "\\u001b[2J wrong"}'), exits.FAILED, r"HTTP 500: \x1b[2J wrong"),
        (
            answer("200 OK", b'{"error": {"code": -32602, "message": "\\u202eno"}}'),
            exits.INTERNAL,
            r"refused the call itself: \u202eno",
        ),
        (
            answer("400 Bad Request", b'{"jsonrpc": "2.0", "error": {"message": "Unsupported version"}}'),
            exits.FAILED,
            "answered HTTP 400: Unsupported version",
        ),
        (
            answer("307 Temporary Redirect", b"", "Location: https://elsewhere.example/mcp"),
            exits.UNAVAILABLE,
            "sends elsewhere, to https://elsewhere.example/mcp",
        ),
    ],
)
def test_whoever_is_no_remindi_is_told_apart_and_asked_once(
    shared_service: Service, act: Act, code: int, word: str
) -> None:
    with Relay(act) as relay:
        done = remindi(shared_service, "list", port=relay.port)
    assert done.code == code
    assert word in done.err, done
    assert len(relay.requests) == 1


def test_an_answer_without_end_is_not_read_without_end(shared_service: Service) -> None:
    def flood(wire: socket.socket, _request: bytes) -> None:
        wire.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        while True:
            wire.sendall(b" " * 1_048_576)

    with Relay(flood) as relay:
        done = remindi(shared_service, "list", port=relay.port)
    assert done.code == exits.FAILED
    assert "larger than any" in done.err


def test_what_is_sent_holds_nothing_but_what_the_command_says(
    shared_service: Service, project: str, tmp_path: Path
) -> None:
    """Neither netrc nor proxies nor cookies of a former answer."""
    (tmp_path / "netrc").write_text(f"machine {HOST} login somebody password else\n")
    (tmp_path / "netrc").chmod(0o600)
    cookie = answer("502 Bad Gateway", b"", "Set-Cookie: tracked=1; Path=/")
    with Relay(cookie, carried_to(shared_service)) as relay:
        done = remindi(
            shared_service,
            *("list", "--project", project),
            port=relay.port,
            NETRC=str(tmp_path / "netrc"),
            HTTP_PROXY=f"http://{HOST}:9",
            http_proxy=f"http://{HOST}:9",
            ALL_PROXY=f"http://{HOST}:9",
        )
    assert done.code == exits.OK, done
    for request in relay.requests:
        head = request.partition(b"\r\n\r\n")[0].lower()
        assert head.count(b"authorization:") == 1
        assert f"authorization: bearer {shared_service.token}".encode() in head
        assert b"cookie" not in head
        assert f"host: {HOST}:{relay.port}".encode() in head


@pytest.fixture
def deaf() -> Iterator[int]:
    """A port that somebody has and that nobody listens on."""
    with socket.socket() as bound:
        bound.bind((HOST, 0))
        yield bound.getsockname()[1]


def test_where_nobody_listens_nothing_is_tried_twice(shared_service: Service, deaf: int) -> None:
    done = remindi(shared_service, "cancel", "abcd", "--reason", "r", port=deaf)
    assert done.code == exits.UNAVAILABLE
    assert done.err.startswith(f"remindi: No service answers at http://{HOST}:{deaf}.")
    assert "may have been" not in done.err


def test_a_name_that_is_not_known_and_tls_that_is_not_spoken_are_told(shared_service: Service) -> None:
    unknown = remindi(shared_service, "list", "--url", "http://nowhere.invalid")
    assert unknown.code == exits.UNAVAILABLE
    assert "name in http://nowhere.invalid is not known" in unknown.err
    plain = remindi(shared_service, "list", "--url", f"https://{HOST}:{shared_service.port}")
    assert plain.code == exits.UNAVAILABLE
    assert "without TLS write http://" in plain.err
    missing = remindi(
        shared_service,
        *("list", "--url", f"https://{HOST}:{shared_service.port}"),
        SSL_CERT_FILE="/nowhere/authorities.pem",
    )
    assert missing.code == exits.CONFIGURATION
