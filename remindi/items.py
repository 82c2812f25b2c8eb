"""Items: the words of an obligation's life and the values that make one up (contract 1.4, 2.5, 4.1).

An ``Item`` is the narrow part that every change of state rewrites; ``Content`` is what the caller
wrote; an ``ItemRecord`` is both with its links.
"""

from enum import IntEnum
from typing import Final, NamedTuple, TypeVar

from remindi.links import Link
from remindi.recurrence import Recurrence
from remindi.triggers import Trigger, TriggerType


class State(IntEnum):
    """Where an item stands; ``word`` is the name on the wire."""

    SCHEDULED = 0
    DUE = 1
    OVERDUE = 2
    SNOOZED = 3
    COMPLETED = 4
    CANCELLED = 5


class Priority(IntEnum):
    """How much an item matters; higher is more."""

    LOW = 0
    NORMAL = 1
    HIGH = 2
    CRITICAL = 3


class ConditionStatus(IntEnum):
    """What a probe said (contract 7.4)."""

    SATISFIED = 0
    UNSATISFIED = 1
    UNKNOWN = 2
    ERROR = 3


class Readiness(IntEnum):
    """Why a check returns an item; the order of the first three is the order of a check (contract 5.1)."""

    OVERDUE = 0
    DUE = 1
    MANUAL_VERIFICATION = 2
    SCHEDULED = 3
    SNOOZED = 4


ACTIVE_STATES: Final = (State.SCHEDULED, State.DUE, State.OVERDUE, State.SNOOZED)
TERMINAL_STATES: Final = (State.COMPLETED, State.CANCELLED)
_Word = TypeVar("_Word", bound=IntEnum)


def words(kind: type[_Word]) -> tuple[str, ...]:
    """The wire words of an enumeration, indexed by value."""
    return tuple(member.name.lower() for member in kind)


STATE_WORDS: Final = words(State)
PRIORITY_WORDS: Final = words(Priority)
STATUS_WORDS: Final = words(ConditionStatus)
READINESS_WORDS: Final = words(Readiness)


class Item(NamedTuple):
    """The part of an item that its life rewrites. Times are instants in milliseconds, null when absent."""

    key: int
    """Row key; rises with creation, never leaves the store's side of the doors."""
    id: bytes
    """16 bytes of a UUIDv7 that rises with creation."""
    state: State
    priority: Priority
    trigger_type: TriggerType
    next_fire_at: int | None
    original_next_fire_at: int | None
    next_evaluation_at: int | None
    """When a condition that has not fired is probed next."""
    manual_check_at: int | None
    poll_interval_seconds: int | None
    due_since: int | None
    """When the item ought to have become due; grace counts from here."""
    snooze_until: int | None
    snoozed_from_state: State | None
    last_checked_at: int | None
    completed_at: int | None
    cancelled_at: int | None
    created_at: int
    updated_at: int
    overdue_after_seconds: int
    occurrence_no: int
    snooze_count: int
    version: int
    event_count: int
    """The sequence of the newest event."""
    last_condition_status: ConditionStatus | None
    last_condition_detail: str | None


class Content(NamedTuple):
    """What the caller wrote."""

    project_id: str
    task_id: str | None
    message: str
    instructions: str | None
    source_session_id: str | None
    source_task_lineage_id: str | None
    trigger: Trigger
    recurrence: Recurrence | None


class ItemRecord(NamedTuple):
    """A whole item as it is shown (contract 1.4)."""

    item: Item
    content: Content
    links: tuple[Link, ...]
