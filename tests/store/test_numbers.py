"""The numbers of writes, by which later pages of a walk tell what came after its start."""

from pathlib import Path

from actors.store import WriteStore
from actors.store.checks import change_number
from actors.store.connections import open_reader
from actors.system import system_random
from remindi.events import ActorType, Caller
from tests.fakes.clocks import ManualClock
from tests.fakes.core import OWNER
from tests.fakes.script import Script

CALLER = Caller(ActorType.AGENT, "agent", None)


def test_a_group_that_writes_nothing_uses_no_number_up(path: Path) -> None:
    store = WriteStore(path, OWNER, ManualClock(), system_random())
    try:
        numbers = []
        for _ in range(2):
            store.begin()
            numbers += [store.moment(CALLER).change for _ in range(2)]
            store.commit()
        assert len(set(numbers)) == 1
    finally:
        store.close()


def test_members_of_a_group_that_write_have_rising_numbers_and_the_last_one_is_stored(path: Path) -> None:
    store = WriteStore(path, OWNER, ManualClock(), system_random())
    try:
        store.begin()
        numbers = []
        for holder in ("a", "b"):
            moment = store.moment(CALLER)
            numbers.append(moment.change)
            with store.member():
                held = store.acquire_lease(moment, holder)
                assert held is not None
                assert store.release_lease(held)
        store.commit()
        assert numbers == [1, 2]
        reader = open_reader(path)
        assert change_number(reader) == 2
        reader.close(True)
    finally:
        store.close()


def test_a_walk_returns_everything_once_also_over_a_restart(
    script: Script,
) -> None:
    names = [script.add() for _ in range(4)]
    first, cursor = script.page()
    script.page(limit=50)
    script.core.restart()
    script.add()
    assert first + script.rest(cursor) == names
