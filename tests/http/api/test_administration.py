"""Settings, adapters, workloads and the audit, and every row that is written (contract 11.9 to 13.2)."""

from collections.abc import Callable
from typing import Any

import pytest

from actors.messages.probes import CheckConfiguration, ProbeAnswer, RunProbe
from actors.messages.workloads import TurnWorkloads
from remindi.config import VARIABLES, Loaded, load
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.items import ConditionStatus
from remindi.settings import SETTINGS
from tests.fakes.api import Browser, House
from tests.http.api.conftest import MakeHouse

RETENTION = "/settings/backups.retention_count"
TCP = {"type": "tcp_reachable", "aliases": {"x": {"host": "h.test", "port": 1, "allow_private": False}}}
Json = dict[str, Any]


def rows(browser: Browser) -> list[tuple[str, str, Json]]:
    """What was audited after the sign-in."""
    return browser.house.audit()[1:]


# ------------------------------------------------------------------ bootstrap


def environment(**more: str) -> dict[str, str]:
    return {
        "REMINDI_OWNER_ID": "the-owner",
        "REMINDI_MCP_TOKEN": "a-secret-of-the-tests",
        "REMINDI_WEBUI_USERNAME": "the-name",
        "REMINDI_WEBUI_PASSWORD": "the-password",
        **more,
    }


def bootstrap(make_house: MakeHouse, environ: dict[str, str]) -> tuple[dict[str, Json], bytes]:
    """The rows of the bootstrap view by name, and the whole answer."""
    loaded = load(environ)
    assert isinstance(loaded, Loaded)
    home = make_house(given=loaded.config.given, log_filter=loaded.config.log_filter)
    answered = home.signed_in().get("/settings/bootstrap")
    return {row["name"]: row for row in answered.data["settings"]}, answered.body


def test_the_bootstrap_view_names_every_variable_and_the_listener(make_house: MakeHouse) -> None:
    shown, _ = bootstrap(make_house, environment())
    assert list(shown) == [*(variable.name for variable in VARIABLES), "REMINDI_LISTENER_ADDRESS"]
    assert len(shown) == 20
    for row in shown.values():
        assert list(row) == ["name", "effective_value", "configured", "redacted", "mutable"]
        assert row["mutable"] is False
    assert shown["REMINDI_LISTENER_ADDRESS"]["effective_value"] == "0.0.0.0:8000"
    assert shown["REMINDI_WEBUI_TITLE"] == {
        "name": "REMINDI_WEBUI_TITLE",
        "effective_value": "Remindi",
        "configured": False,
        "redacted": False,
        "mutable": False,
    }


def test_the_bootstrap_view_betrays_nothing(make_house: MakeHouse) -> None:
    environ = environment(
        REMINDI_DB_PATH="/somewhere/hidden.db",
        REMINDI_HTTP_ALLOWED_HOSTS="hidden.test",
        REMINDI_TRUSTED_PROXIES="",
        REMINDI_LOG_LEVEL="info,remindi=debug",
        REMINDI_WEBUI_LOGO_FILE="/hidden.png",
    )
    shown, body = bootstrap(make_house, environ)
    for secret in (b"hidden", b"the-owner", b"a-secret", b"the-name", b"the-password"):
        assert secret not in body
    values = {
        name: (row["effective_value"], row["configured"], row["redacted"]) for name, row in shown.items()
    }
    assert values["REMINDI_MCP_TOKEN"] == (None, True, True)
    assert values["REMINDI_WEBUI_USERNAME"] == (None, True, True)
    assert values["REMINDI_WEBUI_PASSWORD"] == (None, True, True)
    assert values["REMINDI_OWNER_ID"] == ("[configured]", True, True)
    assert values["REMINDI_DB_PATH"] == ("[configured]", True, True)
    assert values["REMINDI_HTTP_ALLOWED_HOSTS"] == ("[configured]", True, True)
    assert values["REMINDI_HTTP_ALLOWED_ORIGINS"] == (None, False, True)
    assert values["REMINDI_TRUSTED_PROXIES"] == (None, True, True)
    assert values["REMINDI_WEBUI_LOGO_FILE"] == ("[configured]", True, True)
    assert values["REMINDI_LOG_LEVEL"] == ("info,remindi=debug", True, False)
    assert values["REMINDI_WEBUI_SESSION_TTL_SECONDS"] == ("43200", False, False)


# ------------------------------------------------------------------- settings


def test_the_settings_are_eleven_rows_by_key(browser: Browser) -> None:
    shown = browser.get("/settings").data
    assert [row["key"] for row in shown] == [setting.key for setting in SETTINGS]
    assert list(shown[0]) == [
        "key",
        "value",
        "minimum",
        "maximum",
        "version",
        "restart_required",
        "updated_at",
        "updated_by",
    ]


def test_a_setting_is_changed_at_its_version_and_audited(browser: Browser) -> None:
    row = browser.patch(RETENTION, {"value": 3, "expected_version": 1}).data
    assert (row["value"], row["version"], row["restart_required"]) == (3, 2, False)
    assert row["updated_by"] == browser.get("/session").data["actor_id"]
    assert row in browser.get("/settings").data
    assert rows(browser) == [
        ("runtime_setting_updated", "succeeded", {"setting_key": "backups.retention_count"})
    ]


@pytest.mark.parametrize(
    ("key", "body", "status", "told"),
    [
        ("backups.retention_count", {}, 400, [("/value", "required"), ("/expected_version", "required")]),
        ("other", {}, 400, [("/value", "required"), ("/expected_version", "required")]),
        ("other", {"value": 1, "expected_version": 9}, 400, [("/key", "unknown_setting")]),
        ("backups.retention_count", {"value": 0, "expected_version": 9}, 400, [("/value", "too_small")]),
        ("backups.retention_count", {"value": 1001, "expected_version": 9}, 400, [("/value", "too_large")]),
        ("backups.retention_count", {"value": "3", "expected_version": 1}, 400, [("/value", "type")]),
        ("backups.retention_count", {"value": 3.0, "expected_version": 1}, 400, [("/value", "type")]),
        ("backups.retention_count", {"value": True, "expected_version": 1}, 400, [("/value", "type")]),
        ("backups.retention_count", {"value": 2**63, "expected_version": 1}, 400, [("/value", "too_large")]),
        (
            "backups.retention_count",
            {"value": 3, "expected_version": 0},
            400,
            [("/expected_version", "too_small")],
        ),
        (
            "backups.retention_count",
            {"value": 3, "expected_version": 1, "x": 1},
            400,
            [("/x", "unknown_field")],
        ),
        (
            "scheduler.poll_interval_seconds",
            {"value": 45, "expected_version": 1},
            400,
            [("/value", "lease_not_above_twice_poll")],
        ),
        ("backups.retention_count", {"value": 3, "expected_version": 9}, 409, []),
    ],
)
def test_a_refused_setting_changes_nothing_and_leaves_its_row(
    browser: Browser, key: str, body: Json, status: int, told: list[tuple[str, str]]
) -> None:
    before = browser.get("/settings").data
    answered = browser.patch(f"/settings/{key}", body)
    assert (answered.status, answered.errors) == (status, told)
    assert browser.get("/settings").data == before
    code = "VALIDATION_ERROR" if status == 400 else "VERSION_CONFLICT"
    if status == 409:
        assert answered.json()["error"]["details"] == {"current_version": 1}
    about = key if key != "other" else "unknown"
    assert rows(browser) == [
        ("runtime_setting_updated", "rejected", {"setting_key": about, "failure_code": code})
    ]


@pytest.mark.parametrize("body", [b"{", b"[1,2", b""])
def test_what_is_no_json_leaves_no_row(browser: Browser, body: bytes) -> None:
    for path in (RETENTION, "/adapters/tcp_reachable"):
        assert browser.patch(path, body).status == 400
    assert browser.post("/workloads/mcp/stop", body).status == 400
    assert rows(browser) == []


# ------------------------------------------------------------------- adapters


def test_the_adapters_are_four_rows_by_name(browser: Browser) -> None:
    shown = browser.get("/adapters").data
    assert [row["adapter_name"] for row in shown] == [
        "file_exists",
        "http_health",
        "observation_window_ended",
        "tcp_reachable",
    ]
    assert list(shown[0]) == [
        "adapter_name",
        "enabled",
        "configuration",
        "version",
        "updated_at",
        "updated_by",
    ]


def test_an_adapter_is_changed_whole_and_audited_without_its_targets(browser: Browser) -> None:
    row = browser.patch(
        "/adapters/tcp_reachable", {"enabled": True, "expected_version": 1, "configuration": TCP}
    ).data
    assert (row["enabled"], row["configuration"], row["version"]) == (True, TCP, 2)
    assert row in browser.get("/adapters").data
    assert rows(browser) == [("adapter_config_updated", "succeeded", {"adapter_name": "tcp_reachable"})]


@pytest.mark.parametrize(
    ("name", "body", "code"),
    [
        ("tcp_reachable", {}, "VALIDATION_ERROR"),
        ("other", {}, "VALIDATION_ERROR"),
        ("other", {"enabled": True, "expected_version": 1, "configuration": TCP}, "ADAPTER_NOT_FOUND"),
        ("http_health", {"enabled": True, "expected_version": 1, "configuration": TCP}, "VALIDATION_ERROR"),
        ("tcp_reachable", {"enabled": True, "expected_version": 9, "configuration": TCP}, "VERSION_CONFLICT"),
    ],
)
def test_a_refused_adapter_leaves_its_row(browser: Browser, name: str, body: Json, code: str) -> None:
    answered = browser.patch(f"/adapters/{name}", body)
    assert answered.code == code
    about = "unknown" if name == "other" else name
    assert rows(browser) == [
        ("adapter_config_updated", "rejected", {"adapter_name": about, "failure_code": code})
    ]


def test_what_the_pool_finds_wrong_with_a_configuration_is_told(browser: Browser) -> None:
    browser.house.probes.script[CheckConfiguration] = lambda _: invalid(("/configuration/roots/0", "format"))
    configuration = {"type": "file_exists", "roots": ["/nowhere"], "aliases": {}}
    answered = browser.patch(
        "/adapters/file_exists", {"enabled": True, "expected_version": 1, "configuration": configuration}
    )
    assert answered.errors == [("/configuration/roots/0", "format")]
    assert [outcome for _, outcome, _ in rows(browser)] == ["rejected"]


def test_an_alias_is_tried_once_and_nothing_is_stored(browser: Browser) -> None:
    home = browser.house
    browser.patch("/adapters/tcp_reachable", {"enabled": True, "expected_version": 1, "configuration": TCP})
    home.probes.script[RunProbe] = lambda asked: ProbeAnswer(
        asked.target,
        ConditionStatus.UNSATISFIED,
        "No address accepts connections.",
        home.core.clock.now(),
        "1",
        12,
    )
    assert browser.post("/adapters/tcp_reachable/test", {"alias": "x"}).data == {
        "status": "unsatisfied",
        "latency_ms": 12,
        "summary": "No address accepts connections.",
        "observed_at": "2027-01-15T08:00:00.000Z",
        "adapter_version": "1",
    }
    assert len(home.probes.asked) == 1
    assert len(rows(browser)) == 1


@pytest.mark.parametrize(
    ("name", "body", "status", "told"),
    [
        ("tcp_reachable", {"alias": "other"}, 400, [("/alias", "unknown_alias")]),
        ("observation_window_ended", {"alias": "x"}, 400, [("/alias", "unknown_alias")]),
        ("tcp_reachable", {}, 400, [("/alias", "required")]),
        ("tcp_reachable", {"alias": "x", "host": "h"}, 400, [("/host", "unknown_field")]),
        ("other", {"alias": "x"}, 404, []),
    ],
)
def test_a_trial_that_cannot_be_is_refused(
    browser: Browser, name: str, body: Json, status: int, told: list[tuple[str, str]]
) -> None:
    answered = browser.post(f"/adapters/{name}/test", body)
    assert (answered.status, answered.errors) == (status, told)


# ------------------------------------------------------------------- workloads


def test_the_workloads_are_shown_from_memory(browser: Browser) -> None:
    browser.house.core.stop()
    assert browser.get("/workloads").data == [
        {
            "component": "mcp",
            "desired": "running",
            "actual": "running",
            "last_error": None,
            "last_pass_at": None,
            "lag_seconds": None,
            "backlog": None,
        },
        {
            "component": "scheduler",
            "desired": "running",
            "actual": "running",
            "last_error": None,
            "last_pass_at": "2027-01-15T08:00:00.000Z",
            "lag_seconds": 0,
            "backlog": 0,
        },
    ]


@pytest.mark.parametrize("action", ["start", "stop", "restart"])
@pytest.mark.parametrize(
    ("component", "turned"), [("mcp", ("mcp",)), ("scheduler", ("scheduler",)), ("all", ("mcp", "scheduler"))]
)
def test_a_workload_is_turned_in_the_name_of_who_asks(
    browser: Browser, component: str, turned: tuple[str, ...], action: str
) -> None:
    answered = browser.post(f"/workloads/{component}/{action}", {})
    assert answered.data == browser.get("/workloads").data
    (asked,) = browser.house.workloads.asked
    assert (asked.components, asked.action) == (turned, action)
    assert asked.caller.actor_id == browser.get("/session").data["actor_id"]


def test_a_conflict_is_told_at_once_and_leaves_its_row(browser: Browser) -> None:
    browser.house.workloads.script[TurnWorkloads] = lambda _: Refusal(ErrorCode.WORKLOAD_CONFLICT)
    answered = browser.post("/workloads/all/stop", {})
    assert (answered.status, answered.code) == (409, "WORKLOAD_CONFLICT")
    assert rows(browser) == [
        ("workload_stopped", "rejected", {"component": "all", "failure_code": "WORKLOAD_CONFLICT"})
    ]


def test_a_step_that_failed_is_an_internal_error(browser: Browser) -> None:
    browser.house.workloads.script[TurnWorkloads] = lambda _: Refusal(ErrorCode.INTERNAL_ERROR)
    answered = browser.post("/workloads/scheduler/start", {})
    assert (answered.status, answered.code) == (500, "INTERNAL_ERROR")
    assert rows(browser) == []


@pytest.mark.parametrize("body", [{"x": 1}, [], b"null"])
def test_a_transition_takes_an_empty_object_only(browser: Browser, body: Any) -> None:
    assert browser.post("/workloads/mcp/restart", body).status == 400
    assert browser.house.workloads.asked == []
    assert rows(browser) == [
        ("workload_restarted", "rejected", {"component": "mcp", "failure_code": "VALIDATION_ERROR"})
    ]


# ----------------------------------------------------------------------- audit


@pytest.fixture
def busy(home: House) -> Browser:
    """Somebody who has done a little of everything."""
    browser = home.browser()
    browser.sign_in(password="wrong")
    browser = home.signed_in()
    browser.patch(RETENTION, {"value": 3, "expected_version": 1})
    browser.patch(RETENTION, {"value": 3, "expected_version": 1})
    browser.post("/auth/reauthenticate", {"password": "wrong"})
    return browser


def test_the_audit_is_read_in_both_orders(busy: Browser) -> None:
    shown = busy.get("/admin-events").data
    assert [row["event_type"] for row in shown] == [
        "login_failed",
        "login_succeeded",
        "runtime_setting_updated",
        "runtime_setting_updated",
        "login_failed",
    ]
    assert list(shown[0]) == [
        "sequence",
        "event_id",
        "event_type",
        "actor_id",
        "request_id",
        "occurred_at",
        "outcome",
        "details",
    ]
    assert shown[0]["actor_id"] == "webui:unauthenticated"
    assert shown[1]["actor_id"] == busy.get("/session").data["actor_id"]
    assert busy.get("/admin-events?order=desc").data == shown[::-1]
    assert busy.get("/admin-events?order=desc&limit=1").data == shown[-1:]
    second = shown[1]["sequence"]
    assert busy.get(f"/admin-events?after_sequence={second}").data == shown[2:]
    assert busy.get(f"/admin-events?before_sequence={second}").data == shown[:1]


def test_the_audit_is_filtered(busy: Browser) -> None:
    shown = busy.get("/admin-events").data
    only: Callable[[str], Any] = lambda query: busy.get(f"/admin-events?{query}").data  # noqa: E731
    assert only("outcome=rejected") == [row for row in shown if row["outcome"] == "rejected"]
    assert only("event_type=login_failed,logout&outcome=rejected,failed") == [shown[0], shown[4]]
    assert only("event_type=logout") == []


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("order=up", [("/order", "enum")]),
        ("event_type=other", [("/event_type", "enum")]),
        ("outcome=ok", [("/outcome", "enum")]),
        ("limit=0", [("/limit", "too_small")]),
        ("after_sequence=-1", [("/after_sequence", "too_small")]),
        ("actor_id=x", [("/actor_id", "unknown_field")]),
        ("order=asc&order=asc", [("/order", "duplicate")]),
    ],
)
def test_a_bad_question_to_the_audit_is_refused(
    browser: Browser, query: str, errors: list[tuple[str, str]]
) -> None:
    answered = browser.get(f"/admin-events?{query}")
    assert (answered.status, answered.errors) == (400, errors)


def test_no_value_enters_the_audit(browser: Browser) -> None:
    browser.patch("/settings/hidden-key", {"value": 4711, "expected_version": 4712})
    browser.patch(
        "/adapters/hidden-name",
        {"enabled": True, "expected_version": 1, "configuration": {"type": "hidden", "roots": ["/hidden"]}},
    )
    said = str(browser.get("/admin-events").data)
    for hidden in ("hidden", "4711", "4712"):
        assert hidden not in said
