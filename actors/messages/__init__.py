"""Messages: what actors are asked and told. One module per receiver; this one holds their roots.

A message is a frozen, slotted, keyword-only dataclass without mutable fields. Commands are
imperatives, queries start with Get or List, notices are in the past tense. The reply type of a
``Request`` stands in its declaration; the deadline travels in the envelope that ``actors.address``
makes from the asker's timeout.
"""

from dataclasses import dataclass
from typing import Generic, TypeVar

from remindi.events import ActorType, Caller

R_co = TypeVar("R_co", covariant=True)

SYSTEM = Caller(ActorType.SYSTEM, "system", None)
"""The caller of messages that no person, agent or scheduler pass stands behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Generic[R_co]):
    """A message that is asked; ``R_co`` is what its answer is."""

    caller: Caller = SYSTEM


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A message that is told; nobody answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ping(Request[None]):
    """Asked of every actor at its start: answered means started."""
