"""Arguments of check, list and history, and the normalized queries that they become (contract 2.1, 5.1, 5.2)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeVar

from pydantic import Field

from remindi.errors import Refusal
from remindi.events import EventType, LifecycleEvent
from remindi.identifiers import uuid_text
from remindi.inputs.failures import NOTHING_KNOWN, Arguments, Failure, duplicates, read
from remindi.inputs.fields import Cursor, Integer, OptionalContext, Text, Uuid, Word
from remindi.inputs.mutations import MAX_SCOPE_CHARACTERS
from remindi.inputs.triggers import MAX_LINK_CHARACTERS, GoalId
from remindi.items import State
from remindi.requests import CheckContext, CheckQuery, HistoryQuery, ListQuery
from remindi.triggers import TriggerType

MAX_ACTIVE_GOALS: Final = 1_000
MAX_PAGE: Final = 200
CHECK_PAGE: Final = 50
LIST_PAGE: Final = 50
HISTORY_PAGE: Final = 100

Query = TypeVar("Query", CheckQuery, ListQuery, HistoryQuery)


class Paged(NamedTuple, Generic[Query]):
    """A query with its cursor still closed; ``remindi.cursors`` opens it."""

    query: Query
    cursor: str | None


_UNIQUE: Final = {"uniqueItems": True}
Scope = Annotated[str, Text(MAX_SCOPE_CHARACTERS, trimmed=True)]
Exact = Annotated[str, Text(MAX_LINK_CHARACTERS)]
NextPage = Annotated[
    str,
    Cursor(),
    Field(
        description="next_cursor of the page before; everything else but limit stays as it was in that request."
    ),
]
Limit = Annotated[int, Integer(1, MAX_PAGE), Field(description="How many to return at most.")]


class Check(Arguments):
    """``remindi_check``."""

    project_id: Annotated[Scope, Field(description="The project to look at.")]
    task_id: (
        Annotated[
            Scope,
            Field(description="Only items of exactly this task; items without a task are then left out."),
        ]
        | None
    ) = None
    lifecycle_event: Annotated[
        LifecycleEvent,
        Word(LifecycleEvent),
        Field(
            description="Where you are in your work: task_start before the first step, checkpoint in between, "
            "continuation when you take up earlier work, final_review before you say that you are finished."
        ),
    ]
    session_id: (
        Annotated[
            str,
            OptionalContext(MAX_SCOPE_CHARACTERS),
            Field(
                description="Your present session; without it next_session and next_continuation items stay "
                "asleep. Blank counts as absent."
            ),
        ]
        | None
    ) = None
    task_lineage_id: (
        Annotated[
            str,
            OptionalContext(MAX_SCOPE_CHARACTERS),
            Field(
                description="What your sessions of this task have in common; next_continuation items need it. "
                "Blank counts as absent."
            ),
        ]
        | None
    ) = None
    active_goal_ids: Annotated[
        list[GoalId],
        Field(
            max_length=MAX_ACTIVE_GOALS,
            json_schema_extra=_UNIQUE,
            description="The goals that you pursue now, each once; goal_active items of these become due.",
        ),
    ] = []
    include_scheduled: Annotated[
        bool, Field(description="Whether to append what is not due yet: scheduled and snoozed items.")
    ] = False
    evaluate_conditions: Annotated[
        bool,
        Field(
            description="Whether to probe conditions whose next probe is due, which may take seconds. A request "
            "with a cursor never probes."
        ),
    ] = True
    limit: Limit = CHECK_PAGE
    cursor: NextPage | None = None


class List(Arguments):
    """``remindi_list``."""

    project_id: Annotated[Scope, Field(description="Only items of this project.")] | None = None
    task_id: Annotated[Scope, Field(description="Only items of this task.")] | None = None
    remindi_id: Annotated[bytes, Uuid(), Field(description="Only the item with this id, a UUID.")] | None = (
        None
    )
    states: Annotated[
        list[Annotated[State, Word(State)]],
        Field(json_schema_extra=_UNIQUE, description="Only items in one of these states; [] means all."),
    ] = []
    trigger_types: Annotated[
        list[Annotated[TriggerType, Word(TriggerType)]],
        Field(json_schema_extra=_UNIQUE, description="Only items with one of these triggers; [] means all."),
    ] = []
    linked_goal_id: (
        Annotated[Exact, Field(description="Only items with a goal link of exactly this value.")] | None
    ) = None
    linked_memory_hash: (
        Annotated[Exact, Field(description="Only items with a memory link of exactly this value.")] | None
    ) = None
    limit: Limit = LIST_PAGE
    cursor: NextPage | None = None


class History(Arguments):
    """``remindi_history``."""

    remindi_id: Annotated[bytes, Uuid(), Field(description="The item's id, a UUID.")]
    after_sequence: (
        Annotated[
            int,
            Integer(0),
            Field(description="Only events with a higher sequence than this; a cursor wins over it."),
        ]
        | None
    ) = None
    event_types: Annotated[
        list[Annotated[EventType, Word(EventType)]],
        Field(json_schema_extra=_UNIQUE, description="Only events of these types; [] means all."),
    ] = []
    limit: Limit = HISTORY_PAGE
    cursor: NextPage | None = None


def read_check(arguments: Mapping[str, Any], now: int) -> Paged[CheckQuery] | Refusal:
    """Read the arguments of ``remindi_check``."""
    found = read(Check, arguments, now, content=_goals_unique)
    if isinstance(found, Refusal):
        return found
    query = CheckQuery(
        project_id=found.project_id,
        task_id=found.task_id,
        context=CheckContext(
            found.lifecycle_event, found.session_id, found.task_lineage_id, tuple(found.active_goal_ids)
        ),
        include_scheduled=found.include_scheduled,
        evaluate_conditions=found.evaluate_conditions,
        limit=found.limit,
        after=None,
    )
    return Paged(query, found.cursor)


def read_list(arguments: Mapping[str, Any], now: int) -> Paged[ListQuery] | Refusal:
    """Read the arguments of ``remindi_list``."""
    found = read(List, arguments, now, content=_list_filters_unique)
    if isinstance(found, Refusal):
        return found
    query = ListQuery(
        project_id=found.project_id,
        task_id=found.task_id,
        remindi_id=found.remindi_id,
        states=tuple(found.states),
        trigger_types=tuple(found.trigger_types),
        linked_goal_id=found.linked_goal_id,
        linked_memory_hash=found.linked_memory_hash,
        limit=found.limit,
        after=None,
    )
    return Paged(query, found.cursor)


def read_history(
    arguments: Mapping[str, Any], now: int, remindi_id: bytes | None = None
) -> Paged[HistoryQuery] | Refusal:
    """Read the arguments of ``remindi_history``, or the rest of them when the door knows ``remindi_id``."""
    known = NOTHING_KNOWN if remindi_id is None else {"remindi_id": uuid_text(remindi_id)}
    found = read(History, arguments, now, known=known, content=_event_types_unique)
    if isinstance(found, Refusal):
        return found
    query = HistoryQuery(found.remindi_id, found.after_sequence or 0, tuple(found.event_types), found.limit)
    return Paged(query, found.cursor)


def _goals_unique(arguments: Mapping[str, Any]) -> list[Failure]:
    return duplicates("/active_goal_ids", arguments.get("active_goal_ids", ()))


def _list_filters_unique(arguments: Mapping[str, Any]) -> list[Failure]:
    return [
        *duplicates("/states", arguments.get("states", ())),
        *duplicates("/trigger_types", arguments.get("trigger_types", ())),
    ]


def _event_types_unique(arguments: Mapping[str, Any]) -> list[Failure]:
    return duplicates("/event_types", arguments.get("event_types", ()))
