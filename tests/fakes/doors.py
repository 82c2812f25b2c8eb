"""A door without actors behind it, and a client that speaks ASGI to its application."""

import asyncio
import json
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from actors.board import Board
from actors.messages.probes import NotProbed, RunProbe
from actors.messages.readers import GetCheckPage, ListDueConditions, ListEvents, ListItems, ListSettings
from actors.messages.writer import (
    AddItem,
    ApplyProbes,
    CancelItem,
    CompleteItem,
    EvaluatePage,
    SnoozeItem,
    UpdateItem,
)
from actors.system import Identifiers, system_random
from remindi.answers import CheckPage, HistoryPage, ListPage, Mutated
from remindi.config import Config
from remindi.cursors import Cursors
from remindi.items import State
from tests.fakes.addresses import AnsweringAddress
from tests.fakes.clocks import ManualClock
from tests.service import OWNER, TOKEN, Era, envelope
from web.asgi import create_app
from web.door import Door

HOST = "remindi.test"
ITEM = bytes.fromhex("0190aaaabbbb7cccadddeeeeffff0001")
ITEM_TEXT = "0190aaaa-bbbb-7ccc-addd-eeeeffff0001"

Header = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Answered:
    """What the application sent."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes

    def header(self, name: str) -> str | None:
        """Return the one value of a header."""
        values = [
            value.decode("latin-1") for key, value in self.headers if key.decode().lower() == name.lower()
        ]
        assert len(values) <= 1, f"{name} came {len(values)} times"
        return values[0] if values else None

    def json(self) -> Any:
        """Parse the body."""
        return json.loads(self.body)


class DoorStage:
    """An application whose actors are answered by scripts, ready and open unless a test says otherwise."""

    def __init__(self, **config: Any) -> None:
        self.config = Config(owner_id=OWNER, mcp_token=TOKEN, **config)
        self.board = Board()
        self.board.startup = "ready"
        self.board.mcp_open = True
        self.clock = ManualClock()
        done = Mutated(ITEM, State.SCHEDULED, 1)
        mutations = (AddItem, CompleteItem, SnoozeItem, UpdateItem, CancelItem)
        self.writer = AnsweringAddress(
            "writer",
            {
                **{kind: lambda _: done for kind in mutations},
                EvaluatePage: lambda asked: CheckPage(asked.as_of, (), None),
                ApplyProbes: lambda asked: len(asked.results),
            },
        )
        self.reader = AnsweringAddress(
            "reader",
            {
                GetCheckPage: lambda asked: CheckPage(asked.as_of, (), None),
                ListDueConditions: lambda _: (),
                ListSettings: lambda _: (),
                ListItems: lambda _: ListPage((), None),
                ListEvents: lambda _: HistoryPage((), None, None),
            },
        )
        self.probes = AnsweringAddress("probes", {RunProbe: lambda _: NotProbed()})
        self.cursors = Cursors(TOKEN)
        self.door = Door(
            config=self.config,
            board=self.board,
            writer=self.writer,
            reader=self.reader,
            probes=self.probes,
            cursors=self.cursors,
            clock=self.clock,
            ids=Identifiers(self.clock, system_random()),
            actor_id="mcp:under-test",
        )
        self.app = create_app(self.door, with_api=self.door.config.webui_enable)

    def request(
        self,
        method: str = "POST",
        path: str = "/mcp",
        headers: Iterable[Header] | None = None,
        body: bytes | Sequence[bytes] = b"",
        query: str = "",
    ) -> Answered:
        """Send one request. A body in several pieces comes in as many messages, as a chunked one does."""
        given = list(good_headers() if headers is None else headers)
        pieces = [body] if isinstance(body, bytes) else list(body)
        messages = [
            {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
            for number, piece in enumerate(pieces, start=1)
        ]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "headers": [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in given],
        }
        sent: list[Mapping[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return messages.pop(0) if messages else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        asyncio.run(_awaited(self.app(scope, receive, send)))
        start, *rest = sent
        content = b"".join(message.get("body", b"") for message in rest)
        headers_sent = tuple(start["headers"])
        assert (b"content-length", b"%d" % len(content)) in headers_sent
        return Answered(start["status"], headers_sent, content)

    def post(self, message: object, headers: Iterable[Header] | None = None) -> Answered:
        """POST a JSON-RPC message as a well-behaved client does."""
        return self.request(headers=headers, body=json.dumps(message).encode())

    def rpc(self, method: str, params: Mapping[str, Any] | None = None, era: Era = "legacy") -> Answered:
        """Send one JSON-RPC request of an era."""
        sent, headers = envelope(method, params or {}, era)
        return self.post(sent, [("Host", HOST), ("Authorization", f"Bearer {TOKEN}"), *headers])

    def call(self, tool: str, arguments: object = None, era: Era = "legacy") -> dict[str, Any]:
        """Call a tool and return its envelope; what holds for every answer is asserted here."""
        answered = self.rpc("tools/call", {"name": tool, "arguments": arguments or {}}, era)
        assert answered.status == 200, answered
        result = answered.json()["result"]
        structured: dict[str, Any] = result["structuredContent"]
        assert [piece["type"] for piece in result["content"]] == ["text"]
        assert json.loads(result["content"][0]["text"]) == structured
        assert result["isError"] is not structured["ok"]
        assert structured["request_id"] == answered.header("X-Request-Id")
        return structured


async def _awaited(awaitable: Awaitable[None]) -> None:
    await awaitable


def good_headers(*more: Header, without: str = "") -> list[Header]:
    """Return what a well-behaved legacy client sends, with more headers or without one."""
    headers = [
        ("Host", HOST),
        ("Authorization", f"Bearer {TOKEN}"),
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
    ]
    return [header for header in headers if header[0] != without] + list(more)


def message(method: str = "ping", message_id: object = 1, **rest: Any) -> dict[str, Any]:
    """Return a JSON-RPC request."""
    return {"jsonrpc": "2.0", "id": message_id, "method": method, **rest}


def call(name: str, arguments: object) -> dict[str, Any]:
    """Return a legacy ``tools/call`` request."""
    return message("tools/call", params={"name": name, "arguments": arguments})
