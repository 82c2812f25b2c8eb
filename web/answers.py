"""HTTP answers: made once where their text is fixed, sent in one way, each with its request id."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from web.request_ids import REQUEST_ID_HEADER

Header = tuple[bytes, bytes]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]

JSON: Final[Header] = (b"content-type", b"application/json")
RETRY_SOON: Final[Header] = (b"retry-after", b"1")
NO_STORE: Final[Header] = (b"cache-control", b"no-store")


class Answer(NamedTuple):
    """An answer without its request id; the length of the body is among the headers."""

    status: int
    headers: tuple[Header, ...]
    body: bytes


def json_answer(status: int, body: bytes, *headers: Header) -> Answer:
    """An answer that holds JSON."""
    return Answer(status, (JSON, (b"content-length", b"%d" % len(body)), *headers), body)


def refusal(status: int, text: str, *headers: Header) -> Answer:
    """An answer of the doors themselves: ``{"error": text}``, fixed and under 256 bytes (contract 10.1)."""
    body = to_json({"error": text})
    assert len(body) < 256
    return json_answer(status, body, *headers)


def empty(status: int) -> Answer:
    """An answer without a body."""
    return Answer(status, ((b"content-length", b"0"),), b"")


async def send_answer(send: Send, answer: Answer, request_id: str) -> None:
    """Send a whole answer."""
    headers = [*answer.headers, (REQUEST_ID_HEADER, request_id.encode("ascii"))]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": answer.body})


NOT_FOUND: Final = refusal(404, "There is nothing at this path; MCP is at /mcp, without a slash.")
STARTING: Final = refusal(503, "The service is starting; try again.", RETRY_SOON)
STOPPING: Final = refusal(503, "The service is stopping; try again.", RETRY_SOON)
FAILED: Final = refusal(500, "Something went wrong; the log knows the request id.")
BODY_TOO_LARGE: Final = refusal(413, "The body is larger than 1048576 bytes.")
BODY_TOO_SLOW: Final = refusal(408, "The body did not arrive in time.", (b"connection", b"close"))
