"""Addresses: the one way to reach an actor, from a thread or from an asyncio loop.

Owns the envelope, the reply and the bounded inbox. An address is stable: a restart swaps the actor
behind it. Nothing else calls pykka's ``ask`` or ``tell``; nothing waits without a timeout.
"""

import asyncio
import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable
from typing import Any, ClassVar, Final, Generic, TypeVar

import pykka

from actors.messages import Notice, Request

R = TypeVar("R")
log = logging.getLogger("remindi.actors")

DEFAULT_INBOX_LIMIT: Final = 1_024


class ActorError(Exception):
    """An ask that got no answer from the actor's own logic."""


class Overloaded(ActorError):
    """The inbox is full; the message was never queued."""


class Unavailable(ActorError):
    """The actor is dead, paused, stopping or being restarted; the message had no effect."""


class Paused(Unavailable):
    """The database is closed for maintenance; nothing was done."""


class OutcomeUnknown(ActorError):
    """No answer in time; the message may have had its effect. Retry under the same idempotency key."""


class Reply(Generic[R]):
    """The answer to one ask: set once by the actor, awaited by a thread or by an event loop."""

    __slots__ = ("_error", "_event", "_future", "_loop", "_value", "is_set")

    def __init__(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Make a reply for a waiter on ``loop``, or for a waiting thread when there is none."""
        self.is_set = False
        self._value: R | None = None
        self._error: BaseException | None = None
        self._loop = loop
        self._future: asyncio.Future[None] | None = None if loop is None else loop.create_future()
        self._event = threading.Event() if loop is None else None

    def set(self, value: R) -> None:
        """Answer, and wake the waiter. A second answer is dropped: the first one has gone out."""
        if not self.is_set:
            self._value, self.is_set = value, True
            self._wake()

    def fail(self, error: BaseException) -> None:
        """Answer with an infrastructure error or a bug, and wake the waiter."""
        if not self.is_set:
            self._error, self.is_set = error, True
            self._wake()

    def _wake(self) -> None:
        if self._event is not None:
            self._event.set()
            return
        assert self._loop is not None
        # NOTE: a loop that is closed raises here; unguarded it would kill the actor's thread silently.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._resolve)

    def _resolve(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def wait(self, timeout: float) -> R:
        """Block this thread for the answer, for at most ``timeout`` seconds."""
        assert self._event is not None
        if not self._event.wait(timeout):
            raise OutcomeUnknown
        return self._outcome()

    async def wait_on_loop(self, timeout: float) -> R:
        """Await the answer on the loop, for at most ``timeout`` seconds."""
        assert self._future is not None
        assert self._loop is not None
        timer = self._loop.call_later(timeout, self._resolve)
        try:
            await self._future
        finally:
            timer.cancel()
        if not self.is_set:
            raise OutcomeUnknown
        return self._outcome()

    def _outcome(self) -> R:
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]


class _Notice(Reply[R]):
    """A reply that goes on to an actor as a notice: nobody waits for it."""

    __slots__ = ("_answered", "_failed", "_me")

    def __init__(
        self, me: "Address", answered: Callable[[R], Notice], failed: Callable[[BaseException], Notice]
    ) -> None:
        self.is_set = False
        self._value: R | None = None
        self._error: BaseException | None = None
        self._me = me
        self._answered = answered
        self._failed = failed

    def _wake(self) -> None:
        if self._error is not None:
            self._me.notify(self._failed(self._error))
        else:
            self._me.notify(self._answered(self._value))  # type: ignore[arg-type]


class Envelope:
    """A message on its way: with the reply it wants, if any, and the time after which nobody waits."""

    __slots__ = ("deadline", "message", "reply")

    def __init__(self, message: object, reply: "Reply[Any] | None", deadline: float | None) -> None:
        """Put a message into an envelope; ``deadline`` is a ``time.monotonic`` instant."""
        self.message = message
        self.reply = reply
        self.deadline = deadline

    def answer(self, value: object) -> None:
        """Answer the ask, if it is one."""
        if self.reply is not None:
            self.reply.set(value)

    def fail(self, error: BaseException) -> None:
        """Fail the ask, if it is one."""
        if self.reply is not None:
            self.reply.fail(error)


class Address:
    """A stable name for an actor."""

    observer: ClassVar[Callable[[str, str, object], None] | None] = None
    """Seen by tests: asking thread's name, asked address, message."""

    __slots__ = ("_ref", "limit", "name")

    def __init__(self, name: str, limit: int = DEFAULT_INBOX_LIMIT) -> None:
        """Make an address behind which nobody lives yet.

        Args:
            name: of the actor, in logs and in the ask table.
            limit: messages that may wait; a stop always passes.
        """
        self.name = name
        self.limit = limit
        self._ref: pykka.ActorRef[Any] | None = None

    def bind(self, ref: "pykka.ActorRef[Any] | None") -> None:
        """Put an actor, or nobody, behind the address."""
        self._ref = ref

    @property
    def listens(self) -> bool:
        """Whether somebody would take a notice now; for notices that cost something to make."""
        return self._ref is not None

    def call(self, message: Request[R], *, timeout: float) -> R:
        """Ask from a thread and wait at most ``timeout`` seconds.

        Raises:
            Overloaded, Unavailable, OutcomeUnknown: the actor's logic gave no answer.
        """
        reply: Reply[R] = Reply(None)
        self._send(message, reply, timeout)
        return reply.wait(timeout)

    async def acall(self, message: Request[R], *, timeout: float) -> R:
        """Ask from an event loop; as ``call``, without blocking the loop."""
        reply: Reply[R] = Reply(asyncio.get_running_loop())
        self._send(message, reply, timeout)
        return await reply.wait_on_loop(timeout)

    def ask_for(
        self,
        me: "Address",
        message: Request[R],
        *,
        answered: Callable[[R], Notice],
        failed: Callable[[BaseException], Notice],
        timeout: float,
    ) -> None:
        """Ask from an actor without waiting: the answer comes to ``me`` as a notice.

        Args:
            me: the asking actor's own address.
            message: what is asked.
            answered: makes the notice of an answer; called on the answering actor's thread.
            failed: makes the notice of what went wrong instead.
            timeout: seconds within which the message must be taken up; for the answer nobody waits.

        Raises:
            Overloaded, Unavailable: the message was not queued.
        """
        self._send(message, _Notice(me, answered, failed), timeout)

    def notify(self, notice: Notice) -> bool:
        """Tell, wait for nothing; False when nobody could take the notice."""
        try:
            self._send(notice, None, None)
        except ActorError:
            log.warning("notice not delivered", extra={"actor": self.name, "notice": type(notice).__name__})
            return False
        return True

    def _send(self, message: object, reply: Reply[Any] | None, timeout: float | None) -> None:
        ref = self._ref
        if ref is None:
            raise Unavailable
        if Address.observer is not None:
            Address.observer(threading.current_thread().name, self.name, message)
        inbox = ref.actor_inbox
        if isinstance(inbox, Inbox) and inbox.qsize() >= self.limit:
            raise Overloaded
        deadline = None if timeout is None else time.monotonic() + timeout
        try:
            ref.tell(Envelope(message, reply, deadline))
        except pykka.ActorDeadError:
            raise Unavailable from None


class Inbox(queue.SimpleQueue):  # type: ignore[type-arg]
    """An actor's inbox: unbounded in itself, so that a stop always passes; addresses hold the bound."""
