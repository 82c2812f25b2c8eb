"""The administration API of the real process: every operation, restarts, half-sent requests, two doors."""

import json
import os
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeService
from tests.process.acts import Footprint, fresh, new_item
from tests.process.rest import Browser
from tests.service import PASSWORD, USERNAME, Service, eventually

README = Path(__file__).parents[2] / "README.md"
EVIDENCE = {
    "type": "observation",
    "summary": "It was seen to work.",
    "reference_uri": "https://example.com/1",
    "observed_at": "2020-01-01T00:00:00Z",
}
STOP_SECONDS = 10.0
"""Contract 17.1."""
Json = dict[str, Any]


@pytest.fixture
def browser(service: Service) -> Iterator[Browser]:
    with Browser(service) as browser:
        yield browser.sign_in()


def change(item: Json, **fields: Any) -> Json:
    return {"expected_version": item["version"], "idempotency_key": fresh("change"), **fields}


def add(browser: Browser, **fields: Any) -> Json:
    item: Json = browser.data("POST", "/remindi", new_item("rest", **fields))["remindi"]
    return item


def test_every_operation_of_items_works(browser: Browser) -> None:
    reached = {"type": "at_time", "at": "2020-01-01T00:00:00Z"}
    item = add(browser, trigger=reached, overdue_after_seconds=31_536_000)
    path = f"/remindi/{item['id']}"
    check = {"project_id": "rest", "lifecycle_event": "checkpoint", "session_id": "s", "limit": 5}
    (ready,) = browser.data("POST", "/remindi/check", check)["items"]
    assert ready["remindi_id"] == item["id"]
    item = browser.data("GET", path)["remindi"]
    item = browser.data("POST", f"{path}/snooze", change(item, reason="later", snooze_until=ahead()))[
        "remindi"
    ]
    item = browser.data("PATCH", path, change(item, reason="clearer", message="look at it closely"))[
        "remindi"
    ]
    item = browser.data("POST", f"{path}/complete", change(item, evidence=EVIDENCE))["remindi"]
    assert item["state"] == "completed"
    other = add(browser)
    browser.data("POST", f"/remindi/{other['id']}/cancel", change(other, reason="not needed"))
    shown = browser.data("GET", "/remindi?project_id=rest&states=completed,cancelled&limit=10")
    assert [one["id"] for one in shown["items"]] == [other["id"], item["id"]]
    history = browser.data("GET", f"{path}/history?limit=100")
    assert [event["event_type"] for event in history["events"]][-3:] == ["snoozed", "updated", "completed"]
    assert history["completion_evidence"]["summary"] == EVIDENCE["summary"]


def ahead() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))


def test_the_walk_of_the_readme_works(service: Service) -> None:
    (walk,) = re.findall(r"```sh\n(API=.*?)```", README.read_text(), re.DOTALL)
    (service.root / ".remindi").mkdir()
    (service.root / ".remindi" / "remindi.env").write_text(
        f"REMINDI_WEBUI_USERNAME={USERNAME}\nREMINDI_WEBUI_PASSWORD={PASSWORD}\n"
    )
    done = subprocess.run(
        ["sh", "-eu", "-c", walk.replace("127.0.0.1:8000", f"127.0.0.1:{service.port}")],
        env={"PATH": os.defpath, "TMPDIR": str(service.root)},
        cwd=service.root,
        capture_output=True,
        check=True,
        timeout=60,
    )
    listed, setting, workloads = done.stdout.replace(b'}{"ok"', b'}\n{"ok"').splitlines()
    assert json.loads(listed)["data"] == {"items": [], "next_cursor": None}
    assert json.loads(setting)["data"]["value"] == 3_600
    assert {row["actual"] for row in json.loads(workloads)["data"]} == {"running"}
    assert done.stderr == b""


def test_every_operation_of_administration_works(service: Service, browser: Browser) -> None:
    assert len(browser.data("GET", "/settings/bootstrap")["settings"]) == 20
    assert len(browser.data("GET", "/settings")) == 11
    row = browser.data(
        "PATCH", "/settings/scheduler.poll_interval_seconds", {"value": 1, "expected_version": 1}
    )
    assert (row["value"], row["version"]) == (1, 2)
    configuration = {
        "type": "tcp_reachable",
        "aliases": {"self": {"host": "127.0.0.1", "port": service.port, "allow_private": True}},
    }
    row = browser.data(
        "PATCH",
        "/adapters/tcp_reachable",
        {"enabled": True, "expected_version": 1, "configuration": configuration},
    )
    assert row in browser.data("GET", "/adapters")
    tried = browser.data("POST", "/adapters/tcp_reachable/test", {"alias": "self"})
    assert tried["status"] == "satisfied"
    trigger = {"type": "condition", "adapter": "tcp_reachable", "parameters": {"target": "self"}}
    item = add(browser, trigger=trigger)
    check = {"project_id": "rest", "lifecycle_event": "checkpoint"}
    assert [one["remindi_id"] for one in browser.data("POST", "/remindi/check", check)["items"]] == [
        item["id"]
    ]
    proof = browser.data("POST", "/auth/reauthenticate", {"password": PASSWORD})
    assert proof["authenticated"] is True
    shown = browser.data("GET", "/admin-events?order=desc&limit=3")
    assert [one["event_type"] for one in shown] == [
        "login_succeeded",
        "adapter_config_updated",
        "runtime_setting_updated",
    ]
    assert browser.data("POST", "/auth/logout") == {"logged_out": True}
    assert browser.request("GET", "/settings").status == 401


def test_workloads_are_stopped_and_started_and_stay_so_over_a_restart(service: Service) -> None:
    def actual(rows: list[Json]) -> dict[str, str]:
        return {row["component"]: row["actual"] for row in rows}

    def mcp() -> int:
        return service.raw("POST", "/mcp", body=b"{}").status

    with Browser(service) as browser:
        browser.sign_in()
        assert actual(browser.data("POST", "/workloads/all/stop", {})) == {
            "mcp": "stopped",
            "scheduler": "stopped",
        }
        assert mcp() == 503
        assert add(browser)["version"] == 1
    assert service.restart() == 0
    with Browser(service) as browser:
        browser.sign_in()
        assert actual(browser.data("GET", "/workloads")) == {"mcp": "stopped", "scheduler": "stopped"}
        browser.data("POST", "/workloads/mcp/start", {})
        assert mcp() != 503
        rows = browser.data("POST", "/workloads/all/restart", {})
        assert actual(rows) == {"mcp": "running", "scheduler": "running"}
        assert {row["desired"] for row in rows} == {"running"}
        kinds = [row["event_type"] for row in browser.data("GET", "/admin-events")]
        # One row an attempt, whatever it concerns.
        assert kinds.count("workload_stopped") == kinds.count("workload_restarted") == 1


def test_a_restart_ends_all_sessions(service: Service) -> None:
    with Browser(service) as browser:
        browser.sign_in()
        cookie, csrf = browser.cookie, browser.csrf
    assert service.restart() == 0
    with Browser(service) as browser:
        browser.cookie, browser.csrf = cookie, csrf
        assert browser.request("GET", "/settings").status == 401
        assert browser.data("GET", "/session")["authenticated"] is False


# ----------------------------------------------------------------- bad clients


@contextmanager
def half_sent(service: Service, browser: Browser, count: int) -> Iterator[list[socket.socket]]:
    """So many requests of somebody signed in whose bodies never end, declared or in pieces."""
    head = "".join(f"{name}: {value}\r\n" for name, value in browser.headers())
    head += "Content-Type: application/json\r\n"
    with ExitStack() as stack:
        wires = []
        for number in range(count):
            framing = (
                "Content-Length: 100\r\n\r\n{"
                if number % 2
                else "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
            )
            wire = stack.enter_context(service.dial())
            wire.sendall(f"POST /api/v1/remindi HTTP/1.1\r\n{head}{framing}".encode())
            wires.append(wire)
        yield wires


def test_half_sent_bodies_keep_nobody_waiting_and_leave_nothing(service: Service, browser: Browser) -> None:
    add(browser)
    before = Footprint.of(service.pid)
    with half_sent(service, browser, 30) as wires:
        for _ in range(20):
            assert browser.request("GET", "/settings").status == 200
            add(browser)
        for wire in wires[:15]:
            wire.close()
        assert browser.request("GET", "/workloads").status == 200
    eventually(lambda: Footprint.of(service.pid).within(before))
    assert len(browser.data("GET", "/remindi?project_id=rest")["items"]) == 21


def test_a_stop_waits_for_no_half_sent_body(make_service: MakeService) -> None:
    service = make_service().start()
    with Browser(service) as browser:
        browser.sign_in()
        with half_sent(service, browser, 30):
            began = time.monotonic()
            assert service.stop() == 0
            assert time.monotonic() - began < STOP_SECONDS
    assert service.stderr() == ""
    assert service.log_lines()[-1]["message"] == "stopped"


def test_slow_probes_keep_only_each_other_waiting(service: Service, browser: Browser) -> None:
    """Twenty trials of an address that never answers, more than there are threads for them."""
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(64)
        port = silent.getsockname()[1]
        configuration = {
            "type": "http_health",
            "aliases": {
                "slow": {
                    "url": f"https://127.0.0.1:{port}/",
                    "expected_statuses": [200],
                    "max_response_bytes": 10,
                    "expected_content_type": None,
                    "allow_redirects": False,
                    "allow_private": True,
                }
            },
        }
        browser.data("PATCH", "/settings/adapters.timeout_seconds", {"value": 2, "expected_version": 1})
        browser.data(
            "PATCH",
            "/adapters/http_health",
            {"enabled": True, "expected_version": 1, "configuration": configuration},
        )
        answers: list[int] = []

        def look() -> None:
            with Browser(service) as other:
                other.cookie, other.csrf = browser.cookie, browser.csrf
                answers.append(other.request("POST", "/adapters/http_health/test", {"alias": "slow"}).status)

        lookers = [threading.Thread(target=look) for _ in range(20)]
        for looker in lookers:
            looker.start()
        # The first of them cannot have ended: nothing ever answers them before the deadline.
        for _ in range(20):
            assert browser.request("GET", "/settings").status == 200
        for looker in lookers:
            looker.join(60)
        assert answers == [200] * 20


# ------------------------------------------------------------------- two doors


def test_two_doors_lead_into_one_house(service: Service) -> None:
    """Interleaved changes of the same items by both doors keep versions and histories exact."""
    with Browser(service) as browser:
        browser.sign_in()
        items = [add(browser) for _ in range(4)]
        cookie, csrf = browser.cookie, browser.csrf
    stepped: dict[str, int] = {item["id"]: 1 for item in items}
    counting = threading.Lock()

    def by_rest() -> None:
        with Browser(service) as own:
            own.cookie, own.csrf = cookie, csrf
            for number in range(60):
                path = f"/remindi/{items[number % 4]['id']}"
                item = own.data("GET", path)["remindi"]
                answer = own.request("PATCH", path, change(item, reason="by rest", message=f"rest {number}"))
                count(item["id"], answer.json())

    def by_mcp() -> None:
        with service.connection() as own:
            for number in range(60):
                identifier = items[number % 4]["id"]
                (item,) = own.call("remindi_list", {"remindi_id": identifier})["data"]["items"]
                arguments = change(item, remindi_id=identifier, reason="by mcp", message=f"mcp {number}")
                count(identifier, own.call("remindi_update", arguments))

    def count(identifier: str, envelope: Json) -> None:
        if envelope["ok"]:
            with counting:
                stepped[identifier] += 1
        else:
            assert envelope["error"]["code"] == "VERSION_CONFLICT"

    workers = [threading.Thread(target=work) for work in (by_rest, by_mcp) * 3]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    with Browser(service) as browser:
        browser.cookie, browser.csrf = cookie, csrf
        for identifier, version in stepped.items():
            assert browser.data("GET", f"/remindi/{identifier}")["remindi"]["version"] == version
            events = browser.data("GET", f"/remindi/{identifier}/history?limit=200")["events"]
            assert [event["new_version"] for event in events] == list(range(1, version + 1))
            assert {event["actor_type"] for event in events[1:]} <= {"user", "agent"}


def test_what_nobody_asked_for_is_not_in_the_log(service: Service, browser: Browser) -> None:
    add(browser, message="a message that nobody may read")
    browser.request("GET", "/remindi?q=hidden-words")
    said = json.dumps(service.log_lines())
    for hidden in (PASSWORD, browser.cookie, browser.csrf, "nobody may read", "hidden-words"):
        assert hidden not in said
