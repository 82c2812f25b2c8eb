"""System calls that fail or kill at the n-th time: answers stay honest, files stay whole."""

import random
from functools import partial
from typing import Final

import pytest

from tests.conftest import MakeService
from tests.faults.disks import injected
from tests.faults.writers import Crew, assert_file_is_sound
from tests.process.acts import (
    LONG_AHEAD,
    all_items,
    assert_history_explains,
    fresh,
    history,
    new_item,
    together,
)
from tests.service import Json, Service, eventually

pytestmark = pytest.mark.faults

FAILURES: Final = (
    ("fdatasync", "error=EIO", "5"),
    ("fdatasync", "error=EIO", "9..12"),
    ("fdatasync", "error=ENOSPC", "6"),
    ("fsync,fdatasync", "error=EIO", "4..30+2"),
    ("pwrite64", "error=EIO", "20"),
    ("pwrite64", "error=EIO", "30..60"),
    ("pwrite64", "error=ENOSPC", "25"),
    ("pwrite64", "error=ENOSPC", "30..60+3"),
    ("pread64", "error=EIO", "30"),
    ("pread64", "error=EIO", "40..60"),
)
"""Calls, what becomes of them, and which of each thread's calls are meant; the writer is one thread."""


@pytest.fixture
def prepared(make_service: MakeService) -> Service:
    """A service that has run once, so that no fault below hits the making of its files."""
    service = make_service()
    with service, service.connection() as connection:
        for _ in range(20):
            assert connection.call("remindi_add", new_item("before"))["ok"]
    return service


def keep_adding(service: Service, project: str, times: int) -> list[tuple[Json, Json]]:
    """Add and read; return what was sent with what was answered, refusals included."""
    told = []
    with service.connection() as connection:
        for _ in range(times):
            arguments = new_item(project, trigger={"type": "at_time", "at": LONG_AHEAD})
            answer = connection.call("remindi_add", arguments)
            if not answer["ok"]:
                assert answer["error"]["code"] in ("INTERNAL_ERROR", "DATABASE_BUSY"), answer
            told.append((arguments, answer))
            listed = connection.call("remindi_list", {"project_id": project})
            assert listed["ok"] or listed["error"]["code"] in ("INTERNAL_ERROR", "DATABASE_BUSY"), listed
    return told


@pytest.mark.parametrize(("calls", "fault", "when"), FAILURES)
def test_a_failing_call_is_told_as_a_refusal_and_no_answer_was_a_lie(
    prepared: Service, calls: str, fault: str, when: str
) -> None:
    prepared.prefix = injected(calls, fault, when)
    project = fresh("failing")
    prepared.start()
    try:
        told = [pair for part in together([partial(keep_adding, prepared, project, 30)] * 4) for pair in part]
        eventually(lambda: prepared.call("remindi_add", new_item("healed"))["ok"], within=30)
        assert prepared.get("/health/ready").status == 200
    finally:
        prepared.kill()
    assert any(not answer["ok"] for _, answer in told) or "error" in str(prepared.log_lines())
    prepared.prefix = ()
    with prepared, prepared.connection() as connection:
        stored = {item["id"]: item for item in all_items(connection, project)}
        for item in stored.values():
            assert_history_explains(item, history(connection, item["id"]))
        for arguments, answer in told:
            again = connection.call("remindi_add", arguments)
            assert again["ok"]
            if answer["ok"]:
                assert again["data"] == answer["data"]
                assert answer["data"]["remindi"]["id"] in stored
        assert len(all_items(connection, project)) == len(told)
        assert len(all_items(connection, "before")) == 20
    assert_file_is_sound(prepared.database)
    assert "Traceback" not in prepared.output()


@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "ftruncate", "flock", "mkdir,chmod"])
@pytest.mark.parametrize("error", ["EIO", "EROFS"])
def test_a_call_that_fails_during_the_start_is_told_in_one_line(
    prepared: Service, call: str, error: str
) -> None:
    prepared.prefix = injected(call, f"error={error}", "1+")
    prepared.launch()
    eventually(lambda: prepared.ready() or not prepared.alive(), within=60)
    if prepared.alive():
        assert prepared.call("remindi_list", {"project_id": "before"})["ok"]
        prepared.kill()
        assert prepared.stderr() == ""
    else:
        assert prepared.wait() in (65, 73)
        (line,) = prepared.stderr().splitlines()
        assert line.startswith(f"remindi: {prepared.data}")
    assert "Traceback" not in prepared.output()
    prepared.prefix = ()
    with prepared, prepared.connection() as connection:
        assert len(all_items(connection, "before")) == 20


@pytest.mark.parametrize("when", [13, 17, 22, 31, 47, 80])
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync"])
def test_a_kill_at_the_nth_write_loses_nothing(prepared: Service, call: str, when: int) -> None:
    prepared.prefix = injected(call, "signal=KILL", str(when))
    prepared.launch()
    crew = Crew(prepared, fresh("killed"), 4, random.Random(when))
    eventually(lambda: prepared.ready() or not prepared.alive(), within=60)
    if prepared.alive():
        crew.start()
        try:
            eventually(lambda: not prepared.alive(), within=60)
        finally:
            crew.join()
    assert prepared.wait() == -9
    prepared.prefix = ()
    with prepared, prepared.connection() as connection:
        crew.verify(connection)
        assert len(all_items(connection, "before")) == 20
    assert_file_is_sound(prepared.database)


@pytest.mark.parametrize("when", [1, 3, 8, 20])
@pytest.mark.parametrize("call", ["pwrite64", "fdatasync", "ftruncate", "openat"])
def test_a_kill_while_the_database_is_made_leaves_one_that_starts(
    make_service: MakeService, call: str, when: int
) -> None:
    service = make_service(prefix=injected(call, "signal=KILL", str(when)))
    service.launch()
    eventually(lambda: service.ready() or not service.alive(), within=60)
    if service.alive():
        service.kill()
    else:
        service.wait()
    service.prefix = ()
    with service:
        assert service.call("remindi_add", new_item("afterwards"))["ok"]
    assert_file_is_sound(service.database)


def test_slow_syncs_are_answered_late_and_truthfully(prepared: Service) -> None:
    prepared.prefix = injected("fdatasync", "delay_enter=50000", "1+")
    crew = Crew(prepared, fresh("slow"), 16, random.Random(3))
    with prepared, prepared.connection() as connection:
        crew.start()
        crew.wait_for(100)
        crew.join()
        crew.verify(connection)
    assert_file_is_sound(prepared.database)
