"""Who comes in, in which order it is decided, and what every answer carries (contract 11.1 to 11.3, 11.6)."""

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from tests.fakes.api import HOST, ORIGIN, Answered, Browser, Header, House, exchange
from tests.http.api.conftest import MakeHouse
from tests.http.api.walks import BODIES, MUTATIONS, OPERATIONS, READS, body_of, concrete
from web.api import guard
from web.api.policy import Admission, Body, Database

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "form-action 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
EVERY = [(method, path) for method, path, _ in OPERATIONS]
JSON_ROUTES = [(method, path) for method, path, it in OPERATIONS if it.policy.body is Body.JSON]
SIGNED_IN = [*READS, *MUTATIONS]


def carries_all(answered: Answered) -> None:
    """Assert what every answer of the API carries."""
    for name, value in HEADERS.items():
        assert answered.header(name) == value
    assert answered.header("Content-Type") == "application/json"
    assert answered.header("Content-Length") == str(len(answered.body))
    assert answered.header("WWW-Authenticate") is None
    assert answered.header("Location") is None
    assert not 300 <= answered.status < 400
    envelope = answered.json()
    assert envelope["request_id"] == answered.header("X-Request-Id")
    if envelope["ok"]:
        assert list(envelope) == ["ok", "request_id", "data"]
    else:
        assert list(envelope) == ["ok", "request_id", "error"]
        assert list(envelope["error"]) == ["code", "message", "retryable", "details"]


def send(browser: Browser, method: str, path: str) -> Answered:
    """Send the well-formed request of a route."""
    return browser.request(method, concrete(path), body_of(method, path))


# ----------------------------------------------------------------- every answer


@pytest.mark.parametrize(("method", "path"), EVERY)
def test_every_route_answers_an_envelope_with_all_headers(browser: Browser, method: str, path: str) -> None:
    answered = send(browser, method, path)
    if answered.header("Content-Type") == "text/event-stream":
        # A stream in place of an envelope; its head is that of every answer.
        assert answered.header("X-Frame-Options") == "DENY"
        return
    carries_all(answered)
    assert answered.status != 500


@pytest.mark.parametrize(
    ("given", "kept"),
    [(["my-request_1"], True), (["a b"], False), (["a", "b"], False), (["x" * 129], False), ([], False)],
)
def test_the_request_id_is_kept_when_it_is_good_and_alone(
    browser: Browser, given: list[str], kept: bool
) -> None:
    answered = browser.send("GET", "/nowhere", browser.headers(*(("X-Request-Id", one) for one in given)))
    carries_all(answered)
    shown = answered.header("X-Request-Id") or ""
    assert (shown == given[0]) if kept else UUID7.fullmatch(shown)


def test_the_request_id_goes_into_events_and_audit(browser: Browser) -> None:
    body = json.dumps(BODIES["POST", "/remindi"]).encode()
    browser.send(
        "POST",
        "/remindi",
        [
            *browser.headers(),
            ("Content-Type", "application/json"),
            ("Content-Length", str(len(body))),
            ("X-Request-Id", "the-request"),
        ],
        body,
    )
    (item,) = browser.house.core.data("remindi_list")["items"]
    (event,) = browser.house.core.data("remindi_history", remindi_id=item["id"])["events"]
    assert (event["request_id"], event["actor_type"]) == ("the-request", "user")
    assert event["actor_id"] == browser.get("/session").data["actor_id"]


# ----------------------------------------------------------- startup and Host


def test_while_startup_runs_everything_is_closed(home: House) -> None:
    home.board.startup = "starting"
    for method, path in [*EVERY, ("GET", "/nowhere"), ("PUT", "/session")]:
        answered = home.browser(host="\t").request(method, concrete(path))
        carries_all(answered)
        assert (answered.status, answered.code) == (503, "MAINTENANCE_ACTIVE")
        assert answered.header("Retry-After") == "1"
        assert answered.json()["error"]["retryable"] is True


@pytest.mark.parametrize(
    ("hosts", "status"),
    [
        ([], 400),
        (["a", "a"], 400),
        ([""], 400),
        (["a@b"], 400),
        (["a b"], 400),
        (["http://a"], 400),
        (["a:99999"], 400),
        (["a,b"], 400),
        (["A.TEST"], 401),
        (["a.test:1"], 401),
        (["[::1]:8000"], 401),
    ],
)
def test_a_host_must_be_one_and_well_formed(home: House, hosts: list[str], status: int) -> None:
    answered = home.browser().send("GET", "/settings", [("Host", host) for host in hosts])
    carries_all(answered)
    assert answered.status == status
    if status == 400:
        assert answered.errors == [("", "format" if len(hosts) == 1 else "required")]


def test_a_list_of_hosts_binds_the_api(make_house: MakeHouse) -> None:
    home = make_house(allowed_hosts=frozenset({"a.test", "b.test:8443"}))
    for host, status in {
        "a.test": 401,
        "A.Test": 401,
        "b.test:8443": 401,
        "a.test:443": 403,
        "c.test": 403,
    }.items():
        answered = home.browser(host=host).get("/settings")
        assert answered.status == status
    refused = home.browser(host="c.test").get("/settings")
    assert refused.code == "FORBIDDEN"
    assert "REMINDI_HTTP_ALLOWED_HOSTS" in refused.json()["error"]["message"]
    assert home.browser(host="c.test").get("/nowhere").status == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost", 200),
        ("LocalHost:99", 200),
        ("a.localhost", 200),
        ("127.0.0.1:8000", 200),
        ("10.1.2.3", 200),
        ("[::1]", 200),
        ("[2001:db8::1]:80", 200),
        ("remindi.test", 403),
        ("localhost.evil.test", 403),
        ("notlocalhost", 403),
        ("127.1", 403),
        ("127.0.0.1.evil.test", 403),
        ("1.2.3", 403),
    ],
)
def test_without_authentication_only_local_names_and_literals_are_admitted(
    make_house: MakeHouse, host: str, status: int
) -> None:
    assert make_house(webui_auth=False).browser(host=host).get("/session").status == status


def test_without_authentication_a_list_admits_other_names(make_house: MakeHouse) -> None:
    home = make_house(webui_auth=False, allowed_hosts=frozenset({"remindi.test"}))
    assert home.browser(host="remindi.test").get("/session").status == 200
    assert home.browser(host="localhost").get("/session").status == 403


# ------------------------------------------------------------ route and method


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/v1",
        "/api/v1/",
        "/api/v2/session",
        "/api/v1/session/",
        "/api/v1//session",
        "/api/v1/Session",
        "/api/v1/auth",
        "/api/v1/remindi/x/y",
        "/api/v1/remindi/x/complete/",
        "/api/v1/workloads/other/start",
        "/api/v1/workloads/mcp/begin",
        "/api/v1/workloads/mcp",
        "/api/v1/settings/a/b",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD", "PUT"])
def test_an_unknown_route_is_not_found_for_everybody(home: House, method: str, path: str) -> None:
    answered = home.browser().request(method, path)
    assert answered.status == 404
    if method != "HEAD":
        carries_all(answered)
        assert answered.code == "NOT_FOUND"


@pytest.mark.parametrize(
    ("path", "allowed"),
    sorted({path: sorted({m for m, p in EVERY if p == path}) for _, path in EVERY}.items()),
)
def test_another_method_is_answered_with_what_is_allowed(home: House, path: str, allowed: list[str]) -> None:
    known = {*allowed, *(["HEAD"] if "GET" in allowed else [])}
    for method in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "QUERY"} - known:
        answered = home.browser().request(method, concrete(path))
        carries_all(answered)
        assert (answered.status, answered.code) == (405, "VALIDATION_ERROR")
        assert answered.errors == [("", "method")]
        assert answered.header("Allow") == ", ".join(sorted(known))


@pytest.mark.parametrize(("method", "path"), [("GET", "/session"), *READS])
def test_head_is_a_get_without_its_body(browser: Browser, method: str, path: str) -> None:
    shown = browser.request(method, concrete(path))
    head = browser.request("HEAD", concrete(path))
    assert (head.status, head.body) == (shown.status, b"")
    if path not in ("/session", "/events"):
        assert head.header("Content-Length") == shown.header("Content-Length")


def test_the_api_is_not_there_when_the_webui_is_off(make_house: MakeHouse) -> None:
    home = make_house(webui_enable=False)
    for method, path in EVERY:
        answered = home.browser().request(method, concrete(path))
        carries_all(answered)
        assert (answered.status, answered.code) == (404, "NOT_FOUND")


# --------------------------------------------------------- session before body


BAD_BODIES: list[tuple[list[Header], bytes]] = [
    ([("Content-Length", "1")], b"{"),
    ([("Content-Type", "text/plain"), ("Content-Length", "1")], b"{"),
    ([("Content-Type", "application/json"), ("Content-Length", "1048577")], b""),
    ([("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")], b" " * 1_048_577),
]


@pytest.mark.parametrize(("method", "path"), SIGNED_IN)
def test_without_a_session_nothing_else_is_told(home: House, method: str, path: str) -> None:
    browser = home.browser()
    answers = [
        send(browser, method, path),
        browser.send(method, concrete(path), [("Host", HOST)]),
        browser.send(method, concrete(path) + "?unknown=1", browser.headers()),
        *(
            browser.send(method, concrete(path), [*browser.headers(), *more], body)
            for more, body in BAD_BODIES
        ),
    ]
    for answered in answers:
        carries_all(answered)
        assert (answered.status, answered.code) == (401, "UNAUTHENTICATED")
        assert answered.json()["error"]["details"] == {}
    assert home.audit() == []


def test_a_body_is_not_looked_into_before_the_session(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def parse(_: bytes) -> Any:
        raise AssertionError("looked into")

    monkeypatch.setattr("web.strict_json.parse", parse)
    for method, path in MUTATIONS:
        assert send(home.browser(), method, path).status == 401


def test_a_missing_csrf_token_is_told_before_a_bad_body(browser: Browser) -> None:
    for method, path in MUTATIONS:
        for more, body in BAD_BODIES:
            headers = [*browser.headers(without=["X-CSRF-Token"]), *more]
            assert browser.send(method, concrete(path), headers, body).code == "CSRF_REJECTED"


@pytest.mark.parametrize(
    ("headers", "csrf"),
    [
        ([], None),
        ([("Origin", ORIGIN)], "missing"),
        ([("Origin", ORIGIN)], "wrong"),
        ([("Origin", ORIGIN)], "twice"),
        ([("Origin", ORIGIN)], "é"),
        ([("Origin", ORIGIN), ("Origin", ORIGIN)], None),
        ([("Origin", "null")], None),
        ([("Origin", ORIGIN + "/")], None),
        ([("Origin", ORIGIN + "/a")], None),
        ([("Origin", "http://evil.test")], None),
        ([("Origin", "http://remindi.test")], None),
        ([("Origin", "ftp://" + HOST)], None),
        ([("Origin", "")], None),
    ],
)
@pytest.mark.parametrize(("method", "path"), MUTATIONS)
def test_a_change_needs_our_own_page_and_its_token(
    browser: Browser, method: str, path: str, headers: list[Header], csrf: str | None
) -> None:
    token = browser.csrf or ""
    tokens = {None: [token], "missing": [], "wrong": ["x" * 43], "twice": [token, token], "é": ["é"]}[csrf]
    before = browser.house.audit()
    made = body_of(method, path)
    body = made if isinstance(made, bytes) else json.dumps(made).encode()
    given = [
        ("Host", HOST),
        ("Cookie", f"remindi_session={browser.cookie}"),
        *headers,
        *(("X-CSRF-Token", one) for one in tokens),
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
    ]
    answered = browser.send(method, concrete(path), given, body)
    carries_all(answered)
    assert (answered.status, answered.code) == (403, "CSRF_REJECTED")
    assert browser.house.audit() == before


@pytest.mark.parametrize("origin", ["HTTP://REMINDI.TEST:8000", "https://remindi.test:8000", ORIGIN])
def test_the_scheme_is_free_and_case_does_not_count(browser: Browser, origin: str) -> None:
    headers = [*browser.headers(without=["Origin"]), ("Origin", origin)]
    assert browser.send("POST", "/auth/logout", headers).status == 200


def test_a_header_with_an_underscore_is_none(browser: Browser) -> None:
    headers = [*browser.headers(without=["X-CSRF-Token"]), ("X_CSRF_Token", browser.csrf or "")]
    assert browser.send("POST", "/auth/logout", headers).code == "CSRF_REJECTED"
    doubled = browser.headers(("X_CSRF_Token", "x"), ("H_ost", "x"))
    assert browser.send("POST", "/auth/logout", doubled).status == 200


@pytest.mark.parametrize(("method", "path"), READS)
def test_a_look_needs_the_session_only(browser: Browser, method: str, path: str) -> None:
    headers = browser.headers(("Origin", "http://evil.test"), without=["Origin", "X-CSRF-Token"])
    assert browser.send(method, concrete(path), headers).status in (200, 404)


# ----------------------------------------------------------------------- bodies


def with_body(browser: Browser, method: str, path: str, more: Sequence[Header], body: bytes) -> Answered:
    return browser.send(method, concrete(path), [*browser.headers(), *more], body)


@pytest.mark.parametrize(("method", "path"), [route for route in JSON_ROUTES if route in MUTATIONS])
def test_a_bad_body_is_told_by_what_is_wrong_with_it(browser: Browser, method: str, path: str) -> None:
    json_type = ("Content-Type", "application/json")
    cases: list[tuple[Sequence[Header], bytes, int, str, str | None]] = [
        ([json_type, ("Content-Length", "1048577")], b"", 413, "LIMIT_EXCEEDED", None),
        ([("Content-Length", "1048577")], b"", 413, "LIMIT_EXCEEDED", None),
        ([json_type, ("Transfer-Encoding", "chunked")], b" " * 1_048_577, 413, "LIMIT_EXCEEDED", None),
        ([("Content-Length", "2")], b"{}", 415, "VALIDATION_ERROR", "media_type"),
        (
            [("Content-Type", "text/plain"), ("Content-Length", "1")],
            b"{",
            415,
            "VALIDATION_ERROR",
            "media_type",
        ),
        ([json_type, json_type, ("Content-Length", "2")], b"{}", 415, "VALIDATION_ERROR", "media_type"),
        ([json_type], b"", 400, "VALIDATION_ERROR", "json"),
        ([json_type, ("Content-Length", "1")], b"{", 400, "VALIDATION_ERROR", "json"),
        ([json_type, ("Content-Length", "3")], b"NaN", 400, "VALIDATION_ERROR", "json"),
        ([json_type, ("Content-Length", "15")], b'{"a":1,"a":1}  ', 400, "VALIDATION_ERROR", "json"),
        ([json_type, ("Content-Length", "130")], b"[" * 65 + b"]" * 65, 400, "VALIDATION_ERROR", "json"),
        ([json_type, ("Content-Length", "2")], b"\xff\xfe", 400, "VALIDATION_ERROR", "json"),
        ([json_type, ("Content-Length", "2")], b"[]", 400, "VALIDATION_ERROR", "type"),
        ([json_type, ("Content-Length", "4")], b"null", 400, "VALIDATION_ERROR", "null_not_allowed"),
    ]
    for more, body, status, code, reason in cases:
        answered = with_body(browser, method, path, more, body)
        carries_all(answered)
        assert (answered.status, answered.code) == (status, code), (more, body[:20])
        assert answered.errors == ([] if reason is None else [("", reason)])


@pytest.mark.parametrize(
    "media_type", ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON ;x=y"]
)
def test_parameters_and_case_of_the_media_type_do_not_matter(browser: Browser, media_type: str) -> None:
    body = json.dumps(BODIES["POST", "/remindi"]).encode()
    more = [("Content-Type", media_type), ("Content-Length", str(len(body)))]
    assert with_body(browser, "POST", "/remindi", more, body).status == 200


def test_a_body_of_the_limit_is_read_whole_declared_or_in_pieces(browser: Browser) -> None:
    body = json.dumps({**BODIES["POST", "/remindi"], "unknown": "?"}).encode()
    body += b" " * (1_048_576 - len(body))
    declared = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    chunked = [("Content-Type", "application/json"), ("Transfer-Encoding", "chunked")]
    assert with_body(browser, "POST", "/remindi", declared, body).errors == [("/unknown", "unknown_field")]
    pieces = [body[:7], body[7:], b""]
    answered = browser.send("POST", "/remindi", [*browser.headers(), *chunked], pieces)
    assert answered.errors == [("/unknown", "unknown_field")]


def test_a_body_that_does_not_come_is_told_in_its_turn(home: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "BODY_SECONDS", 0.0)
    browser = home.signed_in()

    async def stalled(headers: Sequence[Header]) -> tuple[int, bytes]:
        sent: list[Any] = []

        async def receive() -> Any:
            await asyncio.Event().wait()

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/api/v1/remindi",
            "raw_path": b"/api/v1/remindi",
            "query_string": b"",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers],
            "client": None,
        }
        await home.app(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]

    length = ("Content-Length", "9")
    status, body = home.loop.run(stalled([*browser.headers(), length]))
    assert (status, json.loads(body)["error"]["details"]["errors"]) == (
        400,
        [{"field": "", "reason": "json"}],
    )
    status, _ = home.loop.run(stalled([("Host", HOST), length]))
    assert status == 401


def test_a_client_that_leaves_while_it_sends_takes_no_thread(
    home: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_: Any) -> Any:
        raise AssertionError("a thread was taken")

    monkeypatch.setattr(guard._Whole, "answer", never)
    sent: list[Any] = []

    async def cut() -> None:
        messages = [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]

        async def receive() -> Any:
            return messages.pop(0)

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/api/v1/remindi",
            "raw_path": b"/api/v1/remindi",
            "query_string": b"",
            "headers": [(b"host", HOST.encode()), (b"content-length", b"9")],
        }
        await home.app(scope, receive, send)

    home.loop.run(cut())
    assert sent == []


def test_where_no_body_is_known_none_is_taken(browser: Browser) -> None:
    answered = with_body(browser, "GET", "/settings", [("Content-Length", "2")], b"{}")
    assert (answered.status, answered.errors) == (400, [("", "unknown_field")])


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("a=1", [("/a", "unknown_field")]),
        ("a=1&b", [("/a", "unknown_field"), ("/b", "unknown_field")]),
        ("%2Fa+b=1", [("/~1a b", "unknown_field")]),
        ("%C3%A9=1", [("/é", "unknown_field")]),
        ("a=1&%ff=1", [("/%ff", "format")]),
        ("a=%ff", [("/a", "format")]),
        ("é", [("/\ufffd", "format")]),
    ],
)
def test_where_no_query_is_known_none_is_taken(
    browser: Browser, query: str, errors: list[tuple[str, str]]
) -> None:
    for path in ("/session", "/settings", "/workloads"):
        answered = browser.get(f"{path}?{query}")
        assert (answered.status, answered.errors) == (400, errors)


# ------------------------------------------------------------------ maintenance


@pytest.mark.parametrize("closing", ["maintenance", "stopping"])
def test_during_maintenance_what_needs_the_database_is_refused_last(home: House, closing: str) -> None:
    browser = home.signed_in()
    if closing == "maintenance":
        home.board.maintenance = "paused"
    else:
        home.board.startup = "stopping"
    for method, path, operation in OPERATIONS:
        if operation.policy.admission in (Admission.SESSION, Admission.MUTATION):
            assert send(home.browser(), method, path).status == 401
        if operation.policy.database is Database.NONE:
            continue
        answered = send(browser, method, path)
        carries_all(answered)
        if operation.policy.database is Database.REPLACE and closing == "maintenance":
            # The controller says what a second restore is told.
            assert answered.status == 404
            continue
        assert (answered.status, answered.code) == (503, "MAINTENANCE_ACTIVE")
        assert answered.header("Retry-After") == "1"
    assert browser.get("/workloads").status == 200
    assert browser.get("/session").data["authenticated"] is True
    assert browser.get("/remindi/none").status == 400
    assert browser.post("/remindi", {}).status == 400
    assert home.probes.asked == []
    assert home.workloads.asked == []


def test_a_damaged_database_is_read_and_never_written(home: House) -> None:
    browser = home.signed_in()
    home.board.startup = "damaged"
    for method, path, operation in OPERATIONS:
        if operation.policy.database is Database.WRITE:
            assert send(browser, method, path).code == "MAINTENANCE_ACTIVE"
    assert browser.get("/settings").status == 200
    assert browser.get("/adapters").status == 200


def test_an_exchange_has_its_line_in_the_log(browser: Browser, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "remindi.http.access"):
        browser.get("/nowhere")
        browser.get("/settings")
    lines = [vars(record) for record in caplog.records if record.name == "remindi.http.access"]
    assert [(line["path"], line["status"], line.get("code")) for line in lines] == [
        ("/api/v1/nowhere", 404, "NOT_FOUND"),
        ("/api/v1/settings", 200, None),
    ]


def test_only_paths_below_api_are_the_apis(home: House) -> None:
    answered = home.loop.run(exchange(home.app, "GET", "/apix", [("Host", HOST)]))
    assert answered.status == 404
    assert list(answered.json()) == ["error"]
