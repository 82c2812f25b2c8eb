"""The adapter pool: owns the adapter configuration and every look at the outside (contract 7.2 to 7.4).

Each look has a thread of its own, at most ``adapters.max_concurrency`` at a time, and a deadline. The
actor itself never waits: it starts looks, takes their outcomes as notices and answers who asked. A
thread that outlives its deadline (a resolver, a dead network file system) is left alone; its slot goes
on, and what it looks at is not looked at again before it has ended.
"""

import itertools
import logging
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, assert_never

from actors.actor import Actor
from actors.address import Address, Envelope, Unavailable
from actors.messages.probes import (
    AdaptersChanged,
    CheckConfiguration,
    LookEnded,
    LookExpired,
    NotProbed,
    Outcome,
    ProbeAnswer,
    RunProbe,
)
from actors.messages.readers import ProbeTarget
from actors.messages.scheduler import SettingsChanged
from actors.probes import adapters
from actors.probes.looking import Deadline, Outside
from actors.timer import Alarm, Timer
from remindi.adapters import (
    ADAPTER_VERSION,
    OBSERVATION_WINDOW_ENDED,
    Adapter,
    AdapterRegistry,
    Configuration,
)
from remindi.errors import Refusal, invalid
from remindi.events import ActorType, Caller
from remindi.items import ConditionStatus
from remindi.settings import ADAPTER_CONCURRENCY, ADAPTER_TIMEOUT_SECONDS, Settings

log = logging.getLogger("remindi.probes")

STUCK: Final = Outcome(ConditionStatus.UNKNOWN, "An earlier probe of the target has not ended yet.")
CROWDED: Final = Outcome(ConditionStatus.UNKNOWN, "Too many probes of the adapter have not ended yet.")
UNREADABLE: Final = invalid(("/configuration/roots", "format"))
GRACE_SECONDS: Final = 0.25
"""How long after its deadline a look may still tell that the deadline ended it."""
MAX_STUCK: Final = 32
"""Threads of one adapter that may outlive their deadline; beyond them it looks at nothing new."""
_RETRY_SECONDS: Final = 0.2

Message = LookEnded | LookExpired | AdaptersChanged | SettingsChanged
Result = Outcome | Refusal | None
_numbers = itertools.count(1)
"""Numbers of looks; no successor of a pool ever takes an outcome for its own."""


class _Asker(NamedTuple):
    """Who waits for a look, and until when its start is worth it (monotonic; null: always)."""

    envelope: Envelope
    target: ProbeTarget | Configuration
    start_by: float | None


@dataclass(slots=True)
class _Look:
    """One look at the outside, wanted by one asker or several."""

    target: ProbeTarget | Configuration
    """Of who asked first."""
    askers: list[_Asker]
    of_scheduler: bool
    number: int = 0
    adapter: Adapter | None = None
    began: float = 0.0
    deadline: Deadline | None = None
    alarm: Alarm | None = None


class Pool(Actor):
    """Looks at conditions for the scheduler and for checks."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        *,
        me: Address,
        timer: Timer,
        outside: Outside,
        registry: AdapterRegistry,
        settings: Settings,
    ) -> None:
        """Make the pool.

        Args:
            name: of its address.
            on_death: told the name when it ends unasked.
            me: its own address; the threads tell their outcomes there.
            timer: tells which looks are overdue.
            outside: clocks and resolver of the probes.
            registry: the adapters as they are configured now.
            settings: as they are now; deadline and number of probes at a time.
        """
        super().__init__(name, on_death)
        self._me = me
        self._timer = timer
        self._outside = outside
        self._registry = registry
        self._settings = settings
        self._waiting: tuple[deque[_Look], deque[_Look]] = (deque(), deque())
        self._turn = 0
        self._wanted: dict[Any, _Look] = {}
        self._running: dict[int, _Look] = {}
        self._stuck: dict[int, _Look] = {}
        self._closed = threading.Event()

    # ------------------------------------------------------------------ asked

    def receive(self, envelope: Envelope) -> None:
        """Take an ask in; it is answered when somebody has looked."""
        match envelope.message:
            case RunProbe(caller=caller, target=target, start_within=start_within):
                self._take(target, envelope, caller, start_within)
            case CheckConfiguration(caller=caller, configuration=configuration):
                self._take(configuration, envelope, caller, None)
            case _:
                super().receive(envelope)

    def _take(
        self,
        target: ProbeTarget | Configuration,
        envelope: Envelope,
        caller: Caller,
        start_within: float | None,
    ) -> None:
        now = self._outside.clock.monotonic()
        asker = _Asker(envelope, target, None if start_within is None else now + start_within)
        if isinstance(target, ProbeTarget) and target.condition.adapter == OBSERVATION_WINDOW_ENDED:
            # Only the clock is looked at: no turn, no thread.
            seconds = self._settings[ADAPTER_TIMEOUT_SECONDS]
            adapter = self._registry.get(OBSERVATION_WINDOW_ENDED)
            outcome = adapters.look(
                adapter, target.condition, self._outside, Deadline(seconds, self._outside.clock.monotonic)
            )
            envelope.answer(_answer(target, outcome, self._outside.clock.now(), 0))
            return
        key = _key(target)
        look = self._wanted.get(key)
        if look is not None:
            look.askers.append(asker)
            return
        look = _Look(target, [asker], caller.actor_type == ActorType.SCHEDULER)
        self._wanted[key] = look
        self._waiting[look.of_scheduler].append(look)

    def handle(self, message: Message) -> None:
        """Handle one notice."""
        match message:
            case LookEnded():
                self._ended(message)
            case LookExpired(number=number):
                self._overdue(number)
            case AdaptersChanged(registry=registry):
                self._registry = registry
            case SettingsChanged(settings=settings):
                self._settings = settings
            case _:
                assert_never(message)

    def handled(self) -> None:
        """Start what may start now."""
        while len(self._running) < self._settings[ADAPTER_CONCURRENCY]:
            look = self._next()
            if look is None:
                return
            self._start(look)

    def on_stop(self) -> None:
        """Leave nobody waiting (pykka's hook)."""
        self._close()

    def on_failure(self, *told: Any) -> None:
        """Leave nobody waiting (pykka's hook)."""
        self._close()
        super().on_failure(*told)

    def _close(self) -> None:
        self._closed.set()
        for look in self._wanted.values():
            for asker in look.askers:
                asker.envelope.fail(Unavailable())
        self._wanted.clear()

    # ------------------------------------------------------------------ looks

    def _next(self) -> _Look | None:
        """The next look that somebody still waits for: scheduler and checks take turns."""
        while any(self._waiting):
            self._turn = 1 - self._turn
            queue = self._waiting[self._turn] or self._waiting[1 - self._turn]
            look = queue.popleft()
            now = self._outside.clock.monotonic()
            for asker in look.askers:
                if asker.start_by is not None and asker.start_by < now:
                    asker.envelope.answer(NotProbed())
            look.askers = [asker for asker in look.askers if asker.start_by is None or asker.start_by >= now]
            if look.askers:
                return look
            del self._wanted[_key(look.target)]
        return None

    def _start(self, look: _Look) -> None:
        clock = self._outside.clock
        look.number = next(_numbers)
        look.adapter = self._adapter(look)
        look.began = clock.monotonic()
        refused = self._refused(look)
        if refused is not None:
            self._answer(look, refused, clock.now())
            return
        seconds = self._settings[ADAPTER_TIMEOUT_SECONDS]
        look.deadline = Deadline(seconds, clock.monotonic)
        self._running[look.number] = look
        look.alarm = self._timer.after(seconds + GRACE_SECONDS, self._me, LookExpired(number=look.number))
        threading.Thread(
            target=self._look,
            args=(look.number, look.target, look.adapter, look.deadline),
            name=f"{self.name}:look",
            # A daemon: a thread that is stuck must not keep the process alive.
            daemon=True,
        ).start()

    def _refused(self, look: _Look) -> Result:
        """Why this look may not begin, if it may not."""
        others = [stuck for stuck in self._stuck.values() if _kind(stuck) == _kind(look)]
        if not isinstance(look.target, ProbeTarget):
            return UNREADABLE if len(others) >= MAX_STUCK else None
        key = _key(look.target)
        if any(_key(stuck.target) == key and stuck.adapter == look.adapter for stuck in others):
            return STUCK
        return CROWDED if len(others) >= MAX_STUCK else None

    def _look(
        self, number: int, target: ProbeTarget | Configuration, adapter: Adapter | None, deadline: Deadline
    ) -> None:
        """Look, on a thread of its own, and tell; a full inbox or a restart is waited out."""
        result: Result
        try:
            if isinstance(target, ProbeTarget):
                result = adapters.look(adapter, target.condition, self._outside, deadline)
            else:
                result = adapters.check_configuration(target)
        except Exception as error:
            # The text of the error may name the target.
            log.error("a probe broke", extra={"error": type(error).__name__})
            result = adapters.FAILED if isinstance(target, ProbeTarget) else UNREADABLE
        told = LookEnded(number=number, result=result, observed_at=self._outside.clock.now())
        while not self._me.notify(told) and not self._closed.wait(_RETRY_SECONDS):
            continue

    def _ended(self, told: LookEnded) -> None:
        self._stuck.pop(told.number, None)
        look = self._running.pop(told.number, None)
        if look is None:
            return
        if look.alarm is not None:
            look.alarm.cancel()
        if self._adapter(look) != look.adapter:
            # What was seen under another configuration is no answer to the present one.
            self._waiting[look.of_scheduler].appendleft(look)
            return
        self._answer(look, told.result, told.observed_at)

    def _overdue(self, number: int) -> None:
        look = self._running.pop(number, None)
        if look is None:
            return
        self._stuck[number] = look
        if look.deadline is not None:
            look.deadline.end()
        log.warning("a probe does not end", extra={"adapter": _kind(look), "stuck": len(self._stuck)})
        result = adapters.TIME_IS_UP if isinstance(look.target, ProbeTarget) else UNREADABLE
        self._answer(look, result, self._outside.clock.now())

    def _answer(self, look: _Look, result: Result, observed_at: int) -> None:
        del self._wanted[_key(look.target)]
        latency_ms = round((self._outside.clock.monotonic() - look.began) * 1_000)
        for asker in look.askers:
            asker.envelope.answer(_answer(asker.target, result, observed_at, latency_ms))

    def _adapter(self, look: _Look) -> Adapter | None:
        if isinstance(look.target, ProbeTarget):
            return self._registry.get(look.target.condition.adapter)
        return None


def _key(target: ProbeTarget | Configuration) -> Any:
    """What two asks have in common when one look answers both: items may wait for the same."""
    if isinstance(target, ProbeTarget):
        return (target.condition.adapter, target.condition.parameters_json)
    return id(target)


def _kind(look: _Look) -> str:
    """What a look counts for when it does not end."""
    return look.target.condition.adapter if isinstance(look.target, ProbeTarget) else look.target.type


def _answer(
    target: ProbeTarget | Configuration, result: Result, observed_at: int, latency_ms: int
) -> ProbeAnswer | Result:
    """The answer to one asker."""
    if not isinstance(target, ProbeTarget):
        return result
    assert isinstance(result, Outcome)
    return ProbeAnswer(target, result.status, result.summary, observed_at, ADAPTER_VERSION, latency_ms)
