"""Triggers: the seven ways in which an item becomes due (contract 2.5, 4.1), normalized.

Condition parameters belong to the caller; they are kept as JSON text so that a trigger is immutable.
"""

import json
from enum import IntEnum
from typing import Any, Final, NamedTuple

from pydantic_core import from_json


class TriggerType(IntEnum):
    """The kind of a trigger."""

    AT_TIME = 0
    AFTER_ELAPSED = 1
    INTERVAL = 2
    NEXT_SESSION = 3
    NEXT_CONTINUATION = 4
    GOAL_ACTIVE = 5
    CONDITION = 6


TRIGGER_WORDS: Final = tuple(member.name.lower() for member in TriggerType)
TIME_TRIGGERS: Final = (TriggerType.AT_TIME, TriggerType.AFTER_ELAPSED, TriggerType.INTERVAL)
DEFAULT_POLL_INTERVAL_SECONDS: Final = 30


class AtTime(NamedTuple):
    """Fires at an instant."""

    at: int


class AfterElapsed(NamedTuple):
    """Fires so many seconds after it was stored."""

    after_seconds: int


class Interval(NamedTuple):
    """Fires first at an instant; with a recurrence again every so many seconds."""

    first_at: int
    every_seconds: int


class NextSession(NamedTuple):
    """Fires at the first check from another session."""


class NextContinuation(NamedTuple):
    """Fires at the first continuation check from another session of the same lineage."""


class GoalActive(NamedTuple):
    """Fires at the first check that names the goal as active."""

    goal_id: str


class Condition(NamedTuple):
    """Fires when an adapter's probe is satisfied, or at ``manual_check_at`` at the latest."""

    adapter: str
    parameters_json: str
    """The caller's parameters object as JSON text, value for value."""
    poll_interval_seconds: int | None
    manual_check_at: int | None


Trigger = AtTime | AfterElapsed | Interval | NextSession | NextContinuation | GoalActive | Condition
_TYPES: Final[dict[type[Trigger], TriggerType]] = {
    AtTime: TriggerType.AT_TIME,
    AfterElapsed: TriggerType.AFTER_ELAPSED,
    Interval: TriggerType.INTERVAL,
    NextSession: TriggerType.NEXT_SESSION,
    NextContinuation: TriggerType.NEXT_CONTINUATION,
    GoalActive: TriggerType.GOAL_ACTIVE,
    Condition: TriggerType.CONDITION,
}
_CLASSES: Final = {kind: made for made, kind in _TYPES.items()}


def trigger_type(trigger: Trigger) -> TriggerType:
    """The kind of a trigger value."""
    return _TYPES[type(trigger)]


def fire_time(trigger: Trigger, now: int) -> int | None:
    """When a trigger stored at ``now`` fires; null where a clock alone does not decide (contract 4.1)."""
    match trigger:
        case AtTime(at):
            return at
        case AfterElapsed(seconds):
            return now + seconds * 1_000
        case Interval(first_at, _):
            return first_at
        case _:
            return None


def trigger_json(trigger: Trigger) -> str:
    """A trigger's fields as JSON text for storage; instants stay integers."""
    return json.dumps(list(trigger), ensure_ascii=False, separators=(",", ":"))


def trigger_from_json(kind: TriggerType, text: str) -> Trigger:
    """Read back what ``trigger_json`` wrote."""
    # PERF: a page reads hundreds of them, and the standard library takes three times as long.
    fields: list[Any] = from_json(text)
    return _CLASSES[kind](*fields)
