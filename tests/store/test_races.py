"""Races on the real actors: whoever comes first, the contract's invariants hold (contract 3.3, 5.1, 9)."""

import threading
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from tests.fakes.core import TIMEOUT, Core, Json
from tests.fakes.script import PAST, Script

RACERS: Final = 8


def race(acts: list[Callable[[], Any]]) -> list[Any]:
    """Run all at once; what each returned, in order. An exception of one is an exception here."""
    barrier = threading.Barrier(len(acts))
    results: list[Any] = [None] * len(acts)
    errors: list[BaseException] = []

    def run(place: int) -> None:
        try:
            barrier.wait(TIMEOUT)
            results[place] = acts[place]()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(TIMEOUT)
        assert not thread.is_alive()
    assert errors == []
    return results


def events(core: Core, name: str) -> list[Json]:
    found: list[Json] = core.data("remindi_history", remindi_id=name)["events"]
    return found


def test_of_writers_that_expect_the_same_version_exactly_one_wins(core: Core, script: Script) -> None:
    name = script.add()
    script.page()
    target = {"remindi_id": name, "expected_version": 2, "reason": "r"}
    evidence = {
        "type": "observation",
        "summary": "saw the job end with status 0",
        "reference_uri": "https://ci.example/1",
        "observed_at": PAST,
    }
    proof = {"remindi_id": name, "expected_version": 2, "evidence": evidence}
    kinds: list[tuple[str, Json]] = [
        ("remindi_update", target | {"message": "changed"}),
        ("remindi_snooze", target | {"snooze_until": "2027-06-01T00:00:00Z"}),
        ("remindi_cancel", target),
        ("remindi_complete", proof),
    ]
    answers = race(
        [
            partial(core.tool, tool, body | {"idempotency_key": f"racer-{number:03d}"})
            for number, (tool, body) in enumerate(kinds * (RACERS // len(kinds)))
        ]
    )
    assert Counter(answer["ok"] for answer in answers) == {True: 1, False: RACERS - 1}
    for answer in answers:
        if not answer["ok"]:
            assert answer["error"]["code"] == "VERSION_CONFLICT"
            assert answer["error"]["details"] == {"current_version": 3}
    assert script.item(name)["version"] == 3
    assert len(events(core, name)) == 3


def test_identical_adds_have_one_effect_and_one_answer(core: Core) -> None:
    request = {
        "project_id": "p",
        "message": "m",
        "trigger": {"type": "at_time", "at": PAST},
        "idempotency_key": "one-key-for-all",
    }
    answers = race([lambda: core.tool("remindi_add", request)] * RACERS)
    assert all(answer["ok"] for answer in answers)
    assert len({str(answer["data"]) for answer in answers}) == 1
    assert len({answer["request_id"] for answer in answers}) == RACERS
    [item] = core.data("remindi_list")["items"]
    assert len(events(core, item["id"])) == 1


def test_of_different_requests_under_one_key_one_wins_and_the_others_hear_of_it(core: Core) -> None:
    request: Json = {
        "project_id": "p",
        "trigger": {"type": "at_time", "at": PAST},
        "idempotency_key": "one-key-for-all",
    }
    answers = race(
        [partial(core.tool, "remindi_add", request | {"message": f"m{number}"}) for number in range(RACERS)]
    )
    codes = Counter("ok" if answer["ok"] else answer["error"]["code"] for answer in answers)
    assert codes == {"ok": 1, "IDEMPOTENCY_KEY_REUSED": RACERS - 1}
    assert len(core.data("remindi_list")["items"]) == 1


def test_concurrent_checks_are_each_complete_and_every_change_happens_once(
    core: Core, script: Script
) -> None:
    names = {script.add(overdue_after_seconds=31_000_000) for _ in range(50)}
    query = {"project_id": "p", "lifecycle_event": "checkpoint", "limit": 50}
    answers = race([lambda: core.tool("remindi_check", query)] * RACERS)
    for answer in answers:
        assert answer["ok"]
        assert {item["remindi_id"] for item in answer["data"]["items"]} == names
        assert {(item["state"], item["version"]) for item in answer["data"]["items"]} == {("due", 2)}
    for name in names:
        assert [event["event_type"] for event in events(core, name)] == ["created", "became_due"]


def test_concurrent_walks_with_a_pass_between_return_every_item_once(core: Core, script: Script) -> None:
    names = [script.add(priority="high" if number % 3 else "low") for number in range(50)]
    core.clock.advance(1)

    def walk() -> list[str]:
        found, cursor = script.page(limit=7)
        while cursor is not None:
            more, cursor = script.page(cursor, limit=7)
            found += more
        return found

    results = race([walk] * (RACERS - 1) + [script.pass_])
    for found in results[:-1]:
        assert len(found) == 50
        assert set(found) == set(names)
    for name in names:
        kinds = [event["event_type"] for event in events(core, name)]
        assert kinds[:2] == ["created", "became_due"]
        assert kinds[2:] in ([], ["became_overdue"])


def test_checks_and_changes_of_the_same_items_never_fail_each_other(core: Core, script: Script) -> None:
    names = [script.add() for _ in range(20)]
    query = {"project_id": "p", "lifecycle_event": "checkpoint"}

    def complete(name: str) -> bool:
        for attempt in range(20):
            version = script.item(name)["version"]
            answer = core.tool(
                "remindi_cancel",
                {
                    "remindi_id": name,
                    "expected_version": version,
                    "reason": "r",
                    "idempotency_key": f"{name}:{attempt}",
                },
            )
            if answer["ok"]:
                return True
            assert answer["error"]["code"] == "VERSION_CONFLICT"
        return False

    def cancel_some(first: int) -> bool:
        return all(complete(name) for name in names[first::4])

    results = race(
        [partial(cancel_some, first) for first in range(4)]
        + [lambda: [core.tool("remindi_check", query)["ok"] for _ in range(10)]] * 4
    )
    assert results[:4] == [True] * 4
    assert all(all(answers) for answers in results[4:])
    for name in names:
        found = events(core, name)
        assert [event["new_version"] for event in found] == list(range(1, len(found) + 1))
        assert found[-1]["event_type"] == "cancelled"
