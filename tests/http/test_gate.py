"""The gate of ``/mcp`` as a table: request, status, what must and must not appear (contract 10.1, P9-P11)."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from remindi.config import load
from tests.fakes.doors import HOST, DoorStage, good_headers, message
from tests.service import TOKEN
from web.body import MAX_BODY_BYTES

BEARER = ("Authorization", f"Bearer {TOKEN}")
PING = json.dumps(message()).encode()
ORIGIN = ("Origin", f"http://{HOST}")


def configured(**environ: str) -> dict[str, Any]:
    """Return the lists of a configuration as the environment makes them."""
    loaded = load(
        {"REMINDI_OWNER_ID": "o", "REMINDI_MCP_TOKEN": TOKEN, "REMINDI_WEBUI_AUTH": "false", **environ}
    )
    config = loaded.config  # type: ignore[union-attr]
    return {"allowed_hosts": config.allowed_hosts, "allowed_origins": config.allowed_origins}


HOSTS = configured(REMINDI_HTTP_ALLOWED_HOSTS="Remindi.Test, other.test:8443, [::1]:8000")
ORIGINS = configured(REMINDI_HTTP_ALLOWED_ORIGINS="https://app.test, http://remindi.test:81")


def head(*more: tuple[str, str], host: str | None = HOST) -> list[tuple[str, str]]:
    """Return good headers with another Host, or with none, and more behind them."""
    own = [] if host is None else [("Host", host)]
    return [*own, *good_headers(without="Host"), *more]


ADMITTED = [
    ("plainly", {}, head()),
    ("with any well-formed Host while no list is set", {}, head(host="evil.example:1")),
    ("with an IPv6 Host", {}, head(host="[::1]:8000")),
    ("with a Host of the list in other letters", HOSTS, head(host="REMINDI.test")),
    ("with a Host and port of the list", HOSTS, head(host="other.test:8443")),
    ("with an IPv6 Host of the list, written otherwise", HOSTS, head(host="[0:0:0:0:0:0:0:1]:8000")),
    ("with an Origin that equals the Host", {}, head(ORIGIN)),
    ("with an Origin of the other scheme", {}, head(("Origin", f"HTTPS://{HOST.upper()}"))),
    ("with an Origin of the list", ORIGINS, head(("Origin", "https://app.test"))),
    ("without an Origin while a list is set", ORIGINS, head()),
    (
        "with white space around the token line",
        {},
        [*good_headers(without="Authorization"), ("Authorization", f" Bearer {TOKEN}\t")],
    ),
    ("with a stale session id", {}, head(("Mcp-Session-Id", "stale"))),
]


@pytest.mark.parametrize(
    ("config", "headers"), [row[1:] for row in ADMITTED], ids=[row[0] for row in ADMITTED]
)
def test_a_good_request_comes_in(config: dict[str, Any], headers: list[tuple[str, str]]) -> None:
    answered = DoorStage(**config).request(headers=headers, body=PING)
    assert (answered.status, answered.json()) == (200, {"jsonrpc": "2.0", "id": 1, "result": {}})
    assert answered.header("Mcp-Session-Id") is None


BAD_TOKENS = [
    [],
    [("Authorization", "")],
    [("Authorization", "Bearer")],
    [("Authorization", "Bearer ")],
    [("Authorization", f"bearer {TOKEN}")],
    [("Authorization", f"BEARER {TOKEN}")],
    [("Authorization", f"Bearer  {TOKEN}")],
    [("Authorization", f"Bearer\t{TOKEN}")],
    [("Authorization", f"Bearer {TOKEN} x")],
    [("Authorization", f"Bearer {TOKEN}x")],
    [("Authorization", f"Bearer {TOKEN[:-1]}")],
    [("Authorization", f"Bearer {TOKEN.upper()}")],
    [("Authorization", f"Bearer x{TOKEN}\xe9")],
    [("Authorization", f"Basic {TOKEN}")],
    [("Authorization", TOKEN)],
    [BEARER, BEARER],
    [BEARER, ("Authorization", "Bearer other-token-of-sixteen")],
    [("Authorization", "Bearer other-token-of-sixteen"), BEARER],
    [("Proxy-Authorization", f"Bearer {TOKEN}")],
]
BAD_HOSTS = [
    [],
    [("Host", "")],
    [("Host", HOST), ("Host", HOST)],
    [("Host", f"user@{HOST}")],
    [("Host", "re mindi.test")],
    [("Host", "remindi.test:")],
    [("Host", "remindi.test:99999")],
    [("Host", "http://remindi.test")],
    [("Host", "remindi.test, remindi.test")],
    [("Host", "::1")],
    [("Host", "r\xe9mindi.test")],
]
BAD_ORIGINS = [
    [ORIGIN, ORIGIN],
    [("Origin", "null")],
    [("Origin", "")],
    [("Origin", f"http://{HOST}/")],
    [("Origin", f"http://{HOST}?q")],
    [("Origin", f"http://{HOST}#f")],
    [("Origin", f"ftp://{HOST}")],
    [("Origin", HOST)],
    [("Origin", f"http://user@{HOST}")],
]


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "PUT", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("token", BAD_TOKENS, ids=range(len(BAD_TOKENS)))
def test_whoever_has_not_the_token_is_told_how_to_bring_it(method: str, token: list[tuple[str, str]]) -> None:
    headers = [header for header in good_headers() if header[0] != "Authorization"] + token
    answered = DoorStage().request(method, headers=headers, body=PING)
    assert answered.status == 401
    assert answered.header("WWW-Authenticate") == 'Bearer realm="remindi"'
    assert "REMINDI_MCP_TOKEN" in answered.json()["error"]
    assert b"other-token" not in answered.body
    assert TOKEN.encode() not in answered.body


@pytest.mark.parametrize("host", BAD_HOSTS, ids=range(len(BAD_HOSTS)))
def test_a_missing_doubled_or_malformed_host_is_refused(host: list[tuple[str, str]]) -> None:
    for config in ({}, HOSTS):
        answered = DoorStage(**config).request(headers=[*host, *good_headers(without="Host")], body=PING)
        assert answered.status == 400
        assert "Host" in answered.json()["error"]


@pytest.mark.parametrize(
    "host", ["remindi.test:80", "other.test", "x.remindi.test", "remindi.test.", "[::1]"]
)
def test_a_host_outside_the_list_is_told_which_setting_decides(host: str) -> None:
    answered = DoorStage(**HOSTS).request(headers=head(host=host), body=PING)
    assert answered.status == 403
    assert "REMINDI_HTTP_ALLOWED_HOSTS" in answered.json()["error"]
    assert b"remindi.test" not in answered.body


@pytest.mark.parametrize("origin", BAD_ORIGINS, ids=range(len(BAD_ORIGINS)))
def test_a_doubled_or_malformed_origin_is_refused(origin: list[tuple[str, str]]) -> None:
    for config in ({}, ORIGINS):
        answered = DoorStage(**config).request(headers=head(*origin), body=PING)
        assert answered.status == 403
        assert "Origin" in answered.json()["error"]


@pytest.mark.parametrize(
    ("config", "origin"),
    [
        ({}, "http://evil.example"),
        ({}, f"http://{HOST}:81"),
        ({}, f"http://{HOST}:80"),
        (ORIGINS, "http://app.test"),
        (ORIGINS, "https://app.test:443"),
        (ORIGINS, f"http://{HOST}"),
    ],
)
def test_a_foreign_origin_is_told_which_setting_decides(config: dict[str, Any], origin: str) -> None:
    answered = DoorStage(**config).request(headers=head(("Origin", origin)), body=PING)
    assert answered.status == 403
    assert "REMINDI_HTTP_ALLOWED_ORIGINS" in answered.json()["error"]
    assert b"evil" not in answered.body


@pytest.mark.parametrize("method", ["GET", "DELETE", "HEAD", "PUT", "PATCH", "OPTIONS", "TRACE"])
def test_with_the_token_only_post_is_admitted(method: str) -> None:
    answered = DoorStage().request(method, body=b"")
    assert (answered.status, answered.header("Allow")) == (405, "POST")


# ------------------------------------------------------------------- the order

Break = Callable[[DoorStage, dict[str, Any]], None]


def starting(stage: DoorStage, _: dict[str, Any]) -> None:
    stage.board.startup = "starting"


def declared(_: DoorStage, request: dict[str, Any]) -> None:
    request["headers"].append(("Content-Length", str(MAX_BODY_BYTES + 1)))


def cookie(_: DoorStage, request: dict[str, Any]) -> None:
    request["headers"].append(("Cookie", ""))


def query(_: DoorStage, request: dict[str, Any]) -> None:
    request["query"] = "token=secret-of-a-query"


def malformed_host(_: DoorStage, request: dict[str, Any]) -> None:
    request["headers"] = [header for header in request["headers"] if header[0] != "Host"]


def other_host(_: DoorStage, request: dict[str, Any]) -> None:
    request["headers"] = [("Host", "x") if header[0] == "Host" else header for header in request["headers"]]


def foreign_origin(_: DoorStage, request: dict[str, Any]) -> None:
    request["headers"].append(("Origin", "https://evil.example"))


def no_token(_: DoorStage, request: dict[str, Any]) -> None:
    request["headers"] = [header for header in request["headers"] if header[0] != "Authorization"]


def stopped(stage: DoorStage, _: dict[str, Any]) -> None:
    stage.board.mcp_open = False


def maintenance(stage: DoorStage, _: dict[str, Any]) -> None:
    stage.board.maintenance = "paused"


def streamed(_: DoorStage, request: dict[str, Any]) -> None:
    request["body"] = [b" " * MAX_BODY_BYTES, b" "]


def wrong_method(_: DoorStage, request: dict[str, Any]) -> None:
    request["method"] = "GET"


STEPS: list[tuple[int, Break, int]] = [
    (0, starting, 503),
    (1, declared, 413),
    (2, cookie, 400),
    (2, query, 400),
    (3, malformed_host, 400),
    (4, other_host, 403),
    (5, foreign_origin, 403),
    (6, no_token, 401),
    (7, stopped, 503),
    (7, maintenance, 503),
    (8, streamed, 413),
    (9, wrong_method, 405),
]


def refused(*broken: Break) -> tuple[int, bytes, dict[str, str]]:
    """Send a request that is broken in some ways, and return what came of it."""
    stage = DoorStage(**HOSTS)
    request: dict[str, Any] = {"method": "POST", "headers": good_headers(), "body": PING}
    for breaks in broken:
        breaks(stage, request)
    answered = stage.request(**request)
    names = {name.decode(): value.decode() for name, value in answered.headers if name != b"x-request-id"}
    return answered.status, answered.body, names


@pytest.mark.parametrize(("step", "breaks", "status"), STEPS, ids=[row[1].__name__ for row in STEPS])
def test_each_step_refuses_with_its_status_in_a_small_fixed_body(
    step: int, breaks: Break, status: int
) -> None:
    got, body, headers = refused(breaks)
    assert got == status
    assert list(json.loads(body)) == ["error"]
    assert len(body) < 256
    assert headers["content-type"] == "application/json"
    assert (headers.get("retry-after") == "1") is (status == 503)
    for echo in (b"evil", b"secret", TOKEN.encode(), HOST.encode()):
        assert echo not in body
    assert step in range(10)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(one, other, id=f"{one[1].__name__} before {other[1].__name__}")
        for one, other in itertools.combinations(STEPS, 2)
        if one[0] < other[0] and {one[1], other[1]} != {malformed_host, other_host}
    ],
)
def test_an_earlier_step_decides_before_a_later_one(
    first: tuple[int, Break, int], second: tuple[int, Break, int]
) -> None:
    assert refused(second[1], first[1]) == refused(first[1])


# -------------------------------------------------------------------- the size


@pytest.mark.parametrize("pieces", [1, 2, 17])
@pytest.mark.parametrize(("size", "status"), [(MAX_BODY_BYTES, 200), (MAX_BODY_BYTES + 1, 413)])
def test_a_body_is_bounded_exactly_declared_or_not(pieces: int, size: int, status: int) -> None:
    body = PING + b" " * (size - len(PING))
    step = -(-size // pieces)
    cut = [body[start : start + step] for start in range(0, size, step)]
    for more in ((), (("Content-Length", str(size)),)):
        assert DoorStage().request(headers=good_headers(*more), body=cut).status == status


@pytest.mark.parametrize("length", ["1048577", "0001048577", "9" * 30, "9" * 10_000])
def test_a_declared_size_over_the_cap_is_refused_unread(length: str) -> None:
    stage = DoorStage()
    assert stage.request(headers=good_headers(("Content-Length", length)), body=[]).status == 413


def test_stopping_lets_nothing_new_in_but_says_so_to_those_with_the_token_alone() -> None:
    stage = DoorStage()
    stage.board.startup = "stopping"
    assert stage.request(body=PING).status == 503
    assert stage.request(headers=good_headers(without="Authorization"), body=PING).status == 401


def test_a_damaged_database_closes_the_door_only_through_the_workload() -> None:
    stage = DoorStage()
    stage.board.startup = "damaged"
    assert stage.request(body=PING).status == 200
    stage.board.mcp_open = False
    assert stage.request(body=PING).status == 503
