"""What the adapter pool is asked: to look at conditions, read-only."""

from dataclasses import dataclass
from typing import NamedTuple

from actors.messages import Notice, Request
from actors.messages.readers import ProbeTarget
from remindi.adapters import AdapterRegistry
from remindi.items import ConditionStatus


class ProbeAnswer(NamedTuple):
    """What one probe said of one target (contract 7.4)."""

    target: ProbeTarget
    status: ConditionStatus
    summary: str
    observed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProbes(Request[tuple[ProbeAnswer, ...]]):
    """Probe the targets; every target gets an answer."""

    targets: tuple[ProbeTarget, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptersChanged(Notice):
    """The adapter configuration is this now."""

    registry: AdapterRegistry
