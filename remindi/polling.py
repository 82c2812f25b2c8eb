"""Polling: when a condition is looked at again (contract 7.2). No back-off, whatever the probe said."""

from typing import Final

from remindi.instants import MS_PER_SECOND
from remindi.triggers import DEFAULT_POLL_INTERVAL_SECONDS

JITTER: Final = 0.1
"""Largest part of the poll interval that chance adds or takes."""


def next_poll(
    observed_at: int, *, poll_interval_seconds: int | None, manual_check_at: int | None, jitter: float
) -> int:
    """The instant of the next probe after one that fired nothing.

    Args:
        observed_at: when the probe looked, an instant in milliseconds.
        poll_interval_seconds: of the condition; null stands for 30.
        manual_check_at: of the condition; the next probe comes no later.
        jitter: chance between -0.1 and 0.1, as a part of the interval.
    """
    seconds = DEFAULT_POLL_INTERVAL_SECONDS if poll_interval_seconds is None else poll_interval_seconds
    following = observed_at + round(seconds * MS_PER_SECOND * (1 + jitter))
    return following if manual_check_at is None else min(following, manual_check_at)
