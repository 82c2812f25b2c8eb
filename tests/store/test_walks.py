"""Walks of check and list pages: order, ties, and what others do between two pages (contract 5.1, 5.2)."""

from collections.abc import Callable

import pytest

from tests.fakes.script import PAST, Script

# ---------------------------------------------------------------- one instant


def test_an_occurrence_that_is_ripe_again_in_the_same_millisecond_is_returned_at_once(script: Script) -> None:
    name = script.add(
        trigger={"type": "interval", "first_at": PAST, "every_seconds": 60},
        recurrence={"every_seconds": 60, "missed_policy": "catch_up"},
    )
    assert script.page() == ([name], None)
    script.change("remindi_update", name, occurrence_disposition="acknowledged")
    assert script.item(name)["state"] == "scheduled"
    assert script.page() == ([name], None)
    assert script.item(name)["state"] == "due"


def test_a_pass_takes_what_became_ripe_again_in_its_own_millisecond(script: Script) -> None:
    name = script.add(
        trigger={"type": "interval", "first_at": PAST, "every_seconds": 60},
        recurrence={"every_seconds": 60, "missed_policy": "catch_up"},
    )
    script.page()
    script.change("remindi_update", name, occurrence_disposition="acknowledged")
    script.pass_()
    assert script.item(name)["state"] == "due"


def test_a_pass_makes_one_change_of_an_item_that_is_long_overdue(script: Script) -> None:
    name = script.add()
    script.pass_()
    assert script.item(name)["state"] == "due"
    script.core.clock.advance(0.001)
    script.pass_()
    assert script.item(name)["state"] == "overdue"


# ---------------------------------------------------------- include_scheduled


def test_a_snoozed_session_item_is_among_the_rest_of_a_check_from_another_session(script: Script) -> None:
    name = script.add(trigger={"type": "next_session"}, session_id="first")
    assert script.page(session_id="second") == ([name], None)
    script.change("remindi_snooze", name, snooze_until="2027-06-01T00:00:00Z")
    assert script.page(session_id="third", include_scheduled=True) == ([name], None)


def test_a_snoozed_goal_item_is_among_the_rest_while_its_goal_is_active(script: Script) -> None:
    name = script.add(trigger={"type": "goal_active", "goal_id": "g"}, links=[{"type": "goal", "value": "g"}])
    script.page(active_goal_ids=["g"])
    script.change("remindi_snooze", name, snooze_until="2027-06-01T00:00:00Z")
    assert script.page(active_goal_ids=["g"], include_scheduled=True) == ([name], None)


# ------------------------------------------------- others act between two pages


def test_a_walk_returns_session_items_that_another_check_has_fired_meanwhile(script: Script) -> None:
    names = [script.add(trigger={"type": "next_session"}) for _ in range(3)]
    first, cursor = script.page(session_id="a")
    script.core.clock.advance(1)
    script.page(session_id="b", limit=50)
    assert first + script.rest(cursor, session_id="a") == names


def test_a_walk_returns_goal_items_that_another_check_has_fired_meanwhile(script: Script) -> None:
    names = [
        script.add(trigger={"type": "goal_active", "goal_id": "g"}, links=[{"type": "goal", "value": "g"}])
        for _ in range(3)
    ]
    first, cursor = script.page(active_goal_ids=["g"])
    script.core.clock.advance(1)
    script.page(active_goal_ids=["g"], limit=50)
    assert first + script.rest(cursor, active_goal_ids=["g"]) == names


def test_a_walk_returns_items_for_verification_by_hand_that_another_check_has_fired(script: Script) -> None:
    condition = {
        "type": "condition",
        "adapter": "tcp_reachable",
        "parameters": {"target": "t"},
        "manual_check_at": PAST,
    }
    names = [script.add(trigger=condition) for _ in range(3)]
    first, cursor = script.page()
    script.core.clock.advance(1)
    script.page(limit=50)
    assert first + script.rest(cursor) == names


def test_a_walk_returns_what_a_pass_has_turned_due_and_then_overdue_meanwhile(script: Script) -> None:
    names = [script.add() for _ in range(4)]
    first, cursor = script.page()
    for _ in range(2):
        script.core.clock.advance(1)
        script.pass_()
    assert first + script.rest(cursor) == names


def test_a_walk_returns_what_two_other_checks_have_turned_due_and_overdue_as_of_its_own_instant(
    script: Script,
) -> None:
    names = [script.add() for _ in range(3)]
    early, early_cursor = script.page()
    script.core.clock.advance(1)
    first, cursor = script.page(limit=2)
    assert early == names[:1]
    assert first == names[:2]
    assert script.rest(early_cursor) == names[1:]
    script.page(limit=50)
    assert script.item(names[2])["state"] == "overdue"
    assert script.rest(cursor) == names[2:]


def test_an_item_whose_grace_ends_between_two_pages_comes_once(script: Script) -> None:
    names = [script.add(overdue_after_seconds=3_600) for _ in range(3)]
    now = script.core.clock.now()
    script.core.clock.wall = 1_798_761_600_000 + 3_599_000
    assert now > script.core.clock.now(), "the clock of this test runs behind"
    first, cursor = script.page()
    script.core.clock.advance(2)
    script.page(limit=50)
    assert first + script.rest(cursor) == names


# ---------------------------------------------------------------------- order


def test_equal_places_of_a_check_go_by_id(script: Script) -> None:
    names = [script.add() for _ in range(5)]
    assert names == sorted(names)
    first, cursor = script.page()
    assert first + script.rest(cursor) == names


def test_a_list_is_newest_first_and_goes_by_id_within_a_millisecond(script: Script) -> None:
    older = [script.add() for _ in range(3)]
    script.core.clock.advance(0.001)
    newer = [script.add() for _ in range(3)]
    found: list[str] = []
    page = script.core.data("remindi_list", limit=2)
    while True:
        found += [item["id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        page = script.core.data("remindi_list", limit=2, cursor=page["next_cursor"])
    assert found == newer + older


def test_a_clock_set_back_leaves_ids_rising_and_the_list_in_order_of_creation_times(script: Script) -> None:
    early = script.add()
    script.core.clock.advance(-3_600)
    late = script.add()
    assert early < late
    script.core.restart()
    latest = script.add()
    assert late < latest
    listed = [item["id"] for item in script.core.data("remindi_list")["items"]]
    assert listed == [early, late, latest]


# ------------------------------------- others change an item between two pages

# An item that a caller changes between two pages goes to its new place in the order: this walk may have
# passed that place already, or come to it again. What nobody touched is not disturbed by it, and the next
# check returns everything.


def raise_priority(script: Script, name: str) -> None:
    script.change("remindi_update", name, priority="critical")


def lower_priority(script: Script, name: str) -> None:
    script.change("remindi_update", name, priority="low")


def cut_grace(script: Script, name: str) -> None:
    script.change("remindi_update", name, overdue_after_seconds=0)


def give_an_earlier_time(script: Script, name: str) -> None:
    script.change("remindi_update", name, trigger={"type": "at_time", "at": "2026-01-01T00:00:00Z"})


def snooze_until_it_is_back(script: Script, name: str) -> None:
    script.change("remindi_snooze", name, snooze_until="2027-01-15T08:00:03Z")
    script.core.clock.advance(60)
    script.pass_()


@pytest.mark.parametrize("moved", [0, 3], ids=["seen", "unseen"])
@pytest.mark.parametrize(
    "move", [raise_priority, lower_priority, cut_grace, give_an_earlier_time, snooze_until_it_is_back]
)
def test_what_a_caller_moves_disturbs_no_other_item_of_the_walk_and_is_in_the_next_check(
    script: Script, move: Callable[[Script, str], None], moved: int
) -> None:
    names = [script.add(overdue_after_seconds=31_000_000) for _ in range(4)]
    script.page(limit=50)
    script.core.clock.advance(1)
    first, cursor = script.page()
    move(script, names[moved])
    found = first + script.rest(cursor)
    assert [name for name in found if name != names[moved]] == [
        name for name in names if name != names[moved]
    ]
    again, cursor = script.page()
    assert sorted(again + script.rest(cursor)) == names
