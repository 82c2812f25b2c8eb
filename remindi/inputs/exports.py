"""Lines of an export, read back into items (``remindi.exports``). Pure.

A file may come from anywhere. Each value keeps the bounds that it had as an argument, and what belongs
together is held against each other, so that what is read could have been written by a Remindi.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

from remindi import events as domain_events
from remindi import evidence as domain_evidence
from remindi.errors import Refusal, invalid
from remindi.exports import EVENTS_A_LINE, FORMAT_VERSION, Exported
from remindi.inputs.evidence import MAX_SUMMARY_CHARACTERS, MAX_URI_CHARACTERS
from remindi.inputs.failures import Arguments, Failure, read
from remindi.inputs.fields import Instant, Integer, OwnObject, Text, Token, Uuid, Word
from remindi.inputs.mutations import Grace, Instructions, Message, Scope
from remindi.inputs.triggers import (
    Links,
    Recurrence,
    Trigger,
    links_unique,
    links_value,
    recurrence_value,
    trigger_value,
)
from remindi.items import ConditionStatus, Content, Item, ItemRecord, Priority, State
from remindi.triggers import Condition, trigger_type

MAX_SEQUENCE: Final = (1 << 24) - 1
MAX_DETAIL_CHARACTERS: Final = 4_096
MAX_ACTOR_CHARACTERS: Final = 1_024

_Id = Annotated[bytes, Uuid()]
_Time = Annotated[int, Instant()]
_Counter = Annotated[int, Integer(1)]
_Sequence = Annotated[int, Integer(1, MAX_SEQUENCE)]
_Sha256 = Annotated[str, Token(r"^[0-9a-f]{64}$")]
_Actor = Annotated[str, Text(MAX_ACTOR_CHARACTERS)]
_StateWord = Annotated[State, Word(State)]


class Manifest(Arguments):
    """The first line."""

    format: Literal["remindi-export"]
    format_version: Annotated[int, Integer(1)]
    schema_version: _Counter
    owner_sha256: _Sha256
    created_at: _Time


class End(Arguments):
    """What the last line says."""

    items: Annotated[int, Integer(0)]
    events: Annotated[int, Integer(0)]
    evidence: Annotated[int, Integer(0)]
    sha256: _Sha256


class _End(Arguments):
    end: End


class _Event(Arguments):
    sequence: _Sequence
    event_id: _Id
    event_type: Annotated[domain_events.EventType, Word(domain_events.EventType)]
    actor_type: Annotated[domain_events.ActorType, Word(domain_events.ActorType)]
    actor_id: _Actor
    request_id: Annotated[str, Text(MAX_ACTOR_CHARACTERS)] | None
    occurred_at: _Time
    prior_version: _Counter | None
    new_version: _Counter | None
    details: Annotated[str, OwnObject()]


class _Evidence(Arguments):
    id: _Id
    evidence_type: Annotated[domain_evidence.EvidenceType, Word(domain_evidence.EvidenceType)]
    summary: Annotated[str, Text(MAX_SUMMARY_CHARACTERS, trimmed=True)]
    reference_uri: Annotated[str, Text(MAX_URI_CHARACTERS)] | None
    content_hash: Annotated[str, Token(r"^sha256:[0-9a-f]{64}$")] | None
    observed_at: _Time
    recorded_at: _Time
    recorded_by: _Actor
    metadata: Annotated[str, OwnObject()] | None


class _Item(Arguments):
    id: _Id
    project_id: Scope
    task_id: Scope | None
    message: Message
    instructions: Instructions | None
    state: _StateWord
    priority: Annotated[Priority, Word(Priority)]
    trigger: Trigger
    recurrence: Recurrence | None
    next_fire_at: _Time | None
    original_next_fire_at: _Time | None
    next_evaluation_at: _Time | None
    due_since: _Time | None
    snooze_until: _Time | None
    snoozed_from_state: _StateWord | None
    overdue_after_seconds: Annotated[int, Grace]
    occurrence_no: _Counter
    snooze_count: Annotated[int, Integer(0)]
    last_condition_status: Annotated[ConditionStatus, Word(ConditionStatus)] | None
    last_condition_detail: Annotated[str, Text(MAX_DETAIL_CHARACTERS, blank=True)] | None
    links: Links
    source_session_id: Scope | None
    source_task_lineage_id: Scope | None
    version: _Counter
    created_at: _Time
    updated_at: _Time
    last_checked_at: _Time | None
    completed_at: _Time | None
    cancelled_at: _Time | None
    last_event_sequence: _Sequence


class _Line(Arguments):
    item: _Item
    events: list[_Event]
    evidence: _Evidence | None


class _More(Arguments):
    remindi_id: _Id
    events: list[_Event]


def read_manifest(value: Any) -> Manifest | Refusal:
    """The first line of an export."""
    return read(Manifest, _object(value), 0, content=_known_version)


def read_end(value: Any) -> End | Refusal:
    """The last line of an export."""
    read_line = read(_End, _object(value), 0)
    return read_line if isinstance(read_line, Refusal) else read_line.end


def read_item(value: Any, more: Iterable[Any] = ()) -> Exported | Refusal:
    """An item from its line, and from those in which its history goes on."""
    line = read(_Line, _object(value), 0, content=_item_rules)
    if isinstance(line, Refusal):
        return line
    events = list(line.events)
    for value_of_more in more:
        part = read(_More, _object(value_of_more), 0)
        if isinstance(part, Refusal):
            return part
        if part.remindi_id != line.item.id:
            return invalid(("/remindi_id", "format"))
        events += part.events
    sequences = [event.sequence for event in events]
    if sequences != sorted(set(sequences)) or sequences[-1:] > [line.item.last_event_sequence]:
        return invalid(("/events", "format"))
    evidence = None if line.evidence is None else _evidence(line.evidence, line.item.id)
    return Exported(_record(line.item), tuple(map(_event, events)), evidence)


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _known_version(given: Mapping[str, Any]) -> list[Failure]:
    return [] if given["format_version"] == FORMAT_VERSION else [("/format_version", "too_large")]


def _item_rules(given: Mapping[str, Any]) -> list[Failure]:
    """What must hold between the fields of a line."""
    item = given["item"]
    state, trigger, recurrence = item["state"], item["trigger"], item["recurrence"]
    timed = trigger["type"] in ("at_time", "after_elapsed", "interval")
    snoozed = state == "snoozed"
    evidence = given["evidence"]
    rules: dict[str, bool] = {
        "/item/next_fire_at": (item["next_fire_at"] is not None) == timed,
        "/item/due_since": state not in ("due", "overdue", "snoozed") or item["due_since"] is not None,
        "/item/snooze_until": (item["snooze_until"] is not None) == snoozed,
        "/item/snoozed_from_state": item["snoozed_from_state"]
        in (("due", "overdue") if snoozed else (None,)),
        "/item/completed_at": (item["completed_at"] is not None) == (state == "completed"),
        "/item/cancelled_at": (item["cancelled_at"] is not None) == (state == "cancelled"),
        "/item/recurrence": recurrence is None
        or (trigger["type"] == "interval" and recurrence["every_seconds"] == trigger["every_seconds"]),
        "/evidence": (evidence is not None) == (state == "completed")
        and (
            evidence is None or evidence["reference_uri"] is not None or evidence["content_hash"] is not None
        ),
        "/events": len(given["events"]) <= EVENTS_A_LINE,
    }
    failures: list[Failure] = [(field, "format") for field, holds in rules.items() if not holds]
    return failures + [(f"/item{field}", reason) for field, reason in links_unique(item)]


def _record(line: _Item) -> ItemRecord:
    trigger = trigger_value(line.trigger)
    condition = trigger if isinstance(trigger, Condition) else None
    item = Item(
        key=0,
        id=line.id,
        state=line.state,
        priority=line.priority,
        trigger_type=trigger_type(trigger),
        next_fire_at=line.next_fire_at,
        original_next_fire_at=line.original_next_fire_at,
        next_evaluation_at=line.next_evaluation_at,
        manual_check_at=condition.manual_check_at if condition else None,
        poll_interval_seconds=condition.poll_interval_seconds if condition else None,
        due_since=line.due_since,
        snooze_until=line.snooze_until,
        snoozed_from_state=line.snoozed_from_state,
        last_checked_at=line.last_checked_at,
        completed_at=line.completed_at,
        cancelled_at=line.cancelled_at,
        created_at=line.created_at,
        updated_at=line.updated_at,
        overdue_after_seconds=line.overdue_after_seconds,
        occurrence_no=line.occurrence_no,
        snooze_count=line.snooze_count,
        version=line.version,
        event_count=line.last_event_sequence,
        last_condition_status=line.last_condition_status,
        last_condition_detail=line.last_condition_detail,
    )
    content = Content(
        line.project_id,
        line.task_id,
        line.message,
        line.instructions,
        line.source_session_id,
        line.source_task_lineage_id,
        trigger,
        None if line.recurrence is None else recurrence_value(line.recurrence),
    )
    return ItemRecord(item, content, links_value(line.links))


def _event(line: _Event) -> domain_events.Event:
    return domain_events.Event(
        line.sequence,
        line.event_id,
        line.event_type,
        domain_events.Caller(line.actor_type, line.actor_id, line.request_id),
        line.occurred_at,
        line.prior_version,
        line.new_version,
        line.details,
    )


def _evidence(line: _Evidence, remindi_id: bytes) -> domain_evidence.EvidenceRecord:
    evidence = domain_evidence.Evidence(
        line.evidence_type,
        line.summary,
        line.reference_uri,
        line.content_hash,
        line.observed_at,
        line.metadata,
    )
    return domain_evidence.EvidenceRecord(line.id, remindi_id, evidence, line.recorded_at, line.recorded_by)
