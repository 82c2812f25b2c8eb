"""Spellings: canonical requests as the raw arguments that a caller sends, in a plain and in an odd way."""

from datetime import timedelta
from typing import Any

from tests.model.contract import EPOCH, Json, stamp

_TRIMMED = ("project_id", "task_id", "message", "reason", "session_id", "task_lineage_id")
_NULL_ON_ADD = ("task_id", "instructions", "recurrence", "session_id", "task_lineage_id")
_NULL_ON_UPDATE = (
    "message",
    "priority",
    "trigger",
    "overdue_after_seconds",
    "links",
    "occurrence_disposition",
)
_TIMES = ("at", "first_at", "manual_check_at", "end_at", "snooze_until", "observed_at")


def spell(tool: str, request: Json, key: str | None, *, odd: bool) -> Json:
    """Raw arguments of a canonical request.

    Odd: other key order, other offset and form of times, outer spaces, defaults and nulls spelled out, braces
    around upper-case UUIDs, hashes without prefix.
    """
    raw = {name: _value(name, value, odd=odd) for name, value in request.items()}
    if tool == "remindi_add":
        for name in _NULL_ON_ADD:
            if raw.get(name) is None:
                raw.pop(name, None)
                if odd:
                    raw[name] = None
        if raw.get("overdue_after_seconds") is None:
            raw.pop("overdue_after_seconds", None)
        if not odd:
            for name, default in (("priority", "normal"), ("links", [])):
                if raw.get(name) in (None, default):
                    raw.pop(name, None)
    if tool == "remindi_update" and odd:
        raw = dict.fromkeys(_NULL_ON_UPDATE) | raw
    if "evidence" in raw:
        raw["evidence"] = _evidence(raw["evidence"], odd=odd)
    if key is not None:
        raw["idempotency_key"] = key
    return dict(reversed(raw.items())) if odd else raw


def odd_time(instant: int) -> str:
    """The same instant with an offset, a space, and digits that are cut."""
    moved = EPOCH + timedelta(milliseconds=instant, minutes=-330)
    return f"{moved.strftime('%Y-%m-%d %H:%M:%S')}.{instant % 1_000:03d}999-05:30"


def _value(name: str, value: Any, *, odd: bool) -> Any:
    if name in _TIMES and value is not None:
        return odd_time(value) if odd else stamp(value)
    if name in ("trigger", "recurrence") and value is not None:
        return _nested(name, value, odd=odd)
    if odd and name in _TRIMMED and isinstance(value, str):
        return f" \u2003{value}\t"
    if odd and name == "remindi_id":
        return "{" + str(value).upper() + "}"
    return value


def _nested(name: str, value: Json, *, odd: bool) -> Json:
    raw = {part: _value(part, inner, odd=odd) for part, inner in value.items()}
    for part in ("poll_interval_seconds", "manual_check_at", "max_occurrences", "end_at"):
        if part in raw and raw[part] is None and not odd:
            del raw[part]
    if name == "recurrence" and not odd and raw["missed_policy"] == "coalesce":
        del raw["missed_policy"]
    return dict(reversed(raw.items())) if odd else raw


def _evidence(value: Json, *, odd: bool) -> Json:
    raw = {part: _value(part, inner, odd=odd) for part, inner in value.items()}
    if odd and isinstance(raw.get("content_hash"), str):
        raw["content_hash"] = raw["content_hash"].removeprefix("sha256:").upper()
    if odd:
        raw["summary"] = f"\n{raw['summary']} "
    for part in ("reference_uri", "content_hash", "metadata"):
        if raw.get(part) is None:
            raw.pop(part, None)
            if odd:
                raw[part] = None
    return raw
