"""The board: what doors must know at once, without asking anybody. Written by its owners, read by all.

Each field is an immutable value that its one owner replaces: the composition root ``startup``, the
workload controller ``mcp_open`` and ``workloads``, the MCP door ``last_calls``, and the backup controller
``maintenance``, ``generation``, ``restore`` and ``backups``.
"""

from collections.abc import Mapping
from typing import Literal

from actors.messages.workloads import Workload
from remindi.backups import BackupsState, MaintenanceState, RestoreState

Startup = Literal["starting", "ready", "damaged", "stopping"]


class Board:
    """Present truth about the process, for gates and health."""

    __slots__ = (
        "backups",
        "generation",
        "last_calls",
        "maintenance",
        "mcp_open",
        "restore",
        "startup",
        "workloads",
    )

    def __init__(self) -> None:
        """Start closed."""
        self.startup: Startup = "starting"
        self.mcp_open: bool = False
        """Whether the mcp workload runs."""
        self.maintenance: MaintenanceState = "running"
        """Anything else than ``running`` refuses all work on the database."""
        self.generation: bytes = b""
        """Which content this is: another one after each restore, so that nobody mixes two (contract 15.3)."""
        self.workloads: tuple[Workload, ...] = ()
        self.last_calls: Mapping[str, int] = {}
        """When tools were called last since the start, in milliseconds; only those that were."""
        self.restore: RestoreState | None = None
        """The latest restore, also one of a former process."""
        self.backups: BackupsState = BackupsState()

    @property
    def closed(self) -> bool:
        """Whether the database is closed to everybody who comes through a door."""
        return self.maintenance != "running" or self.startup in ("starting", "stopping")
