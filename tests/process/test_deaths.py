"""Actors that die in the real process: seen, restarted, nothing acknowledged lost (P17)."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path

import pytest

from tests.conftest import MakeService
from tests.service import Json, ProtocolError, Service, eventually

KILLABLE = Path(__file__).parents[1] / "fakes" / "killable.py"
ROOT = Path(__file__).parents[2]
ACTORS = ("writer", "reader", "probes", "lease", "scheduler", "workloads", "backups", "sessions")
RECOVERY_SECONDS = 5.0
"""Within which everything works again."""

STOP_SECONDS = 10.0
"""Contract 17.1."""

Kill = Callable[..., None]


@pytest.fixture
def mortal(make_service: MakeService, tmp_path: Path) -> Service:
    victims = tmp_path / "victims"
    service = make_service(
        command=(sys.executable, str(KILLABLE), str(victims)), env={"PYTHONPATH": str(ROOT)}
    )
    return service.start()


@pytest.fixture
def kill(mortal: Service, tmp_path: Path) -> Kill:
    def kill(*names: str) -> None:
        (tmp_path / "victims").write_text(" ".join(names))
        os.kill(mortal.pid, signal.SIGUSR1)

    return kill


def add(service: Service, number: int, at: str = "2020-01-01T00:00:00Z") -> Json:
    return service.call(
        "remindi_add",
        {
            "project_id": "deaths",
            "message": f"item {number}",
            "idempotency_key": f"deaths-{number:05}",
            "trigger": {"type": "at_time", "at": at},
        },
    )


def lines(service: Service, message: str) -> list[Json]:
    return [line for line in service.log_lines() if line["message"] == message]


def is_whole(service: Service, number: int) -> bool:
    """Whether ready says so, a write is acknowledged, and a read sees it."""
    if not service.ready():
        return False
    added = add(service, number)
    if not added["ok"]:
        return False
    shown = service.call("remindi_list", {"remindi_id": added["data"]["remindi"]["id"]})
    return bool(shown["ok"]) and len(shown["data"]["items"]) == 1


@pytest.mark.parametrize("victim", [*ACTORS, "writer?", "reader?"])
def test_a_dead_actor_is_named_in_the_log_and_replaced(mortal: Service, kill: Kill, victim: str) -> None:
    assert add(mortal, 1)["ok"]
    kill(victim)
    name = victim.rstrip("?")
    restarted = eventually(lambda: lines(mortal, "an actor was restarted"), within=RECOVERY_SECONDS)
    assert [(line["actor"], line["everybody"]) for line in restarted] == [(name, name == "writer")]
    assert {line["actor"] for line in lines(mortal, "an actor died")} == {name}
    eventually(lambda: is_whole(mortal, 2), within=RECOVERY_SECONDS)
    listed = mortal.call("remindi_list", {"project_id": "deaths"})["data"]["items"]
    assert {item["message"] for item in listed} == {"item 1", "item 2"}
    assert mortal.stop() == 0
    assert mortal.stderr() == ""


@pytest.mark.parametrize("name", ["writer", "lease", "scheduler"])
def test_background_work_goes_on_by_itself_after_a_death(mortal: Service, kill: Kill, name: str) -> None:
    kill(name)
    eventually(lambda: lines(mortal, "an actor was restarted"), within=RECOVERY_SECONDS)
    eventually(lambda: is_whole(mortal, 1), within=RECOVERY_SECONDS)
    # The new scheduler began a pass of its own at once; it takes what was there by then.
    kill("scheduler")
    eventually(lambda: len(lines(mortal, "an actor was restarted")) == 2, within=RECOVERY_SECONDS)

    def turned() -> bool:
        (item,) = mortal.call("remindi_list", {"project_id": "deaths"})["data"]["items"]
        return item["state"] in ("due", "overdue")

    eventually(turned, within=RECOVERY_SECONDS)


def test_a_fourth_death_within_a_minute_ends_the_process_for_its_keeper_to_start(
    mortal: Service, kill: Kill
) -> None:
    for count in range(1, 4):
        kill("reader")
        eventually(lambda: len(lines(mortal, "an actor was restarted")) == count, within=RECOVERY_SECONDS)  # noqa: B023
    kill("reader")
    assert mortal.wait() == 70
    assert lines(mortal, "giving up: too many actors died")
    assert mortal.log_lines()[-1]["message"] == "stopped"
    assert not mortal.database.with_name("remindi.db-wal").exists()


def test_a_death_during_the_stop_does_not_spoil_it(mortal: Service, kill: Kill) -> None:
    kill("scheduler")
    assert mortal.stop() == 0
    assert mortal.log_lines()[-1]["message"] == "stopped"


def test_no_acknowledged_write_is_lost_when_the_writer_dies_under_load(mortal: Service, kill: Kill) -> None:
    acknowledged: dict[int, str] = {}
    ending = threading.Event()

    def work(worker: int) -> None:
        number = worker * 100_000
        while not ending.is_set():
            number += 1
            with suppress(OSError, HTTPException, ProtocolError):
                answer = add(mortal, number)
                if answer["ok"]:
                    acknowledged[number] = answer["data"]["remindi"]["id"]

    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for worker in workers:
        worker.start()
    for count in (1, 2):
        before = len(acknowledged)
        eventually(lambda: len(acknowledged) > before + 50)  # noqa: B023
        kill("writer")
        eventually(lambda: len(lines(mortal, "an actor was restarted")) == count, within=RECOVERY_SECONDS)  # noqa: B023
    before = len(acknowledged)
    eventually(lambda: len(acknowledged) > before + 50, within=RECOVERY_SECONDS)
    ending.set()
    for worker in workers:
        worker.join(30)
    again = {number: add(mortal, number)["data"]["remindi"]["id"] for number in acknowledged}
    assert again == acknowledged


@pytest.mark.parametrize(("victim", "code"), [("scheduler", 0), ("probes", 0), ("reader", 0), ("writer", 70)])
def test_a_stuck_actor_is_named_and_does_not_keep_the_process_alive(
    mortal: Service, kill: Kill, victim: str, code: int
) -> None:
    kill(f"{victim}!")
    began = time.monotonic()
    assert mortal.stop() == code
    assert time.monotonic() - began < STOP_SECONDS
    # Who waits for a stuck writer is stuck with it.
    assert victim in {line["actor"] for line in lines(mortal, "an actor is stuck")}
    last = mortal.log_lines()[-1]
    assert (last["message"], last["exit_code"]) == ("stopped", code)
