"""A wall clock that jumps forth and back: nothing un-fires, nothing is lost, everything goes on."""

from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from tests.conftest import MakeService
from tests.faults.clocks import MovableClock, build_shim
from tests.faults.writers import assert_file_is_sound, set_poll_interval
from tests.process.acts import (
    all_items,
    assert_history_explains,
    completion,
    fresh,
    history,
    new_item,
    update,
)
from tests.service import Json, Service, eventually

pytestmark = pytest.mark.faults

HOUR: Final = timedelta(hours=1)
YEAR: Final = timedelta(days=365)
JUMPS: Final = (2 * HOUR, -5 * HOUR, 3 * YEAR, -9 * YEAR, timedelta(seconds=-1), 6 * YEAR, timedelta(days=-1))


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_shim(tmp_path_factory.mktemp("shim"))


@pytest.fixture
def clock(shim: Path, tmp_path: Path) -> MovableClock:
    return MovableClock(shim, tmp_path / "offset")


@pytest.fixture
def service(make_service: MakeService, clock: MovableClock) -> Service:
    """A service under the clock of the test, not started; its scheduler looks every second."""
    made = make_service(env=clock.env)
    with made:
        pass
    set_poll_interval(made.database, 1)
    return made


def add(service: Service, project: str, **changes: Any) -> Json:
    answer = service.call("remindi_add", new_item(project, **changes))
    assert answer["ok"], answer
    added: Json = answer["data"]["remindi"]
    return added


def at(clock: MovableClock, ahead: timedelta) -> Json:
    return {"type": "at_time", "at": clock.stamp(ahead)}


def item(service: Service, remindi_id: str) -> Json:
    (found,) = service.call("remindi_list", {"remindi_id": remindi_id})["data"]["items"]
    shown: Json = found
    return shown


def check(service: Service, project: str, **changes: Any) -> Json:
    arguments = {"project_id": project, "lifecycle_event": "checkpoint", **changes}
    answer = service.call("remindi_check", arguments)
    assert answer["ok"], answer
    data: Json = answer["data"]
    return data


def is_ready(service: Service, remindi_id: str) -> bool:
    return item(service, remindi_id)["state"] in ("due", "overdue")


def test_the_shim_moves_the_wall_clock_of_the_service_alone(service: Service, clock: MovableClock) -> None:
    with service:
        clock.move(3 * YEAR)
        seen = check(service, "p")["checked_at"]
        assert abs(int(seen[:4]) - clock.now().year) <= 1
        clock.move(-5 * YEAR)
        assert check(service, "p")["checked_at"] < seen


@pytest.mark.parametrize("back", [timedelta(seconds=2), 2 * HOUR, 30 * YEAR])
def test_what_has_fired_does_not_un_fire(service: Service, clock: MovableClock, back: timedelta) -> None:
    with service:
        timed = add(service, "fire", trigger=at(clock, HOUR), overdue_after_seconds=60)
        after = add(service, "fire", trigger={"type": "after_elapsed", "after_seconds": 1_800})
        snoozed = add(service, "fire", trigger=at(clock, -HOUR), overdue_after_seconds=86_400)
        eventually(lambda: is_ready(service, snoozed["id"]))
        answer = service.call(
            "remindi_snooze",
            {
                "remindi_id": snoozed["id"],
                "expected_version": item(service, snoozed["id"])["version"],
                "snooze_until": clock.stamp(HOUR),
                "reason": "not yet",
                "idempotency_key": fresh("snooze"),
            },
        )
        assert answer["ok"], answer
        clock.move(2 * HOUR)
        ids = {timed["id"], after["id"], snoozed["id"]}
        for remindi_id in ids:
            eventually(lambda one=remindi_id: is_ready(service, one), within=30)  # type: ignore[misc]
        before = {remindi_id: item(service, remindi_id) for remindi_id in ids}
        clock.move(-back)
        for _ in range(3):
            assert {ready["remindi_id"] for ready in check(service, "fire")["items"]} == ids
        for remindi_id in ids:
            shown = item(service, remindi_id)
            assert shown["state"] in ("due", "overdue")
            assert shown["due_since"] == before[remindi_id]["due_since"]
            assert_history_explains(shown, history_of(service, remindi_id))
        done = service.call(
            "remindi_complete", completion(timed["id"], item(service, timed["id"])["version"])
        )
        assert done["ok"] or back > YEAR, done


def history_of(service: Service, remindi_id: str) -> Json:
    with service.connection() as connection:
        return history(connection, remindi_id)


def test_the_scheduler_keeps_its_lease_and_goes_on_after_every_jump(
    service: Service, clock: MovableClock
) -> None:
    with service:
        for jump in JUMPS:
            clock.move(jump)
            added = add(service, "rhythm", trigger={"type": "after_elapsed", "after_seconds": 1})
            eventually(lambda one=added: is_ready(service, one["id"]), within=30)  # type: ignore[misc]
        assert [line for line in service.log_lines() if line["level"] == "error"] == []


def test_identifiers_rise_and_lists_keep_their_order_over_all_jumps(
    service: Service, clock: MovableClock
) -> None:
    made: list[str] = []
    with service:
        for number, jump in enumerate(JUMPS):
            clock.move(jump)
            made += [add(service, "order")["id"] for _ in range(3)]
            if number == 3:
                service.restart()
        assert made == sorted(made)
        walked: list[Json] = []
        cursor = None
        while True:
            page = service.call("remindi_list", {"project_id": "order", "limit": 2, "cursor": cursor})["data"]
            walked += page["items"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert sorted(shown["id"] for shown in walked) == made
        ordered = sorted(sorted(walked, key=lambda shown: shown["id"]), key=created_at, reverse=True)
        assert [shown["id"] for shown in walked] == [shown["id"] for shown in ordered]


def created_at(shown: Json) -> str:
    text: str = shown["created_at"]
    return text


def test_items_made_after_a_jump_back_are_not_on_later_pages(service: Service, clock: MovableClock) -> None:
    with service:
        made = {add(service, "pages")["id"] for _ in range(5)}
        page = service.call("remindi_list", {"project_id": "pages", "limit": 2})["data"]
        walked = [shown["id"] for shown in page["items"]]
        clock.move(-HOUR)
        for _ in range(3):
            add(service, "pages")
        while page["next_cursor"] is not None:
            arguments = {"project_id": "pages", "limit": 2, "cursor": page["next_cursor"]}
            page = service.call("remindi_list", arguments)["data"]
            walked += [shown["id"] for shown in page["items"]]
        assert sorted(walked) == sorted(made)


@pytest.mark.parametrize("jump", [-2 * HOUR, 2 * HOUR, -YEAR, YEAR])
def test_a_walk_of_a_check_is_complete_whatever_the_clock_does_between_its_pages(
    service: Service, clock: MovableClock, jump: timedelta
) -> None:
    with service:
        made = {
            add(service, "walk", trigger=at(clock, -HOUR), overdue_after_seconds=3_700)["id"]
            for _ in range(7)
        }
        page = check(service, "walk", limit=2)
        first, walked = page["checked_at"], [ready["remindi_id"] for ready in page["items"]]
        clock.move(jump)
        while page["next_cursor"] is not None:
            page = check(service, "walk", limit=2, cursor=page["next_cursor"])
            assert page["checked_at"] == first
            walked += [ready["remindi_id"] for ready in page["items"]]
        assert sorted(walked) == sorted(made)


def test_a_retry_is_answered_alike_on_both_sides_of_a_jump(service: Service, clock: MovableClock) -> None:
    with service, service.connection() as connection:
        arguments = new_item("retry")
        first = connection.call("remindi_add", arguments)["data"]
        for jump in (20 * timedelta(days=1), -HOUR, -2 * YEAR):
            clock.move(jump)
            assert connection.call("remindi_add", arguments)["data"] == first
        assert len(all_items(connection, "retry")) == 1


def test_changes_and_history_keep_their_order_over_all_jumps(service: Service, clock: MovableClock) -> None:
    with service, service.connection() as connection:
        changed = connection.call("remindi_add", new_item("changes"))["data"]["remindi"]
        for number, jump in enumerate(JUMPS):
            clock.move(jump)
            answer = connection.call(
                "remindi_update", update(changed["id"], changed["version"], f"number {number}")
            )
            assert answer["ok"], answer
            changed = answer["data"]["remindi"]
        assert_history_explains(item(service, changed["id"]), history(connection, changed["id"]))
    assert_file_is_sound(service.database)


def test_a_start_years_before_the_last_stop_serves_and_schedules(
    service: Service, clock: MovableClock
) -> None:
    with service:
        ready = add(service, "start", trigger=at(clock, -HOUR))
        eventually(lambda: is_ready(service, ready["id"]))
    clock.move(-20 * YEAR)
    with service:
        later = add(service, "start", trigger={"type": "after_elapsed", "after_seconds": 1})
        assert later["id"] > ready["id"]
        eventually(lambda: is_ready(service, later["id"]))
        assert is_ready(service, ready["id"])
        service.kill()
        clock.move(40 * YEAR)
        service.start()
        last = add(service, "start", trigger={"type": "after_elapsed", "after_seconds": 1})
        eventually(lambda: is_ready(service, last["id"]))
        assert last["id"] > later["id"]
