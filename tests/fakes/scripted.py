"""An actor that answers by a script and remembers what it was asked and told."""

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from actors.actor import Actor
from actors.address import Address, Inbox
from tests.service import eventually

BOUND = 10.0
M = TypeVar("M")


def alone(_name: str) -> None:
    """Hear of a death that no test cares for."""


def inbox_reaches(actor: Actor, count: int) -> None:
    """Wait until so many messages lie in an actor's inbox."""
    inbox = actor.actor_inbox
    assert isinstance(inbox, Inbox)
    eventually(lambda: inbox.qsize() >= count)


class Scripted(Actor):
    """Answers each kind of message by its function; without one, None. A function may block or raise."""

    def __init__(
        self,
        name: str,
        script: Mapping[type, Callable[[Any], Any]] | None = None,
        on_death: Callable[[str], None] = alone,
    ) -> None:
        super().__init__(name, on_death)
        self.script: dict[type, Callable[[Any], Any]] = dict(script or {})
        self._changed = threading.Condition()
        self._seen: list[Any] = []

    def handle(self, message: Any) -> Any:
        with self._changed:
            self._seen.append(message)
            self._changed.notify_all()
        answer = self.script.get(type(message))
        return None if answer is None else answer(message)

    def inbox_reaches(self, count: int) -> None:
        """Wait until so many messages lie in the inbox."""
        inbox_reaches(self, count)

    def seen(self, kind: type[M]) -> list[M]:
        """What came of one kind, in order."""
        with self._changed:
            return [message for message in self._seen if isinstance(message, kind)]

    def expect(self, kind: type[M], count: int = 1, where: Callable[[M], bool] = lambda _: True) -> M:
        """Wait for the `count`-th message of a kind that fits, and return it."""

        def fitting() -> list[M]:
            return [message for message in self._seen if isinstance(message, kind) and where(message)]

        with self._changed:
            assert self._changed.wait_for(lambda: len(fitting()) >= count, BOUND), (
                f"{self.name} saw {len(fitting())} fitting {kind.__name__}, wanted {count}: {self._seen}"
            )
            return fitting()[count - 1]


class Stage:
    """Actors of one test, each behind its address; ended at the end."""

    def __init__(self) -> None:
        self._actors: list[Actor] = []

    def put(self, address: Address, actor: Actor) -> None:
        """Start an actor behind an address."""
        actor.launch()
        assert actor.settled.wait(BOUND)
        assert actor.start_error is None
        address.bind(actor.actor_ref)
        self._actors.append(actor)

    def clear(self) -> None:
        """End all, the last one first."""
        for actor in reversed(self._actors):
            actor.end()
            actor.thread.join(BOUND)
            assert not actor.thread.is_alive(), f"{actor.name} is stuck"
        self._actors.clear()
