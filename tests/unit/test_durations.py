"""Durations: read, written back, and how far away an instant is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.cli.durations import DurationRefused, read_duration, relative, write_duration

NOW = 1_800_000_000_000
SECOND = 1_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("90s", 90),
        ("15m", 900),
        ("2h", 7_200),
        ("3d", 259_200),
        ("1w", 604_800),
        ("1d12h", 129_600),
        ("1h 30m", 5_400),
        (" 2H ", 7_200),
        ("36 h", 129_600),
    ],
)
def test_a_duration_is_a_sum_of_counted_units(text: str, seconds: int) -> None:
    assert read_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "h", "5", "-5m", "1.5h", "30m1h", "1h1h", "2 hours", "1y", "٣d", "1h30", "9999999999s"]
)
def test_anything_else_is_refused_with_what_to_write(text: str) -> None:
    with pytest.raises(DurationRefused, match="90s"):
        read_duration(text)


def test_a_bare_number_is_told_that_it_lacks_a_unit() -> None:
    with pytest.raises(DurationRefused, match="30s, 30m or 30h"):
        read_duration("30")


@given(st.integers(min_value=0, max_value=10**9))
def test_what_is_written_is_read_back(seconds: int) -> None:
    assert read_duration(write_duration(seconds)) == seconds


@pytest.mark.parametrize(
    ("distance", "text"),
    [
        (0, "now"),
        (499, "now"),
        (SECOND, "in 1 s"),
        (-59 * SECOND, "59 s ago"),
        (2 * HOUR - 40, "in 2 h"),
        (MINUTE, "in 1 min"),
        (59 * MINUTE + 45 * SECOND, "in 1 h"),
        (47 * HOUR, "in 47 h"),
        (2 * DAY, "in 2 d"),
        (-729 * DAY, "729 d ago"),
        (731 * DAY, "in 2 y"),
    ],
)
def test_a_distance_is_rounded_to_one_unit(distance: int, text: str) -> None:
    assert relative(NOW + distance, NOW) == text


@given(st.integers(min_value=-(10**14), max_value=10**14))
def test_past_and_future_are_equally_far(distance: int) -> None:
    ahead, behind = relative(NOW + abs(distance), NOW), relative(NOW - abs(distance), NOW)
    assert ahead.removeprefix("in ") == behind.removesuffix(" ago")
