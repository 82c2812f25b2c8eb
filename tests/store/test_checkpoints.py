"""The write-ahead log while somebody reads for long: the writer does not wait, and closes all the same."""

from pathlib import Path

import pytest

from actors.store import WriteStore, write
from actors.store.connections import open_reader
from actors.system import system_random
from remindi.events import ActorType, Caller
from tests.fakes.clocks import ManualClock
from tests.fakes.core import OWNER

CALLER = Caller(ActorType.SYSTEM, "system", None)


def test_a_long_reader_puts_the_restart_of_the_log_off_and_does_not_hold_the_close(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "CHECKPOINT_PAGES", 1)
    monkeypatch.setattr(write, "RESTART_PAGES", 1)
    monkeypatch.setattr(write, "CHECKPOINT_PATIENCE_MS", 1)
    store = WriteStore(path, OWNER, ManualClock(), system_random())
    reader = open_reader(path)
    reader.execute("BEGIN")
    list(reader.execute("SELECT * FROM setting"))
    store.begin()
    store.acquire_lease(store.moment(CALLER), "holder")
    store.commit()
    store.checkpoint()
    assert store._restart_at > 1
    store.begin()
    assert store.holds_lease(store.moment(CALLER), "holder")
    store.commit()
    store.close()
    reader.close(True)
    again = WriteStore(path, OWNER, ManualClock(), system_random())
    again.close()


def test_a_restart_that_was_put_off_stays_so_until_the_log_has_grown_again_or_is_small(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "CHECKPOINT_PAGES", 1)
    monkeypatch.setattr(write, "RESTART_PAGES", 4)
    monkeypatch.setattr(write, "CHECKPOINT_PATIENCE_MS", 1)
    store = WriteStore(path, OWNER, ManualClock(), system_random())
    reader = open_reader(path)
    try:
        reader.execute("BEGIN")
        list(reader.execute("SELECT * FROM setting"))
        put_off = []
        for pages in (5, 6, 2):
            store._wal_pages = pages
            store.checkpoint()
            put_off.append(store._restart_at)
        assert put_off == [9, 9, 4]
    finally:
        reader.close(True)
        store.close()
