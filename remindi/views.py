"""Views: the one presentation layer. MCP, REST and CLI show the same items, events and evidence (contract 1).

Every function makes plain dicts that ``to_json`` writes; nothing here decides anything.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from pydantic_core import to_json as _to_json

from remindi.adapters import AdapterRow
from remindi.answers import CheckItem, CheckPage, HistoryPage, ListPage, Mutated
from remindi.audit import AuditRow
from remindi.backups import (
    BackupRecord,
    BackupsState,
    Job,
    MaintenanceState,
    RestoreState,
    Status,
    file_name,
)
from remindi.errors import Refusal
from remindi.events import ACTOR_WORDS, EVENT_WORDS, Event, EventType
from remindi.evidence import EVIDENCE_WORDS, EvidenceRecord
from remindi.identifiers import uuid_text
from remindi.instants import MS_PER_DAY, MS_PER_SECOND, stamp, stamp_or_none
from remindi.items import (
    PRIORITY_WORDS,
    READINESS_WORDS,
    STATE_WORDS,
    STATUS_WORDS,
    ConditionStatus,
    ItemRecord,
    Readiness,
    State,
    words,
)
from remindi.legacy_times import with_stamps
from remindi.links import LINK_WORDS, Link
from remindi.overview import AgendaEntry, Day, Happening, Overview, Standing
from remindi.recurrence import POLICY_WORDS, Recurrence
from remindi.settings import BY_KEY
from remindi.tools import TOOL_NAMES
from remindi.triggers import (
    TRIGGER_WORDS,
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

Json = dict[str, Any]
"""A JSON object."""

_NO_BACKUPS: Final = BackupsState()
_NUMBERS: Final = re.compile(r":\s*\[\s*\d")
"""An array of numbers, as only the times of events of v1 are."""


def to_json(value: Any) -> bytes:
    """Write a value as UTF-8 JSON for any door; integers of any size and floats keep their value."""
    return _to_json(value)


# ------------------------------------------------------------------ envelope


def success(request_id: str, data: Json) -> Json:
    """The envelope of a success (contract 1.1)."""
    return {"ok": True, "request_id": request_id, "data": data}


def failure(request_id: str, refusal: Refusal, *, always_details: bool) -> Json:
    """The envelope of a failure (contract 1.1, 3.1).

    Args:
        request_id: id of this exchange.
        refusal: what was refused and why.
        always_details: true on REST, which writes ``{}``; false on MCP, which leaves empty details out.
    """
    code = refusal.code
    error: Json = {"code": code.value, "message": code.message, "retryable": code.retryable}
    details = _details(refusal)
    if details or always_details:
        error["details"] = details
    return {"ok": False, "request_id": request_id, "error": error}


def _details(refusal: Refusal) -> Json:
    details: Json = {}
    if refusal.errors:
        details["errors"] = [{"field": error.field, "reason": error.reason} for error in refusal.errors]
    if refusal.current_version is not None:
        details["current_version"] = refusal.current_version
    if refusal.reason is not None:
        details["reason"] = refusal.reason
    return details


# ------------------------------------------------------------- data per tool


def mutation_data(mutated: Mutated) -> Json:
    """``data`` of the five mutating tools; ``warnings`` only when there are any."""
    remindi = {"id": uuid_text(mutated.id), "state": STATE_WORDS[mutated.state], "version": mutated.version}
    return _with_warnings({"remindi": remindi}, mutated.warnings)


def item_data(record: ItemRecord, warnings: tuple[str, ...] = ()) -> Json:
    """``data`` of the REST item routes: the whole item view (contract 11.8)."""
    return _with_warnings({"remindi": item_view(record)}, warnings)


def check_data(page: CheckPage, next_cursor: str | None) -> Json:
    """``data`` of a check."""
    return {
        "checked_at": stamp(page.checked_at),
        "items": [check_item_view(item) for item in page.items],
        "next_cursor": next_cursor,
    }


def list_data(page: ListPage, next_cursor: str | None) -> Json:
    """``data`` of a list."""
    return {"items": [item_view(record) for record in page.items], "next_cursor": next_cursor}


def history_data(page: HistoryPage, remindi_id: bytes, next_cursor: str | None) -> Json:
    """``data`` of the history tool: ``completion_evidence`` is an array of none or one."""
    evidence = _evidence_or_none(page)
    return _history(page, remindi_id, [] if evidence is None else [evidence], next_cursor)


def rest_history_data(page: HistoryPage, remindi_id: bytes, next_cursor: str | None) -> Json:
    """``data`` of the history route: ``completion_evidence`` is an object or null (contract 11.8)."""
    return _history(page, remindi_id, _evidence_or_none(page), next_cursor)


def _with_warnings(data: Json, warnings: tuple[str, ...]) -> Json:
    if warnings:
        data["warnings"] = list(warnings)
    return data


def _evidence_or_none(page: HistoryPage) -> Json | None:
    return None if page.completion_evidence is None else evidence_view(page.completion_evidence)


def _history(page: HistoryPage, remindi_id: bytes, evidence: Any, next_cursor: str | None) -> Json:
    return {
        "events": [event_view(event, remindi_id) for event in page.events],
        "completion_evidence": evidence,
        "next_cursor": next_cursor,
    }


# -------------------------------------------------------------------- things


def item_view(record: ItemRecord) -> Json:
    """One item as list and REST show it; every key is always there, the owner never (contract 1.4)."""
    # PERF: to unpack a tuple costs a third of naming its fields one by one, and a page shows 200 items.
    item, (project_id, task_id, message, instructions, session, lineage, trigger, recurrence), links = record
    (
        _key,
        identifier,
        state,
        priority,
        _trigger_type,
        next_fire_at,
        original_next_fire_at,
        next_evaluation_at,
        _manual_check_at,
        _poll_interval_seconds,
        due_since,
        snooze_until,
        snoozed_from,
        last_checked_at,
        completed_at,
        cancelled_at,
        created_at,
        updated_at,
        overdue_after_seconds,
        occurrence_no,
        snooze_count,
        version,
        _event_count,
        status,
        status_detail,
    ) = item
    return {
        "id": uuid_text(identifier),
        "project_id": project_id,
        "task_id": task_id,
        "message": message,
        "instructions": instructions,
        "state": STATE_WORDS[state],
        "priority": PRIORITY_WORDS[priority],
        "trigger": trigger_view(trigger),
        "recurrence": None if recurrence is None else recurrence_view(recurrence),
        "next_fire_at": None if next_fire_at is None else stamp(next_fire_at),
        "original_next_fire_at": None if original_next_fire_at is None else stamp(original_next_fire_at),
        "next_evaluation_at": None if next_evaluation_at is None else stamp(next_evaluation_at),
        "due_since": None if due_since is None else stamp(due_since),
        "snooze_until": None if snooze_until is None else stamp(snooze_until),
        "snoozed_from_state": None if snoozed_from is None else STATE_WORDS[snoozed_from],
        "overdue_after_seconds": overdue_after_seconds,
        "occurrence_no": occurrence_no,
        "snooze_count": snooze_count,
        "last_condition_status": None if status is None else STATUS_WORDS[status],
        "last_condition_detail": status_detail,
        "links": links_view(links),
        "source_session_id": session,
        "source_task_lineage_id": lineage,
        "version": version,
        "created_at": stamp(created_at),
        "updated_at": stamp(updated_at),
        "last_checked_at": None if last_checked_at is None else stamp(last_checked_at),
        "completed_at": None if completed_at is None else stamp(completed_at),
        "cancelled_at": None if cancelled_at is None else stamp(cancelled_at),
    }


def check_item_view(item: CheckItem) -> Json:
    """One item as a check returns it (contract 1.3)."""
    return {
        "remindi_id": uuid_text(item.id),
        "readiness": READINESS_WORDS[item.readiness],
        "message": item.message,
        "instructions": item.instructions,
        "occurrence_no": item.occurrence_no,
        "version": item.version,
        "state": STATE_WORDS[item.state],
        "priority": PRIORITY_WORDS[item.priority],
        "task_id": item.task_id,
        "due_since": stamp_or_none(item.due_since),
        "next_fire_at": stamp_or_none(item.next_fire_at),
        "links": links_view(item.links),
    }


def links_view(links: Iterable[Link]) -> list[Json]:
    """Links in stored order."""
    return [{"type": LINK_WORDS[kind], "value": value} for kind, value in links]


def trigger_view(trigger: Trigger) -> Json:
    """A trigger with the fields of its type; condition parameters come back value for value."""
    return {"type": TRIGGER_WORDS[trigger_type(trigger)], **_TRIGGER_FIELDS[type(trigger)](trigger)}


def _condition_fields(trigger: Condition) -> Json:
    return {
        "adapter": trigger.adapter,
        "parameters": json.loads(trigger.parameters_json),
        "poll_interval_seconds": trigger.poll_interval_seconds,
        "manual_check_at": stamp_or_none(trigger.manual_check_at),
    }


# PERF: a look-up costs a quarter of what matching seven patterns does.
_TRIGGER_FIELDS: Final[dict[type[Trigger], Callable[[Any], Json]]] = {
    AtTime: lambda trigger: {"at": stamp(trigger.at)},
    AfterElapsed: lambda trigger: {"after_seconds": trigger.after_seconds},
    Interval: lambda trigger: {"first_at": stamp(trigger.first_at), "every_seconds": trigger.every_seconds},
    NextSession: lambda _: {},
    NextContinuation: lambda _: {},
    GoalActive: lambda trigger: {"goal_id": trigger.goal_id},
    Condition: _condition_fields,
}


def recurrence_view(recurrence: Recurrence) -> Json:
    """A recurrence (contract 1.4)."""
    return {
        "every_seconds": recurrence.every_seconds,
        "missed_policy": POLICY_WORDS[recurrence.missed_policy],
        "max_occurrences": recurrence.max_occurrences,
        "end_at": stamp_or_none(recurrence.end_at),
    }


def event_view(event: Event, remindi_id: bytes) -> Json:
    """One event of the item ``remindi_id`` (contract 1.5)."""
    details: Json = json.loads(event.details_json)
    if _NUMBERS.search(event.details_json) is not None:
        details = with_stamps(details)
    caller = event.caller
    return {
        "sequence": event.sequence,
        "event_id": uuid_text(event.id),
        "remindi_id": uuid_text(remindi_id),
        "event_type": EVENT_WORDS[event.type],
        "actor_type": ACTOR_WORDS[caller.actor_type],
        "actor_id": caller.actor_id,
        "request_id": caller.request_id,
        "occurred_at": stamp(event.occurred_at),
        "prior_version": event.prior_version,
        "new_version": event.new_version,
        "details": details,
    }


def evidence_view(record: EvidenceRecord) -> Json:
    """One evidence record; ``metadata`` comes back value for value (contract 1.6)."""
    evidence = record.evidence
    return {
        "id": uuid_text(record.id),
        "remindi_id": uuid_text(record.remindi_id),
        "evidence_type": EVIDENCE_WORDS[evidence.type],
        "summary": evidence.summary,
        "reference_uri": evidence.reference_uri,
        "content_hash": evidence.content_hash,
        "observed_at": stamp(evidence.observed_at),
        "recorded_at": stamp(record.recorded_at),
        "recorded_by": record.recorded_by,
        "metadata": None if evidence.metadata_json is None else json.loads(evidence.metadata_json),
    }


# ------------------------------------------------------------ administration


def session_data(
    actor_id: str, csrf_token: str, expires_at: int | None, *, authentication_required: bool
) -> Json:
    """The session object of a live session (contract 11.5)."""
    return {
        "authenticated": True,
        "authentication_required": authentication_required,
        "actor_id": actor_id,
        "csrf_token": csrf_token,
        "expires_at": stamp_or_none(expires_at),
        "reauthentication_required": False,
    }


def no_session_data(csrf_token: str) -> Json:
    """The session object of whoever is not signed in, with the token for signing in."""
    return {
        "authenticated": False,
        "authentication_required": True,
        "actor_id": None,
        "csrf_token": csrf_token,
        "expires_at": None,
        "reauthentication_required": False,
    }


def bootstrap_data(name: str, effective_value: str | None, *, configured: bool, redacted: bool) -> Json:
    """One variable of the environment (contract 11.9)."""
    return {
        "name": name,
        "effective_value": effective_value,
        "configured": configured,
        "redacted": redacted,
        "mutable": False,
    }


def setting_data(key: str, value: int, version: int, updated_at: int, updated_by: str) -> Json:
    """One setting with its bounds; the nearest bound is shown for a value outside (contract 11.9, 12)."""
    row = BY_KEY[key]
    return {
        "key": key,
        "value": min(max(value, row.minimum), row.maximum),
        "minimum": row.minimum,
        "maximum": row.maximum,
        "version": version,
        "restart_required": False,
        "updated_at": stamp(updated_at),
        "updated_by": updated_by,
    }


def change_view(identifier: bytes, version: int, state: State, event: EventType) -> Json:
    """One changed item as an event stream names it."""
    return {
        "remindi_id": uuid_text(identifier),
        "version": version,
        "state": STATE_WORDS[state],
        "event_type": EVENT_WORDS[event],
    }


def workload_data(
    component: str,
    desired: str,
    actual: str,
    last_error: str | None,
    last_pass_at: int | None,
    lag_seconds: int | None,
    backlog: int | None,
) -> Json:
    """One workload (contract 13.1)."""
    return {
        "component": component,
        "desired": desired,
        "actual": actual,
        "last_error": last_error,
        "last_pass_at": stamp_or_none(last_pass_at),
        "lag_seconds": lag_seconds,
        "backlog": backlog,
    }


def adapter_data(row: AdapterRow) -> Json:
    """One adapter with its whole configuration (contract 7.3, 11.9)."""
    return {
        "adapter_name": row.name,
        "enabled": row.enabled,
        "configuration": row.configuration.model_dump(mode="json"),
        "version": row.version,
        "updated_at": stamp(row.updated_at),
        "updated_by": row.updated_by,
    }


def probe_data(
    status: ConditionStatus, latency_ms: int, summary: str, observed_at: int, adapter_version: str
) -> Json:
    """What one probe said (contract 7.4)."""
    return {
        "status": STATUS_WORDS[status],
        "latency_ms": latency_ms,
        "summary": summary,
        "observed_at": stamp(observed_at),
        "adapter_version": adapter_version,
    }


def backup_data(record: BackupRecord) -> Json:
    """One backup (contract 14.1)."""
    identifier = uuid_text(record.id)
    return {
        "id": identifier,
        "file_name": file_name(identifier),
        "source": record.source.value,
        "status": record.status.value,
        "sha256": record.sha256,
        "size_bytes": record.size_bytes,
        "schema_version": record.schema_version,
        "created_at": stamp(record.created_at),
        "verified_at": stamp(record.verified_at),
        "created_by": record.created_by,
        "details": {},
    }


def job_data(job: Job | None) -> Json | None:
    """What the backup controller is at; null when it waits for work."""
    if job is None:
        return None
    return {
        "kind": job.kind,
        "step": job.step,
        "done_bytes": job.done_bytes,
        "total_bytes": job.total_bytes,
    }


def upload_data(request_id: str, received_bytes: int, total_bytes: int) -> Json:
    """A backup on its way in."""
    return {"request_id": request_id, "received_bytes": received_bytes, "total_bytes": total_bytes}


def backups_data(records: Iterable[BackupRecord], state: BackupsState, as_of: int) -> Json:
    """Backups as the overview shows them.

    Args:
        records: the newest first.
        state: what the controller knows besides.
        as_of: when it is looked at.
    """
    ready = [record for record in records if record.status is Status.READY]
    proven = max(ready, key=lambda record: record.verified_at, default=None)
    return {
        "newest": backup_data(ready[0]) if ready else None,
        "last_verified": None
        if proven is None
        else {
            "id": uuid_text(proven.id),
            "verified_at": stamp(proven.verified_at),
            "age_seconds": max(0, as_of - proven.verified_at) // MS_PER_SECOND,
            "items": proven.items,
        },
        **backups_state_data(state),
    }


def backups_state_data(state: BackupsState) -> Json:
    """What the backup controller is at, and what it does next by itself."""
    return {
        "next_automatic_at": stamp_or_none(state.next_automatic_at),
        "failure": None
        if state.failure is None
        else {
            "at": stamp(state.failure.at),
            "reason": state.failure.reason,
            "next_try_at": stamp(state.failure.next_try_at),
        },
        "job": job_data(state.job),
    }


def restored_data(operation_id: bytes, backup_id: bytes) -> Json:
    """A restore that succeeded (contract 15.1)."""
    return {
        "operation_id": uuid_text(operation_id),
        "backup_id": uuid_text(backup_id),
        "restored": True,
        "rolled_back": False,
    }


def restores_data(state: RestoreState | None, maintenance: MaintenanceState) -> Json:
    """How far the latest restore is, and whether the database is open.

    Args:
        state: null when there never was one.
        maintenance: of the database.
    """
    return {"maintenance": maintenance, "restore": None if state is None else _restore_view(state)}


def _restore_view(state: RestoreState) -> Json:
    return {
        "operation_id": uuid_text(state.operation_id),
        "backup_id": uuid_text(state.backup_id),
        "outcome": state.outcome,
        "rolled_back": state.rolled_back,
        "reason": state.reason,
        "pre_restore_backup_id": None if state.pre_restore_id is None else uuid_text(state.pre_restore_id),
        "phases": [{"phase": reached.phase, "at": stamp(reached.at)} for reached in state.phases],
        "started_at": stamp(state.started_at),
        "ended_at": stamp_or_none(state.ended_at),
    }


def audit_data(rows: Iterable[AuditRow]) -> list[Json]:
    """``data`` of the audit route: administration events in the order they were read (contract 13.2)."""
    return [
        {
            "sequence": row.sequence,
            "event_id": uuid_text(row.id),
            "event_type": row.type,
            "actor_id": row.actor_id,
            "request_id": row.request_id,
            "occurred_at": stamp(row.occurred_at),
            "outcome": row.outcome,
            "details": json.loads(row.details_json),
        }
        for row in rows
    ]


def overview_data(
    overview: Overview,
    workloads: Iterable[Iterable[Any]] = (),
    last_calls: Mapping[str, int] = MappingProxyType({}),
    *,
    maintenance: MaintenanceState = "running",
    backups: Iterable[BackupRecord] = (),
    state: BackupsState = _NO_BACKUPS,
) -> Json:
    """The overview.

    Args:
        overview: as far as the database knows it.
        workloads: rows for ``workload_data``.
        last_calls: when tools were called last over MCP, by name.
        maintenance: of the database.
        backups: records, the newest first.
        state: what the backup controller knows besides.
    """
    counts = overview.counts
    states = {STATE_WORDS[state]: counts[Standing[state.name]] for state in State}
    states[STATE_WORDS[State.DUE]] += counts[Standing.MANUAL_VERIFICATION]
    return {
        "as_of": stamp(overview.as_of),
        "states": states,
        "readiness": {READINESS_WORDS[kind]: counts[Standing[kind.name]] for kind in Readiness},
        "agenda": [_agenda_view(entry) for entry in overview.agenda],
        "agenda_cut": overview.agenda_cut,
        "daily": [_day_view(day) for day in overview.days],
        "due_to_done": {
            "completed": overview.due_to_done.completed,
            "median_seconds": overview.due_to_done.median_seconds,
            "p90_seconds": overview.due_to_done.p90_seconds,
        },
        "workloads": [workload_data(*row) for row in workloads],
        "maintenance": maintenance,
        "backups": backups_data(backups, state, overview.as_of),
        "last_calls": {name: stamp_or_none(last_calls.get(name)) for name in TOOL_NAMES},
    }


def _agenda_view(entry: AgendaEntry) -> Json:
    return {
        "remindi_id": uuid_text(entry.id),
        "project_id": entry.project_id,
        "priority": PRIORITY_WORDS[entry.priority],
        "at": stamp(entry.at),
        "happening": _HAPPENING_WORDS[entry.happening],
        "message": entry.message,
        "message_cut": entry.message_cut,
    }


def _day_view(day: Day) -> Json:
    return {
        "date": stamp(day.day * MS_PER_DAY)[:10],
        "created": day.created,
        "due": day.due,
        "completed": day.completed,
        "cancelled": day.cancelled,
    }


_HAPPENING_WORDS: Final = words(Happening)
