"""What waits for the scheduler: how much, and since when (contract 13.1)."""

from actors.messages.readers import GetWaiting, Waiting
from tests.fakes.script import Script


def waiting(script: Script) -> Waiting:
    return script.core.read(GetWaiting(as_of=script.core.clock.now(), limit=100))


def test_reached_items_wait_and_future_ones_do_not(script: Script) -> None:
    script.add()
    script.add(trigger={"type": "at_time", "at": "2900-01-01T00:00:00Z"})
    script.add(trigger={"type": "next_session"})
    assert waiting(script).backlog == 1


def test_what_a_pass_has_just_made_due_waits_only_for_the_next_one(script: Script) -> None:
    script.add()
    before = waiting(script)
    script.pass_()
    assert waiting(script) == Waiting(0, None)
    script.core.clock.advance(0.001)
    assert waiting(script) == before
    script.pass_()
    assert waiting(script) == Waiting(0, None)


def test_the_count_ends_at_its_limit(script: Script) -> None:
    for _ in range(3):
        script.add()
    assert script.core.read(GetWaiting(as_of=script.core.clock.now(), limit=2)).backlog == 2
