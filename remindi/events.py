"""Events: what happened to an item, by whom (contract 1.5). Nothing edits or removes one."""

from enum import IntEnum
from typing import Final, NamedTuple


class EventType(IntEnum):
    """The thirteen kinds; the last four are legal as filters and never written."""

    CREATED = 0
    BECAME_DUE = 1
    BECAME_OVERDUE = 2
    CONDITION_EVALUATED = 3
    SNOOZED = 4
    UPDATED = 5
    OCCURRENCE_ADVANCED = 6
    COMPLETED = 7
    CANCELLED = 8
    CHECKED = 9
    DELIVERY_ATTEMPTED = 10
    DELIVERY_SUCCEEDED = 11
    DELIVERY_FAILED = 12


class ActorType(IntEnum):
    """Who acted: a browser user, an agent over MCP, the scheduler, or the system."""

    USER = 0
    AGENT = 1
    SCHEDULER = 2
    SYSTEM = 3


class LifecycleEvent(IntEnum):
    """At which gate of its work an agent checks (contract 2.1)."""

    TASK_START = 0
    CHECKPOINT = 1
    CONTINUATION = 2
    FINAL_REVIEW = 3


EVENT_WORDS: Final = tuple(member.name.lower() for member in EventType)
ACTOR_WORDS: Final = tuple(member.name.lower() for member in ActorType)
LIFECYCLE_WORDS: Final = tuple(member.name.lower() for member in LifecycleEvent)


class Caller(NamedTuple):
    """Who asks for a change, and in which exchange."""

    actor_type: ActorType
    actor_id: str
    request_id: str | None
    """Null for the scheduler."""


class EventDraft(NamedTuple):
    """An event before it has a place in its item's history."""

    type: EventType
    details_json: str
    """Object of contract 1.5; its times are stamps."""
    prior_version: int | None
    new_version: int


class Event(NamedTuple):
    """One stored event of an item."""

    sequence: int
    id: bytes
    type: EventType
    caller: Caller
    occurred_at: int
    prior_version: int | None
    new_version: int | None
    details_json: str
