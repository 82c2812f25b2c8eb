"""The session store: pre-session tokens, sessions, proofs and the sign-in throttle (contract 11.5 to 11.7).

All of it lives in memory and ends with the actor. Tokens and credentials are kept as SHA-256 digests only;
nothing here logs them.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Any, Final, Generic, NamedTuple, TypeVar, assert_never

from actors.actor import Actor
from actors.messages.sessions import (
    Admitted,
    GetSession,
    IssuePreSession,
    Reauthenticate,
    Session,
    SignIn,
    SignOut,
    SpendPreSession,
    Throttled,
)
from actors.system import Clock
from remindi.callers import UNAUTHENTICATED_WEB_ACTOR_ID, web_actor_id
from remindi.config import Config
from remindi.errors import ErrorCode, Refusal
from remindi.instants import MS_PER_SECOND
from remindi.throttle import Throttle

T = TypeVar("T")
Message = IssuePreSession | SpendPreSession | SignIn | GetSession | Reauthenticate | SignOut

TOKEN_BYTES: Final = 32
PRE_SESSION_MS: Final = 300 * MS_PER_SECOND
PROOF_MS: Final = 300 * MS_PER_SECOND
"""How long a proof is fresh, the last millisecond included (contract 15.1)."""
MAX_ALIVE: Final = 1_024
"""Of pre-session tokens, and of sessions."""

_UNAUTHENTICATED: Final = Refusal(ErrorCode.UNAUTHENTICATED)
_WRONG_PASSWORD: Final = Refusal(ErrorCode.REAUTHENTICATION_REQUIRED)


class _Proved(NamedTuple):
    """What a token stands for: a session, or with authentication off a mere proof."""

    expires_at: int | None
    """An instant of the wall clock, to be shown; null for a mere proof."""
    proved_at: int
    """Milliseconds of the monotonic clock."""


class _Tokens(Generic[T]):
    """Tokens of one kind by their digests. One lifetime for all: the oldest is the first to go."""

    def __init__(self, lifetime: int) -> None:
        """Begin without a token; ``lifetime`` in milliseconds, as is every ``now``."""
        self._lifetime = lifetime
        self._kept: dict[bytes, tuple[int, T]] = {}

    def add(self, token: str, value: T, now: int) -> None:
        """Keep a new token; one that is too many displaces the oldest."""
        self._drop_expired(now)
        if len(self._kept) == MAX_ALIVE:
            del self._kept[next(iter(self._kept))]
        self._kept[_digest(token)] = (now + self._lifetime, value)

    def get(self, token: str, now: int) -> T | None:
        """What a live token stands for."""
        self._drop_expired(now)
        # NOTE: a look-up by digest tells nothing of a token by its time: nobody can steer a digest.
        kept = self._kept.get(_digest(token))
        return None if kept is None else kept[1]

    def change(self, token: str, value: T) -> None:
        """Let a live token stand for something else, for the rest of its lifetime."""
        digest = _digest(token)
        until, _ = self._kept[digest]
        self._kept[digest] = (until, value)

    def take(self, token: str, now: int) -> bool:
        """End a token; whether it was alive."""
        self._drop_expired(now)
        return self._kept.pop(_digest(token), None) is not None

    def _drop_expired(self, now: int) -> None:
        while self._kept:
            oldest = next(iter(self._kept))
            if self._kept[oldest][0] > now:
                return
            del self._kept[oldest]


class SessionStore(Actor):
    """Knows who is signed in."""

    def __init__(
        self,
        name: str,
        on_death: Callable[[str], None],
        *,
        config: Config,
        clock: Clock,
        secret: Callable[[int], bytes],
    ) -> None:
        """Make a store in which nobody is signed in.

        Args:
            name: of its address.
            on_death: told the name when it ends unasked.
            config: says whether there is authentication, the credentials and the lifetime of a session.
            clock: lifetimes run on its monotonic side; the wall clock is only shown.
            secret: makes so many bytes that nobody can guess.
        """
        super().__init__(name, on_death)
        self._authentication = config.webui_auth
        self._username = _digest_if_given(config.webui_username)
        self._password = _digest_if_given(config.webui_password)
        self._actor_id = (
            web_actor_id(config.webui_username or "")
            if self._authentication
            else UNAUTHENTICATED_WEB_ACTOR_ID
        )
        self._lifetime = config.webui_session_ttl_seconds * MS_PER_SECOND
        self._clock = clock
        self._secret = secret
        self._csrf_key = secret(TOKEN_BYTES)
        self._pre_sessions: _Tokens[None] = _Tokens(PRE_SESSION_MS)
        self._sessions: _Tokens[_Proved] = _Tokens(self._lifetime)
        self._throttle = Throttle()

    def handle(self, message: Message) -> Any:
        """Handle one message."""
        now = int(self._clock.monotonic() * MS_PER_SECOND)
        match message:
            case GetSession(token=token):
                return self._get(token, now)
            case IssuePreSession():
                token = self._new_token()
                self._pre_sessions.add(token, None, now)
                return token
            case SpendPreSession(token=token):
                return self._pre_sessions.take(token, now)
            case SignIn():
                return self._sign_in(message, now)
            case Reauthenticate():
                return self._reauthenticate(message, now)
            case SignOut(token=token):
                return token is not None and self._sessions.take(token, now)
            case _:
                assert_never(message)

    def _get(self, token: str | None, now: int) -> Session | None:
        proved = None if token is None else self._sessions.get(token, now)
        if proved is None and self._authentication:
            return None
        return self._shown(token, proved, now)

    def _sign_in(self, message: SignIn, now: int) -> Admitted | Refusal | Throttled:
        if not self._authentication:
            return _UNAUTHENTICATED
        if (wait := self._throttle.retry_after(message.client, now)) is not None:
            return Throttled(retry_after=wait)
        # Both are compared whatever the first one says, so that time does not tell which was wrong.
        name_is_right = hmac.compare_digest(_digest(message.username), self._username)
        password_is_right = hmac.compare_digest(_digest(message.password), self._password)
        if not (name_is_right and password_is_right):
            self._throttle.count_failure(message.client, now)
            return _UNAUTHENTICATED
        return self._begin(self._clock.now() + self._lifetime, now)

    def _reauthenticate(self, message: Reauthenticate, now: int) -> Admitted | Refusal | Throttled:
        token = message.token
        proved = None if token is None else self._sessions.get(token, now)
        if self._authentication and proved is None:
            return _UNAUTHENTICATED
        if not (self._username and self._password):
            return _WRONG_PASSWORD
        if (wait := self._throttle.retry_after(message.client, now)) is not None:
            return Throttled(retry_after=wait)
        if not hmac.compare_digest(_digest(message.password), self._password):
            self._throttle.count_failure(message.client, now)
            return _WRONG_PASSWORD
        if token is not None and proved is not None:
            if self._authentication:
                renewed = proved._replace(proved_at=now)
                self._sessions.change(token, renewed)
                return Admitted(session=self._shown(token, renewed, now), token=None)
            self._sessions.take(token, now)
        return self._begin(None, now)

    def _begin(self, expires_at: int | None, now: int) -> Admitted:
        token = self._new_token()
        proved = _Proved(expires_at, now)
        self._sessions.add(token, proved, now)
        return Admitted(session=self._shown(token, proved, now), token=token)

    def _shown(self, token: str | None, proved: _Proved | None, now: int) -> Session:
        return Session(
            actor_id=self._actor_id,
            csrf_token=self._csrf_token(token if self._authentication else None),
            expires_at=None if proved is None else proved.expires_at,
            proof_is_fresh=proved is not None and 0 <= now - proved.proved_at <= PROOF_MS,
        )

    def _csrf_token(self, token: str | None) -> str:
        """A session's CSRF token is made of its token, so that neither need be kept; one for all without."""
        return _base64url(hmac.digest(self._csrf_key, _bytes(token or ""), "sha256"))

    def _new_token(self) -> str:
        return _base64url(self._secret(TOKEN_BYTES))


def _digest(text: str) -> bytes:
    return hashlib.sha256(_bytes(text)).digest()


def _digest_if_given(text: str | None) -> bytes:
    """The digest of a credential; empty, which equals no digest, when none is configured."""
    return b"" if text is None else _digest(text)


def _bytes(text: str) -> bytes:
    # A lone surrogate is no reason to fail: it is only wrong.
    return text.encode("utf-8", "surrogatepass")


def _base64url(material: bytes) -> str:
    return base64.urlsafe_b64encode(material).rstrip(b"=").decode("ascii")
