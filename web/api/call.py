"""A call: one request that was let in, and the only way for a responder to ask actors.

What a responder may ask follows from its policy; maintenance is met here, after all that is wrong with the
request itself (contract 11.1).
"""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

import falcon

from actors.address import ActorError, Overloaded, Paused
from actors.failures import DatabaseRefused, unrefused
from actors.messages import Request
from actors.messages.backups import AuditPostponed
from actors.messages.sessions import Session
from actors.messages.writer import RecordAudit
from remindi import audit
from remindi.callers import UNAUTHENTICATED_WEB_ACTOR_ID
from remindi.cursors import Cursors
from remindi.errors import Refusal, invalid
from remindi.events import ActorType, Caller
from remindi.forwarding import client_address
from web.api.answering import Refused
from web.api.facts import Facts
from web.api.policy import Database, Policy
from web.door import BACKUPS_SECONDS, READER_SECONDS, SESSIONS_SECONDS, WRITER_SECONDS, Door
from web.exchange import Exchange
from web.generations import Generation
from web.outcomes import closed

R = TypeVar("R")

log = logging.getLogger("remindi.api")

AUDIT_SECONDS: Final = 5.0
"""How long a sign-in waits for its audit row."""
BACKUPS_AT_ONCE: Final = 4
"""Requests that wait for the backup controller in threads, fewer than any listener has of these."""
_waiting: Final = threading.BoundedSemaphore(BACKUPS_AT_ONCE)


class Call:
    """One request on its way through a responder; belongs to one thread."""

    __slots__ = (
        "_door",
        "_generation",
        "_policy",
        "_response",
        "body",
        "caller",
        "facts",
        "session",
        "token",
    )

    def __init__(
        self,
        door: Door,
        policy: Policy,
        facts: Facts,
        response: falcon.Response,
        *,
        token: str | None,
        session: Session | None,
        body: Any,
    ) -> None:
        """Take what the procedure found."""
        self._door = door
        self._policy = policy
        self._response = response
        self._generation = Generation(door.board)
        self.facts = facts
        self.token = token
        """Of the session cookie, alive or not."""
        self.session = session
        """There always is one where the policy asks for it."""
        self.body = body
        """A decoded JSON value; null where the policy knows no body."""
        self.caller = Caller(
            ActorType.USER,
            UNAUTHENTICATED_WEB_ACTOR_ID if session is None else session.actor_id,
            facts.request_id,
        )

    # --------------------------------------------------------------- request

    def arguments(self) -> Mapping[str, Any]:
        """The body as an object.

        Raises:
            Refused: it is none.
        """
        if isinstance(self.body, dict):
            return self.body
        raise Refused(invalid(("", "null_not_allowed" if self.body is None else "type")))

    @property
    def cursors(self) -> Cursors:
        """The cursors of the content that this request was let in to."""
        return self._door.cursors.of(self._generation.value)

    def client(self) -> str:
        """The address of the client, for the throttle (contract 11.3)."""
        forwarded = self.facts.values(b"x-forwarded-for")
        return client_address(self.facts.peer, forwarded, self._door.config.trusted_proxies)

    def act_as(self, session: Session) -> None:
        """Go on in the name of who has just signed in."""
        self.caller = self.caller._replace(actor_id=session.actor_id)

    # ------------------------------------------------------------------ asks

    def ask_sessions(self, message: Request[R]) -> R:
        """Ask the session store."""
        return self._door.sessions.call(message, timeout=SESSIONS_SECONDS)

    def read(self, message: Request[R]) -> R:
        """Ask the reader.

        Raises:
            Refused: the database is closed.
            Paused: a restore has come between.
        """
        self._enter()
        answer = self._door.reader.call(message, timeout=READER_SECONDS)
        self._generation.hold()
        return answer

    def write(self, message: Request[R]) -> R:
        """Ask the writer.

        Raises:
            Refused: the database is closed, or must not be written.
        """
        self._enter(writing=True)
        return self._door.writer.call(message, timeout=WRITER_SECONDS)

    def turn_workloads(self, message: Request[R], seconds: float) -> R:
        """Ask the workload controller for a change.

        Raises:
            Refused: as for ``write``.
        """
        self._enter(writing=True)
        return self._door.workloads.call(message, timeout=seconds)

    def run(self, work: Callable[[], Coroutine[Any, Any, R]], seconds: float) -> R:
        """Run what the doors have in common on the HTTP server's loop, for at most so many seconds.

        Raises:
            Refused: the database is closed, or must not be written.
            Paused: a restore has come between.
            TimeoutError: it took longer; it is cancelled.
        """
        self._enter()
        future = asyncio.run_coroutine_threadsafe(work(), self.facts.loop)
        try:
            outcome = future.result(seconds)
        finally:
            future.cancel()
        self._generation.hold()
        return outcome

    def ask_backups(self, message: Request[R]) -> R:
        """Ask the backup controller, which may take its time.

        Raises:
            Refused: the database is closed.
            Overloaded: too many wait for it.
        """
        self._enter()
        if not _waiting.acquire(blocking=False):
            raise Overloaded
        try:
            return self._door.backups.call(message, timeout=BACKUPS_SECONDS)
        finally:
            _waiting.release()

    def restore(self, message: Request[R]) -> R:
        """Ask the backup controller for another content, whoever else waits for it.

        Raises:
            Refused: the database is held closed, or is not open yet.
        """
        self._enter()
        return self._door.backups.call(message, timeout=BACKUPS_SECONDS)

    def require_database(self) -> None:
        """Go on only while the database is open.

        Raises:
            Refused: it is closed.
        """
        self._enter()

    def go_on(self, work: Callable[[Exchange], Awaitable[None]]) -> bool:
        """Leave the rest to the loop, once this request is let in; False where nothing streams."""
        if self.facts.later is None:
            return False
        self.facts.later.run = work
        return True

    def record(self, event_type: str, outcome: str, details: dict[str, str]) -> None:
        """Store an audit row as well as can be: what it tells of has happened all the same.

        During maintenance it is kept, and follows when that ends (contract 15.3).
        """
        message = RecordAudit(
            caller=self.caller,
            event_type=event_type,
            outcome=outcome,
            details=tuple(details.items()),
            occurred_at=self._door.clock.now(),
        )
        try:
            if self._maintained() and self._door.backups.notify(AuditPostponed(record=message)):
                return
            if self._closed(Database.WRITE):
                raise DatabaseRefused
            unrefused(self._door.writer.call(message, timeout=AUDIT_SECONDS))
        except Paused:
            self._door.backups.notify(AuditPostponed(record=message))
        except (ActorError, DatabaseRefused):
            log.warning(
                "an audit row was not stored",
                extra={"request_id": self.facts.request_id, "event_type": event_type, "outcome": outcome},
            )

    def record_refusal(self, event_type: str, details: dict[str, str], refusal: Refusal) -> None:
        """Store the audit row of what came to nothing before the writer was asked (contract 13.2)."""
        self.record(event_type, audit.REJECTED, details | {"failure_code": refusal.code.value})

    def _enter(self, *, writing: bool = False) -> None:
        stated = self._policy.database
        if stated is Database.NONE or (writing and stated is Database.READ):
            raise RuntimeError("a responder asks for more than its policy states")
        if self._closed(stated):
            raise Refused(closed(self._door.board))

    def _maintained(self) -> bool:
        return self._door.board.maintenance != "running"

    def _closed(self, use: Database) -> bool:
        board = self._door.board
        if use is Database.REPLACE:
            return board.maintenance == "held" or board.startup in ("starting", "stopping")
        if board.closed:
            return True
        # A damaged database is read and never written (contract section 16).
        return use is Database.WRITE and board.startup == "damaged"

    # ---------------------------------------------------------------- answer

    def set_cookie(self, cookie: str) -> None:
        """Send a cookie with the answer."""
        self._response.append_header("Set-Cookie", cookie)
