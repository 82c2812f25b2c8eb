"""One HTTP exchange: the request's head, read once, and where its answer goes."""

from collections import Counter
from collections.abc import MutableMapping
from typing import Any

from web.answers import Answer, Send, send_answer
from web.body import Receive

Scope = MutableMapping[str, Any]


class Exchange:
    """A request on its way to its answer; belongs to one task."""

    __slots__ = (
        "_headers",
        "doubled",
        "fields",
        "method",
        "path",
        "peer",
        "query",
        "receive",
        "request_id",
        "send",
        "status",
        "told",
    )

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Read the head of a request; the request id is set by whoever answers."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        self._headers = headers
        # NOTE: httptools keeps white space behind a value; RFC 9110 (5.5) says it is no part of it.
        self.fields: dict[bytes, bytes] = {name: value.strip(b" \t") for name, value in headers}
        """Header names in lower case; of a doubled one the last value."""
        self.doubled: frozenset[bytes] = (
            frozenset()
            if len(self.fields) == len(headers)
            else frozenset(name for name, times in Counter(name for name, _ in headers).items() if times > 1)
        )
        self.method: str = scope["method"]
        self.path: bytes = scope["raw_path"]
        """As sent, undecoded and without the query."""
        self.query: bytes = scope["query_string"]
        client = scope.get("client")
        self.peer: str = client[0] if client else ""
        """The connecting address; empty when it has none."""
        self.receive = receive
        self.send = send
        self.request_id = ""
        self.status = 0
        """Of the answer; 0 until there is one."""
        self.told: dict[str, str] = {}
        """What the log line says besides: the tool that was called, the code of a refusal."""

    def one(self, name: bytes) -> bytes | None:
        """The value of a header that came exactly once."""
        return None if name in self.doubled else self.fields.get(name)

    def all(self, name: bytes) -> bytes:
        """Every value of a header that is a list (RFC 9110, 5.3), as one; empty when there is none."""
        if name not in self.doubled:
            return self.fields.get(name, b"")
        return b",".join(value for key, value in self._headers if key == name)

    def lines(self) -> tuple[tuple[bytes, bytes], ...]:
        """The header lines as sent, names in lower case, without white space around the values."""
        return tuple((name, value.strip(b" \t")) for name, value in self._headers)

    async def answer(self, answer: Answer) -> None:
        """Send the answer."""
        self.status = answer.status
        await send_answer(self.send, answer, self.request_id)
