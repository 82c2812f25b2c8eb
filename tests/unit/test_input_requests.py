"""What arguments become: normalized requests with their defaults (contract 2.1, 2.4, 2.7, 2.8)."""

import pytest

from remindi import tools
from remindi.events import EventType, LifecycleEvent
from remindi.inputs import Paged
from remindi.instants import parse_instant, stamp
from remindi.items import Content, Priority, State
from remindi.links import Link, LinkType
from remindi.recurrence import Disposition, MissedPolicy, Recurrence
from remindi.requests import CheckContext, CheckQuery, HistoryQuery, ListQuery
from remindi.triggers import (
    AfterElapsed,
    AtTime,
    Condition,
    GoalActive,
    Interval,
    NextContinuation,
    NextSession,
    Trigger,
    TriggerType,
)
from tests.unit.reading import failures, read
from tests.unit.samples import FEWEST, ITEM, MOST, NOW, TRIGGERS, changed, without

ID = bytes.fromhex(ITEM.replace("-", ""))
YEAR_MS = 31_536_000_000


def test_an_add_of_the_fewest_fields_has_the_defaults_filled_in() -> None:
    new = read(tools.ADD, FEWEST[tools.ADD])
    assert new.content == Content(
        project_id="demo",
        task_id=None,
        message="Look at the canary.",
        instructions=None,
        source_session_id=None,
        source_task_lineage_id=None,
        trigger=NextSession(),
        recurrence=None,
    )
    assert (new.priority, new.overdue_after_seconds, new.links) == (Priority.NORMAL, None, ())
    assert (new.idempotency.tool, new.idempotency.key) == (tools.ADD, "key-0001")


def test_an_add_of_all_fields_carries_them() -> None:
    new = read(tools.ADD, MOST[tools.ADD])
    assert new.content == Content(
        project_id="demo",
        task_id="task-1",
        message="Look at the canary.",
        instructions="1. Open the dashboard.\n2. Compare.",
        source_session_id="session-1",
        source_task_lineage_id="lineage-1",
        trigger=Interval(parse_instant("2026-12-01T09:00:00Z"), 900),
        recurrence=Recurrence(900, MissedPolicy.CATCH_UP, 10, parse_instant("2026-12-31T00:00:00Z")),
    )
    assert (new.priority, new.overdue_after_seconds) == (Priority.CRITICAL, 60)
    assert new.links == (Link(LinkType.GOAL, "goal-7"), Link(LinkType.URL, "https://example.org/7"))


@pytest.mark.parametrize(
    ("kind", "trigger"),
    [
        ("at_time", AtTime(parse_instant("2026-12-01T08:00:00Z"))),
        ("after_elapsed", AfterElapsed(3_600)),
        ("interval", Interval(parse_instant("2026-12-01T09:00:00Z"), 900)),
        ("next_session", NextSession()),
        ("next_continuation", NextContinuation()),
        ("goal_active", GoalActive("goal-7")),
        (
            "condition",
            Condition(
                "http_health",
                '{"target":"staging","expected_status":200}',
                60,
                parse_instant("2026-12-02T00:00:00Z"),
            ),
        ),
    ],
)
def test_each_type_of_trigger_becomes_its_value(kind: str, trigger: Trigger) -> None:
    for tool in (tools.ADD, tools.UPDATE):
        request = read(tool, changed(MOST[tool], "/trigger", TRIGGERS[kind]))
        found = request.content.trigger if tool == tools.ADD else request.trigger
        assert found == trigger
        assert type(found) is type(trigger)


def test_a_condition_without_a_poll_interval_stays_without_one() -> None:
    bare = without(TRIGGERS["condition"], "/poll_interval_seconds")
    assert read(tools.ADD, changed(MOST[tools.ADD], "/trigger", bare)).content.trigger[2] is None


def test_a_recurrence_of_the_fewest_fields_coalesces_without_end() -> None:
    arguments = changed(MOST[tools.ADD], "/recurrence", {"every_seconds": 900})
    assert read(tools.ADD, arguments).content.recurrence == Recurrence(900, MissedPolicy.COALESCE, None, None)


def test_a_pair_that_does_not_fit_is_no_matter_of_inputs() -> None:
    arguments = changed(FEWEST[tools.ADD], "/recurrence", {"every_seconds": 60})
    assert failures(tools.ADD, arguments) == []


def test_an_update_carries_what_it_supplies() -> None:
    update = read(tools.UPDATE, MOST[tools.UPDATE])
    assert (update.remindi_id, update.expected_version, update.reason) == (ID, 3, "It became urgent.")
    assert (update.message, update.instructions) == ("Look at the canary and the graph.", "Compare both.")
    assert (update.priority, update.overdue_after_seconds) == (Priority.HIGH, 0)
    assert update.occurrence_disposition is Disposition.ACKNOWLEDGED
    assert read(tools.UPDATE, changed(FEWEST[tools.UPDATE], "/links", [])).links == ()
    assert read(tools.UPDATE, changed(FEWEST[tools.UPDATE], "/instructions", "")).instructions == ""


def test_a_snooze_carries_its_end_cut_to_milliseconds() -> None:
    arguments = changed(FEWEST[tools.SNOOZE], "/snooze_until", "2026-12-01T00:00:00.0019999+00:00")
    snooze = read(tools.SNOOZE, arguments)
    assert (snooze.remindi_id, snooze.expected_version) == (ID, 3)
    assert snooze.snooze_until == parse_instant("2026-12-01T00:00:00.001Z")


def test_a_snooze_reaches_one_year_at_most_and_its_past_is_no_matter_of_inputs() -> None:
    for until in (stamp(NOW + YEAR_MS), stamp(NOW), stamp(NOW - YEAR_MS)):
        assert failures(tools.SNOOZE, changed(FEWEST[tools.SNOOZE], "/snooze_until", until)) == []
    too_far = changed(FEWEST[tools.SNOOZE], "/snooze_until", stamp(NOW + YEAR_MS + 1))
    assert failures(tools.SNOOZE, too_far) == [("/snooze_until", "too_far_ahead")]


def test_completion_and_cancellation_carry_their_texts() -> None:
    assert read(tools.COMPLETE, MOST[tools.COMPLETE]).completion_note == "Took an hour."
    assert read(tools.COMPLETE, FEWEST[tools.COMPLETE]).completion_note is None
    assert read(tools.CANCEL, MOST[tools.CANCEL]).reason == "The feature was dropped."


def test_a_check_of_the_fewest_fields_has_the_defaults_filled_in() -> None:
    context = CheckContext(LifecycleEvent.CHECKPOINT, None, None, ())
    query = CheckQuery("demo", None, context, False, True, 50, None)
    assert read(tools.CHECK, FEWEST[tools.CHECK]) == Paged(query, None)


def test_a_check_of_all_fields_carries_them_and_its_cursor_still_closed() -> None:
    context = CheckContext(LifecycleEvent.CHECKPOINT, "session-2", "lineage-1", ("goal-7", "goal-8"))
    query = CheckQuery("demo", "task-1", context, True, False, 10, None)
    assert read(tools.CHECK, MOST[tools.CHECK]) == Paged(query, "abc")


def test_a_list_has_no_filters_by_default_and_carries_those_it_gets() -> None:
    nothing = ListQuery(None, None, None, (), (), None, None, 50, None)
    assert read(tools.LIST, FEWEST[tools.LIST]) == Paged(nothing, None)
    everything = ListQuery(
        "demo",
        "task-1",
        ID,
        (State.DUE, State.OVERDUE),
        (TriggerType.INTERVAL,),
        "goal-7",
        "sha256:00",
        10,
        None,
    )
    assert read(tools.LIST, MOST[tools.LIST]) == Paged(everything, "abc")


def test_a_history_starts_at_the_beginning_by_default() -> None:
    assert read(tools.HISTORY, FEWEST[tools.HISTORY]) == Paged(HistoryQuery(ID, 0, (), 100), None)
    query = HistoryQuery(ID, 5, (EventType.CREATED, EventType.CHECKED), 10)
    assert read(tools.HISTORY, MOST[tools.HISTORY]) == Paged(query, "abc")
