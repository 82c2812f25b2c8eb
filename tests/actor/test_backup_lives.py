"""Deaths around backups and restores: whoever dies, one content is live, and jobs are done again."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.actor import Actor
from actors.address import Address, Unavailable
from actors.backups import restore
from actors.backups.candidates import Candidates
from actors.messages.backups import CreateBackup, RestoreBackup
from actors.messages.readers import GetOrigin
from actors.messages.workloads import PauseWorkloads
from actors.store.write import WriteStore
from actors.supervisor import Child, Supervisor
from actors.system import SystemClock
from remindi.backups import BackupRecord
from tests.fakes.scripted import Scripted
from tests.fakes.vault import ADMIN, Vault
from tests.service import eventually

BOUND = 10.0
GLANCE = 0.02


class House:
    """A vault whose actors are kept alive by the supervisor, which is stepped by the test."""

    def __init__(self, vault: Vault) -> None:
        self.vault = vault
        self.supervisor = Supervisor(tuple(self._children()), clock=SystemClock(), witness=self)
        self.restarts = 0
        vault.keepers.recover()
        vault.keepers.start_worker(vault.broken.append)
        self.supervisor.start()
        vault.board.startup = "ready"

    def _children(self) -> Iterator[Child]:
        vault = self.vault
        keepers = vault.keepers
        yield from keepers.keepers((keepers.probes, keepers.backups), None)
        yield Child(address=vault.feed_address, make=lambda *_: renewed(vault.feed))
        yield Child(address=keepers.workloads, make=lambda *_: renewed(vault.workloads))
        yield keepers.backup_child()

    def kill(self, address: Address) -> None:
        """Have an actor die as by a bug in its plumbing."""
        ref = address._ref
        assert ref is not None
        ref.tell("no envelope")

    def revive(self) -> None:
        """Let the supervisor act on one death."""
        before = self.restarts

        def restarted() -> bool:
            assert self.supervisor.step(GLANCE) is None
            return self.restarts > before

        eventually(restarted)

    def died(self, _name: str, *, everybody: bool) -> None:
        """Hear of a death, as a witness."""

    def restarted(self, _name: str, *, everybody: bool) -> None:  # noqa: ARG002 - the witness's signature
        """Count, as a witness."""
        self.restarts += 1


class Asking:
    """Somebody who waits for an answer."""

    def __init__(self, ask: Callable[[], Any]) -> None:
        self.answer: Any = None
        self.error: Exception | None = None

        def run() -> None:
            try:
                self.answer = ask()
            except Exception as error:
                self.error = error

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def end(self) -> None:
        """Wait for the answer."""
        self._thread.join(BOUND)
        assert not self._thread.is_alive()


def renewed(former: Scripted) -> Actor:
    """An actor with the script of another."""
    actor = Scripted(former.name)
    actor.script = former.script
    return actor


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(Vault(tmp_path / "data"))
    yield house
    house.vault.keepers.stop_worker(BOUND)
    assert house.supervisor.stop(within=BOUND) == ()


def backed_up(vault: Vault) -> bytes:
    vault.add("before")
    record = vault.create()
    vault.add("after")
    return record.id


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_writer_that_dies_in_a_restore_leaves_the_former_content(
    house: House, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    vault = house.vault
    backup_id = backed_up(vault)
    generation = vault.board.generation
    replace = WriteStore.replace_content

    def die(store: WriteStore, *arguments: Any) -> None:
        if moment == "after":
            replace(store, *arguments)
        monkeypatch.undo()
        # What no actor survives.
        raise SystemExit

    monkeypatch.setattr(WriteStore, "replace_content", die)
    asking = Asking(lambda: vault.restore(backup_id))
    house.revive()
    asking.end()
    assert isinstance(asking.error, Unavailable)
    assert vault.board.maintenance == "running"
    assert vault.texts() == {"before", "after"}
    state = vault.board.restore
    assert state is not None
    assert (state.outcome, state.rolled_back) == ("failed", True)
    assert vault.board.generation == vault.core.read(GetOrigin()).generation != generation
    eventually(lambda: len(vault.audited("restore_started", "restore_failed")) == 2)
    # Everything is as before: also another restore.
    assert not isinstance(vault.restore(backup_id), Exception)
    assert vault.texts() == {"before"}
    vault.assert_whole()
    assert vault.broken == []


def test_a_writer_that_dies_before_anything_is_replaced_leaves_nothing_paused(house: House) -> None:
    vault = house.vault
    backup_id = backed_up(vault)

    def die(_message: object) -> None:
        vault.workloads.script[PauseWorkloads] = lambda _: ()
        house.kill(vault.keepers.writer)

    vault.workloads.script[PauseWorkloads] = die
    asking = Asking(lambda: vault.restore(backup_id))
    house.revive()
    asking.end()
    assert vault.board.maintenance == "running"
    assert vault.texts() == {"before", "after"}
    vault.create()
    vault.assert_whole()


def test_a_writer_that_dies_during_a_backup_costs_that_backup_only(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = house.vault
    vault.add("before")
    entered = threading.Event()

    def copied(candidates: Candidates, *_: object) -> BackupRecord:
        entered.set()
        monkeypatch.undo()
        while True:
            candidates._meter.pause(BOUND)

    monkeypatch.setattr(Candidates, "copied", copied)
    asking = Asking(lambda: vault.ask(CreateBackup(caller=ADMIN)))
    assert entered.wait(BOUND)
    waiting = Asking(lambda: vault.ask(CreateBackup(caller=ADMIN)))
    worker = vault.keepers._worker
    assert worker is not None
    eventually(lambda: worker._jobs.qsize() == 1)
    house.kill(vault.keepers.writer)
    house.revive()
    for asked in (asking, waiting):
        asked.end()
        assert isinstance(asked.error, Unavailable)
    eventually(lambda: (job := vault.board.backups.job) is None or job.kind == "reconcile")
    vault.create()
    assert not [name for name in vault.files() if name.startswith(".tmp-")]


def test_a_controller_that_dies_leaves_its_job_alone(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = house.vault
    backup_id = backed_up(vault)
    entered, gate = threading.Event(), threading.Event()
    look = restore.verify_live  # type: ignore[attr-defined]

    def verify_live(*arguments: Any) -> Any:
        entered.set()
        assert gate.wait(BOUND)
        return look(*arguments)

    monkeypatch.setattr(restore, "verify_live", verify_live)
    asking = Asking(lambda: vault.ask(RestoreBackup(caller=ADMIN, backup_id=backup_id)))
    assert entered.wait(BOUND)
    house.kill(vault.keepers.backups)
    house.revive()
    assert vault.board.maintenance == "paused"
    gate.set()
    asking.end()
    assert asking.error is None
    assert vault.texts() == {"before"}
    vault.create()
    vault.assert_whole()


def test_a_stop_gives_the_job_up_and_the_next_start_ends_its_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(Vault(tmp_path / "data"))
    vault = house.vault
    backup_id = backed_up(vault)
    entered = threading.Event()

    def verify_live(*_: Any) -> None:
        entered.set()
        while True:
            vault.keepers._meter.pause(BOUND)

    monkeypatch.setattr(restore, "verify_live", verify_live)
    asking = Asking(lambda: vault.restore(backup_id))
    assert entered.wait(BOUND)
    assert house.supervisor.stop(within=BOUND) == ()
    asking.end()
    assert isinstance(asking.error, Unavailable)
    monkeypatch.undo()
    with Vault(tmp_path / "data") as again:
        assert again.texts() == {"before", "after"}
        assert again.board.restore is not None
        assert (again.board.restore.outcome, again.board.restore.rolled_back) == ("failed", True)
        again.assert_whole()
