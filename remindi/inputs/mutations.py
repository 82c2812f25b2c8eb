"""Arguments of the five mutating tools, and the requests that they become (contract 2.1, 2.7, 2.8)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo

from remindi import tools
from remindi.errors import Refusal
from remindi.identifiers import uuid_text
from remindi.inputs.evidence import Evidence, evidence_value, has_reference
from remindi.inputs.failures import NOTHING_KNOWN, Arguments, Failure, read
from remindi.inputs.fields import Context, Instant, Integer, Text, Token, Uuid, Word, refuse
from remindi.inputs.fingerprint import evidence_parts, idempotency, trigger_parts
from remindi.inputs.triggers import (
    MAX_SECONDS,
    Links,
    Recurrence,
    Trigger,
    links_unique,
    links_value,
    recurrence_value,
    trigger_value,
)
from remindi.items import Content, Priority
from remindi.recurrence import Disposition
from remindi.requests import KEEP, Cancellation, Completion, IdempotencyKey, NewItem, Snooze, Update

MAX_SCOPE_CHARACTERS: Final = 512
"""Of a project, task, session or lineage id."""
MAX_MESSAGE_CHARACTERS: Final = 8_192
MAX_INSTRUCTIONS_CHARACTERS: Final = 32_768
MAX_REASON_CHARACTERS: Final = 4_096
MAX_NOTE_CHARACTERS: Final = 4_096
MAX_SNOOZE_MS: Final = MAX_SECONDS * 1_000
"""The farthest that any setting lets a snooze reach."""

Scope = Annotated[str, Text(MAX_SCOPE_CHARACTERS, trimmed=True)]
ContextId = Annotated[str, Context(MAX_SCOPE_CHARACTERS)]
Message = Annotated[str, Text(MAX_MESSAGE_CHARACTERS, trimmed=True)]
Instructions = Annotated[str, Text(MAX_INSTRUCTIONS_CHARACTERS, blank=True)]
PriorityWord = Annotated[Priority, Word(Priority)]
Grace = Integer(0, MAX_SECONDS)
Reason = Annotated[
    str,
    Text(MAX_REASON_CHARACTERS, trimmed=True),
    Field(description="Why, in a sentence that still makes sense in the item's history."),
]
IdempotencyText = Annotated[
    str,
    Token(r"^[A-Za-z0-9._:-]{8,128}$", minimum=8, maximum=128),
    Field(
        description="Your own name for this one change, of letters, digits and . _ : - only. Retry with "
        "the same key and the same arguments: nothing happens twice and you get the first answer. Another "
        "change needs another key."
    ),
]
RemindiId = Annotated[
    bytes, Uuid(), Field(description="The item's id, a UUID as add, check and list give it.")
]
ExpectedVersion = Annotated[
    int,
    Integer(1),
    Field(
        description="The item's version as you read it last. If it moved on, the answer is "
        "VERSION_CONFLICT with current_version: read the item again, then decide again."
    ),
]


class AddArguments(Arguments):
    """``remindi_add``."""

    idempotency_key: IdempotencyText
    project_id: Annotated[
        Scope, Field(description="The project it belongs to; checks of the same project find it.")
    ]
    task_id: Annotated[
        Scope | None, Field(description="The task within the project, when it concerns only one.")
    ] = None
    message: Annotated[
        Message,
        Field(description="What has to be done or looked at, clear to a reader who knows nothing of today."),
    ]
    instructions: Annotated[
        Instructions | None,
        Field(description="How to go about it: steps, commands, what would be good evidence."),
    ] = None
    priority: Annotated[
        PriorityWord, Field(description="How much it matters; a check returns higher ones first.")
    ] = Priority.NORMAL
    trigger: Annotated[Trigger, Field(description="When it becomes due.")]
    recurrence: Annotated[
        Recurrence | None,
        Field(
            description="How an interval trigger repeats; not with other triggers. Without it an interval "
            "fires once."
        ),
    ] = None
    overdue_after_seconds: Annotated[
        int | None,
        Grace,
        Field(
            description="Grace: seconds after it became due until it counts as overdue. When absent the "
            "server's setting counts, which is 0 at first."
        ),
    ] = None
    links: Annotated[
        Links, Field(description="What it is about; a pair of type and value stands only once.")
    ] = Field(default=[])
    session_id: Annotated[
        ContextId | None,
        Field(
            description="Your present session: next_session and next_continuation fire in a later one. "
            "Blank counts as absent."
        ),
    ] = None
    task_lineage_id: Annotated[
        ContextId | None,
        Field(
            description="What all your sessions on this task have in common; next_continuation never fires "
            "without it. Blank counts as absent."
        ),
    ] = None


class OfItemArguments(Arguments):
    """What every change of an existing item brings."""

    remindi_id: RemindiId
    expected_version: ExpectedVersion
    idempotency_key: IdempotencyText


class CompleteArguments(OfItemArguments):
    """``remindi_complete``."""

    evidence: Annotated[
        Evidence,
        Field(
            description="What shows that it is done; reference_uri or content_hash, or both, are required."
        ),
    ]
    completion_note: Annotated[
        Annotated[str, Text(MAX_NOTE_CHARACTERS, blank=True)] | None,
        Field(description="Anything else worth keeping in the history."),
    ] = None


def _within_a_year(snooze_until: int, info: ValidationInfo[int]) -> int:
    if snooze_until > info.context + MAX_SNOOZE_MS:
        raise refuse("too_far_ahead")
    return snooze_until


class SnoozeArguments(OfItemArguments):
    """``remindi_snooze``."""

    snooze_until: Annotated[
        int,
        Instant(),
        AfterValidator(_within_a_year),
        Field(
            description=f"When it comes back: later than now and at most {MAX_SECONDS:,} seconds (365 days) "
            "ahead, or less where the server's setting says so."
        ),
    ]
    reason: Reason


class CancelArguments(OfItemArguments):
    """``remindi_cancel``."""

    reason: Reason


class UpdateArguments(OfItemArguments):
    """``remindi_update``."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 5})

    reason: Reason
    message: Annotated[Message | None, Field(description="The new message.")] = None
    instructions: Annotated[
        Instructions | None, Field(description="The new instructions; null removes them.")
    ] = None
    priority: Annotated[PriorityWord | None, Field(description="The new priority.")] = None
    trigger: Annotated[Trigger | None, Field(description="The new trigger; the schedule starts anew.")] = None
    recurrence: Annotated[
        Recurrence | None,
        Field(
            description="The new recurrence; null removes it, which a recurring item needs to leave interval."
        ),
    ] = None
    overdue_after_seconds: Annotated[
        Annotated[int, Grace] | None,
        Field(description="The new grace: seconds after it became due until it counts as overdue."),
    ] = None
    links: Annotated[
        Links | None,
        Field(description="The whole new set of links, in place of the old one; [] removes all."),
    ] = None
    occurrence_disposition: Annotated[
        Annotated[Disposition, Word(Disposition)] | None,
        Field(
            description="Ends the present occurrence of a due or overdue recurring item and schedules the "
            "next: acknowledged when it was dealt with, skipped when it was not."
        ),
    ] = None


NULL_CLEARS: Final = ("instructions", "recurrence")
"""Fields of an update in which null is a value (contract 2.3)."""
MUTABLE: Final = (
    "message",
    "instructions",
    "priority",
    "trigger",
    "recurrence",
    "overdue_after_seconds",
    "links",
    "occurrence_disposition",
)
"""The fields of which an update needs one or more."""


def read_add(arguments: Mapping[str, Any], now: int) -> NewItem | Refusal:
    """Read the arguments of ``remindi_add``: steps 1 and 2 of contract 3.3, as in all functions here."""
    found = read(AddArguments, arguments, now, content=links_unique)
    if isinstance(found, Refusal):
        return found
    trigger = trigger_value(found.trigger)
    recurrence = None if found.recurrence is None else recurrence_value(found.recurrence)
    links = links_value(found.links)
    content = Content(
        project_id=found.project_id,
        task_id=found.task_id,
        message=found.message,
        instructions=found.instructions,
        source_session_id=found.session_id,
        source_task_lineage_id=found.task_lineage_id,
        trigger=trigger,
        recurrence=recurrence,
    )
    request = {
        **content._asdict(),
        "trigger": trigger_parts(trigger),
        "priority": found.priority,
        "links": links,
    }
    key = idempotency(tools.ADD, found.idempotency_key, request)
    return NewItem(key, content, found.priority, found.overdue_after_seconds, links)


def read_complete(
    arguments: Mapping[str, Any], now: int, remindi_id: bytes | None = None
) -> Completion | Refusal:
    """Read the arguments of ``remindi_complete``, or the rest of them when the door knows ``remindi_id``."""
    found = read(CompleteArguments, arguments, now, known=_known(remindi_id), content=has_reference)
    if isinstance(found, Refusal):
        return found
    evidence = evidence_value(found.evidence)
    request = {
        **_target(found),
        "evidence": evidence_parts(evidence),
        "completion_note": found.completion_note,
    }
    key = idempotency(tools.COMPLETE, found.idempotency_key, request)
    return Completion(key, found.remindi_id, found.expected_version, evidence, found.completion_note)


def read_snooze(arguments: Mapping[str, Any], now: int, remindi_id: bytes | None = None) -> Snooze | Refusal:
    """Read the arguments of ``remindi_snooze``, or the rest of them when the door knows ``remindi_id``."""
    found = read(SnoozeArguments, arguments, now, known=_known(remindi_id))
    if isinstance(found, Refusal):
        return found
    request = {**_target(found), "snooze_until": found.snooze_until, "reason": found.reason}
    key = idempotency(tools.SNOOZE, found.idempotency_key, request)
    return Snooze(key, found.remindi_id, found.expected_version, found.snooze_until, found.reason)


def read_cancel(
    arguments: Mapping[str, Any], now: int, remindi_id: bytes | None = None
) -> Cancellation | Refusal:
    """Read the arguments of ``remindi_cancel``, or the rest of them when the door knows ``remindi_id``."""
    found = read(CancelArguments, arguments, now, known=_known(remindi_id))
    if isinstance(found, Refusal):
        return found
    key = idempotency(tools.CANCEL, found.idempotency_key, {**_target(found), "reason": found.reason})
    return Cancellation(key, found.remindi_id, found.expected_version, found.reason)


def read_update(arguments: Mapping[str, Any], now: int, remindi_id: bytes | None = None) -> Update | Refusal:
    """Read the arguments of ``remindi_update``, or the rest of them when the door knows ``remindi_id``."""
    known = _known(remindi_id)
    found = read(
        UpdateArguments, arguments, now, known=known, shape=_supplies_something, content=links_unique
    )
    if isinstance(found, Refusal):
        return found
    recurrence = None if found.recurrence is None else recurrence_value(found.recurrence)
    change = Update(
        idempotency=IdempotencyKey(tools.UPDATE, found.idempotency_key, b""),
        remindi_id=found.remindi_id,
        expected_version=found.expected_version,
        reason=found.reason,
        message=found.message,
        instructions=found.instructions if "instructions" in arguments else KEEP,
        priority=found.priority,
        trigger=None if found.trigger is None else trigger_value(found.trigger),
        recurrence=recurrence if "recurrence" in arguments else KEEP,
        overdue_after_seconds=found.overdue_after_seconds,
        links=None if found.links is None else links_value(found.links),
        occurrence_disposition=found.occurrence_disposition,
    )
    request = {**_target(found), "reason": change.reason}
    for name in MUTABLE:
        value = getattr(change, name)
        if value is not KEEP and (value is not None or name in NULL_CLEARS):
            request[name] = value
    if change.trigger is not None:
        request["trigger"] = trigger_parts(change.trigger)
    return change._replace(idempotency=idempotency(tools.UPDATE, found.idempotency_key, request))


def _known(remindi_id: bytes | None) -> Mapping[str, Any]:
    return NOTHING_KNOWN if remindi_id is None else {"remindi_id": uuid_text(remindi_id)}


def _target(found: OfItemArguments) -> dict[str, Any]:
    return {"remindi_id": found.remindi_id.hex(), "expected_version": found.expected_version}


def _supplies_something(arguments: Mapping[str, Any]) -> list[Failure]:
    """The rule that an update changes something (contract 2.3)."""
    for name in MUTABLE:
        if name in arguments and (arguments[name] is not None or name in NULL_CLEARS):
            return []
    return [("", "empty_update")]
