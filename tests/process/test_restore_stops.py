"""The stop of the real process amid a backup or a restore: code 0, in time, and one whole content."""

import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import MakeService
from tests.process.acts import new_item
from tests.process.rest import Browser
from tests.service import Service, eventually

HELD_UP = Path(__file__).parents[1] / "fakes" / "held_up.py"
ROOT = Path(__file__).parents[2]
ALLOWED_SECONDS = 10.0
"""Contract 17.1."""
CONFIRMED = {"confirmation": "RESTORE REMINDI"}

MakeHeldUp = Callable[[str], Service]


@pytest.fixture
def held_up(make_service: MakeService, tmp_path: Path) -> MakeHeldUp:
    def make(moment: str) -> Service:
        return make_service(
            command=(sys.executable, str(HELD_UP), str(tmp_path / "marker"), moment),
            env={"PYTHONPATH": str(ROOT)},
        )

    return make


def plain(service: Service) -> Service:
    """The same service with a disk that does not hang."""
    service.command = (sys.executable, "-m", "remindi")
    return service


def messages(service: Service) -> set[str]:
    items = service.call("remindi_list", {"project_id": "stops", "limit": 200})["data"]["items"]
    return {item["message"] for item in items}


def backed_up(service: Service) -> str:
    """A backup that holds ``before``; the database holds ``after`` too."""
    assert service.call("remindi_add", new_item("stops", message="before"))["ok"]
    with Browser(service) as browser:
        record: dict[str, Any] = browser.sign_in().request("POST", "/backups").json()["data"]
    assert service.call("remindi_add", new_item("stops", message="after"))["ok"]
    return str(record["id"])


def ask(service: Service, path: str, body: Any = None) -> threading.Thread:
    """Ask and do not wait for the answer, which may never come."""

    def run() -> None:
        with suppress(OSError, HTTPException), Browser(service) as browser:
            browser.sign_in().request("POST", path, body)

    asking = threading.Thread(target=run)
    asking.start()
    return asking


def stop_in_time(service: Service) -> None:
    began = time.monotonic()
    assert service.stop(signal.SIGTERM) == 0
    assert time.monotonic() - began < ALLOWED_SECONDS
    assert service.log_lines()[-1]["message"] == "stopped"


@pytest.mark.parametrize("phase", ["workloads_quiesced", "live_replaced", "workloads_restarted"])
def test_a_stop_in_a_restore_is_in_time_and_the_next_start_ends_it(
    held_up: MakeHeldUp, tmp_path: Path, phase: str
) -> None:
    service = held_up(phase).start()
    backup_id = backed_up(service)
    asking = ask(service, f"/backups/{backup_id}/restore", CONFIRMED)
    eventually((tmp_path / "marker").exists)
    stop_in_time(service)
    asking.join(ALLOWED_SECONDS)
    with plain(service):
        new = phase == "workloads_restarted"
        assert messages(service) == ({"before"} if new else {"before", "after"})
        with Browser(service) as browser:
            latest = browser.sign_in().data("GET", "/restores/latest")["restore"]
        assert latest["outcome"] == ("succeeded" if new else "failed")
    names = {path.name for path in service.backups.iterdir()}
    assert not {name for name in names if name.startswith(".tmp-")}
    assert "restore-journal.json" not in names
    assert not list(service.data.glob("remindi.db-*"))


def test_a_stop_in_a_backup_is_in_time_and_nothing_is_left_of_it(held_up: MakeHeldUp, tmp_path: Path) -> None:
    service = held_up("backup").start()
    asking = ask(service, "/backups")
    eventually((tmp_path / "marker").exists)
    assert service.call("remindi_add", new_item("stops", message="meanwhile"))["ok"]
    stop_in_time(service)
    asking.join(ALLOWED_SECONDS)
    with plain(service):
        assert messages(service) == {"meanwhile"}
        with Browser(service) as browser:
            assert browser.sign_in().data("GET", "/backups") == []
    assert list(service.backups.iterdir()) == []
