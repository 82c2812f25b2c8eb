"""Requests: what the doors ask for, normalized (contract 2.1). Made by ``remindi.inputs``, without wire form.

Text is trimmed, times are instants, defaults are filled in; only the grace of an add may stay open,
because its default is a live setting.
"""

from enum import Enum, IntEnum
from typing import NamedTuple

from remindi.events import EventType, LifecycleEvent
from remindi.evidence import Evidence
from remindi.items import Content, Priority, State
from remindi.links import Link
from remindi.recurrence import Disposition, Recurrence
from remindi.triggers import Trigger, TriggerType


class Keep(Enum):
    """The mark of a field that an update leaves alone, where null means something else."""

    KEEP = "keep"


KEEP = Keep.KEEP


class IdempotencyKey(NamedTuple):
    """A mutation's key and what it stands for (contract section 9)."""

    tool: str
    """Tool name; REST uses the same names."""
    key: str
    request_hash: bytes
    """SHA-256 over the normalized request, without an add's grace."""


class NewItem(NamedTuple):
    """``remindi_add``."""

    idempotency: IdempotencyKey
    content: Content
    priority: Priority
    overdue_after_seconds: int | None
    """Null when the caller gave none: the live default counts."""
    links: tuple[Link, ...]


class Completion(NamedTuple):
    """``remindi_complete``."""

    idempotency: IdempotencyKey
    remindi_id: bytes
    expected_version: int
    evidence: Evidence
    completion_note: str | None


class Snooze(NamedTuple):
    """``remindi_snooze``."""

    idempotency: IdempotencyKey
    remindi_id: bytes
    expected_version: int
    snooze_until: int
    reason: str


class Cancellation(NamedTuple):
    """``remindi_cancel``."""

    idempotency: IdempotencyKey
    remindi_id: bytes
    expected_version: int
    reason: str


class Update(NamedTuple):
    """``remindi_update``; None means not supplied, except where KEEP says so and None clears."""

    idempotency: IdempotencyKey
    remindi_id: bytes
    expected_version: int
    reason: str
    message: str | None = None
    instructions: str | Keep | None = KEEP
    priority: Priority | None = None
    trigger: Trigger | None = None
    recurrence: Recurrence | Keep | None = KEEP
    overdue_after_seconds: int | None = None
    links: tuple[Link, ...] | None = None
    occurrence_disposition: Disposition | None = None


class CheckContext(NamedTuple):
    """What the checking agent says of its work."""

    lifecycle_event: LifecycleEvent
    session_id: str | None
    task_lineage_id: str | None
    active_goal_ids: tuple[str, ...]


class CheckPosition(NamedTuple):
    """The last place of a page of a check; the next page starts right after it."""

    as_of: int
    """``checked_at`` of the first page: all pages of a walk are evaluated as of it."""
    change: int
    """Number of the newest write at the first page: tells what a later write did, where clocks may jump."""
    ready: bool
    """Whether the place is among the ready items or among those appended by ``include_scheduled``."""
    rank: int
    """Sort key within that part."""
    key: int


class CheckQuery(NamedTuple):
    """``remindi_check``."""

    project_id: str
    task_id: str | None
    context: CheckContext
    include_scheduled: bool
    evaluate_conditions: bool
    limit: int
    after: CheckPosition | None


class Sort(IntEnum):
    """The order of a list; among equals the older item comes first."""

    CREATED = 0
    """The newest first: the contract's order, and the only one of the tool."""
    FIRE_TIME = 1
    """What fires first, then what no time fires."""
    PRIORITY = 2
    """Critical first, then as by fire time."""


class ListPosition(NamedTuple):
    """The last place of a list page."""

    newest_key: int
    """Row key of the newest item at page 1: later ones stay off later pages."""
    place: int
    """Sort key: creation time, or what the store makes of fire time and priority."""
    key: int


class ListQuery(NamedTuple):
    """``remindi_list``, and what its route adds to it; empty tuples and None mean no filter."""

    project_id: str | None
    task_id: str | None
    remindi_id: bytes | None
    states: tuple[State, ...]
    trigger_types: tuple[TriggerType, ...]
    linked_goal_id: str | None
    linked_memory_hash: str | None
    limit: int
    after: ListPosition | None
    text: str | None = None
    """Words that message or instructions hold; the last one may be the beginning of one."""
    sort: Sort = Sort.CREATED


class HistoryQuery(NamedTuple):
    """``remindi_history``; an empty tuple means all types."""

    remindi_id: bytes
    after_sequence: int
    event_types: tuple[EventType, ...]
    limit: int
