"""Polling: when a condition is looked at again (contract 7.2). No back-off, whatever the probe said."""

from typing import Final

from remindi.instants import MS_PER_SECOND
from remindi.triggers import DEFAULT_POLL_INTERVAL_SECONDS, Condition

SPREAD: Final = 0.1
"""Largest part of the poll interval that chance adds or takes."""


def next_evaluation(condition: Condition, observed_at: int, chance: float) -> int:
    """The instant of the next probe after one that fired nothing.

    Args:
        condition: the trigger that was probed; without a poll interval it is 30 seconds.
        observed_at: when the probe looked, an instant in milliseconds.
        chance: a number between -SPREAD and SPREAD, as a part of the interval.
    """
    seconds = condition.poll_interval_seconds
    if seconds is None:
        seconds = DEFAULT_POLL_INTERVAL_SECONDS
    following = observed_at + round(seconds * MS_PER_SECOND * (1 + chance))
    if condition.manual_check_at is None:
        return following
    return min(following, condition.manual_check_at)
