"""Outcomes that several adapters have in common, and a way to leave a probe with one."""

from typing import Final

from actors.probes.looking import Outcome
from remindi.items import ConditionStatus

UNKNOWN_ALIAS: Final = Outcome(ConditionStatus.UNKNOWN, "The alias is not configured.")
NOT_RESOLVED: Final = Outcome(ConditionStatus.ERROR, "The name does not resolve.")
DENIED: Final = Outcome(ConditionStatus.ERROR, "The name resolves to an address that no alias may reach.")
PRIVATE: Final = Outcome(
    ConditionStatus.ERROR,
    "The name resolves to a private or loopback address; the alias does not allow private addresses.",
)
"""Denied too, but ``allow_private`` of the alias would lift it."""


class Settled(Exception):
    """A probe has its outcome before it is through."""

    def __init__(self, outcome: Outcome) -> None:
        """Hold the outcome."""
        super().__init__(outcome.summary)
        self.outcome = outcome
