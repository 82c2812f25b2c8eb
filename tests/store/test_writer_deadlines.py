"""What the writer does with messages whose askers have stopped waiting."""

import hashlib
import time
from pathlib import Path

import pykka
import pytest

from actors.address import Address, Envelope, Reply, Unavailable
from actors.messages import Ping
from actors.messages.writer import AddItem
from actors.system import SystemClock, system_random
from actors.writer import Writer
from remindi.answers import Mutated
from remindi.events import ActorType, Caller
from remindi.items import Content, Priority
from remindi.requests import IdempotencyKey, NewItem
from remindi.triggers import NextSession

BOUND = 10.0


def add(number: int) -> AddItem:
    key = IdempotencyKey("remindi_add", f"key-{number:08d}", hashlib.sha256(b"%d" % number).digest())
    content = Content("p", None, "m", None, None, None, NextSession(), None)
    request = NewItem(key, content, Priority.NORMAL, None, ())
    return AddItem(caller=Caller(ActorType.AGENT, "agent", None), request=request)


def test_a_message_that_nobody_waits_for_any_more_neither_acts_nor_holds_back_the_answers_before_it(
    tmp_path: Path,
) -> None:
    writer = Writer(
        "writer",
        lambda _: None,
        store_path=tmp_path / "r.db",
        owner="owner",
        clock=SystemClock(),
        chance=system_random(),
    )
    address = Address("writer")
    address.bind(writer.actor_ref)
    kept: Reply[object] = Reply(None)
    late: Reply[object] = Reply(None)
    now = time.monotonic()
    # Both lie in the inbox before the writer looks at it, so they share a group.
    writer.actor_ref.tell(Envelope(add(1), kept, now + BOUND))
    writer.actor_ref.tell(Envelope(add(2), late, now - 1.0))
    pykka.ActorRegistry.register(writer.actor_ref)
    writer._start_actor_loop()
    try:
        assert isinstance(kept.wait(BOUND), Mutated)
        with pytest.raises(Unavailable):
            late.wait(BOUND)
        address.call(Ping(), timeout=BOUND)
    finally:
        writer.actor_ref.stop(timeout=BOUND)
