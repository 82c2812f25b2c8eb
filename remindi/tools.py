"""Tools: the eight names by which every door knows the operations (contract 1.8)."""

from typing import Final

ADD: Final = "remindi_add"
CHECK: Final = "remindi_check"
COMPLETE: Final = "remindi_complete"
SNOOZE: Final = "remindi_snooze"
UPDATE: Final = "remindi_update"
LIST: Final = "remindi_list"
CANCEL: Final = "remindi_cancel"
HISTORY: Final = "remindi_history"

TOOL_NAMES: Final = (ADD, CHECK, COMPLETE, SNOOZE, UPDATE, LIST, CANCEL, HISTORY)
"""In the order of ``tools/list``."""
