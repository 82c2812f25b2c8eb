"""The procedure: the order of contract 11.1, carried out here and nowhere else.

Startup and Host come before routing (``Threshold``), session, origin and CSRF token, and the body after it
(``admit``); maintenance is met where a call asks for the database.
"""

import hmac
from typing import Any, Final

import falcon

from actors.messages.sessions import GetSession, Session, SpendPreSession
from remindi.authorities import parse_authority, parse_origin
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.inputs.failures import pointer
from web.api.answering import Refused
from web.api.bodies import decoded, refuse_any
from web.api.call import Call
from web.api.cookies import session_token
from web.api.facts import Facts, facts_of
from web.api.hosts import Hosts
from web.api.policy import Admission, Body, Operation
from web.api.query import parameters
from web.door import SESSIONS_SECONDS, Door

_UNAUTHENTICATED: Final = Refusal(ErrorCode.UNAUTHENTICATED)
_CSRF_REJECTED: Final = Refusal(ErrorCode.CSRF_REJECTED)
_FORBIDDEN: Final = Refusal(ErrorCode.FORBIDDEN)
_MAINTENANCE: Final = Refusal(ErrorCode.MAINTENANCE_ACTIVE)


class Threshold:
    """What is decided before anybody looks at the path (a Falcon middleware)."""

    def __init__(self, door: Door) -> None:
        """Make the threshold of one process."""
        self._board = door.board
        self._hosts = Hosts(door.config)

    def process_request(self, request: falcon.Request, _response: falcon.Response) -> None:
        """Refuse a request while nothing is ready, or for its Host (contract 11.3).

        Raises:
            Refused: it is kept out.
        """
        if self._board.startup == "starting":
            raise Refused(_MAINTENANCE)
        host = facts_of(request.env).one(b"host")
        authority = None if host is None else parse_authority(host)
        if authority is None:
            raise Refused(invalid(("", "required" if host is None else "format")))
        if not self._hosts.admit(authority):
            raise Refused(_FORBIDDEN)


def admit(door: Door, operation: Operation, facts: Facts, response: falcon.Response) -> Call:
    """Let a request in to the responder of an operation.

    Raises:
        Refused: it is kept out.
        ActorError: the session store gave no answer.
    """
    policy = operation.policy
    token = session_token(facts)
    session = _session(door, policy.admission, token)
    if policy.admission is Admission.MUTATION:
        assert session is not None
        _refuse_strangers(facts)
        given = facts.one(b"x-csrf-token")
        if given is None or not hmac.compare_digest(given.encode(), session.csrf_token.encode()):
            raise Refused(_CSRF_REJECTED)
    elif policy.admission is Admission.SIGN_IN:
        _refuse_strangers(facts)
        given = facts.one(b"x-csrf-token")
        if given is None or not door.sessions.call(SpendPreSession(token=given), timeout=SESSIONS_SECONDS):
            raise Refused(_CSRF_REJECTED)
    body = _body(facts, policy.body)
    if facts.query and operation.query is None:
        names = dict(parameters(facts))
        if names:
            raise Refused(invalid(*((pointer((name,)), "unknown_field") for name in names)))
    return Call(door, policy, facts, response, token=token, session=session, body=body)


def _session(door: Door, admission: Admission, token: str | None) -> Session | None:
    """The live session, which is asked for where it decides or is shown."""
    authentication = door.config.webui_auth
    if admission is Admission.SIGN_IN:
        if not authentication:
            raise Refused(_UNAUTHENTICATED)
        return None
    session = None
    if token is not None or not authentication:
        session = door.sessions.call(GetSession(token=token), timeout=SESSIONS_SECONDS)
    if session is None and admission is not Admission.OPEN:
        raise Refused(_UNAUTHENTICATED)
    return session


def _refuse_strangers(facts: Facts) -> None:
    """Refuse what a page of another origin sent (contract 11.6)."""
    origin, host = facts.one(b"origin"), facts.one(b"host")
    found = None if origin is None else parse_origin(origin)
    if found is None or host is None or found.authority != parse_authority(host):
        raise Refused(_CSRF_REJECTED)


def _body(facts: Facts, kind: Body) -> Any:
    match kind:
        case Body.JSON:
            return decoded(facts)
        case Body.NONE:
            return refuse_any(facts)
        case Body.DEFERRED | Body.UPLOAD:
            return None
