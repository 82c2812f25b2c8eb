"""What every door is given: whom it may ask, and the sources it reads time, chance and identity from."""

from dataclasses import dataclass, field

from actors.address import Address
from actors.board import Board
from actors.system import Clock, Identifiers, Random, system_random
from remindi.config import Config
from remindi.cursors import Cursors
from web.feed import Feed

READER_SECONDS = 5.0
"""How long a door waits for the reader."""
WRITER_SECONDS = 10.0
"""How long a door waits for the writer; longer than the database's busy timeout."""
SESSIONS_SECONDS = 5.0
"""How long a door waits for the session store."""
TURN_SECONDS = 60.0
"""How long a door waits for the workload controller, which waits for others in turn."""
BACKUPS_SECONDS = 3_600.0
"""How long a door waits for the backup controller, whose jobs read and write whole databases, one by one."""
POOL_SECONDS = 5.0
"""How long a door waits for the probe pool beyond the time that a probe may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """The collaborators of the doors; made by the composition root, used on the HTTP thread and the API's."""

    config: Config
    board: Board
    writer: Address
    reader: Address
    probes: Address
    cursors: Cursors
    clock: Clock
    ids: Identifiers
    """Of the HTTP thread alone."""
    actor_id: str
    """Of the MCP door (contract section 9)."""
    sessions: Address = field(default_factory=lambda: Address("sessions"))
    """Asked by the API alone; without one nobody lives there."""
    workloads: Address = field(default_factory=lambda: Address("workloads"))
    """The same."""
    backups: Address = field(default_factory=lambda: Address("backups"))
    """The same; asked by the operator's socket as well."""
    feed: Feed = field(default_factory=Feed)
    """Who watches; told by whoever changes what is shown."""
    listener: str = "0.0.0.0:8000"
    """Where the doors are: host and port."""
    chance: Random = field(default_factory=system_random)
