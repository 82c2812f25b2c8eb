"""Addresses that answer at once by a script, without any actor; they remember what they were asked."""

from collections.abc import Callable, Mapping
from inspect import isawaitable
from typing import Any, TypeVar, cast

from actors.address import Address, Unavailable
from actors.messages import Request

R = TypeVar("R")


class AnsweringAddress(Address):
    """Answers each kind of message by its function, which may raise; any other kind is a bug of the test."""

    def __init__(self, name: str, script: Mapping[type, Callable[[Any], Any]] | None = None) -> None:
        super().__init__(name)
        self.script = dict(script or {})
        self.asked: list[Any] = []
        self.timeouts: list[float] = []

    def call(self, message: Request[R], *, timeout: float) -> R:
        """Answer a thread; the function of the script is a plain one then."""
        self.asked.append(message)
        self.timeouts.append(timeout)
        return cast(R, self.script[type(message)](message))

    async def acall(self, message: Request[R], *, timeout: float) -> R:
        """Answer; the timeout is only remembered. A function of the script may also be a coroutine's."""
        self.asked.append(message)
        self.timeouts.append(timeout)
        answer = self.script[type(message)](message)
        if isawaitable(answer):
            answer = await answer
        return cast(R, answer)


def nobody(_: object) -> Any:
    """Answer as an address does behind which nobody lives."""
    raise Unavailable
