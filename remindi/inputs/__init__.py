"""Inputs: from the JSON-decoded arguments of a tool or route to a normalized request (contract section 2).

One reader per tool. A reader never raises on what a caller sent: what breaks a rule is a Refusal. Instants
are milliseconds, ``now`` among them. What depends on stored state (contract 3.3, steps 3 to 8) is not decided
here.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from remindi import tools
from remindi.errors import Refusal
from remindi.inputs.mutations import read_add, read_cancel, read_complete, read_snooze, read_update
from remindi.inputs.queries import Paged, read_check, read_history, read_list
from remindi.requests import (
    Cancellation,
    CheckQuery,
    Completion,
    HistoryQuery,
    ListQuery,
    NewItem,
    Snooze,
    Update,
)

Mutation = NewItem | Completion | Snooze | Update | Cancellation
"""A normalized change, ready for the writer."""
Question = Paged[CheckQuery] | Paged[ListQuery] | Paged[HistoryQuery]
"""A normalized query whose cursor is still closed."""
Reader = Callable[[Mapping[str, Any], int], Mutation | Question | Refusal]

READERS: Final[Mapping[str, Reader]] = MappingProxyType(
    {
        tools.ADD: read_add,
        tools.CHECK: read_check,
        tools.COMPLETE: read_complete,
        tools.SNOOZE: read_snooze,
        tools.UPDATE: read_update,
        tools.LIST: read_list,
        tools.CANCEL: read_cancel,
        tools.HISTORY: read_history,
    }
)
"""The reader of each tool, by its name."""

__all__ = [
    "READERS",
    "Mutation",
    "Paged",
    "Question",
    "Reader",
    "read_add",
    "read_cancel",
    "read_check",
    "read_complete",
    "read_history",
    "read_list",
    "read_snooze",
    "read_update",
]
