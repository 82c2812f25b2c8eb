"""Arguments of check, list and history, and the queries that they become (contract 2.1, 5.1, 5.2)."""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Generic, NamedTuple, TypeVar

from pydantic import Field

from remindi.errors import Refusal
from remindi.events import EventType, LifecycleEvent
from remindi.identifiers import uuid_text
from remindi.inputs.failures import NOTHING_KNOWN, Arguments, Failure, duplicates, read
from remindi.inputs.fields import UNIQUE, Cursor, Integer, Text, Uuid, Word
from remindi.inputs.mutations import ContextId, RemindiId, Scope
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


Exact = Annotated[str, Text(MAX_LINK_CHARACTERS)]
CursorText = Annotated[
    Annotated[str, Cursor()] | None,
    Field(
        description="next_cursor of the page before, for the next page; all else but limit stays as it was "
        "then."
    ),
]
Limit = Annotated[int, Integer(1, MAX_PAGE), Field(description="How many to return at most.")]


class CheckArguments(Arguments):
    """``remindi_check``."""

    project_id: Annotated[Scope, Field(description="The project to look at.")]
    task_id: Annotated[
        Scope | None,
        Field(description="Only items of exactly this task; items without a task are then left out."),
    ] = None
    lifecycle_event: Annotated[
        LifecycleEvent,
        Word(LifecycleEvent),
        Field(
            description="Where you stand: task_start before the first step, checkpoint in between, "
            "continuation when you take up earlier work, final_review before you call it finished."
        ),
    ]
    session_id: Annotated[
        ContextId | None,
        Field(
            description="Your present session; without it next_session and next_continuation items do not "
            "fire. Blank counts as absent."
        ),
    ] = None
    task_lineage_id: Annotated[
        ContextId | None,
        Field(
            description="What all your sessions on this task have in common; next_continuation items need "
            "it to fire. Blank counts as absent."
        ),
    ] = None
    active_goal_ids: Annotated[
        list[GoalId],
        Field(
            max_length=MAX_ACTIVE_GOALS,
            json_schema_extra=UNIQUE,
            description="The goals that you pursue now; goal_active items of these become due.",
        ),
    ] = Field(default=[])
    include_scheduled: Annotated[
        bool, Field(description="Whether to add, after the ready items, those that are scheduled or snoozed.")
    ] = False
    evaluate_conditions: Annotated[
        bool,
        Field(
            description="Whether to probe conditions whose next probe is due, which may take some seconds. A "
            "request with a cursor never probes."
        ),
    ] = True
    limit: Limit = CHECK_PAGE
    cursor: CursorText = None


class ListArguments(Arguments):
    """``remindi_list``."""

    project_id: Annotated[Scope | None, Field(description="Only items of this project.")] = None
    task_id: Annotated[Scope | None, Field(description="Only items of this task.")] = None
    remindi_id: Annotated[
        Annotated[bytes, Uuid()] | None, Field(description="Only the item with this id, a UUID.")
    ] = None
    states: Annotated[
        list[Annotated[State, Word(State)]],
        Field(
            max_length=len(State),
            json_schema_extra=UNIQUE,
            description="Only items in one of these states; [] means all.",
        ),
    ] = Field(default=[])
    trigger_types: Annotated[
        list[Annotated[TriggerType, Word(TriggerType)]],
        Field(
            max_length=len(TriggerType),
            json_schema_extra=UNIQUE,
            description="Only items with one of these triggers; [] means all.",
        ),
    ] = Field(default=[])
    linked_goal_id: Annotated[
        Exact | None, Field(description="Only items with a goal link of exactly this value.")
    ] = None
    linked_memory_hash: Annotated[
        Exact | None, Field(description="Only items with a memory link of exactly this value.")
    ] = None
    limit: Limit = LIST_PAGE
    cursor: CursorText = None


class HistoryArguments(Arguments):
    """``remindi_history``."""

    remindi_id: RemindiId
    after_sequence: Annotated[
        Annotated[int, Integer(0)] | None,
        Field(description="Only events whose sequence is above this number; a cursor wins over it."),
    ] = None
    event_types: Annotated[
        list[Annotated[EventType, Word(EventType)]],
        Field(
            max_length=len(EventType),
            json_schema_extra=UNIQUE,
            description="Only events of these types; [] means all.",
        ),
    ] = Field(default=[])
    limit: Limit = HISTORY_PAGE
    cursor: CursorText = None


def read_check(arguments: Mapping[str, Any], now: int) -> Paged[CheckQuery] | Refusal:
    """Read the arguments of ``remindi_check``."""
    found = read(CheckArguments, arguments, now, content=_goals_unique)
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
    found = read(ListArguments, arguments, now, content=list_filters_unique)
    return found if isinstance(found, Refusal) else Paged(list_query(found), found.cursor)


def list_query(found: ListArguments) -> ListQuery:
    """The query of arguments that have been read."""
    return ListQuery(
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


def read_history(
    arguments: Mapping[str, Any], now: int, remindi_id: bytes | None = None
) -> Paged[HistoryQuery] | Refusal:
    """Read the arguments of ``remindi_history``, or the rest of them when the door knows ``remindi_id``."""
    known = NOTHING_KNOWN if remindi_id is None else {"remindi_id": uuid_text(remindi_id)}
    found = read(HistoryArguments, arguments, now, known=known, content=_event_types_unique)
    if isinstance(found, Refusal):
        return found
    query = HistoryQuery(found.remindi_id, found.after_sequence or 0, tuple(found.event_types), found.limit)
    return Paged(query, found.cursor)


def _goals_unique(arguments: Mapping[str, Any]) -> list[Failure]:
    return duplicates("/active_goal_ids", arguments.get("active_goal_ids", ()))


def list_filters_unique(arguments: Mapping[str, Any]) -> list[Failure]:
    """No value of a list's filters comes twice."""
    return [
        *duplicates("/states", arguments.get("states", ())),
        *duplicates("/trigger_types", arguments.get("trigger_types", ())),
    ]


def _event_types_unique(arguments: Mapping[str, Any]) -> list[Failure]:
    return duplicates("/event_types", arguments.get("event_types", ()))
