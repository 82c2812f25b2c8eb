"""Answering: outcomes as envelopes of contract 1.1, and the headers that every answer carries."""

from typing import Any, Final

import falcon

from remindi import views
from remindi.errors import ErrorCode, Refusal
from web.answers import Header
from web.api.facts import Facts

SECURITY_HEADERS: Final[tuple[Header, ...]] = (
    (
        b"content-security-policy",
        b"; ".join(
            (
                b"default-src 'self'",
                b"script-src 'self'",
                b"style-src 'self'",
                b"connect-src 'self'",
                b"form-action 'self'",
                b"img-src 'self' data:",
                b"object-src 'none'",
                b"base-uri 'none'",
                b"frame-ancestors 'none'",
            )
        ),
    ),
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
"""Of every answer of WebUI and API (contract 11.2)."""

_STATUS_OF_REASON: Final = {"media_type": 415, "method": 405}
_RETRY_SOON: Final = ("Retry-After", "1")


class Refused(Exception):
    """Ends the handling of a request with a refusal."""

    def __init__(
        self, refusal: Refusal, *, status: int | None = None, retry_after: int | None = None
    ) -> None:
        """Take a refusal.

        Args:
            refusal: what is answered.
            status: of HTTP, where it is not the one of the code.
            retry_after: seconds.
        """
        super().__init__(refusal.code.value)
        self.refusal = refusal
        self.status = status
        self.retry_after = retry_after


def succeed(response: falcon.Response, facts: Facts, data: Any) -> None:
    """Answer with ``data``: an object, or an array of rows."""
    response.data = views.to_json({"ok": True, "request_id": facts.request_id, "data": data})


def refuse(response: falcon.Response, facts: Facts, refused: Refused) -> None:
    """Answer with a refusal."""
    refusal = refused.refusal
    facts.told["code"] = refusal.code.value
    response.status = refused.status or _status(refusal)
    if refused.retry_after is not None:
        response.set_header("Retry-After", str(refused.retry_after))
    elif refusal.code is ErrorCode.MAINTENANCE_ACTIVE:
        response.set_header(*_RETRY_SOON)
    response.data = views.to_json(views.failure(facts.request_id, refusal, always_details=True))


def _status(refusal: Refusal) -> int:
    if refusal.errors:
        return _STATUS_OF_REASON.get(refusal.errors[0].reason, refusal.code.http_status)
    return refusal.code.http_status
