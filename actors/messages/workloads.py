"""What the workload controller is asked and told."""

from dataclasses import dataclass
from typing import NamedTuple

from actors.messages import Notice, Request
from actors.messages.control import WorkloadRow
from remindi.errors import Refusal


class Workload(NamedTuple):
    """A workload as it is shown (contract 13.1)."""

    component: str
    desired: str
    actual: str
    last_error: str | None
    last_pass_at: int | None
    lag_seconds: int | None
    backlog: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListWorkloads(Request[tuple[Workload, ...]]):
    """Both rows, ``mcp`` first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnWorkloads(Request[tuple[Workload, ...] | Refusal]):
    """Start, stop or restart components; the desired state is stored first, then acted on."""

    components: tuple[str, ...]
    action: str
    """``start``, ``stop`` or ``restart``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeWorkloads(Request[tuple[Workload, ...] | Refusal]):
    """Read what is desired and bring it about, at startup (contract 17.1 step 8)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseWorkloads(Request[tuple[Workload, ...] | Refusal]):
    """Stop both workloads for maintenance and leave what is desired alone; answered when they have stopped.

    WORKLOAD_CONFLICT while another transition runs.
    """

    reason: str
    """Shown as their ``last_error`` meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseWorkloads(Request[tuple[Workload, ...] | Refusal]):
    """End the pause, and bring about what is desired; answered when that runs.

    WORKLOAD_CONFLICT while another transition runs: then it follows that one by itself.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadsFailed(Notice):
    """The database stays closed until the next start: neither workload can run (contract 15.3)."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupsReported(Notice):
    """Whether automatic backups fail; shown where nothing else is wrong with the scheduler."""

    failure: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadsHeld(Notice):
    """The database must not be worked on: stop both workloads, leave what is desired alone."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorDied(Notice):
    """An actor ended unasked; the supervisor is at it."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorRestarted(Notice):
    """An actor is new and knows nothing of what was asked of the former one."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerReported(Notice):
    """How the scheduler fares."""

    actual: str
    last_error: str | None
    last_pass_at: int | None
    lag_seconds: int | None
    backlog: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredKnown(Notice):
    """The desired states are stored, or were read; told by a transition to its controller."""

    transition: int
    rows: tuple[WorkloadRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SchedulerTurned(Notice):
    """The scheduler did what it was asked; told by a transition to its controller."""

    transition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TransitionFailed(Notice):
    """A step of a transition failed."""

    transition: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatienceEnded(Notice):
    """A transition has waited long enough for the scheduler to report; told by the timer."""

    transition: int
