"""Triggers, recurrence and links as arguments (contract 2.5).

What their parts must have in common (equal ``every_seconds``, the goal link, an adapter that exists) depends
on stored state and is decided by whoever holds it.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal, assert_never

from pydantic import Field

from remindi import links as domain_links
from remindi import recurrence as domain_recurrence
from remindi import triggers as domain
from remindi.inputs.failures import Arguments, Failure, duplicates
from remindi.inputs.fields import MAX_NESTING, UNIQUE, Instant, Integer, OwnObject, Text, Token, Word

MAX_SECONDS: Final = 31_536_000
"""365 days: bound of every duration that a caller may set."""
MIN_INTERVAL_SECONDS: Final = 60
MIN_POLL_SECONDS: Final = 30
MAX_POLL_SECONDS: Final = 86_400
MAX_OCCURRENCES: Final = 1_000_000
MAX_GOAL_CHARACTERS: Final = 512
MAX_LINK_CHARACTERS: Final = 2_048
ADAPTER_NAME_PATTERN: Final = r"^[a-z][a-z0-9_]{0,63}$"

GoalId = Annotated[str, Text(MAX_GOAL_CHARACTERS)]
EverySeconds = Annotated[int, Integer(MIN_INTERVAL_SECONDS, MAX_SECONDS)]
PollSeconds = Annotated[int, Integer(MIN_POLL_SECONDS, MAX_POLL_SECONDS)]
Moment = Annotated[int, Instant()]


class AtTime(Arguments):
    """``at_time``."""

    type: Literal["at_time"]
    at: Annotated[Moment, Field(description="at_time: the moment to fire; a past one is due at once.")]


class AfterElapsed(Arguments):
    """``after_elapsed``."""

    type: Literal["after_elapsed"]
    after_seconds: Annotated[
        int, Integer(1, MAX_SECONDS), Field(description="after_elapsed: seconds from now until it fires.")
    ]


class Interval(Arguments):
    """``interval``."""

    type: Literal["interval"]
    first_at: Annotated[Moment, Field(description="interval: the moment of the first occurrence.")]
    every_seconds: Annotated[
        EverySeconds,
        Field(
            description="interval: seconds between occurrences. It repeats only with recurrence, which "
            "names the same number."
        ),
    ]


class NextSession(Arguments):
    """``next_session``."""

    type: Literal["next_session"]


class NextContinuation(Arguments):
    """``next_continuation``."""

    type: Literal["next_continuation"]


class GoalActive(Arguments):
    """``goal_active``."""

    type: Literal["goal_active"]
    goal_id: Annotated[
        GoalId,
        Field(
            description="goal_active: fires at a check that names this goal in active_goal_ids. links must "
            "hold one goal link with this value and no other goal link."
        ),
    ]


class Condition(Arguments):
    """``condition``."""

    type: Literal["condition"]
    adapter: Annotated[
        str,
        Token(ADAPTER_NAME_PATTERN),
        Field(
            description="condition: the read-only probe that decides: observation_window_ended, "
            "http_health, tcp_reachable or file_exists. 1-64 characters: a lower-case letter, then "
            "lower-case letters, digits or _."
        ),
    ]
    parameters: Annotated[
        str,
        OwnObject(),
        Field(
            description="condition: what the adapter takes and nothing else. observation_window_ended: "
            "window_end (timestamp). http_health: target (an alias that the administrator configured), "
            "optionally expected_status (integer). tcp_reachable: target (alias). file_exists: path_alias. "
            f"At most {MAX_NESTING} levels deep."
        ),
    ]
    poll_interval_seconds: Annotated[
        PollSeconds | None,
        Field(
            description="condition: seconds between two probes; "
            f"{domain.DEFAULT_POLL_INTERVAL_SECONDS} when absent."
        ),
    ] = None
    manual_check_at: Annotated[
        Moment | None,
        Field(
            description="condition: when it becomes due for verification by hand if no probe was satisfied "
            "until then. With it a disabled adapter or a missing alias is accepted with a warning."
        ),
    ] = None


AnyTrigger = AtTime | AfterElapsed | Interval | NextSession | NextContinuation | GoalActive | Condition
Trigger = Annotated[AnyTrigger, Field(discriminator="type")]


def trigger_value(trigger: AnyTrigger) -> domain.Trigger:
    """The domain's trigger."""
    match trigger:
        case AtTime():
            return domain.AtTime(trigger.at)
        case AfterElapsed():
            return domain.AfterElapsed(trigger.after_seconds)
        case Interval():
            return domain.Interval(trigger.first_at, trigger.every_seconds)
        case NextSession():
            return domain.NextSession()
        case NextContinuation():
            return domain.NextContinuation()
        case GoalActive():
            return domain.GoalActive(trigger.goal_id)
        case Condition():
            return domain.Condition(
                trigger.adapter, trigger.parameters, trigger.poll_interval_seconds, trigger.manual_check_at
            )
        case _:
            assert_never(trigger)


class Recurrence(Arguments):
    """``recurrence``."""

    every_seconds: Annotated[
        EverySeconds, Field(description="Seconds between occurrences; equal to the trigger's every_seconds.")
    ]
    missed_policy: Annotated[
        domain_recurrence.MissedPolicy,
        Word(domain_recurrence.MissedPolicy),
        Field(
            description="Where a disposition goes on when occurrences were missed: coalesce and skip at "
            "the next future one (skip records how many were left out), catch_up at the next missed one."
        ),
    ] = domain_recurrence.MissedPolicy.COALESCE
    max_occurrences: Annotated[
        Annotated[int, Integer(1, MAX_OCCURRENCES)] | None,
        Field(description="Number of the last occurrence; no limit when absent."),
    ] = None
    end_at: Annotated[
        Moment | None,
        Field(
            description="No occurrence lies after this moment, which is not before the trigger's first_at."
        ),
    ] = None


def recurrence_value(recurrence: Recurrence) -> domain_recurrence.Recurrence:
    """The domain's recurrence."""
    return domain_recurrence.Recurrence(
        recurrence.every_seconds, recurrence.missed_policy, recurrence.max_occurrences, recurrence.end_at
    )


class Link(Arguments):
    """One entry of ``links``."""

    type: Annotated[
        domain_links.LinkType, Word(domain_links.LinkType), Field(description="What the link points at.")
    ]
    value: Annotated[
        str,
        Text(MAX_LINK_CHARACTERS),
        Field(description="Its identifier or address, compared exactly and case-sensitively."),
    ]


Links = Annotated[list[Link], Field(max_length=domain_links.MAX_LINKS, json_schema_extra=UNIQUE)]


def links_value(links: Iterable[Link]) -> tuple[domain_links.Link, ...]:
    """The domain's links, in the order given."""
    return tuple([domain_links.Link(link.type, link.value) for link in links])


def links_unique(arguments: Mapping[str, Any]) -> list[Failure]:
    """The rule that a pair of type and value stands once."""
    links = arguments.get("links")
    if not links:
        return []
    return duplicates("/links", [(link["type"], link["value"]) for link in links])
