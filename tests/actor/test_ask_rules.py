"""House rules of asking: one way to reach an actor, always with a timeout, never in a circle."""

import ast
import graphlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors.address import Address
from actors.asks import ASKS, DOORS, SUPERVISOR, asker

ROOT = Path(__file__).parents[2]
SOURCES = sorted(
    path
    for folder in ("actors", "web", "remindi")
    for path in (ROOT / folder).rglob("*.py")
    if "__pycache__" not in path.parts
)
ADDRESS = ROOT / "actors" / "address.py"


def calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield node


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_table_has_no_circle() -> None:
    order = list(graphlib.TopologicalSorter(ASKS).static_order())
    assert set(order) == set(ASKS)
    assert ASKS["writer"] == frozenset()
    assert ASKS["reader"] == frozenset()


def test_the_table_of_the_documentation_is_the_same() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    _, _, rest = text.partition("| asks | asked |\n|---|---|\n")
    rows = re.findall(r"\A(?:\|.*\|\n)+", rest)[0].splitlines()
    written = {}
    for row in rows:
        who, asked = (cell.strip() for cell in row.strip("|").split("|"))
        written[who] = frozenset(name for part in asked.split(",") if (name := part.strip()))
    assert written == ASKS


@pytest.mark.parametrize(
    ("thread", "who"),
    [
        ("MainThread", SUPERVISOR),
        ("scheduler", "scheduler"),
        ("scheduler:probing", "scheduler"),
        ("workloads:turning", "workloads"),
        ("http", DOORS),
        ("ThreadPoolExecutor-0_0", DOORS),
    ],
)
def test_a_thread_tells_who_asks(thread: str, who: str) -> None:
    assert asker(thread) == who


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_nobody_but_the_address_asks_or_tells_by_pykka(path: Path) -> None:
    if path == ADDRESS:
        return
    strays = [
        node.func.attr
        for node in calls(path)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("ask", "tell", "proxy", "defer")
    ]
    assert strays == []


@pytest.mark.parametrize("ask", [Address.call, Address.acall])
def test_whoever_asks_must_say_how_long_he_waits(ask: Callable[..., object]) -> None:
    timeout = inspect.signature(ask).parameters["timeout"]
    assert timeout.kind is inspect.Parameter.KEYWORD_ONLY
    assert timeout.default is inspect.Parameter.empty


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_no_future_of_pykka_is_waited_for(path: Path) -> None:
    tree = ast.parse(path.read_text())
    names = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None and node.module.startswith("pykka")
        for alias in node.names
    }
    attributes = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "pykka"
    }
    assert not (names | attributes) & {"Future", "ThreadingFuture", "get_all", "ActorProxy", "traversable"}


@pytest.mark.parametrize("path", SOURCES, ids=named)
def test_nothing_waits_without_an_end(path: Path) -> None:
    """Of threads, queues and futures. Those named here are meant to have no end, or have one around them."""
    endless = {
        "actors/actor.py": {"self.actor_inbox.get()"},  # after `empty()` said that there is one
        "actors/backups/worker.py": {"self._jobs.get()"},  # until there is a job
        "actors/timer.py": {"self._changed.wait()"},  # until there is something to tell
        "remindi/cli/logs.py": {"self._wake.wait()", "self._brought.wait()"},  # until there is a line
        "web/events.py": {"stream.changed.wait()"},  # inside asyncio.timeout
        "web/server.py": {"self._stop_asked.wait()"},  # the same
    }
    found = {
        ast.unparse(node)
        for node in calls(path)
        if isinstance(node.func, ast.Attribute)
        and node.func.attr in ("get", "join", "wait", "acquire", "result")
        and not node.args
        and not node.keywords
    }
    assert found <= endless.get(named(path), set())


@pytest.mark.parametrize("path", [path for path in SOURCES if "actors" in path.parts], ids=named)
def test_no_actor_sleeps(path: Path) -> None:
    assert not [node for node in calls(path) if ast.unparse(node.func) in ("time.sleep", "sleep")]
