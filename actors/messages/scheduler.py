"""What the scheduler is asked and told. ``SettingsChanged`` is also told to whoever else follows settings."""

from dataclasses import dataclass

from actors.messages import Notice, Request
from actors.messages.probes import ProbeAnswer
from remindi.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked(Notice):
    """It is time to look again; ``generation`` tells a tick of a former schedule from one of this."""

    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PassContinued(Notice):
    """A batch of a pass is done and the next may follow; told by the scheduler to itself."""

    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionProbed(Notice):
    """The adapter pool has looked at one condition of a walk."""

    walk: int
    key: int
    answer: ProbeAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionNotProbed(Notice):
    """The adapter pool did not look at one condition of a walk."""

    walk: int
    key: int
    reason: str | None
    """What went wrong, in words; null: nothing did, its turn did not come."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseGained(Notice):
    """The lease is held and being renewed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseMissed(Notice):
    """The lease is not held, or not any more; the keeper goes on trying."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsChanged(Notice):
    """The settings are these now."""

    settings: Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class StartScheduler(Request[None]):
    """Run passes from now on; answered at once, how it fares is reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StopScheduler(Request[None]):
    """End the pass that runs, free the lease, run no more; answered when that is done."""
