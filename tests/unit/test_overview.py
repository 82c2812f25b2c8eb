"""The overview's arithmetic: days, buckets of times, quantiles; and how all of it is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi import views
from remindi.instants import MS_PER_DAY, parse_instant
from remindi.items import ConditionStatus, Priority, State
from remindi.overview import (
    AgendaEntry,
    Day,
    DueToDone,
    Happening,
    Overview,
    Standing,
    bucket_bounds,
    bucket_of,
    day_of,
    due_to_done,
    standing,
)
from remindi.tools import TOOL_NAMES
from remindi.triggers import TriggerType
from tests.unit.records import ID, ID_TEXT, item
from tests.unit.samples import NOW, NOW_STAMP

TEN_THOUSAND_YEARS_MS = 10_000 * 366 * MS_PER_DAY


@given(st.integers(0, TEN_THOUSAND_YEARS_MS))
def test_a_time_lies_within_its_bucket_which_is_no_wider_than_a_quarter_of_it(milliseconds: int) -> None:
    first, end = bucket_bounds(bucket_of(milliseconds))
    assert first <= milliseconds // 1_000 < end
    assert end - first <= max(1, first // 4)


def test_buckets_follow_each_other_without_a_gap() -> None:
    assert bucket_of(0) == 0
    for bucket in range(160):
        first, end = bucket_bounds(bucket)
        assert bucket_of(first * 1_000) == bucket_of(end * 1_000 - 1) == bucket
        assert bucket_bounds(bucket + 1)[0] == end


def test_a_time_that_a_clock_made_negative_is_none() -> None:
    assert bucket_of(-1) == bucket_of(-MS_PER_DAY) == 0


@given(st.lists(st.integers(0, 40_000_000), min_size=1, max_size=60))
def test_a_quantile_lies_in_the_bucket_of_the_right_one(seconds: list[int]) -> None:
    ordered = sorted(seconds)
    buckets = sorted({bucket_of(1_000 * value) for value in ordered})
    histogram = [(bucket, sum(bucket_of(1_000 * value) == bucket for value in ordered)) for bucket in buckets]
    found = due_to_done(histogram)
    assert found.completed == len(ordered)
    for percent, quantile in ((50, found.median_seconds), (90, found.p90_seconds)):
        right = ordered[-(-len(ordered) * percent // 100) - 1]
        assert quantile is not None
        assert bucket_of(1_000 * quantile) == bucket_of(1_000 * right)


def test_without_a_time_there_is_no_quantile() -> None:
    assert due_to_done([]) == DueToDone(0, None, None)


@pytest.mark.parametrize(
    ("instant", "day"), [(0, 0), (MS_PER_DAY - 1, 0), (MS_PER_DAY, 1), (-1, -1), (-MS_PER_DAY, -1)]
)
def test_a_day_begins_at_midnight_utc(instant: int, day: int) -> None:
    assert day_of(instant) == day


@pytest.mark.parametrize("state", State)
def test_an_item_stands_where_its_state_says(state: State) -> None:
    assert standing(item(state=state)).name == state.name


@pytest.mark.parametrize("status", [None, *ConditionStatus])
def test_a_condition_that_fired_unsatisfied_stands_apart(status: ConditionStatus | None) -> None:
    due = item(state=State.DUE, trigger_type=TriggerType.CONDITION, last_condition_status=status)
    verified = status == ConditionStatus.SATISFIED
    assert standing(due) == (Standing.DUE if verified else Standing.MANUAL_VERIFICATION)
    overdue = due._replace(state=State.OVERDUE)
    assert standing(overdue) == Standing.OVERDUE


def test_it_is_shown_with_every_key() -> None:
    overview = Overview(
        as_of=NOW,
        counts=(1, 2, 3, 4, 5, 6, 7),
        agenda=(AgendaEntry(ID, "p", Priority.HIGH, NOW, Happening.SNOOZE_ENDS, "m", True),),
        agenda_cut=False,
        days=(Day(day_of(parse_instant("2024-02-29T23:59:59.999Z")), 1, 2, 3, 4),),
        due_to_done=DueToDone(3, 60, 3_600),
    )
    rows = (("mcp", "running", "running", None, None, None, None),)
    assert views.overview_data(overview, rows, {"remindi_check": NOW}) == {
        "as_of": NOW_STAMP,
        "states": {
            "scheduled": 1,
            "due": 9,
            "overdue": 3,
            "snoozed": 4,
            "completed": 5,
            "cancelled": 6,
        },
        "readiness": {
            "overdue": 3,
            "due": 2,
            "manual_verification": 7,
            "scheduled": 1,
            "snoozed": 4,
        },
        "agenda": [
            {
                "remindi_id": ID_TEXT,
                "project_id": "p",
                "priority": "high",
                "at": NOW_STAMP,
                "happening": "snooze_ends",
                "message": "m",
                "message_cut": True,
            }
        ],
        "agenda_cut": False,
        "daily": [{"date": "2024-02-29", "created": 1, "due": 2, "completed": 3, "cancelled": 4}],
        "due_to_done": {"completed": 3, "median_seconds": 60, "p90_seconds": 3_600},
        "workloads": [views.workload_data(*rows[0])],
        "maintenance": "running",
        "backups": {
            "newest": None,
            "last_verified": None,
            "next_automatic_at": None,
            "failure": None,
            "job": None,
        },
        "last_calls": {name: NOW_STAMP if name == "remindi_check" else None for name in TOOL_NAMES},
    }
