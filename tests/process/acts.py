"""What tests do to the process: arguments of the tools, raw requests, looks at what it holds."""

import json
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar

from tests.service import ANSWER_BOUND, HOST, Answer, Connection, Era, Headers, Json, Service, envelope
from web.api.guard import WORKERS

T = TypeVar("T")

ERAS: Final[tuple[Era, ...]] = ("legacy", "modern")
LONG_AGO: Final = "2020-01-01T00:00:00Z"
LONG_AHEAD: Final = "2999-01-01T00:00:00Z"

_numbers: Final = count(1)


def fresh(word: str) -> str:
    """Return a name that no other call of this test run got; fit for keys and projects."""
    return f"{word}.{next(_numbers):08d}"


def new_item(project: str, **changes: Any) -> Json:
    """Arguments of an add; the key is a new one unless given."""
    return {
        "project_id": project,
        "message": "look at it again",
        "trigger": {"type": "at_time", "at": LONG_AHEAD},
        "idempotency_key": fresh("add"),
        **changes,
    }


def completion(remindi_id: str, version: int, **changes: Any) -> Json:
    """Arguments of a complete."""
    return {
        "remindi_id": remindi_id,
        "expected_version": version,
        "evidence": {
            "type": "test_result",
            "summary": "The checks of the release passed.",
            "reference_uri": "https://ci.example.com/runs/1",
            "observed_at": LONG_AGO,
        },
        "idempotency_key": fresh("complete"),
        **changes,
    }


def update(remindi_id: str, version: int, message: str, **changes: Any) -> Json:
    """Arguments of an update of the message."""
    return {
        "remindi_id": remindi_id,
        "expected_version": version,
        "message": message,
        "reason": "the plan has changed",
        "idempotency_key": fresh("update"),
        **changes,
    }


def all_items(connection: Connection, project: str) -> list[Json]:
    """Every stored item of a project, page by page."""
    found: list[Json] = []
    cursor = None
    while True:
        page = connection.call("remindi_list", {"project_id": project, "limit": 200, "cursor": cursor})
        assert page["ok"], page
        found += page["data"]["items"]
        cursor = page["data"]["next_cursor"]
        if cursor is None:
            return found


def history(connection: Connection, remindi_id: str) -> Json:
    """The whole history of an item: its events and its evidence."""
    events: list[Json] = []
    cursor = None
    while True:
        page = connection.call("remindi_history", {"remindi_id": remindi_id, "limit": 200, "cursor": cursor})
        assert page["ok"], page
        events += page["data"]["events"]
        cursor = page["data"]["next_cursor"]
        if cursor is None:
            return {"events": events, "evidence": page["data"]["completion_evidence"]}


def assert_history_explains(item: Json, told: Json) -> None:
    """Assert that events lead to the item's version step by step, and evidence is where it belongs."""
    events = told["events"]
    assert events[0]["event_type"] == "created"
    assert events[0]["prior_version"] is None
    steps = [(event["prior_version"], event["new_version"]) for event in events]
    reached = 0
    for prior, new in steps:
        if (prior or 0) == reached:
            assert new == reached + 1, steps
            reached = new
        else:
            # Two events of one evaluation share their step.
            assert (prior, new) == (reached - 1 or None, reached), steps
    assert reached == item["version"], (item, steps)
    sequences = [event["sequence"] for event in events]
    assert sequences == sorted(set(sequences))
    completed = item["state"] == "completed"
    assert (events[-1]["event_type"] == "completed") is completed
    assert len(told["evidence"]) == int(completed)
    assert (events[-1]["event_type"] == "cancelled") is (item["state"] == "cancelled")


def tool_request(tool: str, raw_arguments: bytes, era: Era) -> tuple[bytes, Headers]:
    """A tool call whose arguments are exactly these bytes, with the headers that go with it."""
    message, headers = envelope("tools/call", {"name": tool, "arguments": "@arguments@"}, era)
    return json.dumps(message).encode().replace(b'"@arguments@"', raw_arguments), headers


def head(service: Service, extra: Headers = (), *, without: Sequence[str] = ()) -> list[tuple[str, str]]:
    """The headers of a well-behaved legacy client, less some, plus others; also doubled ones."""
    own = [
        ("Host", f"{HOST}:{service.port}"),
        ("Authorization", f"Bearer {service.token}"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ]
    left = {name.lower() for name in without}
    return [pair for pair in own if pair[0].lower() not in left] + list(extra)


def assert_plain_refusal(answer: Answer) -> None:
    """Assert what holds for every refusal at the door: small, JSON, with a request id, no server error."""
    assert 400 <= answer.status < 500, answer
    assert answer.header("X-Request-Id"), answer
    assert len(answer.body) < 1_024, answer
    assert b"Traceback" not in answer.body
    if answer.body:
        assert answer.header("Content-Type") == "application/json", answer
        answer.json()


@dataclass(frozen=True, slots=True)
class Footprint:
    """What a process holds of its machine."""

    threads: int
    descriptors: int

    @classmethod
    def of(cls, pid: int) -> "Footprint":
        """Look at a process now."""
        process = Path("/proc") / str(pid)
        return cls(len(list((process / "task").iterdir())), len(list((process / "fd").iterdir())))

    def within(self, other: "Footprint") -> bool:
        """Whether this is no more than the other.

        The API's threads are made when they are needed, and stay.
        """
        return self.threads <= other.threads + WORKERS and self.descriptors <= other.descriptors


def together(acts: Sequence[Callable[[], T]]) -> list[T]:
    """Run the acts in one thread each, started at the same moment; return what each returned."""
    barrier = threading.Barrier(len(acts))

    def run(act: Callable[[], T]) -> T:
        barrier.wait(ANSWER_BOUND)
        return act()

    with ThreadPoolExecutor(len(acts)) as pool:
        return list(pool.map(run, acts))
