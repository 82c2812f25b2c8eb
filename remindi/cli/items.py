"""The commands on items: each is one tool, asked on a running service."""

import os
import secrets
import sys
from typing import Any, Final

from remindi import tools
from remindi.cli import exits
from remindi.cli.clock import Clock
from remindi.cli.display import cut, escaped, screen_of
from remindi.cli.endings import Declined, Said, ended
from remindi.cli.exits import Refused
from remindi.cli.identification import ACTIVE_STATES, PAGE, identified, whole_id
from remindi.cli.item_arguments import (
    TOKEN_VARIABLE,
    AddArguments,
    CancelArguments,
    ChangeArguments,
    CheckArguments,
    CompleteArguments,
    HistoryArguments,
    ListArguments,
    PageArguments,
    ShowArguments,
    SnoozeArguments,
    UpdateArguments,
)
from remindi.cli.item_views import Shown
from remindi.cli.mcp import Mcp
from remindi.cli.promises import promise, with_goal_link
from remindi.cli.refusals import refusal_lines
from remindi.cli.service import Surroundings, service_of
from remindi.cli.service_arguments import ItemArguments
from remindi.cli.sources import hash_of, object_of

Json = dict[str, Any]

MESSAGE_WIDTH: Final = 70
"""Columns of the message that the answer to a change repeats."""
_VERBS: Final = {
    tools.ADD: "Added",
    tools.COMPLETE: "Completed",
    tools.SNOOZE: "Snoozed",
    tools.UPDATE: "Updated",
    tools.CANCEL: "Cancelled",
}


def run(arguments: ItemArguments) -> int:
    """Carry one command out and return its exit code (``remindi.cli.exits``)."""
    return ended(lambda: _run(arguments), as_json=arguments.as_json)


def _run(arguments: ItemArguments) -> Said:
    clock = Clock.started(arguments.zone, os.environ)
    surroundings = Surroundings(arguments.env_file)
    service = service_of(arguments, surroundings)
    desk = _Desk(
        Mcp(service, surroundings.need(TOKEN_VARIABLE)),
        clock,
        Shown(screen_of(sys.stdout, os.environ), clock),
    )
    match arguments:
        case AddArguments():
            return desk.add(arguments)
        case ListArguments():
            return desk.list(arguments)
        case ShowArguments():
            return desk.show(arguments)
        case CheckArguments():
            return desk.check(arguments)
        case HistoryArguments():
            return desk.history(arguments)
        case CompleteArguments():
            return desk.complete(arguments)
        case SnoozeArguments():
            until = clock.stamp("--until", arguments.until)
            return desk.change(tools.SNOOZE, arguments, {"snooze_until": until, "reason": arguments.reason})
        case UpdateArguments():
            return desk.update(arguments)
        case CancelArguments():
            return desk.change(tools.CANCEL, arguments, {"reason": arguments.reason})
        case _:
            raise TypeError(type(arguments).__name__)


class _Desk:
    """One command's service, instant and screen."""

    def __init__(self, mcp: Mcp, clock: Clock, shown: Shown) -> None:
        self._mcp = mcp
        self._clock = clock
        self._shown = shown

    # --------------------------------------------------------------- reading

    def list(self, given: ListArguments) -> Said:
        states = [
            state for word in given.states for state in (ACTIVE_STATES if word == "active" else (word,))
        ]
        query = _present(
            project_id=given.project,
            task_id=given.task,
            states=list(dict.fromkeys(states)),
            trigger_types=list(dict.fromkeys(given.triggers)),
            linked_goal_id=given.linked_goal,
            linked_memory_hash=given.linked_memory,
        )
        data = self._walk(tools.LIST, query, "items", given)
        lines = self._shown.items(data["items"]) if data["items"] else ["There are no such items."]
        return Said(data, lines, _more(data))

    def check(self, given: CheckArguments) -> Said:
        query = _present(
            project_id=given.project,
            task_id=given.task,
            session_id=given.session,
            task_lineage_id=given.lineage,
            lifecycle_event=given.event,
            active_goal_ids=given.goals,
            include_scheduled=given.scheduled,
            evaluate_conditions=given.probe,
        )
        data = self._walk(tools.CHECK, query, "items", given)
        lines = self._shown.ready(data["items"]) if data["items"] else ["Nothing is ready."]
        return Said(data, lines, _more(data))

    def show(self, given: ShowArguments) -> Said:
        item = identified(self._ask, given.item, given.project, active=False)
        ending: Json = {"events": [], "completion_evidence": []}
        if item["state"] == "completed":
            ending = self._ask(
                tools.HISTORY, {"remindi_id": item["id"], "event_types": ["completed"], "limit": 1}
            )
        notes = [event["details"].get("completion_note") for event in ending["events"]]
        lines = self._shown.item(item, ending["completion_evidence"], next(iter(notes), None))
        return Said({"remindi": item}, lines)

    def history(self, given: HistoryArguments) -> Said:
        remindi_id = whole_id(given.item)
        if remindi_id is None:
            remindi_id = identified(self._ask, given.item, given.project, active=False)["id"]
        query = {"remindi_id": remindi_id, "event_types": list(dict.fromkeys(given.events))}
        data = self._walk(tools.HISTORY, query, "events", given)
        lines = self._shown.events(data["events"]) if data["events"] else ["There are no such events."]
        for record in data["completion_evidence"]:
            lines += ["", *self._shown.evidence(record)]
        return Said(data, lines, _more(data))

    # -------------------------------------------------------------- changing

    def add(self, given: AddArguments) -> Said:
        said = _present(
            project_id=given.project,
            task_id=given.task,
            session_id=given.session,
            task_lineage_id=given.lineage,
            **with_goal_link(promise(given, self._clock)),
        )
        return self._changed(
            tools.ADD,
            said,
            given.key,
            {
                "message": given.message,
                "source_session_id": given.session,
                "source_task_lineage_id": given.lineage,
            },
        )

    def update(self, given: UpdateArguments) -> Said:
        _refuse_both(given)
        said = promise(given, self._clock)
        if "links" in said:
            said = with_goal_link(said)
        if given.no_links:
            said["links"] = []
        said["reason"] = given.reason
        if given.disposition is not None:
            said["occurrence_disposition"] = given.disposition
        cleared = {"instructions": given.no_instructions, "recurrence": given.no_recurrence}
        said |= {field: None for field, clear in cleared.items() if clear}
        done = self.change(tools.UPDATE, given, said)
        return done if given.disposition is None else self._with_occurrence(done)

    def complete(self, given: CompleteArguments) -> Said:
        evidence = _present(
            type=given.evidence_type,
            summary=given.summary,
            reference_uri=given.uri,
            content_hash=given.content_hash if given.hash_of is None else hash_of("--hash-of", given.hash_of),
            observed_at=self._clock.stamp("--observed", given.observed),
            metadata=None if given.metadata is None else object_of("--metadata", given.metadata),
        )
        return self.change(tools.COMPLETE, given, _present(evidence=evidence, completion_note=given.note))

    def change(self, tool: str, given: ChangeArguments, said: Json) -> Said:
        """Change the item that is meant, from the version that was seen."""
        remindi_id = whole_id(given.item)
        version, item = given.version, None
        if remindi_id is None or version is None:
            item = identified(self._ask, given.item, given.project, active=True)
            remindi_id = item["id"]
            version = version or item["version"]
        said = {"remindi_id": remindi_id, "expected_version": version, **said}
        return self._changed(tool, said, given.key, item or {})

    def _changed(self, tool: str, said: Json, key: str | None, item: Json) -> Said:
        """Ask for a change, and say what it came to; ``item`` is what is known of it as it was before."""
        said["idempotency_key"] = key or f"cli.{secrets.token_hex(12)}"
        data = self._ask(tool, said, item.get("state"))
        remindi = data["remindi"]
        lines = [f"{_VERBS[tool]} {remindi['id']}: {remindi['state']}, version {remindi['version']}."]
        lines += [f"  {cut(escaped(item['message']), MESSAGE_WIDTH)}"] if item else []
        if "snooze_until" in said:
            lines.append(f"  It comes back {self._shown.at(said['snooze_until'])}.")
        elif "trigger" in said:
            lines.append(f"  It comes back {self._shown.coming(said['trigger'], item)}.")
        return Said(data, lines, data.get("warnings", []))

    def _with_occurrence(self, done: Said) -> Said:
        """The same with the occurrence that has come up; that is read, so it is left out where that fails."""
        try:
            item = identified(self._ask, done.data["remindi"]["id"], None, active=False)
        except (Refused, Declined):
            return done
        when = item["next_fire_at"] or item["due_since"]
        if when is None:
            return done
        line = f"  Occurrence {item['occurrence_no']} comes back {self._shown.at(when)}."
        return done._replace(lines=[*done.lines, line])

    # ---------------------------------------------------------------- asking

    def _ask(self, tool: str, arguments: Json, state: str | None = None) -> Json:
        envelope = self._mcp.call(tool, arguments)
        if not envelope["ok"]:
            raise Declined(envelope, refusal_lines(tool, arguments, envelope["error"], state))
        data: Json = envelope["data"]
        return data

    def _walk(self, tool: str, query: Json, rows: str, given: PageArguments) -> Json:
        """``data`` of the first page with the rows of as many more as are wanted."""
        wanted = None if given.everything else given.limit
        whole = page = self._ask(tool, {**query, "limit": PAGE if wanted is None else min(PAGE, wanted)})
        while page["next_cursor"] is not None and (wanted is None or len(whole[rows]) < wanted):
            limit = PAGE if wanted is None else min(PAGE, wanted - len(whole[rows]))
            page = self._ask(tool, {**query, "limit": limit, "cursor": page["next_cursor"]})
            whole[rows] += page[rows]
        return {**whole, "next_cursor": page["next_cursor"]}


def _refuse_both(given: UpdateArguments) -> None:
    for clears, clear, option, value in (
        ("--no-instructions", given.no_instructions, "--instructions", given.instructions),
        ("--no-recurrence", given.no_recurrence, "--every", given.every),
        ("--no-links", given.no_links, "--link", given.links),
    ):
        if clear and value is not None:
            raise Refused(exits.USAGE, f"{option}: not together with {clears}.")


def _more(data: Json) -> list[str]:
    return [] if data["next_cursor"] is None else ["There are more; --all shows all of them."]


def _present(**fields: Any) -> Json:
    return {name: value for name, value in fields.items() if value is not None}
