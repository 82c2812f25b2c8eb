"""Probes that hang: 200 of them, and the lease, the passes, the checks and the other items go on."""

import sqlite3
import threading
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from tests.conftest import MakeService
from tests.probes.peers import peer
from tests.process.acts import new_item
from tests.process.probing import check, condition, configure, tune
from tests.service import Json, Service

HANGING = 200
SECONDS = 60
TIMEOUT = 5
PUNCTUAL = 20
"""Items that become due one by one meanwhile."""
BOUND = 2.0
"""Seconds beyond what is promised after which it is broken, on a machine that others use as well."""


@pytest.mark.slow
def test_hanging_probes_hold_up_nobody(make_service: MakeService) -> None:
    service = make_service()
    service.start()
    with peer(lambda conversation: conversation.keep()) as silent:
        configure(
            service,
            "http_health",
            aliases={
                # The name keeps one target from being the same as another.
                f"silent-{number}": {
                    "url": f"https://127.0.0.1:{silent.port}/{number}",
                    "expected_statuses": [200],
                    "max_response_bytes": 1_000,
                    "allow_redirects": False,
                    "allow_private": True,
                }
                for number in range(HANGING)
            },
        )
        service.stop()
        tune(
            service,
            scheduler__poll_interval_seconds=1,
            scheduler__lease_seconds=10,
            adapters__timeout_seconds=TIMEOUT,
        )
        service.start()
        with service.connection() as connection:
            for number in range(HANGING):
                adding = condition("http_health", {"target": f"silent-{number}"})
                assert connection.call("remindi_add", adding)["ok"]
            began = datetime.now(UTC)
            for number in range(PUNCTUAL):
                at = began + timedelta(seconds=2 + number * (SECONDS - 10) / PUNCTUAL)
                trigger = {"type": "at_time", "at": at.isoformat()}
                adding = new_item("others", trigger=trigger, overdue_after_seconds=3_600)
                assert connection.call("remindi_add", adding)["ok"]
        first = lease(service)
        took = checks_until(service, time.monotonic() + SECONDS)
        last = lease(service)
        lags = lags_of_others(service)
        service.stop()
        connections, _ = silent.seen()
    assert max(took) < TIMEOUT + BOUND, "a check waits for its own probes only"
    assert (first["holder"], first["acquired_at"]) == (last["holder"], last["acquired_at"])
    assert last["version"] > first["version"]
    assert len(lags) == PUNCTUAL
    assert max(lags) < 1 + BOUND, "the passes went on"
    # Eight at a time for five seconds each, and nobody else: more would be over the limit.
    assert 0 < connections <= 8 * (SECONDS / TIMEOUT + 2)
    assert not [line for line in service.log_lines() if line["level"] in ("error", "critical")]


def checks_until(service: Service, deadline: float) -> list[float]:
    """Check from two sides until then; how long each check took, in seconds."""
    took: list[float] = []

    def work() -> None:
        with service.connection() as connection:
            while time.monotonic() < deadline:
                asked = time.monotonic()
                assert connection.call("remindi_check", check())["ok"]
                took.append(time.monotonic() - asked)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def lease(service: Service) -> Json:
    """The scheduler's lease as it stands in the file."""
    with closing(sqlite3.connect(service.database)) as connection:
        connection.row_factory = sqlite3.Row
        return dict(connection.execute("SELECT * FROM lease").fetchone())


def lags_of_others(service: Service) -> list[float]:
    """How many seconds after their time the scheduler made the other items due."""
    with closing(sqlite3.connect(service.database)) as connection:
        rows = connection.execute(
            "SELECT event.occurred_at - item.next_fire_at FROM event JOIN item ON item.key = event.item"
            " WHERE event.type = 1 AND item.trigger_type = 0"
        ).fetchall()
    return [milliseconds / 1_000 for (milliseconds,) in rows]
