"""A small model of the contract, written from its text: what each operation makes of the items, naively.

Nothing of the product is imported. Requests are canonical dicts (instants are integer milliseconds, absent
fields are absent or None); answers are plain dicts as they stand on the wire. Every question scans all items.
"""

import copy
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

Json = dict[str, Any]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAY = 86_400_000
PRIORITIES = ["low", "normal", "high", "critical"]
UPDATABLE = ("message", "instructions", "priority", "overdue_after_seconds", "trigger", "recurrence", "links")
CLEARED_BY_NULL = ("instructions", "recurrence")
TIME_TRIGGERS = ("at_time", "after_elapsed", "interval")
DEFAULT_SETTINGS = {
    "adapters.max_concurrency": 8,
    "adapters.timeout_seconds": 5,
    "backups.interval_seconds": 86_400,
    "backups.retention_count": 14,
    "backups.upload_max_bytes": 1_073_741_824,
    "idempotency.retention_days": 30,
    "recurrence.max_catch_up_occurrences": 10,
    "remindi.default_overdue_seconds": 0,
    "remindi.max_snooze_seconds": 31_536_000,
    "scheduler.lease_seconds": 90,
    "scheduler.poll_interval_seconds": 30,
}
BOUNDS = {
    "idempotency.retention_days": (1, 3_650),
    "recurrence.max_catch_up_occurrences": (1, 1_000),
    "remindi.default_overdue_seconds": (0, 31_536_000),
    "remindi.max_snooze_seconds": (1, 31_536_000),
    "scheduler.lease_seconds": (1, 86_400),
    "scheduler.poll_interval_seconds": (1, 3_600),
}


def stamp(instant: int | None) -> str | None:
    """Contract 1.7."""
    if instant is None:
        return None
    text = (EPOCH + timedelta(milliseconds=instant)).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


@dataclass(frozen=True)
class Who:
    """Actor and exchange of a change."""

    actor_type: str
    actor_id: str
    request_id: str | None


@dataclass(frozen=True)
class Refused:
    """An error: its code, the reasons of a VALIDATION_ERROR, the version of a VERSION_CONFLICT."""

    code: str
    reasons: tuple[str, ...] = ()
    current_version: int | None = None


@dataclass
class Item:
    """An item of the contract; instants in milliseconds."""

    id: str
    project_id: str
    task_id: str | None
    message: str
    instructions: str | None
    session_id: str | None
    lineage_id: str | None
    priority: str
    trigger: Json
    recurrence: Json | None
    grace: int
    links: list[Json]
    created_at: int
    updated_at: int
    next_fire_at: int | None
    original_next_fire_at: int | None
    next_evaluation_at: int | None
    state: str = "scheduled"
    occurrence_no: int = 1
    snooze_count: int = 0
    version: int = 1
    due_since: int | None = None
    snooze_until: int | None = None
    snoozed_from: str | None = None
    last_checked_at: int | None = None
    completed_at: int | None = None
    cancelled_at: int | None = None
    status: str | None = None
    detail: str | None = None
    events: list[Json] = field(default_factory=list)
    evidence: Json | None = None

    @property
    def active(self) -> bool:
        return self.state not in ("completed", "cancelled")


@dataclass
class Stored:
    """What an idempotency key stood for."""

    request: str
    grace: tuple[bool, int] | None
    answer: Json
    created_at: int


Change = tuple[Json, list[str]]
"""New values of fields, and the types of the events; no events: no step."""


class Contract:
    """All items of one owner and the rules over them."""

    def __init__(self, enabled_adapters: frozenset[str]) -> None:
        self.items: list[Item] = []
        self.settings = dict(DEFAULT_SETTINGS)
        self.setting_versions = dict.fromkeys(DEFAULT_SETTINGS, 1)
        self.keys: dict[tuple[str, str, str], Stored] = {}
        self.enabled = enabled_adapters

    # ------------------------------------------------------------ mutations

    def mutate(self, tool: str, key: str, request: Json, who: Who, now: int, new_id: str) -> Json | Refused:
        """Steps 3 to 8 of contract 3.3, and what step 2 reads off the clock.

        ``new_id`` is the identifier that an add got.
        """
        too_far = request.get("snooze_until", now) > now + 365 * DAY
        evidence = request.get("evidence") or {}
        if too_far or evidence.get("observed_at", now) > now + 300_000:
            return Refused("VALIDATION_ERROR", ("too_far_ahead",))
        place = (who.actor_id, tool, key)
        text = canonical(tool, request)
        grace = None
        if tool == "remindi_add":
            given = request.get("overdue_after_seconds")
            default = self.settings["remindi.default_overdue_seconds"]
            grace = (given is not None, default if given is None else given)
        known = self.keys.get(place)
        if known is not None and now < known.created_at + self.settings["idempotency.retention_days"] * DAY:
            same = known.request == text
            if same and grace is not None and known.grace is not None:
                same = grace[1] == known.grace[1] or not (grace[0] or known.grace[0])
            return known.answer if same else Refused("IDEMPOTENCY_KEY_REUSED")
        if tool == "remindi_add":
            answer = self._add(request, who, now, new_id)
        else:
            answer = self._change(tool, request, who, now)
        if not isinstance(answer, Refused):
            self.keys[place] = Stored(text, grace, answer, now)
        return answer

    def _add(self, request: Json, who: Who, now: int, new_id: str) -> Json | Refused:
        trigger, recurrence = request["trigger"], request.get("recurrence")
        links = request.get("links") or []
        refused = check_final(trigger, recurrence, links)
        if refused is not None:
            return refused
        warnings = self._admit(trigger)
        if isinstance(warnings, Refused):
            return warnings
        fires = first_fire(trigger, now)
        grace = request.get("overdue_after_seconds")
        item = Item(
            id=new_id,
            project_id=request["project_id"],
            task_id=request.get("task_id"),
            message=request["message"],
            instructions=request.get("instructions"),
            session_id=request.get("session_id"),
            lineage_id=request.get("task_lineage_id"),
            priority=request.get("priority") or "normal",
            trigger=trigger,
            recurrence=recurrence,
            grace=self.settings["remindi.default_overdue_seconds"] if grace is None else grace,
            links=links,
            created_at=now,
            updated_at=now,
            next_fire_at=fires,
            original_next_fire_at=fires,
            next_evaluation_at=now if trigger["type"] == "condition" else None,
        )
        self.items.append(item)
        details = {
            "trigger_type": trigger["type"],
            "project_id": item.project_id,
            "task_id": item.task_id,
        }
        self._record(item, "created", details, who, now, None)
        return mutated(item, warnings)

    def _change(self, tool: str, request: Json, who: Who, now: int) -> Json | Refused:
        item = self.find(request["remindi_id"])
        if item is None:
            return Refused("NOT_FOUND")
        if request["expected_version"] != item.version:
            return Refused("VERSION_CONFLICT", current_version=item.version)
        match tool:
            case "remindi_snooze":
                return self._snooze(item, request, who, now)
            case "remindi_complete":
                return self._complete(item, request, who, now)
            case "remindi_cancel":
                return self._cancel(item, request, who, now)
            case _:
                return self._update(item, request, who, now)

    def _snooze(self, item: Item, request: Json, who: Who, now: int) -> Json | Refused:
        if item.state not in ("due", "overdue"):
            return Refused("INVALID_STATE")
        until = request["snooze_until"]
        if until <= now:
            return Refused("VALIDATION_ERROR", ("not_in_future",))
        if until > now + self.settings["remindi.max_snooze_seconds"] * 1_000:
            return Refused("VALIDATION_ERROR", ("too_far_ahead",))
        item.snoozed_from, item.state = item.state, "snoozed"
        item.snooze_until = until
        item.snooze_count += 1
        details = {
            "prior_next_fire_at": stamp(item.next_fire_at),
            "snooze_until": stamp(until),
            "reason": request["reason"],
        }
        self._step(item, ["snoozed"], details, who, now)
        return mutated(item)

    def _complete(self, item: Item, request: Json, who: Who, now: int) -> Json | Refused:
        if not item.active:
            return Refused("INVALID_STATE")
        item.state, item.completed_at = "completed", now
        item.snooze_until = item.snoozed_from = None
        given = request["evidence"]
        item.evidence = {
            "remindi_id": item.id,
            "evidence_type": given["type"],
            "summary": given["summary"],
            "reference_uri": given.get("reference_uri"),
            "content_hash": given.get("content_hash"),
            "observed_at": stamp(given["observed_at"]),
            "recorded_at": stamp(now),
            "recorded_by": who.actor_id,
            "metadata": given.get("metadata"),
        }
        details = {"completion_note": request.get("completion_note")}
        self._step(item, ["completed"], details, who, now)
        return mutated(item)

    def _cancel(self, item: Item, request: Json, who: Who, now: int) -> Json | Refused:
        if not item.active:
            return Refused("INVALID_STATE")
        item.state, item.cancelled_at = "cancelled", now
        item.snooze_until = item.snoozed_from = None
        self._step(item, ["cancelled"], {"reason": request["reason"]}, who, now)
        return mutated(item)

    def _update(self, item: Item, request: Json, who: Who, now: int) -> Json | Refused:
        disposition = request.get("occurrence_disposition")
        after = copy.deepcopy(item)
        if not item.active:
            return Refused("INVALID_STATE")
        for name in ("message", "priority", "trigger", "links"):
            if request.get(name) is not None:
                setattr(after, name, request[name])
        if request.get("overdue_after_seconds") is not None:
            after.grace = request["overdue_after_seconds"]
        for name in ("instructions", "recurrence"):
            if name in request:
                setattr(after, name, request[name])
        if disposition is not None and (item.state not in ("due", "overdue") or after.recurrence is None):
            return Refused("INVALID_STATE")
        refused = check_final(after.trigger, after.recurrence, after.links)
        if refused is not None:
            return refused
        warnings: list[str] = []
        if request.get("trigger") is not None:
            admitted = self._admit(after.trigger)
            if isinstance(admitted, Refused):
                return admitted
            warnings = admitted
            replace_trigger(after, now)
        if disposition is not None:
            previous_no, previous_fire = after.occurrence_no, after.next_fire_at
            skipped = advance(after, now, self.settings["recurrence.max_catch_up_occurrences"])
            if skipped is None:
                return Refused("INVALID_STATE")
            kind = "occurrence_advanced"
            details = {
                "reason": request["reason"],
                "disposition": disposition,
                "previous_occurrence_no": previous_no,
                "next_occurrence_no": after.occurrence_no,
                "previous_schedule": stamp(previous_fire),
                "next_schedule": stamp(after.next_fire_at),
                "skipped_count": skipped,
            }
        else:
            kind = "updated"
            details = {
                "reason": request["reason"],
                "changed_fields": [
                    name
                    for name in UPDATABLE
                    if name in request and (request[name] is not None or name in CLEARED_BY_NULL)
                ],
                "before_trigger": schedule(item),
                "after_trigger": schedule(after),
            }
        self.items[self.items.index(item)] = after
        self._step(after, [kind], details, who, now)
        return mutated(after, warnings)

    def _admit(self, trigger: Json) -> list[str] | Refused:
        """Contract 7.1 for the adapters of this model: the parameters of all generated ones fit."""
        if trigger["type"] != "condition":
            return []
        if trigger["adapter"] not in (
            "observation_window_ended",
            "http_health",
            "tcp_reachable",
            "file_exists",
        ):
            return Refused("ADAPTER_NOT_FOUND")
        if trigger["adapter"] == "observation_window_ended" and "window_end" not in trigger["parameters"]:
            return Refused("VALIDATION_ERROR", ("parameters",))
        if trigger["adapter"] in self.enabled:
            return []
        if trigger.get("manual_check_at") is None:
            return Refused("ADAPTER_DISABLED")
        has_alias = trigger["adapter"] != "observation_window_ended"
        return ["disabled"] + ["alias"] * has_alias

    # ----------------------------------------------------------- evaluation

    def evaluation(self, item: Item, as_of: int, context: Json | None, probe: Json | None) -> Change | None:
        """One evaluation by contract 4.2: what it changes, or None when it writes nothing."""
        if item.state == "scheduled" and item.trigger["type"] in TIME_TRIGGERS:
            assert item.next_fire_at is not None
            if as_of >= item.next_fire_at:
                return {"state": "due", "due_since": item.next_fire_at}, ["became_due"]
            return None
        if item.state == "scheduled" and item.trigger["type"] == "condition":
            return self._condition(item, as_of, probe)
        if item.state == "scheduled":
            if context is not None and fires_by_context(item, context):
                return {"state": "due", "due_since": as_of}, ["became_due"]
            return None
        if item.state == "due":
            # Reading: what an evaluation as of this very instant made due waits for another instant.
            if item.last_checked_at == as_of or not grace_ended(item, as_of):
                return None
            return {"state": "overdue"}, ["became_overdue"]
        if item.state == "snoozed":
            assert item.snooze_until is not None
            if as_of < item.snooze_until:
                return None
            state = "overdue" if grace_ended(item, as_of) else "due"
            return {"state": state, "snooze_until": None, "snoozed_from": None}, [f"became_{state}"]
        return None

    def _condition(self, item: Item, as_of: int, probe: Json | None) -> Change | None:
        manual = item.trigger.get("manual_check_at")
        fires = (probe is not None and probe["status"] == "satisfied") or (
            manual is not None and as_of >= manual
        )
        changes: Json = {}
        events: list[str] = []
        if probe is not None:
            changes = {"status": probe["status"], "detail": probe["detail"]}
            if fires or probe["status"] != item.status:
                events.append("condition_evaluated")
            changes["next_evaluation_at"] = probe["next_evaluation_at"]
        if fires:
            changes |= {"state": "due", "due_since": as_of, "next_evaluation_at": None}
            events.append("became_due")
        return (changes, events) if changes else None

    def apply(self, item: Item, change: Change, as_of: int, now: int, lifecycle_event: str, who: Who) -> None:
        """Write what an evaluation changes."""
        values, events = change
        for name, value in values.items():
            setattr(item, name, value)
        item.last_checked_at = as_of
        if events:
            details = {
                "lifecycle_event": lifecycle_event,
                "condition": item.status,
                "condition_detail": item.detail,
            }
            self._step(item, events, details, who, now)

    def readiness(self, item: Item) -> str:
        if item.state == "due" and item.trigger["type"] == "condition" and item.status != "satisfied":
            return "manual_verification"
        return item.state

    def in_scope(self, query: Json) -> list[Item]:
        return [
            item
            for item in self.items
            if item.active
            and item.project_id == query["project_id"]
            and (query.get("task_id") is None or item.task_id == query["task_id"])
        ]

    def check_order(self, query: Json, as_of: int) -> tuple[list[Item], list[Item]]:
        """The ready items in their order, and what ``include_scheduled`` appends (contract 5.1)."""
        ready: list[tuple[Any, Item]] = []
        rest: list[tuple[Any, Item]] = []
        for item in self.in_scope(query):
            after = copy.copy(item)
            change = self.evaluation(item, as_of, query, None)
            if change is not None:
                for name, value in change[0].items():
                    setattr(after, name, value)
            fire = (after.next_fire_at is None, after.next_fire_at or 0)
            if after.state in ("due", "overdue"):
                rank = ["overdue", "due", "manual_verification"].index(self.readiness(after))
                ready.append(((rank, -PRIORITIES.index(item.priority), fire, item.id), item))
            else:
                rest.append(((fire, item.id), item))
        ready.sort(key=lambda pair: pair[0])
        rest.sort(key=lambda pair: pair[0])
        return [item for _, item in ready], [item for _, item in rest]

    def own_time(self, item: Item) -> int | None:
        """When time alone next changes the item (contract 8.1); None: never, or not by the scheduler."""
        if item.state == "scheduled" and item.trigger["type"] in TIME_TRIGGERS:
            return item.next_fire_at
        if item.state == "scheduled" and item.trigger["type"] == "condition":
            assert item.next_evaluation_at is not None
            manual = item.trigger.get("manual_check_at")
            return item.next_evaluation_at if manual is None else min(manual, item.next_evaluation_at)
        if item.state == "due":
            assert item.due_since is not None
            return item.due_since + item.grace * 1_000
        if item.state == "snoozed":
            return item.snooze_until
        return None

    # ---------------------------------------------------------------- lists

    def listed(self, query: Json) -> list[Item]:
        """Contract 5.2."""

        def linked(item: Item, kind: str, value: str | None) -> bool:
            return value is None or {"type": kind, "value": value} in item.links

        found = [
            item
            for item in self.items
            if query.get("project_id") in (None, item.project_id)
            and query.get("task_id") in (None, item.task_id)
            and query.get("remindi_id") in (None, item.id)
            and (not query.get("states") or item.state in query["states"])
            and (not query.get("trigger_types") or item.trigger["type"] in query["trigger_types"])
            and linked(item, "goal", query.get("linked_goal_id"))
            and linked(item, "memory", query.get("linked_memory_hash"))
        ]
        return sorted(found, key=lambda item: (-item.created_at, item.id))

    def find(self, remindi_id: str) -> Item | None:
        return next((item for item in self.items if item.id == remindi_id), None)

    def update_setting(self, key: str, value: int, expected_version: int) -> int | Refused:
        """Contract 11.9, 12; the new version."""
        low, high = BOUNDS[key]
        if value < low:
            return Refused("VALIDATION_ERROR", ("too_small",))
        if value > high:
            return Refused("VALIDATION_ERROR", ("too_large",))
        wanted = self.settings | {key: value}
        if wanted["scheduler.lease_seconds"] <= 2 * wanted["scheduler.poll_interval_seconds"]:
            return Refused("VALIDATION_ERROR", ("lease_not_above_twice_poll",))
        if expected_version != self.setting_versions[key]:
            return Refused("VERSION_CONFLICT", current_version=self.setting_versions[key])
        self.settings[key] = value
        self.setting_versions[key] += 1
        return self.setting_versions[key]

    # ---------------------------------------------------------------- steps

    def _step(self, item: Item, kinds: list[str], details: Json, who: Who, now: int) -> None:
        prior = item.version
        item.version += 1
        item.updated_at = now
        for kind in kinds:
            self._record(item, kind, details, who, now, prior)

    def _record(self, item: Item, kind: str, details: Json, who: Who, now: int, prior: int | None) -> None:
        item.events.append(
            {
                "remindi_id": item.id,
                "event_type": kind,
                "actor_type": who.actor_type,
                "actor_id": who.actor_id,
                "request_id": who.request_id,
                "occurred_at": stamp(now),
                "prior_version": prior,
                "new_version": item.version,
                "details": details,
            }
        )


def canonical(tool: str, request: Json) -> str:
    """The normalized form that decides whether two requests are identical (contract 9); grace is apart."""
    filled = copy.deepcopy(request)
    filled.pop("overdue_after_seconds" if tool == "remindi_add" else "", None)
    trigger = filled.get("trigger")
    if trigger is not None and trigger["type"] == "condition":
        trigger["poll_interval_seconds"] = trigger.get("poll_interval_seconds") or 30
        trigger.setdefault("manual_check_at", None)
    return json.dumps(filled, sort_keys=True)


def check_final(trigger: Json, recurrence: Json | None, links: list[Json]) -> Refused | None:
    """Step 7: trigger with recurrence, and goal links (contract 2.5)."""
    if recurrence is not None:
        if trigger["type"] != "interval" or trigger["every_seconds"] != recurrence["every_seconds"]:
            return Refused("VALIDATION_ERROR", ("pair_mismatch",))
        if recurrence["end_at"] is not None and recurrence["end_at"] < trigger["first_at"]:
            return Refused("VALIDATION_ERROR", ("end_before_start",))
    if trigger["type"] == "goal_active":
        goals = [link["value"] for link in links if link["type"] == "goal"]
        if goals != [trigger["goal_id"]]:
            return Refused("VALIDATION_ERROR", ("goal_link",))
    return None


def first_fire(trigger: Json, now: int) -> int | None:
    """Contract 4.1."""
    match trigger["type"]:
        case "at_time":
            at: int = trigger["at"]
            return at
        case "after_elapsed":
            return now + int(trigger["after_seconds"]) * 1_000
        case "interval":
            first: int = trigger["first_at"]
            return first
        case _:
            return None


def replace_trigger(item: Item, now: int) -> None:
    """The schedule of an item whose trigger was replaced, and its state by the table of contract 2.7."""
    fires = first_fire(item.trigger, now)
    item.next_fire_at = item.original_next_fire_at = fires
    item.next_evaluation_at = now if item.trigger["type"] == "condition" else None
    item.status = item.detail = None
    if item.state in ("due", "overdue") and fires is not None and fires <= now:
        item.state, item.due_since = "due", fires
    elif item.state != "scheduled":
        item.state, item.due_since = "scheduled", None
    item.snooze_until = item.snoozed_from = None


def advance(item: Item, now: int, cap: int) -> int | None:
    """Contract 6: the next occurrence; the skipped count, or None at the last one."""
    rule = item.recurrence
    assert rule is not None
    assert item.next_fire_at is not None
    reached = 0
    every = rule["every_seconds"] * 1_000
    if now >= item.next_fire_at:
        reached = (now - item.next_fire_at) // every
    steps = 1 + max(0, reached - cap) if rule["missed_policy"] == "catch_up" else reached + 1
    number, anchor = item.occurrence_no + steps, item.next_fire_at + steps * every
    if rule["max_occurrences"] is not None and number > rule["max_occurrences"]:
        return None
    if rule["end_at"] is not None and anchor > rule["end_at"]:
        return None
    item.next_fire_at = item.original_next_fire_at = anchor
    item.occurrence_no, item.state, item.due_since = number, "scheduled", None
    return 0 if rule["missed_policy"] == "coalesce" else steps - 1


def fires_by_context(item: Item, context: Json) -> bool:
    """The context rows of contract 4.2."""
    session = context.get("session_id")
    other = session is not None and session != item.session_id
    match item.trigger["type"]:
        case "next_session":
            return other
        case "next_continuation":
            return (
                context["lifecycle_event"] == "continuation"
                and other
                and item.lineage_id is not None
                and context.get("task_lineage_id") == item.lineage_id
            )
        case "goal_active":
            return item.trigger["goal_id"] in (context.get("active_goal_ids") or [])
        case _:
            return False


def grace_ended(item: Item, as_of: int) -> bool:
    assert item.due_since is not None
    return as_of >= item.due_since + item.grace * 1_000


def schedule(item: Item) -> Json:
    return {
        "type": item.trigger["type"],
        "next_fire_at": stamp(item.next_fire_at),
        "next_evaluation_at": stamp(item.next_evaluation_at),
    }


def mutated(item: Item, warnings: list[str] | None = None) -> Json:
    """``data`` of a mutation; of warnings only their number is told by the contract."""
    return {
        "remindi": {"id": item.id, "state": item.state, "version": item.version},
        "warnings": len(warnings or []),
    }


def item_view(item: Item) -> Json:
    """Contract 1.4."""
    recurrence = item.recurrence
    return {
        "id": item.id,
        "project_id": item.project_id,
        "message": item.message,
        "task_id": item.task_id,
        "instructions": item.instructions,
        "source_session_id": item.session_id,
        "source_task_lineage_id": item.lineage_id,
        "state": item.state,
        "priority": item.priority,
        "trigger": trigger_view(item.trigger),
        "recurrence": None if recurrence is None else recurrence | {"end_at": stamp(recurrence["end_at"])},
        "next_fire_at": stamp(item.next_fire_at),
        "original_next_fire_at": stamp(item.original_next_fire_at),
        "next_evaluation_at": stamp(item.next_evaluation_at),
        "due_since": stamp(item.due_since),
        "snooze_until": stamp(item.snooze_until),
        "last_checked_at": stamp(item.last_checked_at),
        "completed_at": stamp(item.completed_at),
        "cancelled_at": stamp(item.cancelled_at),
        "snoozed_from_state": item.snoozed_from,
        "overdue_after_seconds": item.grace,
        "occurrence_no": item.occurrence_no,
        "snooze_count": item.snooze_count,
        "version": item.version,
        "last_condition_status": item.status,
        "last_condition_detail": item.detail,
        "links": item.links,
        "created_at": stamp(item.created_at),
        "updated_at": stamp(item.updated_at),
    }


def trigger_view(trigger: Json) -> Json:
    view = dict(trigger)
    for name in ("at", "first_at", "manual_check_at"):
        if name in view:
            view[name] = stamp(view[name])
    return view


def check_view(item: Item, readiness: str) -> Json:
    """Contract 1.3."""
    return {
        "remindi_id": item.id,
        "readiness": readiness,
        "message": item.message,
        "occurrence_no": item.occurrence_no,
        "version": item.version,
        "state": item.state,
        "priority": item.priority,
        "task_id": item.task_id,
        "instructions": item.instructions,
        "due_since": stamp(item.due_since),
        "next_fire_at": stamp(item.next_fire_at),
        "links": item.links,
    }
