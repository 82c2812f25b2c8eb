"""A disk that is full: writes are refused, reads go on, and with space everything goes on by itself."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.faults.disks import fill, small_disk
from tests.faults.writers import assert_file_is_sound, set_poll_interval
from tests.process.acts import (
    ERAS,
    LONG_AGO,
    all_items,
    assert_history_explains,
    completion,
    history,
    new_item,
    together,
)
from tests.process.rest import Browser
from tests.service import Json, Service, eventually

pytestmark = pytest.mark.faults

KIB = 4_096
CONFIRMED = {"confirmation": "RESTORE REMINDI"}


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 4 MiB."""
    with small_disk(tmp_path / "disk", KIB) as mounted:
        yield mounted


@pytest.fixture
def service(tmp_path: Path, disk: Path) -> Iterator[Service]:
    """A service, not started yet, whose data lie on the small disk."""
    made = Service(tmp_path / "service")
    made.data = disk / "data"
    made.database = made.data / "remindi.db"
    made.env["REMINDI_DB_PATH"] = str(made.database)
    yield made
    if made.alive():
        made.kill()


def add_until_refused(service: Service, project: str, acknowledged: list[tuple[Json, Json]]) -> Json:
    """Add large items until one is refused; return the refused arguments."""
    with service.connection() as connection:
        while True:
            arguments = new_item(project, instructions="x" * 8_192)
            answer = connection.call("remindi_add", arguments)
            if not answer["ok"]:
                assert_refused(answer)
                return arguments
            acknowledged.append((arguments, answer["data"]))


def assert_refused(answer: Json) -> None:
    assert answer["error"]["code"] in ("INTERNAL_ERROR", "DATABASE_BUSY"), answer
    assert "disk" not in answer["error"]["message"]
    assert "Traceback" not in str(answer)


def test_a_full_disk_refuses_writes_and_nothing_else(service: Service, disk: Path) -> None:
    with service:
        quiet = service.call("remindi_add", new_item("quiet"))["data"]["remindi"]
        due = service.call(
            "remindi_add", new_item("due", trigger={"type": "at_time", "at": LONG_AGO})
        )["data"]["remindi"]  # fmt: skip
        filler = fill(disk)
        acknowledged: list[tuple[Json, Json]] = []
        refused = together([partial(add_until_refused, service, "full", acknowledged) for _ in range(8)])
        filler_2 = fill(disk)

        for era in ERAS:
            for _ in range(5):
                assert_refused(service.call("remindi_add", new_item("full"), era))
                assert_refused(service.call("remindi_complete", completion(quiet["id"], 1), era))
            assert service.call("remindi_list", {"project_id": "quiet"}, era)["ok"]
            assert service.call("remindi_history", {"remindi_id": due["id"]}, era)["ok"]
            check = {"project_id": "quiet", "lifecycle_event": "checkpoint", "include_scheduled": True}
            (seen,) = service.call("remindi_check", check, era)["data"]["items"]
            assert seen["remindi_id"] == quiet["id"]
        assert service.get("/health/ready").status == 200
        with service.connection() as connection:
            assert len(all_items(connection, "full")) == len(acknowledged)

        filler.unlink()
        filler_2.unlink(missing_ok=True)
        with service.connection() as connection:
            for arguments in refused:
                assert connection.call("remindi_add", arguments)["ok"]
            for arguments, data in acknowledged:
                assert connection.call("remindi_add", arguments)["data"] == data
            assert connection.call("remindi_complete", completion(quiet["id"], 1))["ok"]
            items = all_items(connection, "full")
            assert len(items) == len(acknowledged) + len(refused)
            for item in items:
                assert_history_explains(item, history(connection, item["id"]))
    assert_file_is_sound(service.database)
    assert "Traceback" not in service.output()


def test_the_scheduler_goes_on_after_the_disk_was_full(service: Service, disk: Path) -> None:
    with service:
        pass
    set_poll_interval(service.database, 1)
    with service:
        filler = fill(disk)
        together([partial(add_until_refused, service, "full", [])])
        filler.unlink()
        added = service.call(
            "remindi_add", new_item("due", trigger={"type": "after_elapsed", "after_seconds": 1})
        )
        assert added["ok"], added
        remindi_id = added["data"]["remindi"]["id"]

        def is_due() -> bool:
            (item,) = service.call("remindi_list", {"remindi_id": remindi_id})["data"]["items"]
            return bool(item["state"] != "scheduled")

        eventually(is_due, within=30)


def test_a_service_stops_cleanly_while_the_disk_is_full(service: Service, disk: Path) -> None:
    acknowledged: list[tuple[Json, Json]] = []
    with service:
        filler = fill(disk)
        add_until_refused(service, "full", acknowledged)
        fill(disk)
    assert service.log_lines()[-1]["message"] == "stopped"
    filler.unlink()
    with service, service.connection() as connection:
        assert len(all_items(connection, "full")) == len(acknowledged)
    assert_file_is_sound(service.database)


def test_a_start_on_a_full_disk_serves_or_says_why(service: Service, disk: Path) -> None:
    with service:
        service.call("remindi_add", new_item("before"))
    filler = fill(disk)
    code = service.run_to_end()
    (line,) = service.stderr().splitlines()
    assert (code, "full" in line, str(service.database) in line) == (73, True, True), line
    assert "Traceback" not in service.output()
    filler.unlink()
    with service, service.connection() as connection:
        assert len(all_items(connection, "before")) == 1


def test_the_first_start_on_a_full_disk_says_why_and_leaves_nothing_that_hinders(
    service: Service, disk: Path
) -> None:
    filler = fill(disk)
    assert service.run_to_end() == 73
    (line,) = service.stderr().splitlines()
    assert "no space" in line.lower() or "full" in line
    filler.unlink()
    with service:
        assert service.call("remindi_add", new_item("after"))["ok"]


def test_a_disk_that_fills_up_in_a_restore_leaves_what_was_live(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 40_000) as disk:
        service = Service(tmp_path / "service", env={"REMINDI_DB_PATH": str(disk / "data" / "remindi.db")})
        service.database = disk / "data" / "remindi.db"
        with service:
            with service.connection() as connection:
                for _ in range(400):
                    item = {**new_item("kept"), "message": "x" * 1_900}
                    assert connection.call("remindi_add", item)["ok"]
            # The log begins anew, so that a restore needs room for it.
            service.restart()
            restore_on_full_disk(service, disk)
        assert_file_is_sound(service.database)


def restore_on_full_disk(service: Service, disk: Path) -> None:
    with Browser(service).sign_in() as browser:
        made = browser.request("POST", "/backups").json()["data"]
        assert service.call("remindi_add", {**new_item("later"), "message": "live"})["ok"]
        path = f"/backups/{made['id']}/restore"
        filler = fill(disk)
        os.truncate(filler, filler.stat().st_size - 400_000)
        answer = browser.request("POST", path, CONFIRMED)
        assert answer.status == 500, answer.body
        error = answer.json()["error"]
        assert error["code"] == "RESTORE_FAILED"
        assert "disk is full" in error["details"]["reason"]
        state = browser.data("GET", "/restores/latest")
        assert (state["maintenance"], state["restore"]["outcome"]) == ("running", "failed")
        filler.unlink()
        assert service.call("remindi_add", {**new_item("later"), "message": "works"})["ok"]
        items = service.call("remindi_list", {"project_id": "later"})["data"]["items"]
        assert {item["message"] for item in items} == {"live", "works"}
        assert browser.request("POST", path, CONFIRMED).status == 200
        assert service.call("remindi_list", {"project_id": "later"})["data"]["items"] == []
