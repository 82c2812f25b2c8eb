"""Records in tests: stored things with plain values, each field open to change."""

from typing import Any

from hypothesis import strategies as st

from remindi.answers import CheckItem
from remindi.events import ActorType, Caller, Event, EventType
from remindi.evidence import Evidence, EvidenceRecord, EvidenceType
from remindi.instants import EARLIEST, LATEST
from remindi.items import ConditionStatus, Content, Item, ItemRecord, Priority, Readiness, State
from remindi.links import Link, LinkType
from remindi.recurrence import MissedPolicy, Recurrence
from remindi.triggers import (
    AfterElapsed,
    AtTime,
    Condition,
    GoalActive,
    Interval,
    NextContinuation,
    NextSession,
    Trigger,
    trigger_type,
)
from tests.unit.samples import NOW

ID = bytes.fromhex("01937a5e0000700080000000000000aa")
ID_TEXT = "01937a5e-0000-7000-8000-0000000000aa"


def item(**fields: Any) -> Item:
    """A scheduled item, changed in the fields given."""
    plain: dict[str, Any] = {
        **dict.fromkeys(Item._fields),
        "key": 1,
        "id": ID,
        "state": State.SCHEDULED,
        "priority": Priority.NORMAL,
        "trigger_type": trigger_type(NextSession()),
        "created_at": NOW,
        "updated_at": NOW,
        "overdue_after_seconds": 0,
        "occurrence_no": 1,
        "snooze_count": 0,
        "version": 1,
        "event_count": 1,
    }
    return Item(**{**plain, **fields})


def content(**fields: Any) -> Content:
    """What a caller wrote, changed in the fields given."""
    plain: dict[str, Any] = {
        **dict.fromkeys(Content._fields),
        "project_id": "demo",
        "message": "Look.",
        "trigger": NextSession(),
    }
    return Content(**{**plain, **fields})


def record(trigger: Trigger, recurrence: Recurrence | None = None, **fields: Any) -> ItemRecord:
    """A whole item with a trigger."""
    row = item(trigger_type=trigger_type(trigger), **fields)
    return ItemRecord(row, content(trigger=trigger, recurrence=recurrence), ())


def event(kind: EventType, details_json: str = "{}", **fields: Any) -> Event:
    """An event of an agent, changed in the fields given."""
    plain: dict[str, Any] = {
        "sequence": 1,
        "id": b"e" * 16,
        "type": kind,
        "caller": Caller(ActorType.AGENT, "mcp:x", "request-1"),
        "occurred_at": NOW,
        "prior_version": 1,
        "new_version": 2,
        "details_json": details_json,
    }
    return Event(**{**plain, **fields})


def evidence_record(**fields: Any) -> EvidenceRecord:
    """Evidence of a test run, changed in the fields given."""
    plain: dict[str, Any] = {
        "type": EvidenceType.TEST_RESULT,
        "summary": "All tests pass.",
        "reference_uri": "https://ci.example.org/42",
        "content_hash": None,
        "observed_at": NOW - 1,
        "metadata_json": None,
    }
    return EvidenceRecord(b"v" * 16, ID, Evidence(**{**plain, **fields}), NOW, "mcp:x")


# --------------------------------------------------------------- strategies

_instants = st.integers(EARLIEST, LATEST)
_maybe = _instants | st.none()
_ids = st.binary(min_size=16, max_size=16)
_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_links = st.lists(st.builds(Link, st.sampled_from(LinkType), _text), max_size=3).map(tuple)
_objects = st.sampled_from(["{}", '{"target":"x"}', '{"at":[2026,1,0,0,0,0,0,0,0],"n":1e300}'])
triggers: st.SearchStrategy[Trigger] = st.one_of(
    st.builds(AtTime, _instants),
    st.builds(AfterElapsed, st.integers(1, 31_536_000)),
    st.builds(Interval, _instants, st.integers(60, 31_536_000)),
    st.just(NextSession()),
    st.just(NextContinuation()),
    st.builds(GoalActive, _text),
    st.builds(Condition, _text, _objects, st.none() | st.integers(30, 86_400), _maybe),
)
recurrences = st.builds(
    Recurrence,
    st.integers(60, 31_536_000),
    st.sampled_from(MissedPolicy),
    st.none() | st.integers(1, 10**6),
    _maybe,
)
_rows = st.builds(
    item,
    id=_ids,
    state=st.sampled_from(State),
    priority=st.sampled_from(Priority),
    next_fire_at=_maybe,
    original_next_fire_at=_maybe,
    next_evaluation_at=_maybe,
    due_since=_maybe,
    snooze_until=_maybe,
    snoozed_from_state=st.sampled_from([None, State.DUE, State.OVERDUE]),
    last_checked_at=_maybe,
    completed_at=_maybe,
    cancelled_at=_maybe,
    created_at=_instants,
    updated_at=_instants,
    last_condition_status=st.none() | st.sampled_from(ConditionStatus),
    last_condition_detail=st.none() | _text,
)
_contents = st.builds(
    Content,
    _text,
    st.none() | _text,
    _text,
    st.none() | _text,
    st.none() | _text,
    st.none() | _text,
    triggers,
    st.none() | recurrences,
)
item_records = st.builds(ItemRecord, _rows, _contents, _links)
check_items = st.builds(
    CheckItem,
    _ids,
    st.sampled_from(Readiness),
    _text,
    st.integers(1, 99),
    st.integers(1, 99),
    st.sampled_from(State),
    st.sampled_from(Priority),
    st.none() | _text,
    st.none() | _text,
    _maybe,
    _maybe,
    _links,
)
events = st.builds(
    event,
    st.sampled_from(EventType),
    sequence=st.integers(1, 2**40),
    id=_ids,
    caller=st.builds(Caller, st.sampled_from(ActorType), _text, st.none() | _text),
    occurred_at=_instants,
    prior_version=st.none() | st.integers(1, 99),
    new_version=st.none() | st.integers(1, 99),
)
evidence_records = st.builds(
    evidence_record,
    type=st.sampled_from(EvidenceType),
    summary=_text,
    reference_uri=st.none() | _text,
    content_hash=st.none() | st.just("sha256:" + "ab" * 32),
    observed_at=_instants,
    metadata_json=st.none() | _objects,
)
