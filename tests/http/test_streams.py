"""One event stream over ASGI: when it is refused, and when it ends."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import pytest

from actors.messages.sessions import GetSession
from tests.fakes.addresses import AnsweringAddress
from tests.fakes.doors import DoorStage
from web import events, feed
from web.events import HEARTBEAT_SECONDS
from web.exchange import Exchange

BOUND = 10.0


class Reader:
    """A client of one stream; it stays until the test is over."""

    def __init__(self) -> None:
        self.sent: list[Mapping[str, Any]] = []
        self.came = asyncio.Event()
        scope = {
            "method": "GET",
            "raw_path": b"/api/v1/events",
            "query_string": b"",
            "headers": [],
            "client": ("192.0.2.1", 1),
        }
        self.exchange = Exchange(scope, self._receive, self._send)
        self.exchange.request_id = "the-stream"

    async def _receive(self) -> Any:
        return await asyncio.Future()

    async def _send(self, message: Any) -> None:
        self.sent.append(message)
        self.came.set()

    @property
    def text(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.sent)

    async def until(self, part: bytes) -> None:
        async with asyncio.timeout(BOUND):
            while part not in self.text:
                self.came.clear()
                await self.came.wait()


@pytest.fixture
def stage() -> DoorStage:
    return DoorStage()


def with_sessions(stage: DoorStage, alive: list[object]) -> Any:
    """The door with a session store that answers these, one after the other."""
    object.__setattr__(
        stage.door, "sessions", AnsweringAddress("sessions", {GetSession: lambda _: alive.pop(0)})
    )
    return stage.door


def test_a_busy_stream_outlives_its_session_by_no_more_than_a_heartbeat(stage: DoorStage) -> None:
    door = with_sessions(stage, [object(), None])

    async def work() -> None:
        await door.feed.open()
        reader = Reader()
        serving = asyncio.create_task(events.serve(reader.exchange, door, "token"))
        await reader.until(b"event: hello")
        for name in ("first", "second"):
            stage.clock.advance(HEARTBEAT_SECONDS)
            door.feed._publish(name, {})
            await reader.until(f"event: {name}".encode())
        await reader.until(b"event: bye")
        async with asyncio.timeout(BOUND):
            await serving
        assert reader.sent[-1].get("more_body", False) is False
        assert door.feed._streams == set()

    asyncio.run(work())


def test_no_two_streams_share_the_last_place(stage: DoorStage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "MAX_STREAMS_OF_A_SESSION", 2)
    door = with_sessions(stage, [])

    async def work() -> None:
        await door.feed.open()
        readers = [Reader() for _ in range(5)]
        serving = [asyncio.create_task(events.serve(one.exchange, door, "token")) for one in readers]
        for one in readers:
            await one.until(b"")
        await asyncio.sleep(0)
        refused = [one for one in readers if one.exchange.status == 429]
        assert len(refused) == 3
        for one in refused:
            envelope = json.loads(one.text)
            assert (envelope["error"]["code"], envelope["request_id"]) == ("LIMIT_EXCEEDED", "the-stream")
        await door.feed.close(1.0)
        async with asyncio.timeout(BOUND):
            await asyncio.gather(*serving)

    asyncio.run(work())
