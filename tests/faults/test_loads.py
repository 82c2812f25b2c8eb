"""Stops, deaths and stuck peers while the service is busy: nothing acknowledged is lost."""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.conftest import MakeService
from tests.faults.writers import Crew, assert_file_is_sound
from tests.process.acts import Footprint, all_items, fresh, head, new_item, tool_request
from tests.service import Service, eventually, read_answer

pytestmark = pytest.mark.faults

ROOT = Path(__file__).parents[2]
KILLABLE = ROOT / "tests" / "fakes" / "killable.py"
STOP_SECONDS = 10.0
"""Contract 17.1; the one bound in seconds that is part of the promise."""


@contextmanager
def half_sent(service: Service, count: int) -> Iterator[None]:
    """So many connections whose requests never end: in the head, in a declared body, in chunks."""
    body, headers = tool_request("remindi_add", json.dumps(new_item("half")).encode(), "legacy")
    own = [*head(service, without=["Content-Type", "Accept"]), *headers]
    text = "".join(f"{name}: {value}\r\n" for name, value in own)
    starts = (
        b"",
        b"POST /mcp HT",
        f"POST /mcp HTTP/1.1\r\n{text}".encode(),
        f"POST /mcp HTTP/1.1\r\n{text}Content-Length: {len(body)}\r\n\r\n".encode() + body[:20],
        f"POST /mcp HTTP/1.1\r\n{text}Transfer-Encoding: chunked\r\n\r\n1\r\n{{\r\n".encode(),
    )
    with ExitStack() as wires:
        for number in range(count):
            wire = wires.enter_context(service.dial())
            wire.sendall(starts[number % len(starts)])
        yield


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_under_load_with_half_sent_bodies_is_clean_and_in_time(
    make_service: MakeService, number: signal.Signals
) -> None:
    service = make_service().start()
    crew = Crew(service, fresh("stop"), 16, random.Random(number))
    crew.tolerate()
    with half_sent(service, 30), service.dial() as idle:
        assert service.get("/health/live").status == 200
        crew.start()
        crew.wait_for(200)
        began = time.monotonic()
        assert service.stop(number) == 0
        assert time.monotonic() - began < STOP_SECONDS
        assert idle.recv(1) == b""
    crew.join()
    last = service.log_lines()[-1]
    assert (last["message"], last["exit_code"], last["why"]) == ("stopped", 0, number.name)
    assert service.stderr() == ""
    assert sorted(file.name for file in service.data.iterdir()) == ["remindi.db", "remindi.lock"]
    assert_file_is_sound(service.database)
    with service, service.connection() as connection:
        crew.verify(connection)
        assert all_items(connection, "half") == []


def test_slow_heads_and_bodies_are_ended_and_leave_nothing(make_service: MakeService) -> None:
    with make_service() as service:
        service.call("remindi_add", new_item("warm"))
        before = Footprint.of(service.pid)
        body, headers = tool_request("remindi_add", json.dumps(new_item("slow")).encode(), "legacy")
        own = [*head(service, without=["Content-Type", "Accept"]), *headers]
        text = "".join(f"{name}: {value}\r\n" for name, value in own)
        request = f"POST /mcp HTTP/1.1\r\n{text}Content-Length: {len(body)}\r\n\r\n".encode() + body[:-1]
        with service.dial() as stalled, service.dial() as silent, service.dial() as dripping:
            stalled.sendall(request)
            dripping.sendall(request[: -len(body)])
            answered = False
            for byte in body[:-1]:
                # One byte at a time holds no connection longer than a whole body may take.
                dripping.settimeout(0.5)
                try:
                    dripping.sendall(bytes([byte]))
                    answered = dripping.recv(1, 0x02) != b"\x00"
                    break
                except TimeoutError:
                    continue
                except OSError:
                    answered = True
                    break
            assert answered
            assert read_answer(stalled).status == 408
            assert silent.recv(1) == b""
            assert service.get("/health/ready").status == 200
        eventually(lambda: Footprint.of(service.pid).within(before))
        with service.connection() as connection:
            assert all_items(connection, "slow") == []


def behind_a_pipe(opened: str) -> tuple[str, ...]:
    """A prefix that puts the writing end ``w`` of a pipe in the place of standard output."""
    return (
        sys.executable,
        "-c",
        f"import os, sys; {opened}; os.dup2(w, 1); os.execv(sys.argv[1], sys.argv[1:])",
    )


def test_nobody_reads_the_log_and_the_service_serves_and_stops(make_service: MakeService) -> None:
    service = make_service(prefix=behind_a_pipe("r, w = os.pipe(); os.set_inheritable(r, True)"))
    with service, service.connection() as connection:
        for _ in range(3_000):
            assert connection.call("remindi_list", {"project_id": "nobody"})["ok"]
        began = time.monotonic()
        assert connection.call("remindi_add", new_item("nobody"))["ok"]
        assert service.stop() == 0
        assert time.monotonic() - began < STOP_SECONDS
        service.start()
    assert not service.database.with_name("remindi.db-wal").exists()


def test_a_log_whose_reader_is_gone_ends_nothing(make_service: MakeService) -> None:
    service = make_service(prefix=behind_a_pipe("r, w = os.pipe()"))
    with service:
        for _ in range(20):
            assert service.call("remindi_add", new_item("gone"))["ok"]


@pytest.mark.parametrize(
    "victim", ["writer", "reader", "scheduler", "lease", "probes", "workloads", "sessions", "writer?"]
)
def test_a_death_under_load_loses_nothing_that_was_acknowledged(
    make_service: MakeService, tmp_path: Path, victim: str
) -> None:
    victims = tmp_path / "victims"
    service = make_service(
        command=(sys.executable, str(KILLABLE), str(victims)), env={"PYTHONPATH": str(ROOT)}
    )
    with service:
        crew = Crew(service, fresh("death"), 16, random.Random(victim))
        crew.tolerate()
        crew.start()
        crew.wait_for(100)
        victims.write_text(victim)
        os.kill(service.pid, signal.SIGUSR1)
        eventually(lambda: "an actor was restarted" in str(service.log_lines()), within=5)
        eventually(service.ready, within=5)
        crew.wait_for(200)
        crew.join()
        with service.connection() as connection:
            crew.verify(connection)
    assert_file_is_sound(service.database)
    assert service.stderr() == ""
