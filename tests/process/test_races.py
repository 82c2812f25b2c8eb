"""Races over real HTTP, in both generations of the protocol: one effect, one winner, complete checks."""

import random
from collections import Counter
from functools import partial

import pytest

from tests.conftest import MakeService
from tests.faults.writers import Crew, assert_file_is_sound, set_poll_interval
from tests.process.acts import (
    ERAS,
    LONG_AGO,
    all_items,
    assert_history_explains,
    completion,
    fresh,
    history,
    new_item,
    together,
    update,
)
from tests.service import Era, Json, Service

RACERS = 8


def eras() -> list[Era]:
    """A generation of the protocol for each racer, mixed."""
    return [ERAS[number % 2] for number in range(RACERS)]


def test_of_eight_writers_with_one_expected_version_one_wins(shared_service: Service) -> None:
    for _ in range(10):
        item = shared_service.call("remindi_add", new_item(fresh("race")))["data"]["remindi"]
        answers = together(
            [
                partial(shared_service.call, "remindi_update", update(item["id"], 1, f"by {number}"), era)
                for number, era in enumerate(eras())
            ]
        )
        codes = Counter("ok" if answer["ok"] else answer["error"]["code"] for answer in answers)
        assert codes == {"ok": 1, "VERSION_CONFLICT": RACERS - 1}
        conflicts = [answer["error"] for answer in answers if not answer["ok"]]
        assert all(error["details"] == {"current_version": 2} and error["retryable"] for error in conflicts)
        with shared_service.connection() as connection:
            (stored,) = connection.call("remindi_list", {"remindi_id": item["id"]})["data"]["items"]
            assert_history_explains(stored, history(connection, item["id"]))
        (winner,) = [number for number, answer in enumerate(answers) if answer["ok"]]
        assert stored["message"] == f"by {winner}"


def test_of_completions_cancellations_and_snoozes_at_once_one_wins(shared_service: Service) -> None:
    for _ in range(10):
        item = shared_service.call(
            "remindi_add", new_item(fresh("ends"), trigger={"type": "at_time", "at": LONG_AGO})
        )["data"]["remindi"]
        with shared_service.connection() as connection:
            project = connection.call("remindi_list", {"remindi_id": item["id"]})["data"]["items"][0][
                "project_id"
            ]
            connection.call("remindi_check", {"project_id": project, "lifecycle_event": "checkpoint"})
            (stored,) = connection.call("remindi_list", {"remindi_id": item["id"]})["data"]["items"]
        version = stored["version"]
        cancel = {"remindi_id": item["id"], "expected_version": version, "reason": "not needed"}
        acts = [
            partial(shared_service.call, "remindi_complete", completion(item["id"], version)),
            partial(shared_service.call, "remindi_complete", completion(item["id"], version), "modern"),
            partial(shared_service.call, "remindi_cancel", {**cancel, "idempotency_key": fresh("cancel")}),
            partial(shared_service.call, "remindi_update", update(item["id"], version, "changed")),
        ]
        answers = together(acts)
        assert sum(answer["ok"] for answer in answers) == 1, answers
        with shared_service.connection() as connection:
            (stored,) = connection.call("remindi_list", {"remindi_id": item["id"]})["data"]["items"]
            assert_history_explains(stored, history(connection, item["id"]))


def test_eight_identical_adds_at_once_are_one_item_and_one_answer(shared_service: Service) -> None:
    for _ in range(10):
        arguments = new_item(fresh("identical"))
        answers = together([partial(shared_service.call, "remindi_add", arguments, era) for era in eras()])
        assert all(answer["ok"] for answer in answers)
        assert [answer["data"] for answer in answers] == [answers[0]["data"]] * RACERS
        assert len({answer["request_id"] for answer in answers}) == RACERS
        with shared_service.connection() as connection:
            (stored,) = all_items(connection, arguments["project_id"])
            assert len(history(connection, stored["id"])["events"]) == 1


def test_one_key_with_eight_contents_at_once_is_one_item(shared_service: Service) -> None:
    project, key = fresh("contents"), fresh("contents")
    answers = together(
        [
            partial(
                shared_service.call,
                "remindi_add",
                new_item(project, message=f"content {number}", idempotency_key=key),
                era,
            )
            for number, era in enumerate(eras())
        ]
    )
    codes = Counter("ok" if answer["ok"] else answer["error"]["code"] for answer in answers)
    assert codes == {"ok": 1, "IDEMPOTENCY_KEY_REUSED": RACERS - 1}
    with shared_service.connection() as connection:
        assert len(all_items(connection, project)) == 1


def walk(service: Service, project: str, era: Era) -> list[Json]:
    """All pages of a check."""
    found: list[Json] = []
    cursor = None
    with service.connection() as connection:
        while True:
            arguments = {"project_id": project, "lifecycle_event": "checkpoint", "limit": 7, "cursor": cursor}
            answer = connection.call("remindi_check", arguments, era)
            assert answer["ok"], answer
            found += answer["data"]["items"]
            cursor = answer["data"]["next_cursor"]
            if cursor is None:
                return found


def test_concurrent_checks_are_each_complete_and_turn_each_item_once(shared_service: Service) -> None:
    project = fresh("checks")
    with shared_service.connection() as connection:
        made = [
            connection.call(
                "remindi_add",
                new_item(
                    project,
                    trigger={"type": "at_time", "at": LONG_AGO},
                    overdue_after_seconds=31_536_000 if number % 2 else 0,
                ),
            )["data"]["remindi"]["id"]
            for number in range(40)
        ]
        for _ in range(3):
            walks = together([partial(walk, shared_service, project, era) for era in eras()])
            for found in walks:
                assert sorted(ready["remindi_id"] for ready in found) == sorted(made)
        for item in all_items(connection, project):
            told = history(connection, item["id"])
            kinds = [event["event_type"] for event in told["events"]]
            assert kinds == ["created", "became_due", "became_overdue"][: len(kinds)]
            assert_history_explains(item, told)


@pytest.mark.faults
@pytest.mark.timeout(600)
def test_thirty_two_writers_beside_a_busy_scheduler_meet_no_lock(make_service: MakeService) -> None:
    service = make_service()
    with service:
        pass
    set_poll_interval(service.database, 1)
    with service, service.connection() as connection:
        for _ in range(2_000):
            due = {"type": "after_elapsed", "after_seconds": random.randint(1, 20)}
            assert connection.call("remindi_add", new_item("busy", trigger=due, overdue_after_seconds=1))[
                "ok"
            ]
        crew = Crew(service, fresh("crew"), 32, random.Random(7))
        crew.start()
        crew.wait_for(6_000)
        crew.join()
        crew.verify(connection)
        lines = service.log_lines()
        assert [line for line in lines if line.get("path") == "/mcp" and line["status"] != 200] == []
        assert [line for line in lines if line["level"] in ("warn", "error")] == []
        assert "locked" not in str(lines)
    assert_file_is_sound(service.database)
    assert not service.database.with_name("remindi.db-wal").exists()
