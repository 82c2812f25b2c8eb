"""A call: one request that was let in, and the only way for a responder to ask actors.

What a responder may ask follows from its policy; maintenance is met here, after all that is wrong with the
request itself (contract 11.1).
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final, TypeVar

import falcon

from actors.address import ActorError
from actors.failures import DatabaseRefused, unrefused
from actors.messages import Request
from actors.messages.sessions import Session
from actors.messages.writer import RecordAudit
from remindi import audit
from remindi.callers import UNAUTHENTICATED_WEB_ACTOR_ID
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.events import ActorType, Caller
from remindi.forwarding import client_address
from web.api.answering import Refused
from web.api.facts import Facts
from web.api.policy import Database, Policy
from web.door import READER_SECONDS, SESSIONS_SECONDS, WRITER_SECONDS, Door

R = TypeVar("R")

log = logging.getLogger("remindi.api")

AUDIT_SECONDS: Final = 5.0
"""How long a sign-in waits for its audit row."""
_MAINTENANCE: Final = Refusal(ErrorCode.MAINTENANCE_ACTIVE)


class Call:
    """One request on its way through a responder; belongs to one thread."""

    __slots__ = ("_door", "_policy", "_response", "body", "caller", "facts", "session", "token")

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
        """
        self._enter()
        return self._door.reader.call(message, timeout=READER_SECONDS)

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
            TimeoutError: it took longer; it is cancelled.
        """
        self._enter()
        future = asyncio.run_coroutine_threadsafe(work(), self.facts.loop)
        try:
            return future.result(seconds)
        finally:
            future.cancel()

    def record(self, event_type: str, outcome: str, details: dict[str, str]) -> None:
        """Store an audit row as well as can be: what it tells of has happened all the same."""
        message = RecordAudit(
            caller=self.caller, event_type=event_type, outcome=outcome, details=tuple(details.items())
        )
        try:
            if self._closed(Database.WRITE):
                raise DatabaseRefused
            unrefused(self._door.writer.call(message, timeout=AUDIT_SECONDS))
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
            raise Refused(_MAINTENANCE)

    def _closed(self, use: Database) -> bool:
        board = self._door.board
        if board.closed:
            return True
        # A damaged database is read and never written (contract section 16).
        return use is Database.WRITE and board.startup == "damaged"

    # ---------------------------------------------------------------- answer

    def set_cookie(self, cookie: str) -> None:
        """Send a cookie with the answer."""
        self._response.append_header("Set-Cookie", cookie)
