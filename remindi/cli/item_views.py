"""Items, events and evidence as people read them: tables, and one item whole."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from remindi.cli.clock import Clock
from remindi.cli.display import Screen, escaped, escaped_lines
from remindi.cli.durations import relative, write_duration
from remindi.cli.identification import SHOWN_CHARACTERS
from remindi.cli.tables import Cell, Column, table
from remindi.cli.times import shown_time, shown_with_distance
from remindi.instants import parse_instant, stamp

Json = dict[str, Any]

_COLOURS: Final = {
    "overdue": "red",
    "due": "yellow",
    "manual_verification": "yellow",
    "critical": "red",
    "high": "bold",
    "completed": "green",
    "cancelled": "dim",
}
_ITEM_COLUMNS: Final = (
    Column("ID"),
    Column("STATE", leaves=2),
    Column("WHEN", leaves=3),
    Column("PRIORITY", leaves=4),
    Column("PROJECT", leaves=5),
    Column("MESSAGE", leaves=1, gives=True),
)
_READY_COLUMNS: Final = (
    Column("ID"),
    Column("READINESS", leaves=2),
    Column("WHEN", leaves=3),
    Column("PRIORITY", leaves=4),
    Column("TASK", leaves=5),
    Column("MESSAGE", leaves=1, gives=True),
)
_EVENT_COLUMNS: Final = (
    Column("TIME"),
    Column("AGO", leaves=4),
    Column("EVENT", leaves=1),
    Column("VERSION", leaves=3),
    Column("BY", leaves=5),
    Column("WHAT", leaves=2, gives=True),
)
_TIMES_BY_STATE: Final = {
    "scheduled": "next_fire_at",
    "due": "due_since",
    "overdue": "due_since",
    "snoozed": "snooze_until",
    "completed": "completed_at",
    "cancelled": "cancelled_at",
}
"""Which time tells most of an item, by its state."""


class Shown:
    """Views for one screen, at one instant, in one zone."""

    def __init__(self, screen: Screen, clock: Clock) -> None:
        """Take both."""
        self._screen = screen
        self._clock = clock

    def items(self, items: Sequence[Json]) -> list[str]:
        """A table of item views."""
        rows = [
            (
                self._id(item["id"]),
                _word(item["state"]),
                self._when(item, _TIMES_BY_STATE.get(item["state"], "")),
                _word(item["priority"]),
                escaped(item["project_id"]),
                escaped(item["message"]),
            )
            for item in items
        ]
        return table(_ITEM_COLUMNS, rows, self._screen)

    def ready(self, items: Sequence[Json]) -> list[str]:
        """A table of check items."""
        rows = [
            (
                self._id(item["remindi_id"]),
                _word(item["readiness"]),
                self._when(item, "due_since" if item["due_since"] else "next_fire_at"),
                _word(item["priority"]),
                escaped(item["task_id"] or "-"),
                escaped(item["message"]),
            )
            for item in items
        ]
        return table(_READY_COLUMNS, rows, self._screen)

    def events(self, events: Sequence[Json]) -> list[str]:
        """A table of events."""
        rows = [
            (
                shown_time(parse_instant(event["occurred_at"]), self._clock.zone),
                relative(parse_instant(event["occurred_at"]), self._clock.now),
                escaped(event["event_type"]),
                f"{event['prior_version'] or '-'} to {event['new_version'] or '-'}",
                escaped(event["actor_type"]),
                escaped(_told(event["details"])),
            )
            for event in events
        ]
        return table(_EVENT_COLUMNS, rows, self._screen)

    def item(self, item: Json, evidence: Sequence[Json], note: str | None = None) -> list[str]:
        """One item whole, a fact a line; text of several lines is indented below its name.

        Args:
            item: an item view.
            evidence: records of its completion.
            note: a remark on its completion.
        """
        facts = [*self._facts(item), *_present(("note", note))]
        facts += [fact for record in evidence for fact in self._proof(record)]
        width = max(len(name) for name, _ in facts)
        lines = []
        for name, text in facts:
            first, *more = escaped_lines(text.rstrip("\n"))
            lines.append(f"{name.ljust(width)}  {first}".rstrip())
            lines += [f"{' ' * width}  {line}".rstrip() for line in more]
        return lines

    def evidence(self, record: Json) -> list[str]:
        """One evidence record, a fact a line."""
        facts = list(self._proof(record))
        width = max(len(name) for name, _ in facts)
        return [f"{name.ljust(width)}  {escaped(text)}" for name, text in facts]

    def time(self, text: str) -> str:
        """A stamp in the zone, with how far away it is."""
        return shown_with_distance(parse_instant(text), self._clock.now, self._clock.zone)

    def at(self, text: str) -> str:
        """When something comes back at a stamp, as the end of a sentence."""
        instant = parse_instant(text)
        if instant > self._clock.now:
            return f"at {self.time(text)}"
        return f"at once: {shown_time(instant, self._clock.zone)} has passed"

    def coming(self, trigger: Json, item: Json) -> str:
        """When a trigger that is stored now brings an item back, as the end of a sentence.

        Args:
            trigger: as the tools take it.
            item: what is known of the item.
        """
        session, lineage = item.get("source_session_id"), item.get("source_task_lineage_id")
        another = "another session" + (f" than {escaped(session)}" if session is not None else "")
        match trigger["type"]:
            case "at_time":
                return self.at(trigger["at"])
            case "interval":
                return self.at(trigger["first_at"])
            case "after_elapsed":
                return self.at(stamp(self._clock.now + trigger["after_seconds"] * 1_000))
            case "next_session":
                return f"at a check from {another}"
            case "next_continuation":
                of = "of its lineage" if lineage is None else f"of the lineage {escaped(lineage)}"
                return f"at a continuation check {of} from {another}"
            case "goal_active":
                return f"at a check that names the goal {escaped(trigger['goal_id'])}"
            case _:
                when = f"when {escaped(trigger['adapter'])} sees that it holds"
                by_hand = trigger.get("manual_check_at")
                return when if by_hand is None else f"{when}, or to be looked at by hand {self.at(by_hand)}"

    def _id(self, remindi_id: str) -> str:
        return escaped(remindi_id if self._screen.width is None else remindi_id[-SHOWN_CHARACTERS:])

    def _when(self, item: Json, field: str) -> str:
        text = item.get(field)
        if text is not None:
            return relative(parse_instant(text), self._clock.now)
        trigger = item.get("trigger", {})
        return escaped(trigger["type"].replace("_", " ")) if trigger else "-"

    def _facts(self, item: Json) -> Iterator[tuple[str, str]]:
        yield "message", item["message"]
        yield "id", item["id"]
        yield "state", item["state"]
        yield "version", str(item["version"])
        yield "project", item["project_id"]
        yield from _present(("task", item["task_id"]))
        yield "priority", item["priority"]
        yield "trigger", self._trigger(item["trigger"])
        if (recurrence := item["recurrence"]) is not None:
            yield "repeats", self._recurrence(recurrence)
            yield "occurrence", str(item["occurrence_no"])
        for name, field in (
            ("next", "next_fire_at"),
            ("next probe", "next_evaluation_at"),
            ("due since", "due_since"),
            ("snoozed until", "snooze_until"),
            ("completed", "completed_at"),
            ("cancelled", "cancelled_at"),
        ):
            if item[field] is not None:
                yield name, self.time(item[field])
        yield "grace", write_duration(item["overdue_after_seconds"])
        if item["last_condition_status"] is not None:
            yield "condition", f"{item['last_condition_status']}: {item['last_condition_detail'] or '-'}"
        for link in item["links"]:
            yield "link", f"{link['type']}:{link['value']}"
        yield from _present(
            ("instructions", item["instructions"]),
            ("session", item["source_session_id"]),
            ("lineage", item["source_task_lineage_id"]),
        )
        yield "created", self.time(item["created_at"])
        yield "updated", self.time(item["updated_at"])

    def _trigger(self, trigger: Json) -> str:
        """A trigger in words."""
        match trigger["type"]:
            case "at_time":
                return f"at {self.time(trigger['at'])}"
            case "after_elapsed":
                return f"{write_duration(trigger['after_seconds'])} after it was stored"
            case "interval":
                return (
                    f"every {write_duration(trigger['every_seconds'])} from {self.time(trigger['first_at'])}"
                )
            case "goal_active":
                return f"while the goal {trigger['goal_id']} is active"
            case "condition":
                parts = [f"{trigger['adapter']} {json.dumps(trigger['parameters'], ensure_ascii=False)}"]
                if trigger["poll_interval_seconds"] is not None:
                    parts.append(f"looked at every {write_duration(trigger['poll_interval_seconds'])}")
                if trigger["manual_check_at"] is not None:
                    parts.append(f"by hand at {self.time(trigger['manual_check_at'])}")
                return ", ".join(parts)
            case other:
                return str(other).replace("_", " ")

    def _recurrence(self, recurrence: Json) -> str:
        parts = [f"every {write_duration(recurrence['every_seconds'])}", recurrence["missed_policy"]]
        if recurrence["max_occurrences"] is not None:
            parts.append(f"at most {recurrence['max_occurrences']} times")
        if recurrence["end_at"] is not None:
            parts.append(f"until {self.time(recurrence['end_at'])}")
        return ", ".join(parts)

    def _proof(self, record: Json) -> Iterator[tuple[str, str]]:
        yield "evidence", f"{record['evidence_type']}: {record['summary']}"
        yield from _present(("see", record["reference_uri"]), ("hash", record["content_hash"]))
        yield "observed", self.time(record["observed_at"])
        if record["metadata"] is not None:
            yield "metadata", json.dumps(record["metadata"], ensure_ascii=False)


def _present(*facts: tuple[str, str | None]) -> Iterator[tuple[str, str]]:
    return ((name, text) for name, text in facts if text is not None)


def _word(word: str) -> Cell:
    return Cell(escaped(word), _COLOURS.get(word))


def _told(details: Json) -> str:
    """What of an event's details a person wants to read first."""
    for key in ("reason", "completion_note", "condition_detail", "condition", "trigger_type"):
        if isinstance(details.get(key), str):
            changed = details.get("changed_fields")
            fields = f"changed {', '.join(changed)}: " if isinstance(changed, list) and changed else ""
            return f"{fields}{details[key]}"
    return ""
