"""The edge: paths, health, request ids, the access line (contract 10.1, 11.1, 11.4, 17.1, 17.4)."""

import logging
import re
from typing import Any

import pytest

from actors.board import Startup
from tests.fakes.doors import HOST, DoorStage, call, good_headers
from tests.service import TOKEN

UUID7 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
ELSEWHERE = [
    "/",
    "/mcp/",
    "/mcp/x",
    "/MCP",
    "//mcp",
    "/%6dcp",
    "/mcp%2f",
    "/mcp/.well-known/openid-configuration",
    "/.well-known/oauth-protected-resource",
    "/.well-known/oauth-protected-resource/mcp",
    "/.well-known/oauth-authorization-server",
    "/.well-known/openid-configuration",
    "/register",
    "/authorize",
    "/health",
    "/health/live/",
    "/assets/app.js",
    "/apifoo",
]
NO_ROUTES = ["/api", "/api/", "/api/v1", "/api/v2"]
ROUTES = ["/api/v1/remindi", "/api/v1/session"]


@pytest.mark.parametrize("enabled", [True, False])
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", ELSEWHERE)
def test_every_other_path_is_a_small_json_404(enabled: bool, method: str, path: str) -> None:
    answered = DoorStage(webui_enable=enabled).request(method, path)
    assert answered.status == 404
    assert list(answered.json()) == ["error"]
    assert len(answered.body) < 256
    assert answered.header("Content-Type") == "application/json"
    assert answered.header("Location") is None
    assert answered.header("WWW-Authenticate") is None


@pytest.mark.parametrize(
    ("path", "enabled"),
    [*((path, True) for path in NO_ROUTES), *((path, False) for path in [*NO_ROUTES, *ROUTES])],
)
def test_the_api_answers_not_found_as_an_envelope(path: str, enabled: bool) -> None:
    answered = DoorStage(webui_enable=enabled).request("GET", path)
    assert answered.status == 404
    envelope = answered.json()
    assert set(envelope) == {"ok", "request_id", "error"}
    assert set(envelope["error"]) == {"code", "message", "retryable", "details"}
    assert (envelope["error"]["code"], envelope["error"]["details"]) == ("NOT_FOUND", {})
    assert envelope["request_id"] == answered.header("X-Request-Id")
    assert answered.header("WWW-Authenticate") is None
    assert answered.header("X-Frame-Options") == "DENY"
    assert answered.header("Cache-Control") == "no-store"
    policy = answered.header("Content-Security-Policy")
    assert policy is not None
    assert "frame-ancestors 'none'" in policy


def test_while_startup_runs_only_live_answers() -> None:
    stage = DoorStage()
    stage.board.startup = "starting"
    assert stage.request("GET", "/health/live").status == 200
    for path in ("/health/ready", "/mcp", "/", "/register"):
        answered = stage.request("GET", path)
        assert answered.status == 503
        assert (answered.header("Retry-After") == "1") is (path != "/health/ready")
    answered = stage.request("GET", "/api/v1/session")
    assert (answered.status, answered.header("Retry-After")) == (503, "1")
    assert (answered.json()["error"]["code"], answered.json()["error"]["retryable"]) == (
        "MAINTENANCE_ACTIVE",
        True,
    )


@pytest.mark.parametrize(
    ("startup", "status"), [("starting", 503), ("ready", 200), ("damaged", 503), ("stopping", 503)]
)
def test_health_says_how_far_the_process_is(startup: Startup, status: int) -> None:
    stage = DoorStage()
    stage.board.startup = startup
    ready = stage.request("GET", "/health/ready", headers=[])
    assert (ready.status, ready.json()) == (status, {"status": startup})
    live = stage.request("GET", "/health/live", headers=[("Host", "any host at all")])
    assert (live.status, live.json()) == (200, {"status": "ok"})


def test_health_does_not_depend_on_workloads_or_lists() -> None:
    stage = DoorStage(allowed_hosts=frozenset({"other.test"}))
    stage.board.mcp_open = False
    stage.board.maintenance = "paused"
    assert stage.request("GET", "/health/ready", headers=[("Host", HOST)]).status == 200


def test_health_is_only_read() -> None:
    answered = DoorStage().request("POST", "/health/live")
    assert (answered.status, answered.header("Allow")) == (405, "GET, HEAD")


@pytest.mark.parametrize(
    "given", ["a", "A-z_09", "x" * 128, "01a22d74-408a-7000-800b-cc680dc38d12", " trimmed\t"]
)
def test_a_well_formed_request_id_is_kept(given: str) -> None:
    stage = DoorStage()
    for path in ("/mcp", "/health/live", "/nowhere", "/api/v1"):
        answered = stage.request("GET", path, headers=good_headers(("X-Request-Id", given)))
        assert answered.header("X-Request-Id") == given.strip()


@pytest.mark.parametrize(
    "given",
    [[], [""], ["x" * 129], ["a b"], ["a.b"], ["a:b"], ["é"], ["a,b"], ["a", "a"], ["a", "b"], ["a\x00"]],
)
def test_any_other_request_id_is_replaced_by_a_new_uuid(given: list[str]) -> None:
    stage = DoorStage()
    more = [("X-Request-Id", value) for value in given]
    first, second = (stage.request("GET", "/nowhere", headers=good_headers(*more)) for _ in range(2))
    for answered in (first, second):
        assert UUID7.fullmatch(answered.header("X-Request-Id") or "")
    assert first.header("X-Request-Id") != second.header("X-Request-Id")


def test_the_request_id_goes_through_envelope_and_message() -> None:
    stage = DoorStage()
    sent = call("remindi_check", {"project_id": "p", "lifecycle_event": "checkpoint"})
    answered = stage.post(sent, good_headers(("X-Request-Id", "my-request")))
    assert answered.json()["result"]["structuredContent"]["request_id"] == "my-request"
    assert {asked.caller.request_id for asked in stage.reader.asked} == {"my-request"}


def test_each_request_leaves_one_access_line_without_query_or_headers(
    caplog: pytest.LogCaptureFixture,
) -> None:
    stage = DoorStage()
    with caplog.at_level(logging.INFO, "remindi.http.access"):
        stage.request("POST", "/mcp", query="token=hidden", headers=good_headers(("X-Request-Id", "r-1")))
        stage.request("GET", "/" + "long" * 1_000)
    first, second = [vars(record) for record in caplog.records if record.name == "remindi.http.access"]
    told = {name: first[name] for name in ("request_id", "method", "path", "status", "msg")}
    assert told == {"request_id": "r-1", "method": "POST", "path": "/mcp", "status": 400, "msg": "request"}
    assert first["duration_ms"] >= 0
    assert len(second["path"]) == 256
    assert not [value for value in first.values() if "hidden" in str(value) or TOKEN in str(value)]


def test_an_unforeseen_fault_is_a_500_with_its_id_and_one_log_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = DoorStage()

    def broken(*_: Any) -> None:
        raise RuntimeError("detail that nobody outside may see")

    monkeypatch.setattr("web.asgi.health", broken)
    answered = stage.request("GET", "/health/live", headers=[("X-Request-Id", "r-500")])
    assert (answered.status, answered.header("X-Request-Id")) == (500, "r-500")
    assert b"detail" not in answered.body
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert vars(record)["request_id"] == "r-500"
