"""What the adapter pool is asked: to look at conditions, read-only."""

from dataclasses import dataclass
from typing import NamedTuple

from actors.messages import Notice, Request
from actors.messages.readers import ProbeTarget
from remindi.adapters import AdapterRegistry, Configuration
from remindi.errors import Refusal
from remindi.items import ConditionStatus


class Outcome(NamedTuple):
    """What a look says of a condition (contract 7.4)."""

    status: ConditionStatus
    summary: str
    """A fixed sentence of at most 256 bytes, without target data."""


class ProbeAnswer(NamedTuple):
    """What one probe said of one target (contract 7.4)."""

    target: ProbeTarget
    status: ConditionStatus
    summary: str
    observed_at: int
    adapter_version: str
    latency_ms: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotProbed:
    """The target did not get its turn in time; nobody looked at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProbe(Request[ProbeAnswer | NotProbed]):
    """Look at one condition, within ``adapters.timeout_seconds`` of its turn."""

    target: ProbeTarget
    start_within: float | None = None
    """Seconds that it may wait for its turn; null: as long as it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckConfiguration(Request[Refusal | None]):
    """Hold a configuration against the outside: whether roots and paths of ``file_exists`` are there."""

    configuration: Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptersChanged(Notice):
    """The adapter configuration is this now."""

    registry: AdapterRegistry


@dataclass(frozen=True, slots=True, kw_only=True)
class LookEnded(Notice):
    """A look at the outside, by number, is over."""

    number: int
    result: Outcome | Refusal | None
    """An outcome of a probe; of a configuration, what is wrong with it."""
    observed_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LookExpired(Notice):
    """The time of a look is over, whether or not its thread has ended."""

    number: int
