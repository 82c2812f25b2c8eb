"""From what the adapter pool answered to what the writer applies; for the scheduler and for checks alike."""

from actors.messages.probes import ProbeAnswer
from actors.messages.readers import ProbeTarget
from actors.messages.writer import ProbeResult
from actors.system import Random
from remindi.lifecycle import Probe
from remindi.polling import SPREAD, next_evaluation


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
