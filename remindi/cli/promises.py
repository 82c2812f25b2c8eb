"""What ``add`` and ``update`` say of an item, as the tools take it: trigger, recurrence, links and text."""

import json
from typing import Any, Final

from remindi.cli import exits
from remindi.cli.clock import Clock
from remindi.cli.exits import Refused
from remindi.cli.item_arguments import AddArguments, TriggerArguments
from remindi.cli.sources import text_of
from remindi.links import LINK_WORDS

Json = dict[str, Any]

_WITH_EVERY: Final = {"first": "--first", "policy": "--policy", "times": "--times", "until": "--until"}
_WITH_CONDITION: Final = {"params": "--param", "poll": "--poll", "manual_check": "--manual-check"}


def promise(given: TriggerArguments, clock: Clock) -> Json:
    """The fields of an item that were given; a new item's and a changed one's have the same names.

    Raises:
        Refused: an option is malformed, or does not belong to this trigger.
    """
    said: Json = {"message": given.message, "priority": given.priority, "overdue_after_seconds": given.grace}
    if given.instructions is not None:
        said["instructions"] = text_of("--instructions", given.instructions)
    said["trigger"] = _trigger(given, clock)
    if given.every is not None:
        said["recurrence"] = _recurrence(given, given.every, clock)
    if given.links is not None:
        said["links"] = [_link(text) for text in given.links]
    return {field: value for field, value in said.items() if value is not None}


def with_goal_link(said: Json) -> Json:
    """The same with the link that a goal trigger needs among its links."""
    goal = said.get("trigger", {}).get("goal_id")
    link = {"type": "goal", "value": goal}
    links = said.get("links", [])
    return said if goal is None or link in links else {**said, "links": [*links, link]}


def _trigger(given: TriggerArguments, clock: Clock) -> Json | None:
    if given.every is None:
        _refuse_strays(given, _WITH_EVERY, "--every")
    if given.condition is None:
        _refuse_strays(given, _WITH_CONDITION, "--condition")
    if given.at is not None:
        return {"type": "at_time", "at": clock.stamp("--at", given.at)}
    if given.after is not None:
        return {"type": "after_elapsed", "after_seconds": given.after}
    if given.every is not None:
        first = f"+{given.every}s" if given.first is None else given.first
        return {
            "type": "interval",
            "first_at": clock.stamp("--first", first),
            "every_seconds": given.every,
        }
    if given.next_session:
        return {"type": "next_session"}
    if given.next_continuation:
        if isinstance(given, AddArguments) and given.lineage is None:
            raise Refused(
                exits.USAGE,
                "--next-continuation needs --lineage, by which a later session of the task is known;"
                " without it the item would never come back.",
            )
        return {"type": "next_continuation"}
    if given.goal is not None:
        return {"type": "goal_active", "goal_id": given.goal}
    return None if given.condition is None else _condition(given, given.condition, clock)


def _condition(given: TriggerArguments, adapter: str, clock: Clock) -> Json:
    trigger: Json = {
        "type": "condition",
        "adapter": adapter,
        "parameters": dict(_parameter(text) for text in given.params),
    }
    if given.poll is not None:
        trigger["poll_interval_seconds"] = given.poll
    if given.manual_check is not None:
        trigger["manual_check_at"] = clock.stamp("--manual-check", given.manual_check)
    return trigger


def _recurrence(given: TriggerArguments, every: int, clock: Clock) -> Json:
    recurrence: Json = {"every_seconds": every}
    if given.policy is not None:
        recurrence["missed_policy"] = given.policy
    if given.times is not None:
        recurrence["max_occurrences"] = given.times
    if given.until is not None:
        recurrence["end_at"] = clock.stamp("--until", given.until)
    return recurrence


def _parameter(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name.removesuffix(":"):
        raise Refused(exits.USAGE, "--param: must be NAME=TEXT, or NAME:=JSON for numbers.")
    if not name.endswith(":"):
        return name, value
    try:
        return name.removesuffix(":"), json.loads(value)
    except (ValueError, RecursionError):
        raise Refused(exits.USAGE, "--param: what follows := must be JSON.") from None


def _link(text: str) -> Json:
    kind, colon, value = text.partition(":")
    if not colon or kind not in LINK_WORDS:
        raise Refused(
            exits.USAGE, f"--link: must be TYPE:VALUE, such as issue:4711; TYPE is {', '.join(LINK_WORDS)}."
        )
    return {"type": kind, "value": value}


def _refuse_strays(given: TriggerArguments, options: dict[str, str], master: str) -> None:
    for name, option in options.items():
        if getattr(given, name) not in (None, []):
            raise Refused(exits.USAGE, f"{option} belongs to {master}, which is not given.")
