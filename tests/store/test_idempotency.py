"""Idempotency keys: replay, reuse, the live grace default, retention and its purge (contract 9)."""

from typing import Any, Final

import pytest

from actors.messages.writer import PurgeIdempotency, UpdateSetting
from remindi.errors import Refusal
from remindi.events import ActorType, Caller
from tests.fakes.core import Core, Json, raw
from tests.fakes.script import PAST, Script

DAY: Final = 86_400_000
ADD: Final[Json] = {
    "project_id": "p",
    "message": "m",
    "trigger": {"type": "at_time", "at": PAST},
    "idempotency_key": "the-one-key",
}


def add(core: Core, **changes: Any) -> Json:
    return core.tool("remindi_add", ADD | changes)


def code(envelope: Json) -> str:
    found: str = envelope["error"]["code"]
    return found


def set_to(core: Core, key: str, value: int, version: int) -> None:
    assert not isinstance(core.write(UpdateSetting(key=key, value=value, expected_version=version)), Refusal)


def test_a_replay_answers_the_first_answer_under_its_own_request_id(core: Core, script: Script) -> None:
    first = add(core)
    name = first["data"]["remindi"]["id"]
    script.page()
    script.change("remindi_cancel", name)
    again = add(core)
    assert again["data"] == first["data"]
    assert again["request_id"] != first["request_id"]
    assert len(core.data("remindi_list")["items"]) == 1


@pytest.mark.parametrize(
    "spelling",
    [
        {"message": "  m\n"},
        {"priority": "normal", "links": [], "task_id": None, "session_id": " ", "instructions": None},
        {"trigger": {"at": "2027-01-01T01:00:00.000999+01:00", "type": "at_time"}},
        {"overdue_after_seconds": 0},
    ],
)
def test_another_spelling_is_the_same_request(core: Core, spelling: Json) -> None:
    first = add(core)
    assert add(core, **spelling)["data"] == first["data"]


@pytest.mark.parametrize(
    "change",
    [
        {"message": "n"},
        {"instructions": ""},
        {"priority": "low"},
        {"overdue_after_seconds": 1},
        {"task_id": "t"},
    ],
)
def test_another_request_under_the_same_key_is_refused(core: Core, change: Json) -> None:
    add(core)
    assert code(add(core, **change)) == "IDEMPOTENCY_KEY_REUSED"
    assert len(core.data("remindi_list")["items"]) == 1


def test_a_key_belongs_to_its_tool_and_its_actor(core: Core) -> None:
    name = add(core)["data"]["remindi"]["id"]
    other = Caller(ActorType.USER, "webui:somebody", "r")
    second = core.tool("remindi_add", ADD, other)
    assert second["data"]["remindi"]["id"] != name
    target = {"remindi_id": name, "expected_version": 1, "reason": "r", "idempotency_key": "the-one-key"}
    assert core.tool("remindi_cancel", target)["ok"]


def test_a_refused_request_leaves_its_key_free_also_for_another_body(core: Core) -> None:
    bad = {"type": "goal_active", "goal_id": "g"}
    assert code(add(core, trigger=bad)) == "VALIDATION_ERROR"
    assert add(core)["ok"]


def test_omitted_grace_is_the_same_request_when_the_default_has_changed(core: Core) -> None:
    first = add(core)
    set_to(core, "remindi.default_overdue_seconds", 60, 1)
    assert add(core)["data"] == first["data"]
    assert add(core, overdue_after_seconds=0)["data"] == first["data"]
    assert code(add(core, overdue_after_seconds=60)) == "IDEMPOTENCY_KEY_REUSED"
    [item] = core.data("remindi_list")["items"]
    assert item["overdue_after_seconds"] == 0


def test_a_given_grace_is_the_same_request_as_the_default_of_that_value(core: Core) -> None:
    first = add(core, overdue_after_seconds=60)
    assert code(add(core)) == "IDEMPOTENCY_KEY_REUSED"
    set_to(core, "remindi.default_overdue_seconds", 60, 1)
    assert add(core)["data"] == first["data"]


def test_a_key_lives_to_the_last_millisecond_of_its_retention(core: Core) -> None:
    first = add(core)
    core.clock.wall += 30 * DAY - 1
    assert add(core)["data"] == first["data"]
    core.clock.wall += 1
    assert add(core)["data"] != first["data"]
    assert len(core.data("remindi_list")["items"]) == 2


def test_an_expired_key_may_stand_for_another_request(core: Core) -> None:
    add(core)
    core.clock.wall += 30 * DAY
    second = add(core, message="another")
    assert second["ok"]
    assert add(core, message="another")["data"] == second["data"]
    assert code(add(core)) == "IDEMPOTENCY_KEY_REUSED"


def test_retention_counts_by_the_present_value_of_the_setting(core: Core) -> None:
    first = add(core)
    core.clock.wall += 2 * DAY
    set_to(core, "idempotency.retention_days", 3, 1)
    assert add(core)["data"] == first["data"]
    set_to(core, "idempotency.retention_days", 1, 2)
    assert add(core)["data"] != first["data"]


def test_replay_survives_a_restart(core: Core) -> None:
    first = add(core)
    core.restart()
    assert add(core)["data"] == first["data"]


def test_warnings_are_replayed(core: Core) -> None:
    trigger = {
        "type": "condition",
        "adapter": "tcp_reachable",
        "parameters": {"target": "secret-host"},
        "manual_check_at": PAST,
    }
    first = add(core, trigger=trigger)
    assert len(first["data"]["warnings"]) == 2
    assert "secret-host" not in str(first)
    assert add(core, trigger=trigger)["data"] == first["data"]


def test_expired_rows_are_purged_from_the_oldest_on_in_small_batches(core: Core) -> None:
    for number in range(7):
        add(core, idempotency_key=f"key-{number:05d}")
        core.clock.wall += 1_000
    core.clock.wall += 30 * DAY - 3_000
    assert [core.write(PurgeIdempotency(limit=2)) for _ in range(4)] == [2, 2, 1, 0]
    with raw(core.path) as connection:
        assert [row[0] for row in connection.execute("SELECT key FROM idempotency ORDER BY key")] == [6, 7]


def test_rows_of_a_clock_that_ran_ahead_do_not_hold_the_purge_up(core: Core) -> None:
    core.clock.wall += 3_650 * DAY
    for number in range(2):
        add(core, idempotency_key=f"ahead-{number:04d}")
    core.clock.wall -= 3_650 * DAY
    for number in range(5):
        add(core, idempotency_key=f"right-{number:04d}")
    core.clock.wall += 31 * DAY
    gone = 0
    for _ in range(5):
        gone += core.write(PurgeIdempotency(limit=2))
    assert gone == 5


def test_a_mutation_stores_everything_or_nothing(core: Core) -> None:
    name = add(core)["data"]["remindi"]["id"]
    core.tool("remindi_cancel", {"remindi_id": name, "expected_version": 9, "reason": "r"})
    target = {"remindi_id": name, "expected_version": 9, "reason": "r", "idempotency_key": "stale-key"}
    assert code(core.tool("remindi_cancel", target)) == "VERSION_CONFLICT"
    with raw(core.path) as connection:
        assert next(iter(connection.execute("SELECT count(*) FROM idempotency")))[0] == 1
        assert next(iter(connection.execute("SELECT count(*) FROM event")))[0] == 1
    assert core.tool("remindi_cancel", target | {"expected_version": 1})["ok"]
