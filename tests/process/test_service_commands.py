"""``remindi status``, ``settings`` and ``workloads`` against a real service, signed in and not."""

import re
from collections.abc import Iterator
from typing import Final

import pytest

from remindi.cli import exits
from remindi.settings import SETTINGS
from tests.conftest import MakeService
from tests.process.relay import Relay, answer, silence
from tests.process.shell import on_terminal, remindi
from tests.service import HOST, PASSWORD, Service, eventually

POLL: Final = "scheduler.poll_interval_seconds"


@pytest.fixture(scope="module")
def changed_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose settings and workloads the tests here change; each leaves both workloads running."""
    with Service(tmp_path_factory.mktemp("changed") / "service") as running:
        yield running


def test_status_tells_health_and_workloads(shared_service: Service) -> None:
    done = remindi(shared_service, "status")
    assert (done.code, done.err) == (exits.OK, "")
    assert done.out.startswith("health  ready\n")
    assert re.search(r"^mcp +running +running ", done.out, re.MULTILINE)
    assert re.search(r"^scheduler +running +running ", done.out, re.MULTILINE)
    data = remindi(shared_service, "status", "--json").json()
    assert data["health"] == "ready"
    assert [row["component"] for row in data["workloads"]] == ["mcp", "scheduler"]


def test_every_setting_is_listed_with_its_bounds(shared_service: Service) -> None:
    done = remindi(shared_service, "settings", "list")
    rows = [line.split()[:3] for line in done.out.splitlines()[1:]]
    assert [[row[0], row[2]] for row in rows] == [
        [setting.key, f"{setting.minimum}-{setting.maximum}"] for setting in SETTINGS
    ]
    assert len(remindi(shared_service, "settings", "list", "--json").json()) == len(SETTINGS)


def test_a_setting_is_set_and_got(changed_service: Service) -> None:
    assert remindi(changed_service, "settings", "get", POLL).out == "30\n"
    done = remindi(changed_service, "settings", "set", POLL, "10")
    assert (done.code, done.out) == (exits.OK, f"{POLL} is 10 now; it was 30.\n")
    assert remindi(changed_service, "settings", "get", POLL).out == "10\n"
    assert remindi(changed_service, "settings", "set", POLL, "10").out == f"{POLL} is 10 already.\n"
    row = remindi(changed_service, "settings", "set", POLL, "11", "--json").json()
    assert (row["key"], row["value"], row["version"]) == (POLL, 11, 3)


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        (POLL, "0", f"{POLL}: must be a whole number from 1 to 3600."),
        (POLL, "3601", f"{POLL}: must be a whole number from 1 to 3600."),
        (POLL, "45", f"scheduler.lease_seconds must be more than twice {POLL}."),
        ("poll_interval", "1", f"There is no setting poll_interval; the nearest is {POLL}."),
        ("\x1b[2J", "1", r"There is no setting \x1b[2J; `remindi settings list` shows all."),
    ],
)
def test_a_value_that_is_refused_is_told_with_its_rule(
    shared_service: Service, key: str, value: str, line: str
) -> None:
    done = remindi(shared_service, "settings", "set", key, value)
    assert (done.code, done.out, done.err) == (exits.FAILED, "", f"remindi: {line}\n")
    assert remindi(shared_service, "settings", "get", POLL).out == "30\n"


def test_workloads_are_stopped_started_and_restarted(changed_service: Service) -> None:
    assert re.search(
        r"^mcp +stopped +stopped ", remindi(changed_service, "workloads", "stop", "mcp").out, re.MULTILINE
    )
    refused = remindi(changed_service, "list")
    assert refused.code == exits.UNAVAILABLE
    assert "The mcp workload is stopped" in refused.err
    assert "`remindi workloads start mcp`" in refused.err
    # What is stopped because somebody wanted it is no fault.
    status = remindi(changed_service, "status")
    assert (status.code, status.err) == (
        exits.OK,
        "remindi: Start what is stopped with `remindi workloads start mcp`.\n",
    )
    rows = remindi(changed_service, "workloads", "start", "all", "--json").json()
    assert [row["actual"] for row in rows] == ["running", "running"]
    assert remindi(changed_service, "list").code == exits.OK
    assert remindi(changed_service, "workloads", "restart", "scheduler").code == exits.OK
    assert len(remindi(changed_service, "workloads", "list").out.splitlines()) == 3


def test_a_session_ends_with_its_command(changed_service: Service) -> None:
    remindi(changed_service, "workloads", "list")
    remindi(changed_service, "settings", "set", POLL, "0")

    def asked(path: str) -> int:
        return [line.get("path") for line in changed_service.log_lines()].count(f"/api/v1/auth/{path}")

    eventually(lambda: asked("login") == asked("logout") >= 2)


def test_a_wrong_sign_in_is_told_without_the_password(service: Service) -> None:
    for _ in range(5):
        done = remindi(service, "settings", "list", "--json", REMINDI_WEBUI_PASSWORD="no-such-password")
        assert done.code == exits.NOT_PERMITTED
        assert "REMINDI_WEBUI_PASSWORD in the environment" in done.err
        assert "no-such-password" not in done.err
        assert done.json()["error"]["code"] == "UNAUTHENTICATED"
    throttled = remindi(service, "settings", "list")
    assert throttled.code == exits.FAILED
    assert re.search(r"Too many sign-ins have failed; wait [0-9]+ s\.", throttled.err)
    assert PASSWORD not in throttled.err


def test_without_credentials_it_says_which_are_missing(shared_service: Service) -> None:
    done = remindi(shared_service, "settings", "list", REMINDI_WEBUI_PASSWORD=None)
    assert done.code == exits.CONFIGURATION
    assert "REMINDI_WEBUI_PASSWORD is required" in done.err


def test_a_service_that_asks_nobody_to_sign_in_needs_no_credentials(make_service: MakeService) -> None:
    service = make_service(env={"REMINDI_WEBUI_AUTH": "false"}).start()
    done = remindi(
        service, "settings", "set", POLL, "10", REMINDI_WEBUI_USERNAME=None, REMINDI_WEBUI_PASSWORD=None
    )
    assert done.code == exits.OK, done
    assert "/api/v1/auth/login" not in [line.get("path") for line in service.log_lines()]


def test_a_service_without_webui_has_no_administration(make_service: MakeService) -> None:
    service = make_service(env={"REMINDI_WEBUI_ENABLE": "false"}).start()
    done = remindi(service, "workloads", "list")
    assert done.code == exits.FAILED
    assert "REMINDI_WEBUI_ENABLE is false" in done.err


def test_a_host_that_is_not_admitted_is_told_with_the_setting(make_service: MakeService) -> None:
    service = make_service(env={"REMINDI_HTTP_ALLOWED_HOSTS": "remindi.example.com"}).start()
    for command in ("status", "list"):
        done = remindi(service, command)
        assert done.code == exits.NOT_PERMITTED
        assert "REMINDI_HTTP_ALLOWED_HOSTS" in done.err


def test_no_service_and_a_strange_one_are_told_apart(make_service: MakeService) -> None:
    service = make_service()
    gone = remindi(service, "status")
    assert gone.code == exits.UNAVAILABLE
    assert f"No service answers at http://{HOST}:{service.port}" in gone.err
    with Relay(answer("200 OK", b"<html>Welcome</html>")) as relay:
        for command in (("status",), ("settings", "list")):
            strange = remindi(service, *command, port=relay.port)
            assert strange.code == exits.UNAVAILABLE
            assert "is no Remindi" in strange.err or "has no administration API" in strange.err


def test_a_service_that_is_starting_is_not_ready_and_says_no_more(make_service: MakeService) -> None:
    with Relay(answer("503 Service Unavailable", b'{"status": "starting"}')) as relay:
        done = remindi(make_service(), "status", port=relay.port)
    assert (done.code, done.out) == (exits.FAILED, "health  starting\n")


def test_a_change_whose_answer_is_lost_leaves_a_doubt_that_is_told(make_service: MakeService) -> None:
    session = b'{"ok": true, "request_id": "r", "data": {"authenticated": true, "csrf_token": "t"}}'
    with Relay(answer("200 OK", session), silence) as relay:
        done = remindi(make_service(), "workloads", "stop", "all", port=relay.port)
    assert done.code == exits.UNAVAILABLE
    assert "It may have been carried out all the same" in done.err
    assert len(relay.requests) == 2


def test_on_a_narrow_terminal_the_tables_fit(shared_service: Service) -> None:
    for columns in (80, 40, 20):
        for command in (("settings", "list"), ("workloads", "list")):
            lines = on_terminal(shared_service, columns, *command)
            assert all(len(re.sub(r"\x1b\[[0-9]+m", "", line)) <= columns for line in lines), lines
