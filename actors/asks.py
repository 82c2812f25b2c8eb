"""Who asks whom: the table of ARCHITECTURE.md as a dict, which tests hold every ask against.

Asks go down this table and never in a circle, so nobody can wait for himself. Notices go anywhere.
"""

from typing import Final

DOORS: Final = "doors"
SUPERVISOR: Final = "supervisor"

ASKS: Final = {
    SUPERVISOR: frozenset(
        {"sessions", "backups", "workloads", "scheduler", "lease", "probes", "reader", "writer"}
    ),
    DOORS: frozenset({"sessions", "backups", "workloads", "probes", "reader", "writer"}),
    "sessions": frozenset[str](),
    "backups": frozenset({"workloads", "reader", "writer"}),
    "workloads": frozenset({"scheduler", "reader", "writer"}),
    "scheduler": frozenset({"lease", "probes", "reader", "writer"}),
    "lease": frozenset({"writer"}),
    "probes": frozenset[str](),
    "reader": frozenset[str](),
    "writer": frozenset[str](),
}
"""Asker to asked. The supervisor pings everybody, and asks the controller to resume at startup."""


def asker(thread_name: str) -> str:
    """Who asks in a thread: an actor by its name, also in the work beside it; else a door.

    Args:
        thread_name: ``MainThread`` is the supervisor's; an actor's is its name, ``name:work`` beside it.
    """
    if thread_name == "MainThread":
        return SUPERVISOR
    name, _, _ = thread_name.partition(":")
    return name if name in ASKS else DOORS
