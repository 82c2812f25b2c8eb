"""What scheduler and checks share: which conditions are looked at, and what becomes of the answers."""

from collections import deque
from typing import Final

from actors.messages.probes import ProbeAnswer
from actors.messages.readers import DueCondition, ListDueConditions, ProbeTarget
from actors.messages.writer import ProbeResult
from actors.system import Random
from remindi.events import Caller
from remindi.lifecycle import Probe
from remindi.polling import SPREAD, next_evaluation

LISTED: Final = 200
"""Due conditions that are asked for at a time."""


class DueList:
    """Due conditions in their order, listed bit by bit; who holds it asks the reader."""

    def __init__(self) -> None:
        """Begin before the first."""
        self._waiting: deque[ProbeTarget] = deque()
        self._after: DueCondition | None = None
        self._whole = False

    def question(self, caller: Caller, as_of: int, project_id: str | None) -> ListDueConditions | None:
        """What the reader must be asked before ``pop``; null while enough is known."""
        if self._waiting or self._whole:
            return None
        return ListDueConditions(
            caller=caller, as_of=as_of, project_id=project_id, after=self._after, limit=LISTED
        )

    def extend(self, found: tuple[ProbeTarget, ...]) -> None:
        """Take the reader's answer."""
        self._waiting.extend(found)
        if len(found) < LISTED:
            self._whole = True
        else:
            self._after = DueCondition(found[-1].next_evaluation_at, found[-1].key)

    def pop(self) -> ProbeTarget | None:
        """The next one; null after the last."""
        return self._waiting.popleft() if self._waiting else None

    def end(self) -> None:
        """Let none follow."""
        self._waiting.clear()
        self._whole = True


def unprobed(target: ProbeTarget) -> ProbeResult:
    """The result of a probe that did not take place: only the manual check is looked at."""
    return ProbeResult(key=target.key, version=target.version, probe=None)


def result_of(answer: ProbeAnswer, chance: Random) -> ProbeResult:
    """The result of a probe with the time of the next one (contract 7.2), for the version that was probed."""
    target = answer.target
    following = next_evaluation(target.condition, answer.observed_at, chance.uniform(-SPREAD, SPREAD))
    return ProbeResult(
        key=target.key, version=target.version, probe=Probe(answer.status, answer.summary, following)
    )
