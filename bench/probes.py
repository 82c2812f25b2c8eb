"""Figures of conditions: how fast the pool looks, and what a check pays that finds none to look at."""

import itertools
import json
import socket
import sqlite3
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from actors.store import WriteStore
from actors.system import SystemClock, system_random
from bench import load, seed
from remindi.triggers import Condition
from tests.service import HOST, OWNER, TOKEN, Service

ITEMS: Final = 2_000
_ALIAS: Final = {"tcp_reachable": "target", "file_exists": "path_alias"}
Row = tuple[str, str, str]


def conditions(
    database: Path, adapter: str, configuration: dict[str, object], settings: dict[str, int], *, due: bool
) -> None:
    """Write condition items of one project and enable their adapter; the service must not run."""
    database.parent.mkdir(parents=True, exist_ok=True)
    database.parent.chmod(0o700)
    writer = WriteStore(database, OWNER, SystemClock(), system_random())
    writer.close()
    with sqlite3.connect(database) as connection:
        connection.execute(
            "UPDATE adapter SET enabled = 1, configuration = ? WHERE name = ?",
            (json.dumps(configuration), adapter),
        )
        for key, value in settings.items():
            connection.execute("UPDATE setting SET value = ? WHERE key = ?", (value, key))
    connection.close()
    trigger = Condition(adapter, json.dumps({_ALIAS[adapter]: "peer"}), 86_400, None)
    now = SystemClock().now()
    seed.store(
        database,
        OWNER,
        (seed.new_item(number, "conditions", now, 0, trigger) for number in range(ITEMS)),
        evaluate=False,
    )
    if not due:
        with sqlite3.connect(database) as connection:
            connection.execute("UPDATE item SET next_evaluation_at = next_evaluation_at + 86400000")
        connection.close()


def rate(database: Path) -> float:
    """Probes a second from the first to the last result stored, as the events of the first pass tell."""
    deadline = time.monotonic() + 120
    query = "SELECT count(*), max(occurred_at) - min(occurred_at) FROM event WHERE type = 3"
    while time.monotonic() < deadline:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            count, milliseconds = connection.execute(query).fetchone()
        connection.close()
        if count == ITEMS:
            return float(count) / (milliseconds / 1_000)
        time.sleep(0.05)
    raise TimeoutError("the conditions were not probed")


class Listener:
    """Accepts connections on the loopback address and closes them."""

    def __init__(self) -> None:
        self._socket = socket.create_server((HOST, 0), backlog=1_024)
        self.port = self._socket.getsockname()[1]
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self) -> None:
        while True:
            try:
                self._socket.accept()[0].close()
            except OSError:
                return

    def close(self) -> None:
        self._socket.close()


def check_latency(service: Service, *, evaluate: bool) -> float:
    """Median milliseconds of checks on one connection."""
    arguments = {
        "project_id": "conditions",
        "lifecycle_event": "checkpoint",
        "evaluate_conditions": evaluate,
    }
    request = load.tool_request(service.port, TOKEN, "remindi_check", arguments, "legacy")
    return load.run(service.port, itertools.repeat(request, 1_000), 1).p50


def added_latency(service: Service, rounds: int) -> tuple[float, float, float]:
    """Medians with and without looking for conditions, and of their differences; rounds alternate."""
    pairs = [
        (check_latency(service, evaluate=True), check_latency(service, evaluate=False)) for _ in range(rounds)
    ]
    return (
        statistics.median(one for one, _ in pairs),
        statistics.median(other for _, other in pairs),
        statistics.median(one - other for one, other in pairs),
    )


def probes(folder: Path, service: Callable[[Path], Service], rounds: int) -> Iterator[Row]:
    """Probes a second at two concurrencies, and what a check pays that finds nothing to probe."""
    marker = folder / "marker"
    files = {"type": "file_exists", "roots": [str(folder)], "aliases": {"peer": str(marker)}}
    with closing(Listener()) as listener:
        alias = {"host": HOST, "port": listener.port, "allow_private": True}
        ports = {"type": "tcp_reachable", "aliases": {"peer": alias}}
        for (adapter, configuration), concurrency in itertools.product(
            (("file_exists", files), ("tcp_reachable", ports)), (8, 64)
        ):
            rates = []
            for number in range(rounds):
                root = folder / f"{adapter}-{concurrency}-{number}"
                database = root / "data" / "remindi.db"
                settings = {"adapters.max_concurrency": concurrency}
                conditions(database, adapter, configuration, settings, due=True)
                with service(root):
                    rates.append(rate(database))
            yield (
                f"`{adapter}` probes of one pass stored, {ITEMS:,} items, {concurrency} at a time",
                "",
                f"{max(rates):,.0f}/s (median {statistics.median(rates):,.0f}/s)",
            )
    conditions(folder / "waiting" / "data" / "remindi.db", "file_exists", files, {}, due=False)
    with service(folder / "waiting") as running:
        with_, without, added = added_latency(running, 3 * rounds)
    yield (
        f"`remindi_check` with {ITEMS:,} conditions, none of them due, against `evaluate_conditions: false`",
        "<= 0.3 ms more",
        f"{added:+.2f} ms (p50 {with_:.2f} against {without:.2f} ms)",
    )
