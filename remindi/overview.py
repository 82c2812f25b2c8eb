"""The overview: how many items stand where, what the next day brings, and how the last ninety went.

Everything is counted when it happens (``actors/store/tally.py``). How long items take from due to done is
kept as a histogram per day, whose buckets grow with the time they stand for, so that a quantile is right to a
quarter.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from remindi.instants import MS_PER_DAY, MS_PER_SECOND
from remindi.items import Item, Priority, Readiness, State
from remindi.lifecycle import readiness

AGENDA_MS: Final = MS_PER_DAY
"""How far the agenda looks ahead."""
AGENDA_ENTRIES: Final = 50
AGENDA_CHARACTERS: Final = 200
"""How much of its message an entry shows."""
DAYS: Final = 90
"""How many days, today included, the overview looks back."""


class Standing(IntEnum):
    """Where an item is counted: its state, but for due items that somebody has to verify (contract 4.2)."""

    SCHEDULED = 0
    DUE = 1
    OVERDUE = 2
    SNOOZED = 3
    COMPLETED = 4
    CANCELLED = 5
    MANUAL_VERIFICATION = 6


class Happening(IntEnum):
    """What becomes of an item at a time of the agenda."""

    BECOMES_DUE = 0
    BECOMES_OVERDUE = 1
    SNOOZE_ENDS = 2
    MANUAL_CHECK = 3
    """A condition that no probe has satisfied by then becomes due."""


class AgendaEntry(NamedTuple):
    """What time alone will do to one item."""

    id: bytes
    project_id: str
    priority: Priority
    at: int
    happening: Happening
    message: str
    """At most ``AGENDA_CHARACTERS`` of it."""
    message_cut: bool


class Day(NamedTuple):
    """What one UTC day brought."""

    day: int
    """Days since 1970-01-01."""
    created: int
    due: int
    """Items that turned from scheduled to due; the end of a snooze is no second time."""
    completed: int
    cancelled: int


class DueToDone(NamedTuple):
    """How long completed items had been due, over the days of the overview."""

    completed: int
    """Items that were completed when they had become due; without any, the times are null."""
    median_seconds: int | None
    p90_seconds: int | None


class Overview(NamedTuple):
    """The database at one instant."""

    as_of: int
    counts: tuple[int, ...]
    """Items by ``Standing``, as stored: what was reached and waits for a check or a pass is not yet due."""
    agenda: tuple[AgendaEntry, ...]
    """By time. Probes are left out: they come again and again."""
    agenda_cut: bool
    """Whether the next day brings more than the agenda shows."""
    days: tuple[Day, ...]
    """Each of the last ``DAYS`` days, the oldest first."""
    due_to_done: DueToDone


def standing(item: Item) -> Standing:
    """Where an item is counted."""
    if item.state == State.DUE and (
        readiness(item.state, item.trigger_type, item.last_condition_status) == Readiness.MANUAL_VERIFICATION
    ):
        return Standing.MANUAL_VERIFICATION
    return _STANDINGS[item.state]


def day_of(instant: int) -> int:
    """The UTC day of an instant, in days since 1970-01-01."""
    return instant // MS_PER_DAY


def bucket_of(milliseconds: int) -> int:
    """The bucket of a time; a negative one, from a clock that was set back, counts as none."""
    seconds = max(0, milliseconds) // MS_PER_SECOND
    octave = max(0, seconds.bit_length() - 3)
    return 4 * octave + (seconds >> octave)


def bucket_bounds(bucket: int) -> tuple[int, int]:
    """The seconds from which on a bucket counts, and those from which on the next one does."""
    octave = max(0, bucket // 4 - 1)
    first = (bucket - 4 * octave) << octave
    return first, first + (1 << octave)


def due_to_done(histogram: Sequence[tuple[int, int]]) -> DueToDone:
    """Median and ninetieth percentile of ``(bucket, count)`` in rising order of buckets."""
    total = sum(count for _, count in histogram)
    if total == 0:
        return DueToDone(0, None, None)
    return DueToDone(total, _quantile(histogram, total, 50), _quantile(histogram, total, 90))


def _quantile(histogram: Sequence[tuple[int, int]], total: int, percent: int) -> int:
    """The smallest time that so many percent did not exceed, spread evenly within its bucket."""
    wanted = -(-total * percent // 100)
    passed = 0
    for bucket, count in histogram:
        if passed + count >= wanted:
            first, end = bucket_bounds(bucket)
            return first + (end - first) * (wanted - passed - 1) // count
        passed += count
    raise ValueError("the histogram holds less than its total")


_STANDINGS: Final = tuple(Standing)
