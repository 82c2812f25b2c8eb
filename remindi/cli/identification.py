"""Which item a command means: by its whole id, or by the end of it that a terminal shows."""

import re
from collections.abc import Callable
from typing import Any, Final

from remindi import tools
from remindi.cli import exits
from remindi.cli.display import cut, escaped
from remindi.cli.exits import Refused
from remindi.identifiers import parse_uuid, uuid_text
from remindi.items import STATE_WORDS

Json = dict[str, Any]
Ask = Callable[[str, Json], Json]
"""Asks a tool; answers its ``data``."""

SHOWN_CHARACTERS: Final = 8
"""Of an id on a terminal; its end is random."""
ACTIVE_STATES: Final = STATE_WORDS[:4]
PAGE: Final = 200
MAX_PAGES: Final = 50
_NAMED: Final = 5
_END: Final = re.compile(r"[0-9a-f]{4,12}")


def whole_id(given: str) -> str | None:
    """The canonical form of a whole id; None when it is only an end, or none at all."""
    try:
        return uuid_text(parse_uuid(given.strip()))
    except ValueError:
        return None


def identified(ask: Ask, given: str, project: str | None, *, active: bool) -> Json:
    """The item view of contract 1.4 of the one item that is meant.

    Args:
        ask: asks a tool.
        given: a whole id, or the last 4 to 12 hexadecimal digits of one.
        project: where an end is looked for; null: everywhere.
        active: whether an end is looked for among active items first; one that has ended is meant when
            no active one is.

    Raises:
        Refused: there is none, or more than one.
    """
    remindi_id = whole_id(given)
    if remindi_id is not None:
        items = ask(tools.LIST, {"remindi_id": remindi_id})["items"]
        if not items:
            raise Refused(exits.FAILED, f"There is no item {remindi_id}.")
        return dict(items[0])
    end = given.strip().lower().lstrip("-")
    if _END.fullmatch(end) is None:
        raise Refused(exits.USAGE, "ID: must be an id, or the last 4 to 12 digits of one.")
    found = _ending(ask, end, project, active=True) if active else []
    found = found or _ending(ask, end, project, active=False)
    if len(found) == 1:
        return found[0]
    scope = "item" if project is None else f"item of {escaped(project)}"
    if not found:
        raise Refused(exits.FAILED, f"No {scope} ends with {end}; `remindi list` shows them.")
    named = [f"  {item['id']}  {cut(escaped(item['message']), 60)}" for item in found[:_NAMED]]
    raise Refused(exits.FAILED, "\n".join([f"More than one {scope} ends with {end}:", *named]))


def _ending(ask: Ask, end: str, project: str | None, *, active: bool) -> list[Json]:
    query: Json = {"limit": PAGE, "states": list(ACTIVE_STATES) if active else []}
    if project is not None:
        query["project_id"] = project
    found: list[Json] = []
    for _ in range(MAX_PAGES):
        page = ask(tools.LIST, query)
        found += [item for item in page["items"] if item["id"].endswith(end)]
        if page["next_cursor"] is None:
            return found
        query["cursor"] = page["next_cursor"]
    raise Refused(
        exits.FAILED,
        f"There are too many items to tell by the end of an id; write the whole id{_or_project(project)}.",
    )


def _or_project(project: str | None) -> str:
    return "" if project is not None else ", or say --project"
