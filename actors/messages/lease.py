"""What the keeper of the scheduler's lease is asked and told."""

from dataclasses import dataclass

from actors.messages import Notice, Request


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseWanted(Notice):
    """The scheduler wants to work, or doubts that the lease still holds: acquire it, or prove it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenewalDue(Notice):
    """It is time to renew, or to try again; ``generation`` tells a former schedule from the present one."""

    generation: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeLease(Request[None]):
    """Release the lease and want it no more; answered when that is done or was tried."""
