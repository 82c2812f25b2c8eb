"""The board: what doors must know at once, without asking anybody. Written by its owners, read by all.

Each field is an immutable value that its one owner replaces: the composition root ``startup``, the
workload controller ``mcp_open`` and ``workloads``, the backup controller ``maintenance``, the MCP door
``last_calls``.
"""

from collections.abc import Mapping
from typing import Literal

from actors.messages.workloads import Workload

Startup = Literal["starting", "ready", "damaged", "stopping"]


class Board:
    """Present truth about the process, for gates and health."""

    __slots__ = ("last_calls", "maintenance", "mcp_open", "startup", "workloads")

    def __init__(self) -> None:
        """Start closed."""
        self.startup: Startup = "starting"
        self.mcp_open: bool = False
        """Whether the mcp workload runs."""
        self.maintenance: bool = False
        self.workloads: tuple[Workload, ...] = ()
        self.last_calls: Mapping[str, int] = {}
        """When tools were called last since the start, in milliseconds; only those that were."""
