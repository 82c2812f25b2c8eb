"""The session cookie: read strictly, written exactly (contract 11.5)."""

from typing import Final

from remindi.config import Config
from web.api.facts import Facts

NAME: Final = "remindi_session"


def session_token(facts: Facts) -> str | None:
    """The token of the one session cookie; None without it, and with more than one or a doubled header."""
    header = facts.one(b"cookie")
    if header is None:
        return None
    tokens = [
        value.strip()
        for name, equals, value in (pair.partition("=") for pair in header.split(";"))
        if equals and name.strip() == NAME
    ]
    return tokens[0] if len(tokens) == 1 else None


def set_cookie(token: str, config: Config) -> str:
    """The value of ``Set-Cookie`` that makes a browser keep a token for the lifetime of a session."""
    return _cookie(token, config.webui_session_ttl_seconds, config)


def cleared_cookie(config: Config) -> str:
    """The value of ``Set-Cookie`` that makes a browser forget its token."""
    return _cookie("", 0, config)


def _cookie(token: str, max_age: int, config: Config) -> str:
    # The path is always "/": a proxy that strips a prefix rewrites it (contract 11.3).
    secure = "; Secure" if config.webui_cookie_secure else ""
    return f"{NAME}={token}; HttpOnly; SameSite=Strict; Max-Age={max_age}; Path=/{secure}"
