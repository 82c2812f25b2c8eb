"""Answers: what the service says to requests, before a door gives it its wire form (contract 1.2)."""

from typing import NamedTuple

from remindi.events import Event
from remindi.evidence import EvidenceRecord
from remindi.items import ItemRecord, Priority, Readiness, State
from remindi.links import Link
from remindi.requests import CheckPosition, ListPosition


class Mutated(NamedTuple):
    """A mutation's effect, also when it is replayed under its idempotency key."""

    id: bytes
    state: State
    version: int
    warnings: tuple[str, ...] = ()


class CheckItem(NamedTuple):
    """One item of a check (contract 1.3)."""

    id: bytes
    readiness: Readiness
    message: str
    occurrence_no: int
    version: int
    state: State
    priority: Priority
    task_id: str | None
    instructions: str | None
    due_since: int | None
    next_fire_at: int | None
    links: tuple[Link, ...]


class CheckPage(NamedTuple):
    """A page of a check; ``next`` is null on the last one."""

    checked_at: int
    items: tuple[CheckItem, ...]
    next: CheckPosition | None


class ListPage(NamedTuple):
    """A page of a list; ``next`` is null on the last one."""

    items: tuple[ItemRecord, ...]
    next: ListPosition | None


class HistoryPage(NamedTuple):
    """A page of an item's history; ``next_after`` is the sequence to go on from, null on the last page."""

    events: tuple[Event, ...]
    completion_evidence: EvidenceRecord | None
    next_after: int | None
