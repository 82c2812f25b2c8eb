"""The write-ahead log: bounded under load, gone after a clean stop; and a reader sees what was answered."""

import threading
from pathlib import Path
from typing import Final

import pytest

from actors.messages.readers import GetItem
from actors.messages.writer import AddItem
from actors.store.write import CHECKPOINT_PAGES, RESTART_PAGES
from remindi import inputs
from remindi.answers import Mutated
from remindi.items import ItemRecord
from remindi.requests import NewItem
from tests.fakes.core import TIMEOUT, Core
from tests.fakes.script import Script

PAGE: Final = 4_096 + 24
"""Bytes of a page in the log, with its header."""


def add(number: int) -> AddItem:
    request = inputs.read_add(
        {
            "project_id": f"p{number % 7}",
            "message": "m" * 200,
            "trigger": {"type": "next_session"},
            "idempotency_key": f"key-{number:08d}",
        },
        0,
    )
    assert isinstance(request, NewItem)
    return AddItem(request=request)


def write_many(core: Core, count: int, threads: int, largest: list[int]) -> None:
    log = core.path.with_name(core.path.name + "-wal")
    numbers = iter(range(count))
    guard = threading.Lock()

    def work() -> None:
        while True:
            with guard:
                number = next(numbers, None)
            if number is None:
                return
            core.write(add(number))
            if number % 200 == 0:
                largest.append(log.stat().st_size)

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(TIMEOUT * 5)
        assert not worker.is_alive()


def test_a_clean_stop_leaves_one_file_that_holds_everything(path: Path) -> None:
    with Core(path) as core:
        script = Script(core)
        names = [script.add() for _ in range(5)]
        assert path.with_name("remindi.db-wal").exists()
    assert [entry.name for entry in path.parent.iterdir()] == ["remindi.db"]
    with Core(path) as core:
        assert [item["id"] for item in core.data("remindi_list")["items"]] == names


def test_the_log_starts_over_when_it_has_grown(core: Core, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("actors.store.write.CHECKPOINT_PAGES", 50)
    monkeypatch.setattr("actors.store.write.RESTART_PAGES", 200)
    largest: list[int] = []
    write_many(core, 2_000, 4, largest)
    # A group may take a few hundred pages; without checkpoints this would be some 20,000 pages.
    assert max(largest) < 1_000 * PAGE


@pytest.mark.slow
def test_a_hundred_thousand_writes_keep_the_log_bounded(core: Core) -> None:
    assert CHECKPOINT_PAGES < RESTART_PAGES
    largest: list[int] = []
    write_many(core, 100_000, 8, largest)
    assert max(largest) < 2 * RESTART_PAGES * PAGE
    assert len(core.data("remindi_list", limit=200)["items"]) == 200


def test_the_reader_sees_everything_whose_answer_has_gone_out(core: Core) -> None:
    missed: list[int] = []

    def work(first: int) -> None:
        for number in range(first, first + 100):
            answer = core.write(add(number))
            assert isinstance(answer, Mutated)
            if not isinstance(core.read(GetItem(remindi_id=answer.id)), ItemRecord):
                missed.append(number)

    workers = [threading.Thread(target=work, args=(first,)) for first in range(0, 800, 100)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(TIMEOUT)
        assert not worker.is_alive()
    assert missed == []
    assert core.deaths == []
