"""Fixtures of the actor tests: a manual clock and timer, a stage for actors, and the ask table as a guard."""

import threading
from collections.abc import Iterator

import pytest

from actors.address import Address
from actors.asks import ASKS, asker
from actors.messages import Request
from tests.fakes.clocks import ManualClock
from tests.fakes.scripted import Stage
from tests.fakes.timers import ManualTimer


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def timer() -> ManualTimer:
    return ManualTimer()


@pytest.fixture
def stage() -> Iterator[Stage]:
    stage = Stage()
    yield stage
    stage.clear()


@pytest.fixture(autouse=True)
def asks_keep_to_the_table() -> Iterator[None]:
    """Hold every ask between actors that a test brings about against the table."""
    strays: list[str] = []

    def observe(thread: str, asked: str, message: object) -> None:
        who = asker(thread)
        if isinstance(message, Request) and who in ASKS and asked in ASKS and asked not in ASKS[who]:
            strays.append(f"{who} asked {asked}: {type(message).__name__}")

    # A test's own thread is the main thread: what it asks stands for everybody.
    assert threading.current_thread() is threading.main_thread()
    Address.observer = observe
    yield
    Address.observer = None
    assert strays == []
