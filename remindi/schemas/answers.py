"""Output schemas: the envelope of each tool, closed, with both its outcomes (contract 1.1-1.7, 1.8).

Some clients hold error answers against the schema too, so ``data`` and ``error`` are both optional.
"""

from typing import Final

from remindi import tools
from remindi.errors import MAX_FIELD_ERRORS, MAX_POINTER_CHARACTERS, REASONS, ErrorCode
from remindi.events import ACTOR_WORDS, EVENT_WORDS
from remindi.evidence import EVIDENCE_WORDS
from remindi.items import PRIORITY_WORDS, READINESS_WORDS, STATE_WORDS, STATUS_WORDS
from remindi.links import LINK_WORDS
from remindi.recurrence import POLICY_WORDS
from remindi.schemas.arguments import DIALECT, Schema
from remindi.schemas.pieces import (
    array,
    boolean,
    closed_object,
    integer,
    nullable,
    open_object,
    string,
    timestamp,
    word,
)
from remindi.triggers import TRIGGER_WORDS


def output_schema(tool: str) -> Schema:
    """The published output schema of a tool."""
    return {
        "$schema": DIALECT,
        **closed_object(
            {
                "ok": boolean("Whether it succeeded: data is there if so, error if not."),
                "request_id": string("Names this exchange in events and in the server's log."),
                "data": DATA[tool],
                "error": ERROR,
            },
            optional=("data", "error"),
        ),
    }


# -------------------------------------------------------------------- error

ERROR: Final = closed_object(
    {
        "code": word("What went wrong.", [code.value for code in ErrorCode]),
        "message": string("The same in a sentence."),
        "retryable": boolean("Whether it may help to try again, for VERSION_CONFLICT after reading again."),
        "details": closed_object(
            {
                "errors": array(
                    "Of VALIDATION_ERROR: every wrong field.",
                    closed_object(
                        {
                            "field": string(
                                "JSON pointer into the arguments; empty for the whole.",
                                maxLength=MAX_POINTER_CHARACTERS,
                            ),
                            "reason": word("The rule that it breaks.", REASONS),
                        }
                    ),
                    maxItems=MAX_FIELD_ERRORS,
                ),
                "current_version": integer("Of VERSION_CONFLICT: the version that is stored now.", 1),
                "reason": string(
                    "Of MAINTENANCE_ACTIVE: why the service is held closed. Of a backup, upload or restore:"
                    " what is wrong, in a sentence."
                ),
            },
            description="What is known beyond the code.",
            optional=("errors", "current_version", "reason"),
        ),
    },
    description="Why it failed.",
    optional=("details",),
)

# --------------------------------------------------------------------- item

_ID: Final = string("UUID of the item.")
_VERSION: Final = integer("The item's version: expected_version of the next change.", 1)
_STATE: Final = word("Where the item stands.", STATE_WORDS)
_PRIORITY: Final = word("How much it matters.", PRIORITY_WORDS)
_LINKS: Final = array(
    "What the item is about, in stored order.",
    closed_object(
        {"type": word("What it points at.", LINK_WORDS), "value": string("Identifier or address.")}
    ),
)
NEXT_CURSOR: Final = nullable(string("cursor of the next page; null on the last one."))
WARNINGS: Final = array(
    "What keeps a condition from firing by itself; absent when nothing does.", {"type": "string"}
)

TRIGGER: Final = closed_object(
    {
        "type": word("The kind of trigger, which decides what else is here.", TRIGGER_WORDS),
        "at": timestamp("at_time: when it fires."),
        "after_seconds": integer("after_elapsed: seconds from when it was stored.", 1),
        "first_at": timestamp("interval: the first occurrence."),
        "every_seconds": integer("interval: seconds between occurrences.", 1),
        "goal_id": string("goal_active: the goal."),
        "adapter": string("condition: which probe decides."),
        "parameters": open_object("condition: what the adapter was given, unchanged."),
        "poll_interval_seconds": nullable(integer("condition: seconds between probes; null means 30.", 1)),
        "manual_check_at": nullable(timestamp("condition: due for verification by hand at the latest.")),
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
RECURRENCE: Final = closed_object(
    {
        "every_seconds": integer("Seconds between occurrences.", 1),
        "missed_policy": word("Where a disposition goes on after missed occurrences.", POLICY_WORDS),
        "max_occurrences": nullable(integer("Number of the last occurrence.", 1)),
        "end_at": nullable(timestamp("No occurrence lies after this.")),
    },
    description="How it repeats.",
)
ITEM: Final = closed_object(
    {
        "id": _ID,
        "project_id": string("Its project."),
        "task_id": nullable(string("Its task.")),
        "message": string("What has to be done."),
        "instructions": nullable(string("How to go about it.")),
        "state": _STATE,
        "priority": _PRIORITY,
        "trigger": TRIGGER,
        "recurrence": nullable(RECURRENCE),
        "next_fire_at": nullable(timestamp("Fire time of the present occurrence.")),
        "original_next_fire_at": nullable(timestamp("The same as it was scheduled.")),
        "next_evaluation_at": nullable(timestamp("When its condition is probed next.")),
        "due_since": nullable(timestamp("Since when it is due; grace counts from here.")),
        "snooze_until": nullable(timestamp("When its snooze ends.")),
        "snoozed_from_state": nullable(word("What it was before the snooze.", ("due", "overdue"))),
        "overdue_after_seconds": integer("Grace in seconds.", 0),
        "occurrence_no": integer("Number of the present occurrence.", 1),
        "snooze_count": integer("How often it was snoozed.", 0),
        "last_condition_status": nullable(word("What the last probe said.", STATUS_WORDS)),
        "last_condition_detail": nullable(string("The same in a sentence.")),
        "links": _LINKS,
        "source_session_id": nullable(string("Session that added it.")),
        "source_task_lineage_id": nullable(string("Task lineage that added it.")),
        "version": _VERSION,
        "created_at": timestamp("When it was added."),
        "updated_at": timestamp("When its version last rose."),
        "last_checked_at": nullable(timestamp("When an evaluation last changed or probed it.")),
        "completed_at": nullable(timestamp("When it was completed.")),
        "cancelled_at": nullable(timestamp("When it was cancelled.")),
    }
)
CHECK_ITEM: Final = closed_object(
    {
        "remindi_id": _ID,
        "readiness": word(
            "Why it is here; manual_verification: no probe confirmed the condition, verify it yourself.",
            READINESS_WORDS,
        ),
        "message": string("What has to be done."),
        "instructions": nullable(string("How to go about it.")),
        "occurrence_no": integer("Number of the present occurrence.", 1),
        "version": _VERSION,
        "state": _STATE,
        "priority": _PRIORITY,
        "task_id": nullable(string("Its task.")),
        "due_since": nullable(timestamp("Since when it is due.")),
        "next_fire_at": nullable(timestamp("Fire time of the present occurrence.")),
        "links": _LINKS,
    }
)

# ------------------------------------------------------------------ history

EVENT: Final = closed_object(
    {
        "sequence": integer("Place in the item's history: rises, with holes.", 0),
        "event_id": string("UUID of the event."),
        "remindi_id": _ID,
        "event_type": word("What happened.", EVENT_WORDS),
        "actor_type": word(
            "Who acted: a user in the browser, an agent, the scheduler, the system.", ACTOR_WORDS
        ),
        "actor_id": string("Which of them."),
        "request_id": nullable(string("The exchange that it happened in; null for the scheduler.")),
        "occurred_at": timestamp("When it happened."),
        "prior_version": nullable(integer("The item's version before.", 1)),
        "new_version": nullable(integer("The item's version after.", 1)),
        "details": open_object(
            "What the event type has to say, such as reason, changed_fields or evidence_id."
        ),
    }
)
EVIDENCE: Final = closed_object(
    {
        "id": string("UUID of the record."),
        "remindi_id": _ID,
        "evidence_type": word("What kind of proof it is.", EVIDENCE_WORDS),
        "summary": string("What was seen."),
        "reference_uri": nullable(string("Where it can be looked up.")),
        "content_hash": nullable(string("sha256: and 64 hex digits.")),
        "observed_at": timestamp("When it was seen."),
        "recorded_at": timestamp("When it was recorded."),
        "recorded_by": string("Actor that recorded it."),
        "metadata": nullable(open_object("What the recorder added, unchanged.")),
    }
)

# --------------------------------------------------------------------- data

_MUTATED: Final = closed_object(
    {"id": _ID, "state": _STATE, "version": _VERSION}, description="The item right after the change."
)
_CHANGED: Final = closed_object({"remindi": _MUTATED})
_STORED: Final = closed_object({"remindi": _MUTATED, "warnings": WARNINGS}, optional=("warnings",))

DATA: Final[dict[str, Schema]] = {
    tools.ADD: _STORED,
    tools.UPDATE: _STORED,
    tools.COMPLETE: _CHANGED,
    tools.SNOOZE: _CHANGED,
    tools.CANCEL: _CHANGED,
    tools.CHECK: closed_object(
        {
            "checked_at": timestamp("The moment that readiness was judged at; the same on every page."),
            "items": array("What is ready, the most pressing first.", CHECK_ITEM),
            "next_cursor": NEXT_CURSOR,
        }
    ),
    tools.LIST: closed_object({"items": array("The items, newest first.", ITEM), "next_cursor": NEXT_CURSOR}),
    tools.HISTORY: closed_object(
        {
            "events": array("What happened, oldest first.", EVENT),
            "completion_evidence": array(
                "The evidence of the completion, on every page; empty when there is none.",
                EVIDENCE,
                maxItems=1,
            ),
            "next_cursor": NEXT_CURSOR,
        }
    ),
}
"""``data`` of each tool (contract 1.2)."""
