"""The base of every actor: takes envelopes, answers asks, survives a failing message, tells its death.

A message that raises is answered with its exception and logged; the actor lives on. Only what breaks
the actor itself ends it, and then the supervisor hears of it.
"""

import contextlib
import logging
import threading
import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import pykka

from actors.address import Envelope, Inbox, Unavailable
from actors.messages import Ping

log = logging.getLogger("remindi.actors")


class Actor(pykka.ThreadingActor):
    """An actor with a name; subclasses implement ``handle``."""

    name: str

    def __init__(self, name: str, on_death: Callable[[str], None]) -> None:
        """Make the actor.

        Args:
            name: of its address; also of its thread.
            on_death: told the name when the actor ends without having been asked to.
        """
        super().__init__()
        self.name = name
        self._on_death = on_death
        self.thread = threading.Thread(target=self._run, name=name)
        self.settled = threading.Event()
        """Set when ``on_start`` has returned or failed."""
        self.start_error: Exception | None = None
        """What ``on_start`` raised, if it did; pykka would leave a dead actor and hide it."""

    @staticmethod
    def _create_actor_inbox() -> Any:
        return Inbox()

    def launch(self) -> None:
        """Start the actor's thread; the supervisor does, and only once.

        The actor is not entered in pykka's registry: a thread that ends by ``SystemExit`` would stop
        everybody found there.
        """
        self._start_actor_loop()

    def end(self) -> None:
        """Ask the actor to stop, from the supervisor: it handles what waits and then ends.

        A full inbox is no obstacle; one that is dead already stays so.
        """
        with contextlib.suppress(pykka.ActorDeadError):
            self.stop()

    def _start_actor_loop(self) -> None:
        self.thread.start()

    def _actor_loop_setup(self) -> None:
        try:
            self.on_start()
        except Exception as error:
            self.start_error = error
            self.actor_stopped.set()
            self.fail_waiting()
        finally:
            self.settled.set()

    def _actor_loop_teardown(self) -> None:
        # NOTE: pykka's own would drop envelopes unanswered, and whoever asks would wait out his timeout.
        self.fail_waiting()

    def _run(self) -> None:
        try:
            self._actor_loop()
        except BaseException:
            log.exception("an actor's loop broke", extra={"actor": self.name})
            self.actor_stopped.set()
            self._on_death(self.name)
            raise

    def on_receive(self, message: Any) -> None:
        """Handle one envelope (pykka's hook)."""
        if not isinstance(message, Envelope):
            raise TypeError(f"{type(message).__name__} is no envelope")
        if message.deadline is not None and time.monotonic() > message.deadline:
            message.fail(Unavailable())
        else:
            self.receive(message)
        self.handled()

    def receive(self, envelope: Envelope) -> None:
        """Handle an envelope and answer it; the writer overrides this to answer after its commit."""
        message = envelope.message
        if isinstance(message, Ping):
            envelope.answer(None)
            return
        try:
            envelope.answer(self.handle(message))
        except Exception as error:
            log.exception(
                "a message failed", extra={"actor": self.name, "message_type": type(message).__name__}
            )
            envelope.fail(error)

    def handled(self) -> None:
        """Look up from the inbox after each envelope, also one that nobody waited for any more."""

    @abstractmethod
    def handle(self, message: Any) -> Any:
        """Handle one message; the return value answers an ask."""

    def on_failure(self, *_told: Any) -> None:
        """Leave nobody waiting, and tell the supervisor (pykka's hook)."""
        self.fail_waiting()
        self._on_death(self.name)

    def fail_waiting(self) -> None:
        """Answer whatever still waits in the inbox with ``Unavailable``."""
        while not self.actor_inbox.empty():
            waiting = self.actor_inbox.get().message
            if isinstance(waiting, Envelope):
                waiting.fail(Unavailable())
