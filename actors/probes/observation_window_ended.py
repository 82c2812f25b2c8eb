"""``observation_window_ended``: a moment has come (contract 7.4). It looks at the clock only."""

from typing import Final

from actors.probes.looking import Deadline, Outcome, Outside
from remindi.adapters import ObservationWindowConfiguration, WindowParameters
from remindi.items import ConditionStatus

ENDED: Final = Outcome(ConditionStatus.SATISFIED, "The observation window has ended.")
OPEN: Final = Outcome(ConditionStatus.UNSATISFIED, "The observation window has not ended yet.")


def probe(
    parameters: WindowParameters,
    _configuration: ObservationWindowConfiguration,
    outside: Outside,
    deadline: Deadline,
) -> Outcome:
    """Compare the wall clock with the end of the window, which belongs to what has ended.

    Raises:
        DeadlineReached: the time was over before.
    """
    deadline.left()
    return ENDED if outside.clock.now() >= parameters.window_end else OPEN
