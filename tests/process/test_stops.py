"""The stop of the real process: code 0, in time, whatever is open (P14); what it leaves behind."""

import os
import signal
import socket
import sqlite3
import threading
import time
from contextlib import ExitStack, closing
from http import HTTPStatus
from pathlib import Path

import pytest

from tests.conftest import MakeService
from tests.service import HOST, Json, Service, eventually

ALLOWED_SECONDS = 10.0
"""Contract 17.1."""


def add(service: Service, number: int) -> Json:
    return service.call(
        "remindi_add",
        {
            "project_id": "stops",
            "message": f"item {number}",
            "idempotency_key": f"stops-{number:05}",
            "trigger": {"type": "at_time", "at": "2020-01-01T00:00:00Z"},
        },
    )


def lines(service: Service, message: str) -> list[Json]:
    return [line for line in service.log_lines() if line["message"] == message]


def stop_in_time(service: Service, number: signal.Signals = signal.SIGTERM) -> None:
    began = time.monotonic()
    assert service.stop(number) == 0
    assert time.monotonic() - began < ALLOWED_SECONDS
    last = service.log_lines()[-1]
    assert (last["message"], last["exit_code"]) == ("stopped", 0)
    assert service.stderr() == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_with_code_zero_and_the_last_line_says_why(
    make_service: MakeService, number: signal.Signals
) -> None:
    service = make_service().start()
    assert add(service, 1)["ok"]
    stop_in_time(service, number)
    assert service.log_lines()[-1]["why"] == number.name


def test_the_database_is_left_in_one_file_without_a_lease(make_service: MakeService) -> None:
    service = make_service().start()
    assert add(service, 1)["ok"]
    stop_in_time(service)
    assert {path.name for path in service.data.iterdir()} == {"remindi.db", "remindi.lock"}
    with closing(sqlite3.connect(service.database)) as database:
        assert database.execute("SELECT count(*) FROM lease").fetchone() == (0,)
        assert database.execute("SELECT DISTINCT desired FROM workload").fetchall() == [("running",)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_it_is_still_being_loaded_is_a_stop_too(
    make_service: MakeService, number: signal.Signals
) -> None:
    service = make_service()
    service.launch()
    loaded = Path(f"/proc/{service.pid}/maps")
    eventually(lambda: "pydantic_core" in loaded.read_text())
    assert service.stop(number) == 0
    assert service.stderr() == ""


def test_open_connections_do_not_hold_it_up(make_service: MakeService) -> None:
    service = make_service().start()
    with ExitStack() as open_ones:
        for request in (
            b"",
            b"POST /mcp HT",
            b"GET /health/live HTTP/1.1\r\nHost: h\r\n\r\n",
            b"POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n{",
        ):
            for _ in range(5):
                wire = open_ones.enter_context(socket.create_connection((HOST, service.port), timeout=5))
                wire.sendall(request)
        assert service.ready()
        stop_in_time(service)


def test_running_requests_finish_and_later_ones_are_refused(make_service: MakeService) -> None:
    service = make_service().start()
    stopping = threading.Event()
    answers: list[Json] = []
    broken: list[Exception] = []

    def write(worker: int) -> None:
        with service.connection() as connection:
            number = 0
            while True:
                number += 1
                try:
                    answer = connection.call(
                        "remindi_add",
                        {
                            "project_id": "stops",
                            "message": f"{worker}-{number}",
                            "idempotency_key": f"stops-{worker}-{number:05}",
                            "trigger": {"type": "next_session"},
                        },
                    )
                except Exception as error:
                    assert stopping.is_set()
                    broken.append(error)
                    return
                answers.append(answer)

    workers = [threading.Thread(target=write, args=(worker,)) for worker in range(4)]
    for worker in workers:
        worker.start()
    eventually(lambda: len(answers) > 50)
    stopping.set()
    stop_in_time(service)
    for worker in workers:
        worker.join(ALLOWED_SECONDS)
    assert len(broken) == len(workers)
    acknowledged = {answer["data"]["remindi"]["id"] for answer in answers if answer["ok"]}
    with closing(sqlite3.connect(service.database)) as database:
        stored = {row[0].hex() for row in database.execute("SELECT id FROM item")}
    assert {identifier.replace("-", "") for identifier in acknowledged} <= stored


def test_a_second_signal_changes_nothing(make_service: MakeService) -> None:
    service = make_service().start()
    with socket.create_connection((HOST, service.port), timeout=5) as wire:
        # A request under way makes the stop last long enough to be disturbed.
        wire.sendall(b"POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n{")
        assert service.ready()
        pid = service.pid
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: lines(service, "stopping"))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
            os.kill(pid, number)
        assert service.wait() == 0
    assert service.log_lines()[-1]["exit_code"] == 0
    assert service.stderr() == ""


def test_it_starts_again_at_once_after_a_kill_and_checks_the_database_beside(
    make_service: MakeService,
) -> None:
    service = make_service().start()
    assert add(service, 1)["ok"]
    service.kill()
    service.start()
    assert len(service.call("remindi_list", {"project_id": "stops"})["data"]["items"]) == 1
    eventually(lambda: lines(service, "the database is sound"))
    stop_in_time(service)
    service.start()
    assert len(lines(service, "checking the database after an unclean stop")) == 1
    stop_in_time(service)


def test_damage_found_after_an_unclean_stop_stops_the_work_and_says_so(make_service: MakeService) -> None:
    service = make_service().start()
    for number in range(300):
        assert add(service, number)["ok"]
    service.stop()
    content = bytearray(service.database.read_bytes())
    with closing(sqlite3.connect(service.database)) as database:
        (page,) = database.execute(
            "SELECT pageno FROM dbstat WHERE name = 'event' AND pagetype = 'leaf' LIMIT 1"
        ).fetchone()
    content[(page - 1) * 4096 : (page - 1) * 4096 + 400] = bytes(400)
    service.database.write_bytes(content)
    service.database.with_name("remindi.db-wal").write_bytes(b"left behind by a crash")
    service.launch()
    # Ready may be seen or not before the file has been read.
    eventually(lambda: health(service) == {"status": "damaged"})
    eventually(lambda: service.raw("POST", "/mcp").status == HTTPStatus.SERVICE_UNAVAILABLE)
    assert service.get("/health/live").status == HTTPStatus.OK
    stop_in_time(service)


def health(service: Service) -> Json | None:
    """What `/health/ready` says; None while nobody listens."""
    try:
        answer: Json = service.get("/health/ready").json()
    except OSError:
        return None
    return answer
