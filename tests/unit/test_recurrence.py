"""Recurrence: the table of contract section 6, and a stepper that walks where ``advance`` divides."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.recurrence import (
    Advance,
    MissedPolicy,
    Recurrence,
    advance,
    recurrence_from_json,
    recurrence_json,
)

COALESCE, CATCH_UP, SKIP = MissedPolicy
LIMITS = st.none() | st.integers(1, 60)


def clock(text: str) -> int:
    hour, minute = map(int, text.split(":"))
    return int(datetime(2026, 12, 1, hour, minute, tzinfo=UTC).timestamp()) * 1_000


TABLE = [
    # now, policy, limits, (new anchor, number, skipped) or None
    ("09:05", COALESCE, {}, ("09:15", 4, 0)),
    ("09:05", SKIP, {}, ("09:15", 4, 0)),
    ("09:05", CATCH_UP, {}, ("09:15", 4, 0)),
    ("09:45", COALESCE, {}, ("10:00", 7, 0)),
    ("09:45", SKIP, {}, ("10:00", 7, 3)),
    ("09:45", CATCH_UP, {}, ("09:15", 4, 0)),
    ("09:52", COALESCE, {}, ("10:00", 7, 0)),
    ("09:52", SKIP, {}, ("10:00", 7, 3)),
    ("09:52", CATCH_UP, {}, ("09:15", 4, 0)),
    ("09:52", COALESCE, {"cap": 2}, ("10:00", 7, 0)),
    ("09:52", SKIP, {"cap": 2}, ("10:00", 7, 3)),
    ("09:52", CATCH_UP, {"cap": 2}, ("09:30", 5, 1)),
    ("09:52", COALESCE, {"max_occurrences": 5}, None),
    ("09:52", SKIP, {"max_occurrences": 5}, None),
    ("09:52", CATCH_UP, {"max_occurrences": 5}, ("09:15", 4, 0)),
    *[("09:05", policy, {"end_at": clock("09:15")}, ("09:15", 4, 0)) for policy in MissedPolicy],
    *[("09:05", policy, {"end_at": clock("09:14")}, None) for policy in MissedPolicy],
    # And at the edges that the table leaves open.
    ("08:00", SKIP, {}, ("09:15", 4, 0)),
    ("09:00", CATCH_UP, {"max_occurrences": 4}, ("09:15", 4, 0)),
    ("09:00", CATCH_UP, {"max_occurrences": 3}, None),
]


@pytest.mark.parametrize(("now", "policy", "limits", "expected"), TABLE)
def test_the_table_of_the_contract_holds(
    now: str, policy: MissedPolicy, limits: dict[str, int], expected: tuple[str, int, int] | None
) -> None:
    cap = limits.get("cap", 10)
    rule = Recurrence(900, policy, limits.get("max_occurrences"), limits.get("end_at"))
    found = advance(rule, anchor=clock("09:00"), occurrence_no=3, now=clock(now), max_catch_up=cap)
    assert found == (None if expected is None else Advance(clock(expected[0]), *expected[1:]))


def stepped(rule: Recurrence, anchor: int, number: int, now: int, cap: int) -> Advance | None:
    """The same by walking from anchor to anchor."""
    every = rule.every_seconds * 1_000
    reached = []
    following = anchor + every
    while following <= now:
        reached.append(following)
        following += every
    if rule.missed_policy is MissedPolicy.CATCH_UP:
        # The newest ``cap`` of the anchors reached are worked through; what lies before is passed over.
        passed_over = reached[: max(0, len(reached) - cap)]
    else:
        passed_over = reached
    steps = len(passed_over) + 1
    if rule.max_occurrences is not None and number + steps > rule.max_occurrences:
        return None
    if rule.end_at is not None and anchor + steps * every > rule.end_at:
        return None
    skipped = 0 if rule.missed_policy is MissedPolicy.COALESCE else len(passed_over)
    return Advance(anchor + steps * every, number + steps, skipped)


@given(
    every=st.integers(60, 4_000),
    policy=st.sampled_from(MissedPolicy),
    limit=LIMITS,
    end=st.none() | st.integers(-10, 200),
    number=st.integers(1, 50),
    late=st.integers(-5_000_000, 200_000_000),
    cap=st.integers(1, 60),
)
def test_a_division_finds_what_a_walk_finds(
    every: int, policy: MissedPolicy, limit: int | None, end: int | None, number: int, late: int, cap: int
) -> None:
    anchor = 1_796_000_000_000
    rule = Recurrence(every, policy, limit, None if end is None else anchor + end * every * 1_000)
    found = advance(rule, anchor=anchor, occurrence_no=number, now=anchor + late, max_catch_up=cap)
    assert found == stepped(rule, anchor, number, anchor + late, cap)


@given(
    policy=st.sampled_from([COALESCE, SKIP]), late=st.integers(0, 10**13), every=st.integers(60, 31_536_000)
)
def test_coalesce_and_skip_go_on_at_the_first_future_anchor(
    policy: MissedPolicy, late: int, every: int
) -> None:
    found = advance(
        Recurrence(every, policy, None, None), anchor=0, occurrence_no=1, now=late, max_catch_up=10
    )
    assert found is not None
    assert late < found.anchor <= late + every * 1_000
    assert found.anchor == (found.occurrence_no - 1) * every * 1_000


def test_the_cost_does_not_grow_with_what_was_missed() -> None:
    rule = Recurrence(60, CATCH_UP, None, None)
    found = advance(rule, anchor=0, occurrence_no=1, now=10**14, max_catch_up=1)
    assert found is not None
    assert found.skipped_count == 10**14 // 60_000 - 1


@given(
    st.none()
    | st.builds(
        Recurrence, st.integers(60, 10**7), st.sampled_from(MissedPolicy), LIMITS, st.none() | st.integers()
    )
)
def test_a_stored_recurrence_reads_back(rule: Recurrence | None) -> None:
    found = recurrence_from_json(recurrence_json(rule))
    assert found == rule
    assert found is None or type(found.missed_policy) is MissedPolicy
