"""The gate of ``/mcp``: who may come in, in the exact order of contract 10.1.

Every refusal is a fixed text that says which setting decides. It never repeats a part of the request.
"""

import hmac
import re
from hashlib import sha256
from typing import Final

from actors.board import Board
from remindi.authorities import parse_authority, parse_origin
from remindi.backups import HELD_REASON
from remindi.config import Config
from web import answers
from web.answers import RETRY_SOON, Answer, refusal
from web.body import MAX_BODY_BYTES
from web.exchange import Exchange

_COOKIE: Final = refusal(400, "A Cookie header is not accepted here.")
_QUERY: Final = refusal(400, "A query string is not accepted here.")
_BAD_HOST: Final = refusal(400, "The Host header is missing, repeated or malformed.")
_OTHER_HOST: Final = refusal(403, "This Host is not listed in REMINDI_HTTP_ALLOWED_HOSTS.")
_BAD_ORIGIN: Final = refusal(403, "The Origin header is repeated, null or malformed.")
_OTHER_ORIGIN: Final = refusal(403, "This Origin is not listed in REMINDI_HTTP_ALLOWED_ORIGINS.")
_CROSS_ORIGIN: Final = refusal(
    403, "This Origin does not match the Host; list it in REMINDI_HTTP_ALLOWED_ORIGINS to admit it."
)
_UNAUTHORIZED: Final = refusal(
    401,
    "Send 'Authorization: Bearer' with the token that REMINDI_MCP_TOKEN sets.",
    (b"www-authenticate", b'Bearer realm="remindi"'),
)
_STOPPED: Final = refusal(503, "The mcp workload is stopped; an operator can start it.", RETRY_SOON)
_MAINTENANCE: Final = refusal(503, "The service is under maintenance; try again.", RETRY_SOON)
_HELD: Final = refusal(
    503, f"The service is held closed until its next start ({HELD_REASON}); its log says more.", RETRY_SOON
)
METHOD: Final = refusal(405, "Only POST is accepted here.", (b"allow", b"POST"))
"""Step 9, after the body was read."""

_DIGITS: Final = re.compile(rb"[0-9]+")
_BEARER: Final = re.compile(rb"Bearer ([\x21-\x7e]+)")


class Gate:
    """Steps 0 to 7: all that is decided before the body is read."""

    def __init__(self, config: Config, board: Board) -> None:
        """Make the gate of one process."""
        self._hosts = config.allowed_hosts
        self._origins = config.allowed_origins
        self._token = sha256(config.mcp_token.encode("ascii")).digest()
        self._board = board

    def refuse(self, exchange: Exchange) -> Answer | None:
        """The answer that keeps a request out, or None."""
        fields = exchange.fields
        if self._board.startup == "starting":
            return answers.STARTING
        length = fields.get(b"content-length")
        # NOTE: a malformed or doubled length never comes here; the HTTP parser refuses it.
        if length is not None and _DIGITS.fullmatch(length) is not None and _exceeds(length):
            return answers.BODY_TOO_LARGE
        if b"cookie" in fields:
            return _COOKIE
        if exchange.query:
            return _QUERY
        authority = parse_authority((exchange.one(b"host") or b"").decode("latin-1"))
        if authority is None:
            return _BAD_HOST
        if self._hosts and authority not in self._hosts:
            return _OTHER_HOST
        if b"origin" in fields and (refused := self._refuse_origin(exchange, authority)) is not None:
            return refused
        if not self._knows(exchange.one(b"authorization")):
            return _UNAUTHORIZED
        if self._board.startup == "stopping":
            return answers.STOPPING
        if self._board.maintenance != "running":
            return _HELD if self._board.maintenance == "held" else _MAINTENANCE
        return None if self._board.mcp_open else _STOPPED

    def _refuse_origin(self, exchange: Exchange, authority: str) -> Answer | None:
        origin = parse_origin((exchange.one(b"origin") or b"").decode("latin-1"))
        if origin is None:
            return _BAD_ORIGIN
        if self._origins:
            return None if origin in self._origins else _OTHER_ORIGIN
        return None if origin.authority == authority else _CROSS_ORIGIN

    def _knows(self, authorization: bytes | None) -> bool:
        """Whether the header brings our token; digests are compared, so that no length shows."""
        found = _BEARER.fullmatch(authorization or b"")
        given = sha256(b"" if found is None else found[1]).digest()
        return hmac.compare_digest(given, self._token) and found is not None


def _exceeds(length: bytes) -> bool:
    # A length of more digits than an integer conversion takes is too large as well.
    digits = length.lstrip(b"0")
    return len(digits) > 18 or int(digits or b"0") > MAX_BODY_BYTES
