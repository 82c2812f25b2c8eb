"""SIGKILL at random moments under concurrent writers: nothing acknowledged is lost, nothing is half."""

import random
from functools import partial
from pathlib import Path

import pytest

from tests.faults.writers import Crew, assert_file_is_sound
from tests.process.acts import LONG_AGO, fresh, new_item, together
from tests.service import Connection, Service, eventually

WRITERS = 16


def is_due(connection: Connection, remindi_id: str) -> bool:
    (item,) = connection.call("remindi_list", {"remindi_id": remindi_id})["data"]["items"]
    return item["state"] in ("due", "overdue")


def has_logged(service: Service, lines: int) -> bool:
    return len(service.log_lines()) >= lines


def kill_again_and_again(root: Path, rounds: int, seed: int) -> int:
    """Kill and restart one service so many times; return how many acts were acknowledged in between."""
    chance = random.Random(seed)
    service = Service(root)
    acknowledged = 0
    last: Crew | None = None
    service.start()
    try:
        for _ in range(rounds):
            overdue = service.call(
                "remindi_add", new_item("reached", trigger={"type": "at_time", "at": LONG_AGO})
            )["data"]["remindi"]
            crew = Crew(service, fresh("round"), WRITERS, chance)
            crew.start()
            crew.wait_for(chance.randint(1, 50))
            service.kill()
            crew.join()
            acknowledged += sum(act.data is not None for writer in crew.writers for act in writer.acts)
            service.start()
            with service.connection() as connection:
                # Only a scheduler that took the lease of the dead process at once has seen it by now.
                eventually(partial(is_due, connection, overdue["id"]))
                crew.verify(connection)
                if last is not None:
                    last.verify(connection)
            last = crew
        assert service.stop() == 0
    finally:
        if service.alive():
            service.kill()
    assert not service.database.with_name("remindi.db-wal").exists()
    assert_file_is_sound(service.database)
    assert [line for line in service.log_lines() if line["level"] == "error"] == []
    assert service.stderr() == ""
    return acknowledged


def test_a_few_kills_lose_nothing(tmp_path: Path) -> None:
    assert kill_again_and_again(tmp_path / "service", 3, seed=1) > 0


@pytest.mark.faults
@pytest.mark.timeout(900)
def test_two_hundred_kills_lose_nothing(tmp_path: Path) -> None:
    # Where a kill hits depends on the machine anyway: a seed would reproduce nothing.
    lanes = [
        partial(kill_again_and_again, tmp_path / f"lane-{lane}", 100, random.getrandbits(32))
        for lane in range(2)
    ]
    assert sum(together(lanes)) > 1_000


@pytest.mark.faults
def test_kills_during_the_start_leave_a_database_that_starts(tmp_path: Path) -> None:
    service = Service(tmp_path / "service")
    chance = random.Random(2)
    for _ in range(20):
        service.launch()
        lines = chance.randint(0, 3)
        before = len(service.log_lines())
        eventually(partial(has_logged, service, before + lines), within=30)
        service.kill()
    with service:
        assert service.call("remindi_add", new_item("afterwards"))["ok"]
    assert_file_is_sound(service.database)
