"""The state machine: what creation, evaluation and each mutation make of an item (contract 2.7, 2.8, 4).

Pure decisions. A function takes the item as it is and the present instant and returns the item as it
becomes with the events that tell it, or a refusal; storing both is the writer's work.
"""

import json
from typing import Any, Final, NamedTuple

from remindi.errors import INVALID_STATE, Refusal, invalid
from remindi.events import LIFECYCLE_WORDS, EventDraft, EventType, LifecycleEvent
from remindi.instants import MS_PER_SECOND, stamp, stamp_or_none
from remindi.items import (
    STATUS_WORDS,
    TERMINAL_STATES,
    ConditionStatus,
    Content,
    Item,
    ItemRecord,
    Readiness,
    State,
)
from remindi.links import Link, satisfy_goal
from remindi.recurrence import DISPOSITION_WORDS, Advance, Disposition, Recurrence, advance
from remindi.requests import Cancellation, CheckContext, Completion, Keep, NewItem, Snooze, Update
from remindi.triggers import (
    TIME_TRIGGERS,
    TRIGGER_WORDS,
    Condition,
    GoalActive,
    Interval,
    Trigger,
    TriggerType,
    fire_time,
    trigger_type,
)


class Change(NamedTuple):
    """What becomes of an item; no events and the same version for an unchanged poll."""

    item: Item
    events: tuple[EventDraft, ...]


class RecordChange(NamedTuple):
    """What becomes of an item together with what its caller wrote."""

    record: ItemRecord
    event: EventDraft


class Probe(NamedTuple):
    """What a probe said about one item's condition, ready to be applied."""

    status: ConditionStatus
    detail: str
    next_evaluation_at: int
    """When to probe again if nothing fires: poll interval and jitter, or the manual check if earlier."""


def create(
    new: NewItem, *, key: int, identifier: bytes, now: int, default_grace: int
) -> RecordChange | Refusal:
    """A new item in state scheduled with its ``created`` event (contract 4.1)."""
    content = new.content
    refusal = check_pair(content.trigger, content.recurrence) or check_goal(content.trigger, new.links)
    if refusal is not None:
        return refusal
    kind = trigger_type(content.trigger)
    item = Item(
        key=key,
        id=identifier,
        state=State.SCHEDULED,
        priority=new.priority,
        **_scheduling(content.trigger, now),
        due_since=None,
        snooze_until=None,
        snoozed_from_state=None,
        last_checked_at=None,
        completed_at=None,
        cancelled_at=None,
        created_at=now,
        updated_at=now,
        overdue_after_seconds=default_grace
        if new.overdue_after_seconds is None
        else new.overdue_after_seconds,
        occurrence_no=1,
        snooze_count=0,
        version=1,
        event_count=1,
        last_condition_status=None,
        last_condition_detail=None,
    )
    details = {
        "trigger_type": TRIGGER_WORDS[kind],
        "project_id": content.project_id,
        "task_id": content.task_id,
    }
    return RecordChange(
        ItemRecord(item, content, new.links), EventDraft(EventType.CREATED, _json(details), None, 1)
    )


def check_pair(trigger: Trigger, recurrence: Recurrence | None) -> Refusal | None:
    """Whether trigger and recurrence go together (contract 2.5)."""
    if recurrence is None:
        return None
    if not isinstance(trigger, Interval) or trigger.every_seconds != recurrence.every_seconds:
        return invalid(("/recurrence", "pair_mismatch"))
    if recurrence.end_at is not None and recurrence.end_at < trigger.first_at:
        return invalid(("/recurrence/end_at", "end_before_start"))
    return None


def check_goal(trigger: Trigger, links: tuple[Link, ...]) -> Refusal | None:
    """Whether a ``goal_active`` trigger has its one goal link (contract 2.5)."""
    if isinstance(trigger, GoalActive) and not satisfy_goal(trigger.goal_id, links):
        return invalid(("/links", "goal_link"))
    return None


def context_fires(content: Content, context: CheckContext) -> bool:
    """Whether a check's context makes a scheduled session, continuation or goal item due (contract 4.2)."""
    other_session = context.session_id is not None and context.session_id != content.source_session_id
    match trigger_type(content.trigger):
        case TriggerType.NEXT_SESSION:
            return other_session
        case TriggerType.NEXT_CONTINUATION:
            return (
                context.lifecycle_event == LifecycleEvent.CONTINUATION
                and other_session
                and content.source_task_lineage_id is not None
                and context.task_lineage_id == content.source_task_lineage_id
            )
        case TriggerType.GOAL_ACTIVE:
            assert isinstance(content.trigger, GoalActive)
            return content.trigger.goal_id in context.active_goal_ids
        case _:
            return False


def evaluate(
    item: Item,
    *,
    as_of: int,
    now: int,
    lifecycle_event: LifecycleEvent,
    context_fires: bool = False,
    probe: Probe | None = None,
) -> Change | None:
    """One evaluation of one item: at most one state change (contract 4.2). None: nothing to write.

    Args:
        item: the item as stored.
        as_of: the instant whose truth is asked for: the ``checked_at`` of the walk, or the pass.
        now: the instant at which the change is recorded.
        lifecycle_event: named in the events; ``checkpoint`` for the scheduler.
        context_fires: whether the check's context makes a session, continuation or goal item due.
        probe: the result of a probe of this evaluation, for scheduled condition items only.
    """
    state = State.DUE
    due_since = item.due_since
    match item.state:
        case State.SCHEDULED if item.trigger_type == TriggerType.CONDITION:
            return _evaluate_condition(item, as_of, now, lifecycle_event, probe)
        case State.SCHEDULED if item.trigger_type in TIME_TRIGGERS:
            if item.next_fire_at is None or as_of < item.next_fire_at:
                return None
            due_since = item.next_fire_at
        case State.SCHEDULED:
            if not context_fires:
                return None
            due_since = as_of
        case State.DUE:
            if not _grace_ended(item, as_of):
                return None
            state = State.OVERDUE
        case State.SNOOZED:
            if item.snooze_until is None or as_of < item.snooze_until:
                return None
            if _grace_ended(item, as_of):
                state = State.OVERDUE
        case _:
            return None
    kind = EventType.BECAME_OVERDUE if state == State.OVERDUE else EventType.BECAME_DUE
    version = item.version + 1
    became = item._replace(
        state=state,
        due_since=due_since,
        snooze_until=None,
        snoozed_from_state=None,
        last_checked_at=as_of,
        updated_at=now,
        version=version,
        event_count=item.event_count + 1,
    )
    return Change(became, (EventDraft(kind, _details(became, lifecycle_event), item.version, version),))


def _evaluate_condition(
    item: Item, as_of: int, now: int, lifecycle_event: LifecycleEvent, probe: Probe | None
) -> Change | None:
    satisfied = probe is not None and probe.status == ConditionStatus.SATISFIED
    fires = satisfied or (item.manual_check_at is not None and as_of >= item.manual_check_at)
    told = probe is not None and (fires or probe.status != item.last_condition_status)
    kinds = (EventType.CONDITION_EVALUATED,) * told + (EventType.BECAME_DUE,) * fires
    if probe is None and not fires:
        return None
    became = item._replace(last_checked_at=as_of)
    if probe is not None:
        became = became._replace(
            last_condition_status=probe.status,
            last_condition_detail=probe.detail,
            next_evaluation_at=probe.next_evaluation_at,
        )
    if fires:
        became = became._replace(state=State.DUE, due_since=as_of, next_evaluation_at=None)
    if not kinds:
        return Change(became, ())
    version = item.version + 1
    became = became._replace(updated_at=now, version=version, event_count=item.event_count + len(kinds))
    details = _details(became, lifecycle_event)
    return Change(became, tuple(EventDraft(kind, details, item.version, version) for kind in kinds))


def _details(became: Item, lifecycle_event: LifecycleEvent) -> str:
    """What an evaluation's events carry (contract 1.5)."""
    if became.last_condition_status is None:
        return _PLAIN_DETAILS[lifecycle_event]
    return _condition_details(lifecycle_event, became.last_condition_status, became.last_condition_detail)


def _grace_ended(item: Item, as_of: int) -> bool:
    due_since = as_of if item.due_since is None else item.due_since
    return as_of >= due_since + item.overdue_after_seconds * MS_PER_SECOND


def readiness(state: State, kind: TriggerType, status: ConditionStatus | int | None) -> Readiness:
    """Why a check returns an active item in its stored state (contract 4.2)."""
    if state == State.DUE:
        verified = kind != TriggerType.CONDITION or status == ConditionStatus.SATISFIED
        return Readiness.DUE if verified else Readiness.MANUAL_VERIFICATION
    return _READINESS[state]


def snooze(item: Item, request: Snooze, *, now: int, max_snooze_seconds: int) -> Change | Refusal:
    """Put a due or overdue item off (contract 2.8)."""
    if item.state not in (State.DUE, State.OVERDUE):
        return INVALID_STATE
    if request.snooze_until <= now:
        return invalid(("/snooze_until", "not_in_future"))
    if request.snooze_until > now + max_snooze_seconds * MS_PER_SECOND:
        return invalid(("/snooze_until", "too_far_ahead"))
    became = item._replace(
        state=State.SNOOZED,
        snooze_until=request.snooze_until,
        snoozed_from_state=item.state,
        snooze_count=item.snooze_count + 1,
    )
    details = {
        "prior_next_fire_at": stamp_or_none(item.next_fire_at),
        "snooze_until": stamp(request.snooze_until),
        "reason": request.reason,
    }
    return _mutated(became, EventType.SNOOZED, details, now)


def complete(item: Item, request: Completion, *, now: int, evidence_id: str) -> Change | Refusal:
    """End an item with evidence (contract 2.8); the evidence record is stored beside the change."""
    if item.state in TERMINAL_STATES:
        return INVALID_STATE
    became = _without_snooze(item)._replace(state=State.COMPLETED, completed_at=now)
    details = {"completion_note": request.completion_note, "evidence_id": evidence_id}
    return _mutated(became, EventType.COMPLETED, details, now)


def cancel(item: Item, request: Cancellation, *, now: int) -> Change | Refusal:
    """End an item with a reason (contract 2.8)."""
    if item.state in TERMINAL_STATES:
        return INVALID_STATE
    became = _without_snooze(item)._replace(state=State.CANCELLED, cancelled_at=now)
    return _mutated(became, EventType.CANCELLED, {"reason": request.reason}, now)


def update(record: ItemRecord, request: Update, *, now: int, max_catch_up: int) -> RecordChange | Refusal:
    """Change what an item says, or advance its occurrence (contract 2.7, section 6)."""
    item, content, links = record
    if item.state in TERMINAL_STATES:
        return INVALID_STATE
    if request.occurrence_disposition is not None and item.state not in (State.DUE, State.OVERDUE):
        return INVALID_STATE
    content = _updated_content(content, request)
    if request.occurrence_disposition is not None and content.recurrence is None:
        return INVALID_STATE
    links = links if request.links is None else request.links
    refusal = check_pair(content.trigger, content.recurrence) or check_goal(content.trigger, links)
    if refusal is not None:
        return refusal
    before = item
    if request.priority is not None:
        item = item._replace(priority=request.priority)
    if request.overdue_after_seconds is not None:
        item = item._replace(overdue_after_seconds=request.overdue_after_seconds)
    if request.trigger is not None:
        item = _with_trigger(item, request.trigger, now)
    if request.occurrence_disposition is None:
        details = {
            "reason": request.reason,
            "changed_fields": changed_fields(request),
            "before_trigger": _schedule(before),
            "after_trigger": _schedule(item),
        }
        change = _mutated(item, EventType.UPDATED, details, now)
    else:
        following = _following(item, content.recurrence, now, max_catch_up)
        if following is None:
            return INVALID_STATE
        change = _advanced(item, request.reason, request.occurrence_disposition, following, now)
    return RecordChange(ItemRecord(change.item, content, links), change.events[0])


def changed_fields(request: Update) -> list[str]:
    """The mutable fields that an update supplies, changed or not, in the contract's order (1.5)."""
    supplied = (
        ("message", request.message is not None),
        ("instructions", not isinstance(request.instructions, Keep)),
        ("priority", request.priority is not None),
        ("overdue_after_seconds", request.overdue_after_seconds is not None),
        ("trigger", request.trigger is not None),
        ("recurrence", not isinstance(request.recurrence, Keep)),
        ("links", request.links is not None),
    )
    return [name for name, given in supplied if given]


def _updated_content(content: Content, request: Update) -> Content:
    return content._replace(
        message=content.message if request.message is None else request.message,
        instructions=content.instructions if isinstance(request.instructions, Keep) else request.instructions,
        trigger=content.trigger if request.trigger is None else request.trigger,
        recurrence=content.recurrence if isinstance(request.recurrence, Keep) else request.recurrence,
    )


def _scheduling(trigger: Trigger, now: int) -> dict[str, Any]:
    """The fields of an item that its trigger decides when it is stored at ``now`` (contract 4.1)."""
    fires = fire_time(trigger, now)
    condition = trigger if isinstance(trigger, Condition) else None
    return {
        "trigger_type": trigger_type(trigger),
        "next_fire_at": fires,
        "original_next_fire_at": fires,
        "next_evaluation_at": now if condition else None,
        "manual_check_at": condition.manual_check_at if condition else None,
        "poll_interval_seconds": condition.poll_interval_seconds if condition else None,
    }


def _with_trigger(item: Item, trigger: Trigger, now: int) -> Item:
    """The item under another trigger: schedule as on add, state by the table of contract 2.7."""
    item = _without_snooze(item)._replace(
        **_scheduling(trigger, now), last_condition_status=None, last_condition_detail=None
    )
    fires = item.next_fire_at
    if item.state == State.SCHEDULED:
        return item
    if item.state in (State.DUE, State.OVERDUE) and fires is not None and fires <= now:
        return item._replace(state=State.DUE, due_since=fires)
    return item._replace(state=State.SCHEDULED, due_since=None)


def _following(item: Item, recurrence: Recurrence | None, now: int, max_catch_up: int) -> Advance | None:
    if recurrence is None or item.next_fire_at is None:
        return None
    return advance(
        recurrence,
        anchor=item.next_fire_at,
        occurrence_no=item.occurrence_no,
        now=now,
        max_catch_up=max_catch_up,
    )


def _advanced(item: Item, reason: str, disposition: Disposition, following: Advance, now: int) -> Change:
    became = item._replace(
        state=State.SCHEDULED,
        next_fire_at=following.anchor,
        original_next_fire_at=following.anchor,
        occurrence_no=following.occurrence_no,
        due_since=None,
    )
    details = {
        "reason": reason,
        "disposition": DISPOSITION_WORDS[disposition],
        "previous_occurrence_no": item.occurrence_no,
        "next_occurrence_no": following.occurrence_no,
        "previous_schedule": stamp_or_none(item.next_fire_at),
        "next_schedule": stamp(following.anchor),
        "skipped_count": following.skipped_count,
    }
    return _mutated(became, EventType.OCCURRENCE_ADVANCED, details, now)


def _mutated(became: Item, kind: EventType, details: dict[str, Any], now: int) -> Change:
    version = became.version + 1
    became = became._replace(updated_at=now, version=version, event_count=became.event_count + 1)
    return Change(became, (EventDraft(kind, _json(details), version - 1, version),))


def _without_snooze(item: Item) -> Item:
    return item._replace(snooze_until=None, snoozed_from_state=None)


def _schedule(item: Item) -> dict[str, str | None]:
    return {
        "type": TRIGGER_WORDS[item.trigger_type],
        "next_fire_at": stamp_or_none(item.next_fire_at),
        "next_evaluation_at": stamp_or_none(item.next_evaluation_at),
    }


def _json(details: dict[str, Any]) -> str:
    return json.dumps(details, ensure_ascii=False, separators=(",", ":"))


def _condition_details(
    lifecycle_event: LifecycleEvent, status: ConditionStatus | None, detail: str | None
) -> str:
    return _json(
        {
            "lifecycle_event": LIFECYCLE_WORDS[lifecycle_event],
            "condition": None if status is None else STATUS_WORDS[status],
            "condition_detail": detail,
        }
    )


_PLAIN_DETAILS: Final = tuple(_condition_details(event, None, None) for event in LifecycleEvent)
_READINESS: Final = {
    State.OVERDUE: Readiness.OVERDUE,
    State.SCHEDULED: Readiness.SCHEDULED,
    State.SNOOZED: Readiness.SNOOZED,
}
