"""What the overview must say, from the model's items and their events alone."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Final

from tests.model.contract import DAY, TIME_TRIGGERS, Contract, Item, Json, stamp

STATES: Final = ("scheduled", "due", "overdue", "snoozed", "completed", "cancelled")
READINESS: Final = ("overdue", "due", "manual_verification", "scheduled", "snoozed")


def expected_overview(model: Contract, now: int) -> Json:
    """All of it but how long things took."""
    states = Counter(item.state for item in model.items)
    readiness = Counter(model.readiness(item) for item in model.items if item.active)
    agenda = sorted(
        (at, item.id, happening)
        for item in model.items
        if (at := appointment(model, item)) is not None
        and now < at <= now + DAY
        and (happening := happens(item))
    )
    today = datetime.fromtimestamp(now // 1_000, UTC).date()
    dates = [str(today - timedelta(days=back)) for back in range(89, -1, -1)]
    told: Counter[tuple[str, str]] = Counter()
    for item in model.items:
        told.update(moves(item))
    return {
        "as_of": stamp(now),
        "states": {state: states[state] for state in STATES},
        "readiness": {word: readiness[word] for word in READINESS},
        "agenda": [
            {"remindi_id": name, "at": stamp(at), "happening": happening} for at, name, happening in agenda
        ],
        "daily": [
            {"date": date} | {what: told[date, what] for what in ("created", "due", "completed", "cancelled")}
            for date in dates
        ],
    }


def appointment(model: Contract, item: Item) -> int | None:
    """When time alone does something to an item that a person waits for."""
    if item.state == "scheduled" and item.trigger["type"] == "condition":
        at: int | None = item.trigger.get("manual_check_at")
        return at
    return model.own_time(item)


def happens(item: Item) -> str:
    if item.state == "scheduled":
        return "becomes_due" if item.trigger["type"] in TIME_TRIGGERS else "manual_check"
    return "becomes_overdue" if item.state == "due" else "snooze_ends"


def moves(item: Item) -> list[tuple[str, str]]:
    """The days on which an item was created, turned due other than by the end of a snooze, and ended."""
    found = []
    snoozed = False
    for event in item.events:
        date, kind = event["occurred_at"][:10], event["event_type"]
        if kind in ("created", "completed", "cancelled"):
            found.append((date, kind))
        elif kind == "became_due" and not snoozed:
            found.append((date, "due"))
        if kind in ("snoozed", "became_due", "became_overdue"):
            snoozed = kind == "snoozed"
        elif kind == "updated":
            snoozed &= "trigger" not in event["details"]["changed_fields"]
    return found
