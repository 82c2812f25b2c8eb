"""What the session store is asked: who is signed in, and who may sign in (contract 11.5 to 11.7).

Tokens, names and passwords stay out of every ``repr``.
"""

from dataclasses import dataclass, field

from actors.messages import Request
from remindi.errors import Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Who acts at the administration door, as of the moment of the answer."""

    actor_id: str
    csrf_token: str = field(repr=False)
    """What each mutation must bring; with authentication off it is the same for everybody."""
    expires_at: int | None
    """An instant in milliseconds; null with authentication off."""
    proof_is_fresh: bool
    """Whether the password was given at most 300 s ago, as a restore wants it (contract 15.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The credentials were right."""

    session: Session
    token: str | None = field(repr=False)
    """To be set as the cookie; null when the caller keeps the one it has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Throttled:
    """Too many failures of late; nobody looked at the credentials."""

    retry_after: int
    """Seconds, at least 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssuePreSession(Request[str]):
    """Make a pre-session token: what a sign-in must spend, within 5 minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpendPreSession(Request[bool]):
    """End a pre-session token; whether it was alive. A sign-in spends one, whatever becomes of it."""

    token: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn(Request[Admitted | Refusal | Throttled]):
    """Begin a session, for one who has spent a pre-session token.

    UNAUTHENTICATED for a wrong name and a wrong password alike, and with authentication off.
    """

    client: str
    """The client address, for the throttle."""
    username: str = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class GetSession(Request[Session | None]):
    """The live session of a cookie; with authentication off there always is one."""

    token: str | None = field(repr=False)
    """Null without a cookie, or with more than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reauthenticate(Request[Admitted | Refusal | Throttled]):
    """Prove once more who one is.

    REAUTHENTICATION_REQUIRED for a wrong password, and when authentication is off and the credentials are
    not both configured. UNAUTHENTICATED without a live session. With authentication off the proof has a
    token of its own: ``Admitted.token``.
    """

    client: str
    """The client address, for the throttle."""
    token: str | None = field(repr=False)
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignOut(Request[bool]):
    """End the session of a token, and its proof; whether there was one."""

    token: str | None = field(repr=False)
