"""Arguments of the five mutating tools, and the normalized requests that they become (contract 2.1, 2.7, 2.8)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo

from remindi import tools
from remindi.errors import Refusal
from remindi.identifiers import uuid_text
from remindi.inputs.evidence import Evidence, evidence_value, has_reference
from remindi.inputs.failures import NOTHING_KNOWN, Arguments, Failure, read
from remindi.inputs.fields import Instant, Integer, OptionalContext, Text, Token, Uuid, Word, refuse
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

IdempotencyText = Annotated[
    str,
    Token(r"^[A-Za-z0-9._:-]{8,128}$", minimum=8, maximum=128),
    Field(
        description="Your own name for this one change, made of letters, digits and . _ : -. Send the same key with "
        "the same arguments when you retry: nothing happens twice and you get the first answer. Another change "
        "needs another key."
    ),
]
RemindiId = Annotated[
    bytes, Uuid(), Field(description="The item's id, a UUID, as add, check or list returned it.")
]
ExpectedVersion = Annotated[
    int,
    Integer(1),
    Field(
        description="The item's version as you last read it. When it moved on meanwhile the answer is "
        "VERSION_CONFLICT with current_version: read the item again before you retry."
    ),
]
Grace = Integer(0, MAX_SECONDS)
Message = Annotated[str, Text(MAX_MESSAGE_CHARACTERS, trimmed=True)]
Instructions = Annotated[str, Text(MAX_INSTRUCTIONS_CHARACTERS, blank=True)]
Reason = Annotated[str, Text(MAX_REASON_CHARACTERS, trimmed=True)]

_REASON: Final = "Why, for the history."


class Add(Arguments):
    """``remindi_add``."""

    idempotency_key: IdempotencyText
    project_id: Annotated[
        str,
        Text(MAX_SCOPE_CHARACTERS, trimmed=True),
        Field(description="The project that it belongs to; checks of the same project find it."),
    ]
    task_id: (
        Annotated[
            str,
            Text(MAX_SCOPE_CHARACTERS, trimmed=True),
            Field(description="The task within the project, if it concerns only one."),
        ]
        | None
    ) = None
    message: Annotated[
        Message,
        Field(description="What has to be done or looked at, understandable without this conversation."),
    ]
    instructions: (
        Annotated[
            Instructions,
            Field(description="How to go about it: steps, commands, what good evidence would be."),
        ]
        | None
    ) = None
    priority: Annotated[
        Priority, Word(Priority), Field(description="How much it matters; checks return higher ones first.")
    ] = Priority.NORMAL
    trigger: Trigger
    recurrence: Recurrence | None = None
    overdue_after_seconds: Annotated[
        int | None,
        Grace,
        Field(
            description="Grace: seconds after becoming due until it counts as overdue. When absent, the server's "
            "setting counts (0 unless changed)."
        ),
    ] = None
    links: Annotated[
        Links, Field(description="What it is about; the same type and value may stand only once.")
    ] = []
    session_id: (
        Annotated[
            str,
            OptionalContext(MAX_SCOPE_CHARACTERS),
            Field(
                description="Your present session. next_session and next_continuation fire in another one; blank "
                "counts as absent."
            ),
        ]
        | None
    ) = None
    task_lineage_id: (
        Annotated[
            str,
            OptionalContext(MAX_SCOPE_CHARACTERS),
            Field(
                description="What your sessions of this task have in common; next_continuation needs it to fire. "
                "Blank counts as absent."
            ),
        ]
        | None
    ) = None


class OfItem(Arguments):
    """What every change of an existing item brings."""

    remindi_id: RemindiId
    expected_version: ExpectedVersion
    idempotency_key: IdempotencyText


class Complete(OfItem):
    """``remindi_complete``."""

    evidence: Evidence
    completion_note: (
        Annotated[
            str,
            Text(MAX_NOTE_CHARACTERS, blank=True),
            Field(description="Anything worth keeping for whoever reads the history."),
        ]
        | None
    ) = None


def _within_a_year(snooze_until: int, info: ValidationInfo[int]) -> int:
    if snooze_until > info.context + MAX_SNOOZE_MS:
        raise refuse("too_far_ahead")
    return snooze_until


class SnoozeItem(OfItem):
    """``remindi_snooze``."""

    snooze_until: Annotated[
        int,
        Instant(),
        AfterValidator(_within_a_year),
        Field(
            description=f"When it comes back: after now and at most {MAX_SECONDS:,} seconds (365 days) ahead, or "
            "less if the server's setting says so."
        ),
    ]
    reason: Annotated[Reason, Field(description=_REASON)]


class Cancel(OfItem):
    """``remindi_cancel``."""

    reason: Annotated[Reason, Field(description=_REASON)]


class UpdateItem(OfItem):
    """``remindi_update``."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 5})

    reason: Annotated[Reason, Field(description=_REASON)]
    message: Annotated[Message, Field(description="The new message.")] | None = None
    instructions: (
        Annotated[Instructions, Field(description="The new instructions; null removes them.")] | None
    ) = None
    priority: Annotated[Priority, Word(Priority), Field(description="The new priority.")] | None = None
    trigger: Trigger | None = None
    recurrence: Recurrence | None = None
    overdue_after_seconds: (
        Annotated[
            int,
            Grace,
            Field(description="The new grace: seconds after becoming due until it counts as overdue."),
        ]
        | None
    ) = None
    links: (
        Annotated[
            Links,
            Field(description="The whole new set of links, which replaces the old one; [] removes all."),
        ]
        | None
    ) = None
    occurrence_disposition: (
        Annotated[
            Disposition,
            Word(Disposition),
            Field(
                description="Ends the present occurrence of a due or overdue recurring item and goes on to the next "
                "one: acknowledged when it was dealt with, skipped when it was not."
            ),
        ]
        | None
    ) = None


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
    found = read(Add, arguments, now, content=links_unique)
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
    found = read(Complete, arguments, now, known=_known(remindi_id), content=has_reference)
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
    found = read(SnoozeItem, arguments, now, known=_known(remindi_id))
    if isinstance(found, Refusal):
        return found
    request = {**_target(found), "snooze_until": found.snooze_until, "reason": found.reason}
    key = idempotency(tools.SNOOZE, found.idempotency_key, request)
    return Snooze(key, found.remindi_id, found.expected_version, found.snooze_until, found.reason)


def read_cancel(
    arguments: Mapping[str, Any], now: int, remindi_id: bytes | None = None
) -> Cancellation | Refusal:
    """Read the arguments of ``remindi_cancel``, or the rest of them when the door knows ``remindi_id``."""
    found = read(Cancel, arguments, now, known=_known(remindi_id))
    if isinstance(found, Refusal):
        return found
    key = idempotency(tools.CANCEL, found.idempotency_key, {**_target(found), "reason": found.reason})
    return Cancellation(key, found.remindi_id, found.expected_version, found.reason)


def read_update(arguments: Mapping[str, Any], now: int, remindi_id: bytes | None = None) -> Update | Refusal:
    """Read the arguments of ``remindi_update``, or the rest of them when the door knows ``remindi_id``."""
    known = _known(remindi_id)
    found = read(UpdateItem, arguments, now, known=known, shape=_supplies_something, content=links_unique)
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


def _target(found: OfItem) -> dict[str, Any]:
    return {"remindi_id": found.remindi_id.hex(), "expected_version": found.expected_version}


def _supplies_something(arguments: Mapping[str, Any]) -> list[Failure]:
    """The rule that an update changes something (contract 2.3)."""
    for name in MUTABLE:
        if name in arguments and (arguments[name] is not None or name in NULL_CLEARS):
            return []
    return [("", "empty_update")]
