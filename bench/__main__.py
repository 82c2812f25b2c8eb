"""`make bench`: every figure of README.md, from the real process, in one run of a few minutes."""

import argparse
import itertools
import json
import os
import platform
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from actors.store import ReadStore, WriteStore
from actors.system import SystemClock, system_random
from bench import api as administration_api
from bench import backups as whole_databases
from bench import load, seed
from bench import probes as conditions
from remindi.items import ACTIVE_STATES
from remindi.requests import ListQuery, Sort
from tests.service import OWNER, TOKEN, Era, Service

ROUNDS: Final = 3
ERAS: Final[tuple[Era, ...]] = ("legacy", "modern")
HERE: Final = Path(__file__).parent
README: Final = HERE / "README.md"
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
Row = tuple[str, str, str]


def main() -> None:
    """Measure, print the table, and with --record put it into README.md."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--record", action="store_true", help="write the figures into bench/README.md")
    parser.add_argument("--only", default="", help="only the scenarios whose name contains this")
    options = parser.parse_args()
    load.pin(1)
    rows: list[Row] = []
    for scenario in (start, checks, lists, adds, slow_disk, scheduler, probes, administration, api, backups):
        if options.only in scenario.__name__:
            with tempfile.TemporaryDirectory(prefix="remindi-bench-") as folder:
                for row in scenario(Path(folder)):
                    rows.append(row)
                    print(" | ".join(row), flush=True)
    table = "\n".join(
        ["| what | target | measured |", "|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    )
    if options.record:
        head, _, rest = README.read_text().partition(BEGIN)
        _, _, tail = rest.partition(END)
        README.write_text(f"{head}{BEGIN}\n{_machine()}\n\n{table}\n\n{END}{tail}")


def start(folder: Path) -> Iterator[Row]:
    """Time to ready, idle CPU, memory after load."""
    seed.store(folder / "data" / "remindi.db", OWNER, _made(folder, seed.ten_projects), evaluate=True)
    took = []
    for _ in range(ROUNDS):
        service = _service(folder)
        began = time.perf_counter()
        with service:
            took.append(time.perf_counter() - began)
    yield "start to `/health/ready`, 10,000 items", "<= 1.5 s", f"{statistics.median(took):.2f} s"
    with _service(folder) as service:
        for era in ERAS:
            _check_rate(service, "ready-50", era, connections=8, count=2_000)
        yield "resident after 4,000 checks of 50", "<= 110 MB", f"{_resident_mb(service.pid):.0f} MB"
        before, began = _cpu_seconds(service.pid), time.perf_counter()
        subprocess.run(["sleep", "20"], check=True)
        idle = (_cpu_seconds(service.pid) - before) / (time.perf_counter() - began)
        yield "CPU while idle, 20 s", "<= 1 %", f"{100 * idle:.2f} %"


def checks(folder: Path) -> Iterator[Row]:
    """Checks that change nothing."""
    seed.store(folder / "data" / "remindi.db", OWNER, _made(folder, seed.ten_projects), evaluate=True)
    with _service(folder) as service:
        for era, (project, target) in itertools.product(
            ERAS, (("ready-0", 2_500), ("ready-10", 1_500), ("ready-50", 600))
        ):
            best = _best(lambda era=era, project=project: _check_rate(service, project, era, 8, 4_000))
            yield (
                f"`remindi_check`, {project[6:]} returned, 8 connections, {era}",
                f">= {target:,}/s",
                f"{best.per_second:,.0f}/s (p50 {best.p50:.2f} ms, p95 {best.p95:.2f} ms)",
            )
        for era in ERAS:
            best = _best(lambda era=era: _check_rate(service, "ready-10", era, 1, 3_000))
            yield (
                f"`remindi_check`, 10 returned, 1 connection, {era}",
                "p50 <= 1.0 ms, p95 <= 2 ms",
                f"p50 {best.p50:.2f} ms, p95 {best.p95:.2f} ms",
            )


def lists(folder: Path) -> Iterator[Row]:
    """Lists of 100 whole items."""
    seed.store(folder / "data" / "remindi.db", OWNER, _made(folder, seed.ten_projects), evaluate=True)
    with _service(folder) as service:
        for era in ERAS:
            request = _tool(service, "remindi_list", {"project_id": "project-3", "limit": 100}, era)
            best = _best(lambda request=request: load.run(service.port, itertools.repeat(request, 1_000), 8))
            yield (
                f"`remindi_list` of 100, 8 connections, {era}",
                ">= 250/s",
                f"{best.per_second:,.0f}/s (p50 {best.p50:.2f} ms, p95 {best.p95:.2f} ms)",
            )


def adds(folder: Path) -> Iterator[Row]:
    """Durable adds on the disk as it is."""
    with _service(folder, pinned=False) as service:
        numbers = itertools.count()
        best = _best(lambda: load.run(service.port, _adds(service, numbers, 4_000), 32))
        yield (
            "durable `remindi_add`, 32 connections",
            ">= 1,500/s",
            f"{best.per_second:,.0f}/s (p50 {best.p50:.2f} ms, p95 {best.p95:.2f} ms)",
        )


def slow_disk(folder: Path) -> Iterator[Row]:
    """Durable adds where fsync costs 2 ms more, against one transaction with its own fsync for each."""
    compiler = shutil.which("cc")
    if compiler is None:
        yield "durable `remindi_add`, fsync + 2 ms", ">= 5 x", "not measured: no C compiler here"
        return
    library = folder / "slow_disk.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, HERE / "slow_disk.c", "-ldl"], check=True)
    slow = {"LD_PRELOAD": str(library), "REMINDI_BENCH_FSYNC_US": "2000"}
    alone = _single_transactions(folder / "alone", slow)
    with _service(folder / "service", pinned=False, env=slow) as service:
        numbers = itertools.count()
        best = _best(lambda: load.run(service.port, _adds(service, numbers, 4_000), 32))
    yield "adds one by one through the store, own fsync each, fsync + 2 ms", "", f"{alone:,.0f}/s"
    yield (
        "durable `remindi_add`, 32 connections, fsync + 2 ms",
        ">= 5 x one by one",
        f"{best.per_second:,.0f}/s = {best.per_second / alone:.1f} x",
    )


def scheduler(folder: Path) -> Iterator[Row]:
    """20,000 reached items found by the first pass."""
    rates = []
    for number in range(ROUNDS):
        root = folder / str(number)
        database = root / "data" / "remindi.db"
        seed.store(database, OWNER, _made(root, lambda now: seed.reached(20_000, now)), evaluate=False)
        with _service(root):
            rates.append(_pass_rate(database))
    yield (
        "scheduler turns 20,000 reached items due",
        ">= 20,000/s",
        f"{max(rates):,.0f}/s (median {statistics.median(rates):,.0f}/s)",
    )


def probes(folder: Path) -> Iterator[Row]:
    """Conditions: probes a second, and what a check pays that finds none due."""
    yield from conditions.probes(folder, _service, ROUNDS)


def administration(folder: Path) -> Iterator[Row]:
    """What people ask of all items at once, as the reader answers it."""
    database = folder / "data" / "remindi.db"
    seed.store(database, OWNER, _made(folder, lambda now: seed.common_words(100_000, now)), evaluate=False)
    seed.cancel(database, OWNER, 0.9)
    reader = ReadStore(database, OWNER)
    yield "overview, 100,000 items", "p95 <= 15 ms", _times(lambda: reader.overview(SystemClock().now()))
    whole = ListQuery(None, None, None, (), (), None, None, 100, None)
    words = {"deployment": "half of them", "deplo": "half by its beginning", "batment": "few"}
    for (text, found), sort in itertools.product(words.items(), Sort):
        query = whole._replace(text=text, sort=sort)
        yield (
            f"search in 100,000 items for what {found} hold, by {sort.name.lower()}",
            "p95 <= 25 ms",
            _times(lambda query=query: reader.list_page(query)),
        )
    filters = {
        "100,000 items": whole,
        "the active ones of 100,000": whole._replace(states=ACTIVE_STATES),
        "a project of 10,000": whole._replace(project_id="project-3"),
    }
    for (name, listed), sort in itertools.product(filters.items(), Sort):
        query = listed._replace(sort=sort)
        yield (
            f"list of 100 of {name}, by {sort.name.lower()}",
            "",
            _times(lambda query=query: reader.list_page(query)),
        )
    reader.close()


def api(folder: Path) -> Iterator[Row]:
    """The administration API: reads of items, live events."""
    root = folder / "rest"
    seed.store(root / "data" / "remindi.db", OWNER, _made(root, seed.ten_projects), evaluate=True)
    with _service(root) as service:
        yield from administration_api.rest(service, _best)
    with _service(folder / "events", pinned=False) as service:
        numbers = itertools.count()
        yield from administration_api.events(
            service,
            lambda _: _best(lambda: load.run(service.port, _adds(service, numbers, 3_000), 32)),
            lambda: load.run(service.port, _adds(service, numbers, 1), 1),
        )


def backups(folder: Path) -> Iterator[Row]:
    """A large database: backed up beside writers, and restored."""
    root = folder / "large"
    made = _made(root, lambda now: seed.large(whole_databases.MEGABYTES, now))
    seed.store(root / "data" / "remindi.db", OWNER, made, evaluate=False)
    with _service(root, pinned=False) as service:
        numbers = itertools.count()
        yield from whole_databases.backups(
            service, lambda count: load.run(service.port, _adds(service, numbers, count), 8)
        )


def _times(ask: Callable[[], object], count: int = 200) -> str:
    took = []
    for _ in range(count):
        began = time.perf_counter()
        ask()
        took.append(1_000 * (time.perf_counter() - began))
    took.sort()
    return f"p50 {statistics.median(took):.2f} ms, p95 {took[int(count * 0.95)]:.2f} ms"


def _pass_rate(database: Path) -> float:
    """Items a second from the first to the last `became_due`, as the events tell."""
    deadline = time.monotonic() + 60
    query = "SELECT count(*), max(occurred_at) - min(occurred_at) FROM event WHERE type = 1"
    while time.monotonic() < deadline:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as connection:
            count, milliseconds = connection.execute(query).fetchone()
        if count == 20_000:
            return float(count) / (milliseconds / 1_000)
    raise TimeoutError("the scheduler did not finish")


def _single_transactions(folder: Path, env: dict[str, str]) -> float:
    """Adds a second when each is a transaction of its own, in a process with the slow disk."""
    folder.mkdir()
    code = "import sys; from bench.__main__ import single; single(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, folder / "remindi.db"],
        env={**os.environ, **env},
        check=True,
        capture_output=True,
        text=True,
        cwd=HERE.parent,
    )
    return float(json.loads(done.stdout))


def single(database: str) -> None:
    """Print how many adds a second the store makes durable one by one."""
    writer = WriteStore(Path(database), OWNER, SystemClock(), system_random())
    now = SystemClock().now()
    count = 1_000
    began = time.perf_counter()
    for number in range(count):
        writer.begin()
        writer.mutations.add(writer.moment(seed.CALLER), seed.new_item(number, "p", now + seed.DAY_MS, 0))
        writer.commit()
    print(json.dumps(count / (time.perf_counter() - began)))
    writer.close()


def _check_rate(service: Service, project: str, era: Era, connections: int, count: int) -> load.Rate:
    arguments = {
        "project_id": project,
        "session_id": "session-2",
        "task_lineage_id": "lineage-1",
        "lifecycle_event": "checkpoint",
        "active_goal_ids": ["goal-1"],
    }
    request = _tool(service, "remindi_check", arguments, era)
    return load.run(service.port, itertools.repeat(request, count), connections)


def _adds(service: Service, numbers: Iterator[int], count: int) -> Iterator[bytes]:
    for number in itertools.islice(numbers, count):
        arguments = {
            "project_id": f"project-{number % 10}",
            "message": f"Verify deployment {number} after its observation window.",
            "instructions": seed.INSTRUCTIONS,
            "trigger": {"type": "at_time", "at": "2100-01-01T00:00:00Z"},
            "links": [{"type": "issue", "value": f"issue-{number}"}],
            "idempotency_key": f"bench-{number:08d}",
        }
        yield _tool(service, "remindi_add", arguments, ERAS[number % 2])


def _tool(service: Service, tool: str, arguments: dict[str, Any], era: Era) -> bytes:
    return load.tool_request(service.port, TOKEN, tool, arguments, era)


def _service(folder: Path, *, pinned: bool = True, env: dict[str, str] | None = None) -> Service:
    """The service, on core 0 alone when pinned; the load comes from core 1."""
    cores = "0" if pinned else f"0-{(os.cpu_count() or 1) - 1}"
    return Service(folder, env=dict(env or {}), prefix=("taskset", "-c", cores))


def _made(folder: Path, items: Callable[[int], Any]) -> Any:
    (folder / "data").mkdir(parents=True, exist_ok=True)
    (folder / "data").chmod(0o700)
    return items(SystemClock().now())


def _best(measure: Callable[[], load.Rate]) -> load.Rate:
    """The best of a few rounds: the machine is shared, and the others' noise is not ours."""
    return max((measure() for _ in range(ROUNDS)), key=lambda rate: rate.per_second)


def _resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _machine() -> str:
    models = [
        line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("model name")
    ]
    name = models[0].partition(":")[2].strip() if models else platform.machine()
    python = platform.python_version()
    return f"Measured on {len(models)} cores of {name}, CPython {python}, best of {ROUNDS} rounds."


if __name__ == "__main__":
    main()
