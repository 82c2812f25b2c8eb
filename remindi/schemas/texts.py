"""Texts: what an agent reads before it calls a tool: when to use it, what it returns, what comes next."""

from typing import Final, NamedTuple

from remindi import tools

SERVER_NAME: Final = "remindi"
SERVER_TITLE: Final = "Remindi: obligations that come back"
MAX_INSTRUCTIONS_CHARACTERS: Final = 1_000
INSTRUCTIONS: Final = (
    "Remindi keeps, across sessions, what you still owe: checks to repeat, promises, things to look at "
    "later. Nothing is pushed: nobody wakes a disconnected client, and none is interrupted. So pull, with "
    "remindi_check: at the start of every task, when you take up earlier work, at checkpoints of long "
    "work, and before you say that you are finished. Give it your project_id and, if you have "
    "them, session_id, task_lineage_id and active_goal_ids. Deal with what it returns: complete it with "
    "evidence, snooze it, update it or cancel it. Follow next_cursor until it is null. Use remindi_add "
    "when something has to be done later that you would otherwise forget. Every change needs an "
    "idempotency_key of your own (repeat it only to retry the same call) and, for an existing item, its "
    "version as expected_version. On VERSION_CONFLICT read the item again. On VALIDATION_ERROR look at "
    "details.errors."
)
"""``instructions`` of ``initialize`` and ``server/discover`` (contract 1.8)."""


class ToolText(NamedTuple):
    """How one tool introduces itself."""

    title: str
    description: str


TOOL_TEXTS: Final = {
    tools.ADD: ToolText(
        "Add an item",
        "Store something that has to come back: at a time, after a while, regularly, in the next session, "
        "when a goal is active, or when a condition holds. Write it so that a later session understands it "
        "on its own. It reaches nobody by itself: a remindi_check of the same project returns it once it "
        "is due. Returns id, state and version; keep the version as expected_version of the next change.",
    ),
    tools.CHECK: ToolText(
        "Check what is due",
        "Ask what needs attention now in a project. Call it at the start of a task, at checkpoints, when "
        "you take up earlier work and before you call work finished; nothing is ever pushed to you. "
        "Returns ready items, the most pressing first: overdue, due, manual_verification (a condition that "
        "no probe confirmed; look yourself). Then complete, snooze, update or cancel each of them, with "
        "remindi_id and, as expected_version, version from this answer. A check takes nothing away: an "
        "item comes again until it is dealt with. If next_cursor is not null there is more.",
    ),
    tools.COMPLETE: ToolText(
        "Complete an item with evidence",
        "Close an item for good because it is done and you can show it. Evidence is what you saw, when, "
        "and a URI or hash under which it can be looked up; a bare 'done' is refused. It cannot be undone, "
        "and a recurring series ends with it: to finish only the present occurrence use remindi_update "
        "with occurrence_disposition. If it is no longer needed use remindi_cancel.",
    ),
    tools.SNOOZE: ToolText(
        "Snooze an item",
        "Put off a due or overdue item until a later moment; then it comes back as it was. Say why. A "
        "scheduled item cannot be snoozed: give it another trigger with remindi_update.",
    ),
    tools.UPDATE: ToolText(
        "Change an item",
        "Change message, instructions, priority, trigger, recurrence, grace or links of an active item, or "
        "finish the present occurrence of a recurring one (occurrence_disposition). Give reason and at "
        "least one of these fields; what you leave out stays. Returns the new version for the next "
        "expected_version.",
    ),
    tools.LIST: ToolText(
        "List items",
        "Look items up, whatever their state, newest first: by project, task, id, state, trigger or link. "
        "It evaluates nothing and changes nothing; to learn what is due now use remindi_check. Returns "
        "whole items with their version. If next_cursor is not null there is more.",
    ),
    tools.CANCEL: ToolText(
        "Cancel an item",
        "Close an active item for good because it is no longer needed, or was a mistake. Say why. It "
        "cannot be undone and stays in lists and history. If it was done use remindi_complete.",
    ),
    tools.HISTORY: ToolText(
        "Show an item's history",
        "Read what happened to one item, oldest first: who changed what, when and why, and the evidence of "
        "its completion. It changes nothing. If next_cursor is not null there is more.",
    ),
}
"""By tool name."""
