"""Every code of contract 3.1 that REST knows, and every way in which it can arise there."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from actors.address import Address, OutcomeUnknown, Overloaded, Unavailable
from actors.failures import DatabaseRefused
from actors.messages.backups import RestoreBackup
from actors.messages.probes import RunProbe
from actors.messages.workloads import TurnWorkloads
from remindi.errors import ErrorCode, Refusal
from tests.fakes.api import Answered, Browser, House, Multipart
from tests.http.api.walks import BODIES, ITEM, OPERATIONS, body_of, concrete
from web.api.policy import Admission, Database

ADD = BODIES["POST", "/remindi"]
CANCEL = BODIES["POST", "/remindi/{id}/cancel"]
RESERVED = {ErrorCode.ADAPTER_TIMEOUT, ErrorCode.ADAPTER_ERROR}

Way = Callable[[Browser, pytest.MonkeyPatch], Answered]


def raising(error: Exception) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        raise error

    return call


def answering(answer: Any) -> Callable[..., Any]:
    return lambda *_, **__: answer


def added(browser: Browser) -> str:
    path: str = "/remindi/" + browser.post("/remindi", ADD).data["remindi"]["id"]
    return path


def _stale(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
    return browser.post(added(browser) + "/cancel", {**CANCEL, "expected_version": 2})


def _over(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
    path = added(browser) + "/cancel"
    browser.post(path, CANCEL)
    return browser.post(path, {**CANCEL, "expected_version": 2, "idempotency_key": "another-key"})


def _reused(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
    added(browser)
    return browser.post("/remindi", {**ADD, "message": "other"})


def _condition(adapter: str) -> Way:
    trigger = {"type": "condition", "adapter": adapter, "parameters": {"target": "x"}}
    return lambda browser, _: browser.post("/remindi", {**ADD, "trigger": trigger})


def _throttled(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
    for _number in range(5):
        browser.post("/auth/reauthenticate", {"password": "wrong"})
    return browser.post("/auth/reauthenticate", {"password": "wrong"})


def _turned(answer: Any) -> Way:
    def way(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
        browser.house.workloads.script[TurnWorkloads] = answering(answer)
        return browser.post("/workloads/mcp/stop", {})

    return way


def _restored(answer: Any) -> Way:
    def way(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
        browser.house.backups.script[RestoreBackup] = answering(answer)
        return browser.post(f"/backups/{ITEM}/restore", {"confirmation": "RESTORE REMINDI"})

    return way


def _maintained(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
    browser.house.board.maintenance = "paused"
    return browser.get("/settings")


def _broken(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Answered:
    monkeypatch.setattr(Address, "call", raising(RuntimeError("detail that nobody outside may see")))
    return browser.get("/settings")


def _probing_broken(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
    configuration = {
        "type": "tcp_reachable",
        "aliases": {"x": {"host": "h.test", "port": 1, "allow_private": False}},
    }
    browser.patch(
        "/adapters/tcp_reachable", {"enabled": True, "expected_version": 1, "configuration": configuration}
    )
    browser.house.probes.script[RunProbe] = raising(RuntimeError("detail that nobody outside may see"))
    return browser.post("/adapters/tcp_reachable/test", {"alias": "x"})


def _locked(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Answered:
    monkeypatch.setattr(
        browser.house.core.writer.__class__, "call", _only_for("writer", Refusal(ErrorCode.DATABASE_BUSY))
    )
    return browser.post("/remindi", ADD)


def _only_for(name: str, answer: Any) -> Callable[..., Any]:
    """An ``Address.call`` that answers, or raises, for one address and asks the others."""
    call = Address.call

    def instead(self: Address, message: Any, *, timeout: float) -> Any:
        if self.name != name:
            return call(self, message, timeout=timeout)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return instead


def _lost(name: str, error: Exception) -> Way:
    def way(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Answered:
        monkeypatch.setattr(Address, "call", _only_for(name, error))
        if name == "reader":
            return browser.get("/settings")
        return browser.post("/remindi", ADD)

    return way


def _nobody(browser: Browser, _: pytest.MonkeyPatch) -> Answered:
    return browser.house.browser().get("/settings")


def _foreign_host(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> Answered:
    monkeypatch.setattr("web.api.hosts.Hosts.admit", answering(False))
    return browser.get("/settings")


WAYS: list[tuple[ErrorCode, int, Way]] = [
    (ErrorCode.VALIDATION_ERROR, 400, lambda browser, _: browser.post("/remindi", {})),
    (ErrorCode.VALIDATION_ERROR, 400, lambda browser, _: browser.post("/remindi", b"{")),
    (ErrorCode.VALIDATION_ERROR, 400, lambda browser, _: browser.get("/remindi?x=1")),
    (ErrorCode.VALIDATION_ERROR, 400, lambda browser, _: browser.get("/remindi?cursor=x")),
    (ErrorCode.VALIDATION_ERROR, 400, lambda browser, _: browser.get("/remindi/x")),
    (ErrorCode.VALIDATION_ERROR, 400, lambda browser, _: browser.send("GET", "/settings", [])),
    (
        ErrorCode.VALIDATION_ERROR,
        400,
        lambda browser, _: browser.patch("/settings/x", {"value": 1, "expected_version": 1}),
    ),
    (ErrorCode.VALIDATION_ERROR, 405, lambda browser, _: browser.request("PUT", "/remindi")),
    (ErrorCode.VALIDATION_ERROR, 415, lambda browser, _: browser.request("POST", "/remindi")),
    (ErrorCode.UNAUTHENTICATED, 401, _nobody),
    (ErrorCode.UNAUTHENTICATED, 401, lambda browser, _: browser.house.browser().sign_in(password="wrong")),
    (
        ErrorCode.FORBIDDEN,
        403,
        _foreign_host,
    ),
    (
        ErrorCode.CSRF_REJECTED,
        403,
        lambda browser, _: browser.send("POST", "/auth/logout", browser.headers(without=["Origin"])),
    ),
    (ErrorCode.CSRF_REJECTED, 403, lambda browser, _: browser.house.browser().post("/auth/login", {})),
    (
        ErrorCode.LIMIT_EXCEEDED,
        413,
        lambda browser, _: browser.send("POST", "/remindi", browser.headers(("Content-Length", "1048577"))),
    ),
    (ErrorCode.LIMIT_EXCEEDED, 429, _throttled),
    (ErrorCode.NOT_FOUND, 404, lambda browser, _: browser.get("/nowhere")),
    (ErrorCode.NOT_FOUND, 404, lambda browser, _: browser.get(f"/remindi/{ITEM}")),
    (ErrorCode.NOT_FOUND, 404, lambda browser, _: browser.post(f"/remindi/{ITEM}/cancel", CANCEL)),
    (ErrorCode.NOT_FOUND, 404, lambda browser, _: browser.get(f"/remindi/{ITEM}/history")),
    (ErrorCode.INVALID_STATE, 409, _over),
    (ErrorCode.VERSION_CONFLICT, 409, _stale),
    (
        ErrorCode.VERSION_CONFLICT,
        409,
        lambda browser, _: browser.patch(
            "/settings/backups.retention_count", {"value": 1, "expected_version": 2}
        ),
    ),
    (ErrorCode.IDEMPOTENCY_KEY_REUSED, 409, _reused),
    (ErrorCode.DATABASE_BUSY, 503, _locked),
    (ErrorCode.DATABASE_BUSY, 503, _lost("reader", Overloaded())),
    (ErrorCode.DATABASE_BUSY, 503, _lost("reader", Unavailable())),
    (ErrorCode.DATABASE_BUSY, 503, _lost("reader", DatabaseRefused())),
    (ErrorCode.DATABASE_BUSY, 503, _lost("writer", OutcomeUnknown())),
    (ErrorCode.DATABASE_BUSY, 503, _lost("sessions", Unavailable())),
    (ErrorCode.MAINTENANCE_ACTIVE, 503, _maintained),
    (ErrorCode.ADAPTER_NOT_FOUND, 404, _condition("other")),
    (
        ErrorCode.ADAPTER_NOT_FOUND,
        404,
        lambda browser, _: browser.post("/adapters/other/test", {"alias": "x"}),
    ),
    (ErrorCode.ADAPTER_DISABLED, 409, _condition("tcp_reachable")),
    (
        ErrorCode.REAUTHENTICATION_REQUIRED,
        401,
        lambda browser, _: browser.post("/auth/reauthenticate", {"password": "x"}),
    ),
    (ErrorCode.BACKUP_INVALID, 400, lambda browser, _: browser.post("/backups/upload", Multipart(b"x"))),
    (ErrorCode.RESTORE_FAILED, 500, _restored(Refusal(ErrorCode.RESTORE_FAILED))),
    (ErrorCode.WORKLOAD_CONFLICT, 409, _restored(Refusal(ErrorCode.WORKLOAD_CONFLICT))),
    (ErrorCode.WORKLOAD_CONFLICT, 409, _turned(Refusal(ErrorCode.WORKLOAD_CONFLICT))),
    (ErrorCode.INTERNAL_ERROR, 500, _turned(Refusal(ErrorCode.INTERNAL_ERROR))),
    (ErrorCode.INTERNAL_ERROR, 500, _lost("reader", OutcomeUnknown())),
    (ErrorCode.INTERNAL_ERROR, 500, _broken),
    (ErrorCode.INTERNAL_ERROR, 500, _probing_broken),
]


@pytest.mark.parametrize(("code", "status", "way"), WAYS)
def test_each_way_to_an_error_is_answered_by_its_code(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, code: ErrorCode, status: int, way: Way
) -> None:
    answered = way(browser, monkeypatch)
    error = answered.json()["error"]
    assert (answered.status, error["code"]) == (status, code.value)
    assert (error["message"], error["retryable"]) == (code.message, code.retryable)
    assert bool(error["details"].get("errors")) is (code is ErrorCode.VALIDATION_ERROR)
    assert ("current_version" in error["details"]) is (code is ErrorCode.VERSION_CONFLICT)
    assert answered.header("Retry-After") == (
        "1" if code is ErrorCode.MAINTENANCE_ACTIVE else "60" if status == 429 else None
    )
    assert b"detail that nobody" not in answered.body


def test_every_code_is_walked_or_known_not_to_arise() -> None:
    assert {code for code, _, _ in WAYS} == set(ErrorCode) - RESERVED


def test_what_an_operation_publishes_is_what_the_table_knows() -> None:
    for _, _, operation in OPERATIONS:
        assert not {*operation.codes} & RESERVED


@pytest.mark.parametrize("error", [Overloaded(), Unavailable(), OutcomeUnknown(), RuntimeError()])
@pytest.mark.parametrize("victim", ["sessions", "reader", "writer"])
def test_no_route_breaks_whoever_is_gone(
    home: House, monkeypatch: pytest.MonkeyPatch, victim: str, error: Exception
) -> None:
    browser = home.signed_in()
    monkeypatch.setattr(Address, "call", _only_for(victim, error))
    for method, path, operation in OPERATIONS:
        if operation.policy.admission is Admission.SIGN_IN:
            continue
        answered = browser.request(method, concrete(path), body_of(method, path))
        envelope = answered.json()
        if victim == "sessions" and path != "/session" and operation.policy.database is not Database.NONE:
            assert answered.status in (500, 503)
        if not envelope["ok"]:
            assert set(envelope["error"]) == {"code", "message", "retryable", "details"}


def test_a_fault_of_ours_is_logged_once_with_its_request(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        answered = _broken(browser, monkeypatch)
    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert vars(record)["request_id"] == answered.header("X-Request-Id")
    assert record.exc_info is not None


def test_a_fault_before_any_responder_is_an_envelope_too(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("web.api.hosts.Hosts.admit", raising(RuntimeError("hidden")))
    answered = browser.get("/settings")
    assert (answered.status, answered.code) == (500, "INTERNAL_ERROR")
    assert answered.header("X-Frame-Options") == "DENY"
