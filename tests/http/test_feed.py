"""The feed: what is told from any thread reaches every stream once; a slow or gone reader costs nothing."""

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from actors.board import Board
from actors.messages.feed import (
    BackupsChanged,
    ContentReplaced,
    ItemChange,
    ItemsChanged,
    RestoreChanged,
    Upload,
    UploadsChanged,
    WorkloadsChanged,
)
from actors.messages.probes import AdaptersChanged
from actors.messages.scheduler import SettingsChanged
from remindi.adapters import AdapterRegistry
from remindi.backups import BackupsState, Job
from remindi.events import EventType
from remindi.identifiers import uuid_text
from remindi.items import State
from remindi.settings import DEFAULTS
from web import feed as feeds
from web.feed import BYE, KEPT, MAX_ITEMS, MAX_STREAMS_OF_A_SESSION, MAX_WAITING, RESET, Feed, Stream

BOUND = 10.0


def identifier(number: int) -> bytes:
    return number.to_bytes(16, "big")


def changed(*numbers: int, version: int = 2) -> ItemsChanged:
    return ItemsChanged(
        changes=tuple(
            ItemChange(identifier(number), version, State.DUE, EventType.BECAME_DUE) for number in numbers
        )
    )


def messages(text: bytes) -> list[tuple[str, str | None, Any]]:
    """Event, id and data of each message."""
    found = []
    for block in text.decode().split("\n\n")[:-1]:
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        found.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
    return found


async def come(stream: Stream) -> list[tuple[str, str | None, Any]]:
    """What comes next."""
    async with asyncio.timeout(BOUND):
        await stream.changed.wait()
    return messages(stream.take())


def run(work: Callable[[Feed], Coroutine[Any, Any, None]]) -> None:
    async def opened() -> None:
        feed = Feed()
        await feed.open()
        await work(feed)

    asyncio.run(opened())


def test_a_stream_begins_with_a_greeting_that_names_where_it_begins() -> None:
    async def work(feed: Feed) -> None:
        ((event, message_id, data),) = await come(feed.subscribe("s", None))
        assert (event, data) == ("hello", {})
        assert message_id is not None

    run(work)


def test_what_changes_within_a_moment_comes_as_one_message_with_the_newest_of_each_item() -> None:
    async def work(feed: Feed) -> None:
        first, second = feed.subscribe("s", None), feed.subscribe("t", None)
        await come(first)
        await come(second)
        assert feed.notify(changed(1, 2))
        assert feed.notify(changed(2, version=3))
        told = await come(first)
        assert told == await come(second)
        ((event, _, data),) = told
        assert event == "items"
        assert data["items"] == [
            {
                "remindi_id": uuid_text(identifier(number)),
                "version": version,
                "state": "due",
                "event_type": "became_due",
            }
            for number, version in ((1, 2), (2, 3))
        ]

    run(work)


def test_settings_adapters_and_workloads_are_told_by_name_alone() -> None:
    async def work(feed: Feed) -> None:
        stream = feed.subscribe("s", None)
        await come(stream)
        feed.notify(SettingsChanged(settings=DEFAULTS))
        feed.notify(AdaptersChanged(registry=AdapterRegistry.defaults()))
        feed.notify(WorkloadsChanged())
        feed.notify(WorkloadsChanged())
        told = await come(stream)
        assert [(event, data) for event, _, data in told] == [
            ("settings", {}),
            ("adapters", {}),
            ("workloads", {}),
        ]

    run(work)


def test_a_message_names_no_more_items_than_a_reader_would_ask_for_one_by_one() -> None:
    async def work(feed: Feed) -> None:
        stream = feed.subscribe("s", None)
        await come(stream)
        feed.notify(changed(*range(MAX_ITEMS + 1)))
        ((_, _, data),) = await come(stream)
        assert data == {"items": None}

    run(work)


def test_nothing_told_from_many_threads_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "SPACING_SECONDS", 0.0)
    monkeypatch.setattr(feeds, "MAX_ITEMS", 1_600)
    monkeypatch.setattr(feeds, "MAX_WAITING", 1_600)

    async def work(feed: Feed) -> None:
        stream = feed.subscribe("s", None)
        await come(stream)
        threads = [
            threading.Thread(
                target=lambda start=start: [feed.notify(changed(start + one)) for one in range(200)]
            )
            for start in range(0, 1_600, 200)
        ]
        for thread in threads:
            thread.start()
        seen: set[str] = set()
        while len(seen) < 1_600:
            for event, _, data in await come(stream):
                assert event == "items"
                seen |= {item["remindi_id"] for item in data["items"]}
        for thread in threads:
            thread.join()

    run(work)


def test_who_comes_back_gets_what_was_missed_and_nothing_twice() -> None:
    async def work(feed: Feed) -> None:
        stays, leaves = feed.subscribe("s", None), feed.subscribe("s", None)
        await come(stays)
        await come(leaves)
        feed.notify(changed(1))
        ((_, last, _),) = await come(leaves)
        feed.leave(leaves)
        feed.notify(changed(2))
        while True:
            told = await come(stays)
            if any(data["items"][0]["remindi_id"] == uuid_text(identifier(2)) for _, _, data in told):
                break
        hello, again = await come(feed.subscribe("s", last))
        # Cut off between the two, it would come back with what it has, and miss nothing.
        assert (hello[:2], again[0]) == (("hello", None), "items")
        assert [item["remindi_id"] for item in again[2]["items"]] == [uuid_text(identifier(2))]

    run(work)


@pytest.mark.parametrize("last", ["", "x", "0-0", "-1", "another-3", "9" * 400, "é-1"])
def test_who_comes_back_from_elsewhere_is_told_to_look_anew(last: str) -> None:
    async def work(feed: Feed) -> None:
        assert [event for event, _, _ in await come(feed.subscribe("s", last))] == ["hello", RESET]

    run(work)


def test_who_missed_more_than_is_kept_is_told_to_look_anew() -> None:
    async def work(feed: Feed) -> None:
        stays = feed.subscribe("s", None)
        ((_, last, _),) = await come(stays)
        for number in range(KEPT + 1):
            feed._publish("items", {"items": [number]})
        assert [event for event, _, _ in await come(feed.subscribe("s", last))] == ["hello", RESET]
        assert last is not None
        near = f"{last.partition('-')[0]}-{feed._number - 5}"
        assert [event for event, _, _ in await come(feed.subscribe("s", near))] == ["hello", *["items"] * 5]

    run(work)


def test_what_happens_while_nobody_listens_makes_who_comes_back_look_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feeds, "KEPT_SECONDS", 0.0)

    async def work(feed: Feed) -> None:
        stream = feed.subscribe("s", None)
        ((_, last, _),) = await come(stream)
        feed.leave(stream)
        assert not feed.listens
        assert not feed.notify(changed(1))
        assert [event for event, _, _ in await come(feed.subscribe("s", last))] == ["hello", RESET]

    run(work)


def test_a_short_absence_of_the_only_reader_loses_nothing() -> None:
    async def work(feed: Feed) -> None:
        stream = feed.subscribe("s", None)
        ((_, last, _),) = await come(stream)
        feed.leave(stream)
        feed._publish("items", {"items": [1]})
        assert [event for event, _, _ in await come(feed.subscribe("s", last))] == ["hello", "items"]

    run(work)


def test_a_reader_that_does_not_read_holds_no_more_than_its_share() -> None:
    async def work(feed: Feed) -> None:
        slow = feed.subscribe("s", None)
        for number in range(MAX_WAITING * 3):
            feed._publish("items", {"items": [number]})
        events = [event for event, _, _ in await come(slow)]
        assert len(events) <= MAX_WAITING
        assert RESET in events

    run(work)


def test_streams_are_bounded_by_session_and_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MAX_STREAMS", MAX_STREAMS_OF_A_SESSION + 1)

    async def work(feed: Feed) -> None:
        streams = [feed.subscribe("s", None) for _ in range(MAX_STREAMS_OF_A_SESSION)]
        assert feed.is_full("s")
        assert not feed.is_full("t")
        feed.subscribe("t", None)
        assert feed.is_full("u")
        feed.leave(streams[0])
        assert not feed.is_full("s")

    run(work)


def test_the_end_of_a_session_ends_its_streams_alone() -> None:
    async def work(feed: Feed) -> None:
        mine, other = feed.subscribe("s", None), feed.subscribe("t", None)
        await come(mine)
        feed.end_session("s")
        async with asyncio.timeout(BOUND):
            await mine.changed.wait()
        assert (mine.over, other.over) == (BYE, None)

    run(work)


def test_the_end_of_the_service_ends_all() -> None:
    async def work(feed: Feed) -> None:
        streams = [feed.subscribe(None, None) for _ in range(3)]
        await feed.close(1.0)
        assert [stream.over for stream in streams] == ["", "", ""]

    run(work)


def test_a_feed_whose_loop_is_gone_hurts_nobody() -> None:
    feed = Feed()

    async def work() -> None:
        await feed.open()
        feed.subscribe("s", None)

    asyncio.run(work())
    assert feed.notify(changed(1)) is False
    feed.end_session("s")


def test_a_backup_and_an_upload_show_how_far_they_are() -> None:
    async def work(feed: Feed) -> None:
        board = Board()
        feed.show(board)
        stream = feed.subscribe(None, None)
        await come(stream)
        board.backups = BackupsState(job=Job("create", "copying", 1, 9))
        feed.notify(BackupsChanged())
        feed.notify(UploadsChanged(uploads=(Upload("an-exchange", 3, 4),)))
        board.backups = BackupsState(job=Job("create", "copying", 5, 9))
        feed.notify(BackupsChanged())
        told = await come(stream)
        # Together, and as it is when it goes out.
        assert [(event, data) for event, _, data in told] == [
            ("backup", {"job": {"kind": "create", "step": "copying", "done_bytes": 5, "total_bytes": 9}}),
            ("upload", {"uploads": [{"request_id": "an-exchange", "received_bytes": 3, "total_bytes": 4}]}),
        ]

    run(work)


def test_a_restore_shows_its_state() -> None:
    async def work(feed: Feed) -> None:
        board = Board()
        feed.show(board)
        stream = feed.subscribe(None, None)
        await come(stream)
        board.maintenance = "draining"
        feed.notify(RestoreChanged())
        ((event, _, data),) = await come(stream)
        assert (event, data) == ("restore", {"maintenance": "draining", "restore": None})

    run(work)


def test_another_content_ends_all_that_was_told_of_the_former() -> None:
    async def work(feed: Feed) -> None:
        stream = feed.subscribe(None, None)
        (_, seen, _), *_ = await come(stream)
        feed.notify(changed(1))
        feed.notify(SettingsChanged(settings=DEFAULTS))
        feed.notify(ContentReplaced())
        feed.notify(changed(2))
        told = await come(stream)
        assert [event for event, _, _ in told] == [RESET, "items", "settings"]
        assert [item["remindi_id"] for item in told[1][2]["items"]] == [uuid_text(identifier(2))]
        # Who comes back is told the same.
        later = feed.subscribe(None, seen)
        assert [event for event, _, _ in messages(later.take())][:2] == ["hello", RESET]

    run(work)
