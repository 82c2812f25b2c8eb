"""Recurrence: which occurrence comes after this one, found by one division (contract section 6)."""

import json
from enum import IntEnum
from typing import Any, Final, NamedTuple

from remindi.instants import LATEST


class MissedPolicy(IntEnum):
    """What happens to anchors that passed unattended."""

    COALESCE = 0
    CATCH_UP = 1
    SKIP = 2


class Disposition(IntEnum):
    """What became of the occurrence that an update leaves behind."""

    ACKNOWLEDGED = 0
    SKIPPED = 1


POLICY_WORDS: Final = tuple(member.name.lower() for member in MissedPolicy)
DISPOSITION_WORDS: Final = tuple(member.name.lower() for member in Disposition)


class Recurrence(NamedTuple):
    """How an interval trigger repeats."""

    every_seconds: int
    missed_policy: MissedPolicy
    max_occurrences: int | None
    """Highest occurrence number that may come to be; null: no limit."""
    end_at: int | None
    """Last instant at which an anchor may lie, inclusive; null: no end."""


class Advance(NamedTuple):
    """The step from one occurrence to a later one."""

    anchor: int
    occurrence_no: int
    skipped_count: int


def advance(
    recurrence: Recurrence, *, anchor: int, occurrence_no: int, now: int, max_catch_up: int
) -> Advance | None:
    """The occurrence after the current one, or None when the series ends with it.

    Args:
        recurrence: the rule; its ``every_seconds`` is the distance of two anchors.
        anchor: fire time of the current occurrence, an instant in milliseconds.
        occurrence_no: number of the current occurrence, from 1.
        now: the present instant.
        max_catch_up: setting ``recurrence.max_catch_up_occurrences``.
    """
    every = recurrence.every_seconds * 1_000
    passed = max(0, (now - anchor) // every)
    if recurrence.missed_policy == MissedPolicy.CATCH_UP:
        steps = 1 + max(0, passed - max_catch_up)
    else:
        steps = passed + 1
    skipped = 0 if recurrence.missed_policy == MissedPolicy.COALESCE else steps - 1
    following = Advance(anchor + steps * every, occurrence_no + steps, skipped)
    if following.anchor > LATEST:
        return None
    if recurrence.max_occurrences is not None and following.occurrence_no > recurrence.max_occurrences:
        return None
    if recurrence.end_at is not None and following.anchor > recurrence.end_at:
        return None
    return following


def recurrence_json(recurrence: Recurrence | None) -> str | None:
    """A recurrence as JSON text for storage; instants stay integers."""
    return None if recurrence is None else json.dumps(list(recurrence), separators=(",", ":"))


def recurrence_from_json(text: str | None) -> Recurrence | None:
    """Read back what ``recurrence_json`` wrote."""
    if text is None:
        return None
    every_seconds, policy, max_occurrences, end_at = _fields(text)
    return Recurrence(every_seconds, MissedPolicy(policy), max_occurrences, end_at)


def _fields(text: str) -> list[Any]:
    fields: list[Any] = json.loads(text)
    return fields
