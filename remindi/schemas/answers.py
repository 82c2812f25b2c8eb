"""Output schemas: the envelope of each tool, closed, with both its outcomes (contract 1.1-1.7, 1.8).

Some clients hold error answers against the schema too, so ``data`` and ``error`` are both optional.
"""

from collections.abc import Sequence
from typing import Any, Final

from remindi import tools
from remindi.errors import MAX_FIELD_ERRORS, MAX_POINTER_CHARACTERS, REASONS, ErrorCode
from remindi.events import ACTOR_WORDS, EVENT_WORDS
from remindi.evidence import EVIDENCE_WORDS
from remindi.items import PRIORITY_WORDS, READINESS_WORDS, STATE_WORDS, STATUS_WORDS
from remindi.links import LINK_WORDS
from remindi.recurrence import POLICY_WORDS
from remindi.schemas.arguments import DIALECT, Schema
from remindi.triggers import TRIGGER_WORDS


def output_schema(tool: str) -> Schema:
    """The published output schema of a tool."""
    return {
        "$schema": DIALECT,
        **_object(
            {
                "ok": _boolean("Whether it succeeded: data is there if so, error if not."),
                "request_id": _string("Names this exchange in events and in the server's log."),
                "data": DATA[tool],
                "error": ERROR,
            },
            optional=("data", "error"),
        ),
    }


# ------------------------------------------------------------------- pieces


def _object(properties: Schema, *, description: str | None = None, optional: Sequence[str] = ()) -> Schema:
    schema: Schema = {"type": "object"}
    if description is not None:
        schema["description"] = description
    return {
        **schema,
        "properties": properties,
        "required": [name for name in properties if name not in optional],
        "additionalProperties": False,
    }


def _string(description: str, **keywords: Any) -> Schema:
    return {"type": "string", "description": description, **keywords}


def _word(description: str, words: Sequence[str]) -> Schema:
    return {"type": "string", "description": description, "enum": list(words)}


def _stamp(description: str) -> Schema:
    return {"type": "string", "description": description, "format": "date-time"}


def _integer(description: str, minimum: int) -> Schema:
    return {"type": "integer", "description": description, "minimum": minimum}


def _boolean(description: str) -> Schema:
    return {"type": "boolean", "description": description}


def _array(description: str, items: Schema, **keywords: Any) -> Schema:
    return {"type": "array", "description": description, "items": items, **keywords}


def _open(description: str) -> Schema:
    return {"type": "object", "description": description}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


# -------------------------------------------------------------------- error

ERROR: Final = _object(
    {
        "code": _word("What went wrong.", [code.value for code in ErrorCode]),
        "message": _string("The same in a sentence."),
        "retryable": _boolean("Whether it may help to try again, for VERSION_CONFLICT after reading again."),
        "details": _object(
            {
                "errors": _array(
                    "Of VALIDATION_ERROR: every wrong field.",
                    _object(
                        {
                            "field": _string(
                                "JSON pointer into the arguments; empty for the whole.",
                                maxLength=MAX_POINTER_CHARACTERS,
                            ),
                            "reason": _word("The rule that it breaks.", REASONS),
                        }
                    ),
                    maxItems=MAX_FIELD_ERRORS,
                ),
                "current_version": _integer("Of VERSION_CONFLICT: the version that is stored now.", 1),
                "reason": _string("Of MAINTENANCE_ACTIVE: why the service is held closed."),
            },
            description="What is known beyond the code.",
            optional=("errors", "current_version", "reason"),
        ),
    },
    description="Why it failed.",
    optional=("details",),
)

# --------------------------------------------------------------------- item

_ID: Final = _string("UUID of the item.")
_VERSION: Final = _integer("The item's version: expected_version of the next change.", 1)
_STATE: Final = _word("Where the item stands.", STATE_WORDS)
_PRIORITY: Final = _word("How much it matters.", PRIORITY_WORDS)
_LINKS: Final = _array(
    "What the item is about, in stored order.",
    _object({"type": _word("What it points at.", LINK_WORDS), "value": _string("Identifier or address.")}),
)
_NEXT_CURSOR: Final = _nullable(_string("cursor of the next page; null on the last one."))
_WARNINGS: Final = _array(
    "What keeps a condition from firing by itself; absent when nothing does.", {"type": "string"}
)

TRIGGER: Final = _object(
    {
        "type": _word("The kind of trigger, which decides what else is here.", TRIGGER_WORDS),
        "at": _stamp("at_time: when it fires."),
        "after_seconds": _integer("after_elapsed: seconds from when it was stored.", 1),
        "first_at": _stamp("interval: the first occurrence."),
        "every_seconds": _integer("interval: seconds between occurrences.", 1),
        "goal_id": _string("goal_active: the goal."),
        "adapter": _string("condition: which probe decides."),
        "parameters": _open("condition: what the adapter was given, unchanged."),
        "poll_interval_seconds": _nullable(_integer("condition: seconds between probes; null means 30.", 1)),
        "manual_check_at": _nullable(_stamp("condition: due for verification by hand at the latest.")),
    },
    description="When it becomes due.",
    optional=(
        "at",
        "after_seconds",
        "first_at",
        "every_seconds",
        "goal_id",
        "adapter",
        "parameters",
        "poll_interval_seconds",
        "manual_check_at",
    ),
)
RECURRENCE: Final = _object(
    {
        "every_seconds": _integer("Seconds between occurrences.", 1),
        "missed_policy": _word("Where a disposition goes on after missed occurrences.", POLICY_WORDS),
        "max_occurrences": _nullable(_integer("Number of the last occurrence.", 1)),
        "end_at": _nullable(_stamp("No occurrence lies after this.")),
    },
    description="How it repeats.",
)
ITEM: Final = _object(
    {
        "id": _ID,
        "project_id": _string("Its project."),
        "task_id": _nullable(_string("Its task.")),
        "message": _string("What has to be done."),
        "instructions": _nullable(_string("How to go about it.")),
        "state": _STATE,
        "priority": _PRIORITY,
        "trigger": TRIGGER,
        "recurrence": _nullable(RECURRENCE),
        "next_fire_at": _nullable(_stamp("Fire time of the present occurrence.")),
        "original_next_fire_at": _nullable(_stamp("The same as it was scheduled.")),
        "next_evaluation_at": _nullable(_stamp("When its condition is probed next.")),
        "due_since": _nullable(_stamp("Since when it is due; grace counts from here.")),
        "snooze_until": _nullable(_stamp("When its snooze ends.")),
        "snoozed_from_state": _nullable(_word("What it was before the snooze.", ("due", "overdue"))),
        "overdue_after_seconds": _integer("Grace in seconds.", 0),
        "occurrence_no": _integer("Number of the present occurrence.", 1),
        "snooze_count": _integer("How often it was snoozed.", 0),
        "last_condition_status": _nullable(_word("What the last probe said.", STATUS_WORDS)),
        "last_condition_detail": _nullable(_string("The same in a sentence.")),
        "links": _LINKS,
        "source_session_id": _nullable(_string("Session that added it.")),
        "source_task_lineage_id": _nullable(_string("Task lineage that added it.")),
        "version": _VERSION,
        "created_at": _stamp("When it was added."),
        "updated_at": _stamp("When its version last rose."),
        "last_checked_at": _nullable(_stamp("When an evaluation last changed or probed it.")),
        "completed_at": _nullable(_stamp("When it was completed.")),
        "cancelled_at": _nullable(_stamp("When it was cancelled.")),
    }
)
CHECK_ITEM: Final = _object(
    {
        "remindi_id": _ID,
        "readiness": _word(
            "Why it is here; manual_verification: no probe confirmed the condition, verify it yourself.",
            READINESS_WORDS,
        ),
        "message": _string("What has to be done."),
        "instructions": _nullable(_string("How to go about it.")),
        "occurrence_no": _integer("Number of the present occurrence.", 1),
        "version": _VERSION,
        "state": _STATE,
        "priority": _PRIORITY,
        "task_id": _nullable(_string("Its task.")),
        "due_since": _nullable(_stamp("Since when it is due.")),
        "next_fire_at": _nullable(_stamp("Fire time of the present occurrence.")),
        "links": _LINKS,
    }
)

# ------------------------------------------------------------------ history

EVENT: Final = _object(
    {
        "sequence": _integer("Place in the item's history: rises, with holes.", 0),
        "event_id": _string("UUID of the event."),
        "remindi_id": _ID,
        "event_type": _word("What happened.", EVENT_WORDS),
        "actor_type": _word(
            "Who acted: a user in the browser, an agent, the scheduler, the system.", ACTOR_WORDS
        ),
        "actor_id": _string("Which of them."),
        "request_id": _nullable(_string("The exchange that it happened in; null for the scheduler.")),
        "occurred_at": _stamp("When it happened."),
        "prior_version": _nullable(_integer("The item's version before.", 1)),
        "new_version": _nullable(_integer("The item's version after.", 1)),
        "details": _open("What the event type has to say, such as reason, changed_fields or evidence_id."),
    }
)
EVIDENCE: Final = _object(
    {
        "id": _string("UUID of the record."),
        "remindi_id": _ID,
        "evidence_type": _word("What kind of proof it is.", EVIDENCE_WORDS),
        "summary": _string("What was seen."),
        "reference_uri": _nullable(_string("Where it can be looked up.")),
        "content_hash": _nullable(_string("sha256: and 64 hex digits.")),
        "observed_at": _stamp("When it was seen."),
        "recorded_at": _stamp("When it was recorded."),
        "recorded_by": _string("Actor that recorded it."),
        "metadata": _nullable(_open("What the recorder added, unchanged.")),
    }
)

# --------------------------------------------------------------------- data

_MUTATED: Final = _object(
    {"id": _ID, "state": _STATE, "version": _VERSION}, description="The item right after the change."
)
_CHANGED: Final = _object({"remindi": _MUTATED})
_STORED: Final = _object({"remindi": _MUTATED, "warnings": _WARNINGS}, optional=("warnings",))

DATA: Final[dict[str, Schema]] = {
    tools.ADD: _STORED,
    tools.UPDATE: _STORED,
    tools.COMPLETE: _CHANGED,
    tools.SNOOZE: _CHANGED,
    tools.CANCEL: _CHANGED,
    tools.CHECK: _object(
        {
            "checked_at": _stamp("The moment that readiness was judged at; the same on every page."),
            "items": _array("What is ready, the most pressing first.", CHECK_ITEM),
            "next_cursor": _NEXT_CURSOR,
        }
    ),
    tools.LIST: _object({"items": _array("The items, newest first.", ITEM), "next_cursor": _NEXT_CURSOR}),
    tools.HISTORY: _object(
        {
            "events": _array("What happened, oldest first.", EVENT),
            "completion_evidence": _array(
                "The evidence of the completion, on every page; empty when there is none.",
                EVIDENCE,
                maxItems=1,
            ),
            "next_cursor": _NEXT_CURSOR,
        }
    ),
}
"""``data`` of each tool (contract 1.2)."""
