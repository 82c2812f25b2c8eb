"""Polls: the walk over conditions whose probe is due, beside the scheduler's passes (contract 7.2, 8.1).

A window of probes is under way at a time; each result is stored as it comes, those that come together in
one transaction. So a slow target keeps nobody waiting but itself. Used by the scheduler alone, on its
thread.
"""

from collections import Counter
from collections.abc import Callable
from typing import Final

from actors.address import ActorError, Address
from actors.messages.probes import NotProbed, ProbeAnswer, RunProbe
from actors.messages.readers import ProbeTarget
from actors.messages.scheduler import ConditionNotProbed, ConditionProbed
from actors.messages.writer import ProbeResult
from actors.probing import DueList, result_of, unprobed
from actors.system import Clock, Random
from remindi.events import Caller
from remindi.settings import ADAPTER_CONCURRENCY, ADAPTER_TIMEOUT_SECONDS, Settings

STORED: Final = 200
"""Results that one transaction takes."""
MOST_UNDER_WAY: Final = 256
"""Items whose probe is under way at most; their answers come all at once when they share a target."""
READER_SECONDS: Final = 10.0
POOL_SECONDS: Final = 10.0
PATIENCE_SECONDS: Final = 60.0
"""Beyond a few deadlines: after so long without any answer a walk is given up."""
NO_ANSWER: Final = "The adapter pool gave no answer."


class Polls:
    """The present walk, if there is one."""

    def __init__(
        self,
        *,
        me: Address,
        probes: Address,
        reader: Address,
        clock: Clock,
        chance: Random,
        caller: Caller,
        store: Callable[[tuple[ProbeResult, ...]], None],
        ended: Callable[[str | None], None],
    ) -> None:
        """Make polls that rest.

        Args:
            me: the scheduler's address, where answers come as notices.
            probes: the adapter pool.
            reader: lists due conditions.
            clock: both clocks.
            chance: spreads the polls.
            caller: named in events; its probes take turns with those of checks.
            store: stores results, at most ``STORED`` at a time, under the lease.
            ended: told when a walk is over, with what went wrong, if something did.
        """
        self._me = me
        self._probes = probes
        self._reader = reader
        self._clock = clock
        self._chance = chance
        self._caller = caller
        self._store = store
        self._ended = ended
        self._number = 0
        self._active = False
        self._due = DueList()
        self._under_way: dict[int, ProbeTarget] = {}
        self._looks: Counter[tuple[str, str]] = Counter()
        self._results: list[ProbeResult] = []
        self._failure: str | None = None
        self._heard_at = 0.0

    def begin(self, settings: Settings) -> None:
        """Walk over what is due, unless the walk before is still getting answers."""
        if self._active:
            patience = 3 * settings[ADAPTER_TIMEOUT_SECONDS] + PATIENCE_SECONDS
            if self._clock.monotonic() - self._heard_at < patience:
                return
            self._failure = NO_ANSWER
            self._end()
        self._number += 1
        self._active = True
        self._due = DueList()
        self._failure = None
        self._heard_at = self._clock.monotonic()

    def drop(self) -> None:
        """Give the walk up; what is under way means nothing any more."""
        self._active = False
        self._under_way.clear()
        self._looks.clear()
        self._results.clear()

    def take(self, notice: ConditionProbed | ConditionNotProbed) -> None:
        """Take what became of one probe; one of a former walk is dropped."""
        if not self._active or notice.walk != self._number:
            return
        self._heard_at = self._clock.monotonic()
        target = self._under_way.pop(notice.key, None)
        if target is None:
            return
        look = _look_of(target)
        self._looks[look] -= 1
        if not self._looks[look]:
            del self._looks[look]
        if isinstance(notice, ConditionProbed):
            self._results.append(result_of(notice.answer, self._chance))
        else:
            self._miss(target, notice.reason)

    def go_on(self, settings: Settings, *, idle: bool) -> None:
        """Store what has come, ask for more probes, or end the walk.

        Args:
            settings: as they are now.
            idle: whether no other message waits; results are kept together until then.
        """
        concurrency = settings[ADAPTER_CONCURRENCY]
        if not self._active or (not idle and len(self._results) < concurrency):
            return
        self._store_results()
        while self._has_room(concurrency) and (target := self._next()) is not None:
            self._ask(target)
        if not self._under_way:
            self._store_results()
            self._end()

    def _has_room(self, concurrency: int) -> bool:
        """Whether one more probe may be under way.

        Enough are that no slot of the pool waits for this actor; those of one target are one look there.
        """
        return len(self._looks) < 2 * concurrency and len(self._under_way) < MOST_UNDER_WAY

    def _store_results(self) -> None:
        while self._results:
            results, self._results = self._results[:STORED], self._results[STORED:]
            self._store(tuple(results))

    def _next(self) -> ProbeTarget | None:
        # What has become due meanwhile has its turn as well.
        question = self._due.question(self._caller, self._clock.now(), None)
        if question is not None:
            self._due.extend(self._reader.call(question, timeout=READER_SECONDS))
        return self._due.pop()

    def _ask(self, target: ProbeTarget) -> None:
        walk, key = self._number, target.key

        def answered(answer: ProbeAnswer | NotProbed) -> ConditionProbed | ConditionNotProbed:
            if isinstance(answer, NotProbed):
                return ConditionNotProbed(walk=walk, key=key, reason=None)
            return ConditionProbed(walk=walk, key=key, answer=answer)

        def failed(_error: BaseException) -> ConditionNotProbed:
            return ConditionNotProbed(walk=walk, key=key, reason=NO_ANSWER)

        try:
            self._probes.ask_for(
                self._me,
                RunProbe(caller=self._caller, target=target),
                answered=answered,
                failed=failed,
                timeout=POOL_SECONDS,
            )
        except ActorError:
            self._miss(target, NO_ANSWER)
            return
        self._under_way[key] = target
        self._looks[_look_of(target)] += 1

    def _miss(self, target: ProbeTarget, reason: str | None) -> None:
        """Pass a target over, and ask for no more: the next pass does."""
        # What nobody could look at still comes up for a look by hand in time (contract 4.2).
        self._results.append(unprobed(target))
        self._failure = reason or self._failure
        self._due.end()

    def _end(self) -> None:
        failure = self._failure
        self.drop()
        self._ended(failure)


def _look_of(target: ProbeTarget) -> tuple[str, str]:
    """What the pool answers for many items at once."""
    return target.condition.adapter, target.condition.parameters_json
