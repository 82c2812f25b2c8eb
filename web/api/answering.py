"""Answering: outcomes as envelopes of contract 1.1, and the headers that every answer carries."""

import io
from typing import Any, Final, NamedTuple

import falcon

from remindi import views
from remindi.errors import ErrorCode, Refusal
from web.answers import Answer, Header, json_answer
from web.api.facts import Facts
from web.exchange import Exchange

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


class Attachment(NamedTuple):
    """A success that is a file, for a listener that sends files itself."""

    descriptor: int
    headers: tuple[Header, ...]


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


def succeed(response: falcon.Response, facts: Facts, data: Any, status: int = 200) -> None:
    """Answer with ``data``: an object, or an array of rows."""
    response.status = status
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


def attach(response: falcon.Response, attachment: Attachment) -> None:
    """Answer with a file, which is closed behind it."""
    for name, value in attachment.headers:
        response.set_header(name.decode(), value.decode())
    response.stream = io.FileIO(attachment.descriptor)


def success_answer(exchange: Exchange, data: Any, status: int) -> Answer:
    """The answer of a success on the loop."""
    body = views.to_json({"ok": True, "request_id": exchange.request_id, "data": data})
    return json_answer(status, body, *SECURITY_HEADERS)


def refused_answer(exchange: Exchange, refused: Refused) -> Answer:
    """The answer of a refusal on the loop."""
    refusal = refused.refusal
    exchange.told["code"] = refusal.code.value
    headers = list(SECURITY_HEADERS)
    wait = refused.retry_after
    if wait is None and refusal.code is ErrorCode.MAINTENANCE_ACTIVE:
        wait = int(_RETRY_SOON[1])
    if wait is not None:
        headers.append((b"retry-after", b"%d" % wait))
    body = views.to_json(views.failure(exchange.request_id, refusal, always_details=True))
    answer = json_answer(refused.status or _status(refusal), body, *headers)
    return answer._replace(body=b"") if exchange.method == "HEAD" else answer


def _status(refusal: Refusal) -> int:
    if refusal.errors:
        return _STATUS_OF_REASON.get(refusal.errors[0].reason, refusal.code.http_status)
    return refusal.code.http_status
