"""The supervisor: starts the actors in order, restarts the dead, stops in reverse. No actor, a plain thread.

It runs in the main thread, where signals arrive; ``ask_to_stop`` is what a signal handler may call.
"""

import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, Protocol

from actors.actor import Actor
from actors.address import Address
from actors.messages import Ping
from actors.system import Clock

log = logging.getLogger("remindi.actors")

RESTARTS_ALLOWED: Final = 3
RESTART_WINDOW_SECONDS: Final = 60.0
LIVENESS_SECONDS: Final = 1.0
"""How often threads are looked at: an actor that died without a word is found within this time."""
_GLANCE_SECONDS: Final = 0.05
_BURIAL_SECONDS: Final = 1.0

Outcome = Literal["stopped", "gave_up"]


class StartFailed(Exception):
    """An actor did not start: its ``on_start`` raised (the cause), or it did not answer in time."""

    def __init__(self, name: str) -> None:
        """Name the actor."""
        super().__init__(f"{name} did not start")
        self.name = name


class StartAbandoned(Exception):
    """A stop was asked for while an actor was starting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Child:
    """One actor to be kept alive."""

    address: Address
    make: Callable[[Callable[[str], None], Actor | None], Actor]
    """Make a new actor from the callable it reports its death to and its dead predecessor, if any."""
    start_seconds: float = 10.0
    """Within how many seconds ``on_start`` has returned and a ping is answered."""
    stop_seconds: float = 2.0
    restart_all: bool = False
    """Whether its death makes all the others start anew, since they hold what died with it."""

    @property
    def name(self) -> str:
        """The name of the address."""
        return self.address.name


class Witness(Protocol):
    """Who is told of deaths and restarts, in the supervisor's thread; must neither block nor raise."""

    def died(self, name: str, *, everybody: bool) -> None:
        """An actor is dead and will be restarted, with ``everybody`` else or alone."""
        ...

    def restarted(self, name: str, *, everybody: bool) -> None:
        """The actor, or everybody, lives again."""
        ...


class _Death(NamedTuple):
    name: str
    life: int


class _StopAsked(NamedTuple):
    why: str


class _GiveUpAsked(NamedTuple):
    why: str


class Supervisor:
    """Keeps a row of actors alive."""

    def __init__(self, children: Sequence[Child], *, clock: Clock, witness: Witness | None = None) -> None:
        """Make a supervisor of ``children``, in starting order."""
        self._children = {child.name: child for child in children}
        self._clock = clock
        self._witness = witness
        # NOTE: SimpleQueue.put may be called by a signal handler while the same thread is in get; the locks
        # of Queue, Event and Condition may not.
        self._notes: queue.SimpleQueue[_Death | _StopAsked | _GiveUpAsked] = queue.SimpleQueue()
        self._living: dict[str, Actor] = {}
        self._former: dict[str, Actor] = {}
        self._lives = 0
        self._life: dict[str, int] = {}
        self._restarts: deque[float] = deque()
        self.stop_asked: str | None = None
        """Why a stop was asked for; null while none was."""

    def ask_to_stop(self, why: str) -> None:
        """Ask for the stop, from any thread or from a signal handler; further calls change nothing."""
        if self.stop_asked is None:
            self.stop_asked = why
            self._notes.put(_StopAsked(why))

    def ask_to_give_up(self, why: str) -> None:
        """Say that something beside the actors broke that cannot be restarted, from any thread."""
        self._notes.put(_GiveUpAsked(why))

    # ------------------------------------------------------------------ start

    def start(self) -> None:
        """Start all in order; started means that ``on_start`` returned and a ping was answered.

        Raises:
            StartFailed: an actor did not start; its cause is what ``on_start`` raised. Those that ran are
                stopped again.
            StartAbandoned: a stop was asked for meanwhile; the same.
        """
        try:
            self._start_all()
        except (StartFailed, StartAbandoned):
            self.stop(within=5.0)
            raise

    def _start_all(self) -> None:
        for child in self._children.values():
            self._start(child)

    def _start(self, child: Child) -> None:
        if self.stop_asked is not None:
            raise StartAbandoned
        self._lives += 1
        life = self._lives
        self._life[child.name] = life
        deadline = self._clock.monotonic() + child.start_seconds
        try:
            actor = child.make(
                lambda name: self._notes.put(_Death(name, life)), self._former.pop(child.name, None)
            )
        except Exception as error:
            raise StartFailed(child.name) from error
        self._living[child.name] = actor
        actor.launch()
        while not actor.settled.wait(_GLANCE_SECONDS):
            self._give_up_waiting(child, deadline)
        if actor.start_error is not None:
            raise StartFailed(child.name) from actor.start_error
        child.address.bind(actor.actor_ref)
        left = max(_GLANCE_SECONDS, deadline - self._clock.monotonic())
        try:
            child.address.call(Ping(), timeout=left)
        except Exception as error:
            # An actor that could not open what it needs says so here, with its own typed error.
            raise StartFailed(child.name) from error
        log.debug("an actor started", extra={"actor": child.name})

    def _give_up_waiting(self, child: Child, deadline: float) -> None:
        if self.stop_asked is not None:
            raise StartAbandoned
        if self._clock.monotonic() > deadline:
            raise StartFailed(child.name)

    # -------------------------------------------------------------------- run

    def run(self) -> Outcome:
        """Keep the actors alive until a stop is asked for or too many died."""
        while True:
            outcome = self.step(LIVENESS_SECONDS)
            if outcome is not None:
                return outcome

    def step(self, timeout: float) -> Outcome | None:
        """Wait at most ``timeout`` seconds for one note and act on it; without one, look at the threads."""
        try:
            note = self._notes.get(timeout=timeout)
        except queue.Empty:
            return self._look_at_threads()
        if isinstance(note, _StopAsked):
            return "stopped"
        if isinstance(note, _GiveUpAsked):
            log.critical("giving up", extra={"why": note.why})
            return "gave_up"
        if note.life != self._life.get(note.name):
            return None
        return self._revive(self._children[note.name])

    def _look_at_threads(self) -> Outcome | None:
        for name, actor in tuple(self._living.items()):
            if not actor.thread.is_alive() or actor.actor_stopped.is_set():
                log.error("an actor died without a word", extra={"actor": name})
                return self._revive(self._children[name])
        return None

    def _revive(self, child: Child) -> Outcome | None:
        """Restart a dead actor, or all; try again when that fails, as often as is allowed."""
        everybody = child.restart_all
        while self.stop_asked is None:
            log.error("an actor died", extra={"actor": child.name})
            if self._witness is not None:
                self._witness.died(child.name, everybody=everybody)
            self._bury(child)
            if not self._restart_is_allowed():
                log.critical(
                    "giving up: too many actors died",
                    extra={"actor": child.name, "restarts": len(self._restarts)},
                )
                return "gave_up"
            try:
                if everybody:
                    self._stop_all(within=5.0)
                    self._start_all()
                else:
                    self._start(child)
            except StartAbandoned:
                break
            except StartFailed as error:
                log.exception("an actor did not come back", extra={"actor": error.name})
                # Whoever it was, is the one that is dead now. A new start of all is still owed.
                child = self._children[error.name]
                everybody = everybody or child.restart_all
                self._pause(0.5 * len(self._restarts))
                continue
            log.warning("an actor was restarted", extra={"actor": child.name, "everybody": everybody})
            if self._witness is not None:
                self._witness.restarted(child.name, everybody=everybody)
            return None
        return "stopped"

    def _restart_is_allowed(self) -> bool:
        now = self._clock.monotonic()
        while self._restarts and self._restarts[0] <= now - RESTART_WINDOW_SECONDS:
            self._restarts.popleft()
        if len(self._restarts) >= RESTARTS_ALLOWED:
            return False
        self._restarts.append(now)
        return True

    def _pause(self, seconds: float) -> None:
        """Wait before the next try; a stop that is asked for ends it."""
        deadline = self._clock.monotonic() + seconds
        while self.stop_asked is None and (left := deadline - self._clock.monotonic()) > 0:
            try:
                self._notes.get(timeout=min(left, _GLANCE_SECONDS))
            except queue.Empty:
                continue

    # ------------------------------------------------------------------- stop

    def stop(self, within: float) -> tuple[str, ...]:
        """Stop all in exactly the reverse order of their start, the writer last.

        Args:
            within: seconds for all together. Each has its own budget; that of the first to have started is
                kept for it, whatever the others take.

        Returns:
            Names of actors that were stuck; their threads still run.
        """
        return self._stop_all(within)

    def _stop_all(self, within: float) -> tuple[str, ...]:
        deadline = self._clock.monotonic() + within
        first = next(iter(self._children.values()), None)
        stuck: list[str] = []
        for child in reversed(self._children.values()):
            if child.name not in self._living:
                continue
            kept = first.stop_seconds if first is not None and child is not first else 0.0
            left = deadline - self._clock.monotonic() - kept
            if not self._stop(child, max(_GLANCE_SECONDS, min(child.stop_seconds, left))):
                stuck.append(child.name)
        return tuple(stuck)

    def _stop(self, child: Child, budget: float) -> bool:
        actor = self._living.pop(child.name)
        # From here on nobody waits for it in vain; its own notices to itself are lost, which is meant.
        child.address.bind(None)
        self._life.pop(child.name, None)
        actor.end()
        if not _ended(actor.thread, budget):
            log.error("an actor is stuck", extra={"actor": child.name, "seconds": round(budget, 1)})
            return False
        actor.fail_waiting()
        self._former[child.name] = actor
        log.debug("an actor stopped", extra={"actor": child.name})
        return True

    def _bury(self, child: Child) -> None:
        """Take an actor that is dead, or did not start, out of the way and tell those who wait for it."""
        child.address.bind(None)
        self._life.pop(child.name, None)
        actor = self._living.pop(child.name, None)
        if actor is None:
            return
        actor.end()
        if _ended(actor.thread, _BURIAL_SECONDS):
            actor.fail_waiting()
            self._former[child.name] = actor


def _ended(thread: threading.Thread, within: float) -> bool:
    if thread.ident is not None:
        thread.join(within)
    return not thread.is_alive()
