"""The guarded restore: at whatever moment something fails, one whole content is live, and it is known which.

Contract 15.2. Each phase fails right before and right after its journal entry is written; what a kill at the
same moments leaves is told by ``tests/faults/test_restore_kills.py``.
"""

import errno
import json
import threading
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import apsw
import pytest

from actors.address import Paused, Unavailable
from actors.backups import journal, restore
from actors.backups.files import BackupDirectory
from actors.backups.journal import JOURNAL_NAME, Journal, read_journal, write_journal
from actors.backups.recovery import RecoveryFailed, recover
from actors.messages.backups import RestoreBackup, Restored
from actors.messages.feed import ContentReplaced, RestoreChanged
from actors.messages.readers import GetControl, ListSettings
from actors.messages.workloads import PauseWorkloads, ReleaseWorkloads, WorkloadsFailed
from actors.messages.writer import PauseWriter, ResumeWriter, SetDesired, UpdateSetting
from actors.store.errors import StorageFailed
from actors.store.write import WriteStore
from remindi.backups import HELD_REASON, PHASES, Phase, Source, Status, file_name
from remindi.cli.exits import Refused
from remindi.errors import ErrorCode, Refusal
from remindi.identifiers import uuid_text
from tests.fakes.clocks import ManualClock
from tests.fakes.vault import ADMIN, Vault
from tests.service import eventually

FORWARD: tuple[Phase, ...] = PHASES[:8]
UNTOUCHED: tuple[Phase, ...] = FORWARD[:4]
"""Phases that fail before anything was replaced."""


@pytest.fixture
def vault(tmp_path: Path, clock: ManualClock) -> Iterator[Vault]:
    with Vault(tmp_path / "data", clock) as vault:
        yield vault


def backed_up(vault: Vault) -> bytes:
    """A backup that holds ``before``; the database holds ``after`` too."""
    vault.add("before")
    record = vault.create()
    vault.add("after")
    return record.id


def failing_at(
    monkeypatch: pytest.MonkeyPatch, wanted: dict[Phase, bool], error: Callable[[], Exception]
) -> None:
    """Let the journal fail at phases: before the entry is written (False), or right after it (True)."""

    def write(directory: BackupDirectory, entry: Journal) -> None:
        if wanted.get(entry.phase) is False:
            raise error()
        write_journal(directory, entry)
        if wanted.get(entry.phase) is True:
            raise error()

    monkeypatch.setattr(restore, "write_journal", write)


def refusal_of(answer: object) -> Refusal:
    assert isinstance(answer, Refusal)
    return answer


def no_space() -> OSError:
    return OSError(errno.ENOSPC, "No space left on device")


def read_only() -> OSError:
    return OSError(errno.EROFS, "Read-only file system")


def bug() -> RuntimeError:
    return RuntimeError("broken")


FAULTS = [
    *product(FORWARD, (no_space, read_only)),
    # At the first and the last phase nothing but the disk is asked for anything.
    *product(FORWARD[1:7], (bug,)),
]


# ------------------------------------------------------------------- success


def test_a_restore_puts_the_content_of_the_backup_in_place(vault: Vault) -> None:
    backup_id = backed_up(vault)
    generation = vault.board.generation
    answer = vault.restore(backup_id)
    assert isinstance(answer, Restored)
    assert answer.backup_id == backup_id
    assert vault.texts() == {"before"}
    assert vault.board.generation != generation
    assert vault.board.maintenance == "running"
    state = vault.board.restore
    assert state is not None
    assert (state.outcome, state.rolled_back, state.reason) == ("succeeded", False, None)
    assert tuple(reached.phase for reached in state.phases) == FORWARD
    assert state.operation_id == answer.operation_id
    vault.assert_whole()


def test_what_was_live_is_in_the_pre_restore_backup_which_can_be_restored_in_turn(vault: Vault) -> None:
    backup_id = backed_up(vault)
    assert isinstance(vault.restore(backup_id), Restored)
    state = vault.board.restore
    assert state is not None
    assert state.pre_restore_id is not None
    (record,) = [record for record in vault.records() if record.id == state.pre_restore_id]
    assert (record.source, record.status, record.items) == (Source.PRE_RESTORE, Status.READY, 2)
    assert record.created_by == ADMIN.actor_id
    assert isinstance(vault.restore(record.id), Restored)
    assert vault.texts() == {"before", "after"}


def test_the_content_that_is_live_knows_of_its_restore_and_of_every_file(vault: Vault) -> None:
    backup_id = backed_up(vault)
    later = vault.create()
    answer = vault.restore(backup_id)
    assert isinstance(answer, Restored)
    about = f'{{"backup_id": "{uuid_text(backup_id)}", "operation_id": "{uuid_text(answer.operation_id)}"}}'
    assert vault.audited("restore_started", "restore_succeeded") == [
        ("restore_started", "succeeded", about),
        ("restore_succeeded", "succeeded", about),
    ]
    # The backups that the restored content knew nothing of are in its inventory.
    assert {record.id for record in vault.records() if record.status is Status.READY} >= {backup_id, later.id}
    assert len(vault.records()) == 3


def test_desired_states_stay_and_settings_are_those_of_the_content(vault: Vault) -> None:
    def interval() -> int:
        rows = vault.core.read(ListSettings())
        return next(row.value for row in rows if row.key == "scheduler.poll_interval_seconds")

    backup_id = backed_up(vault)
    stop = SetDesired(caller=ADMIN, components=("scheduler",), desired="stopped", action="stopped")
    vault.core.write(stop)
    change = UpdateSetting(caller=ADMIN, key="scheduler.poll_interval_seconds", value=7, expected_version=1)
    assert not isinstance(vault.core.write(change), Refusal)
    assert isinstance(vault.restore(backup_id), Restored)
    assert interval() == 30
    desired = {row.component: row.desired for row in vault.core.read(GetControl()).workloads}
    assert desired == {"mcp": "running", "scheduler": "stopped"}


def test_workloads_are_paused_before_and_released_after_and_watchers_are_told(vault: Vault) -> None:
    backup_id = backed_up(vault)
    assert isinstance(vault.restore(backup_id), Restored)
    assert len(vault.workloads.seen(PauseWorkloads)) == len(vault.workloads.seen(ReleaseWorkloads)) == 1
    vault.feed.expect(ContentReplaced)
    assert len(vault.feed.seen(RestoreChanged)) >= len(FORWARD)


def test_a_restore_survives_a_restart_with_its_final_state(vault: Vault, tmp_path: Path) -> None:
    assert isinstance(vault.restore(backed_up(vault)), Restored)
    state = vault.board.restore
    vault.stop()
    with Vault(tmp_path / "data") as again:
        assert again.board.restore == state
        assert again.texts() == {"before"}


def test_readers_that_are_in_the_middle_of_something_hold_nothing_up(vault: Vault) -> None:
    backup_id = backed_up(vault)
    reader = apsw.Connection(str(vault.database), flags=apsw.SQLITE_OPEN_READONLY)
    reader.execute("BEGIN")
    assert list(reader.execute("SELECT count(*) FROM item")) == [(2,)]
    assert isinstance(vault.restore(backup_id), Restored)
    assert list(reader.execute("SELECT count(*) FROM item")) == [(2,)]
    reader.execute("COMMIT")
    assert list(reader.execute("SELECT count(*) FROM item")) == [(1,)]
    reader.close()
    vault.stop()
    assert not vault.database.with_name("remindi.db-wal").exists()
    with Vault(vault.directory) as again:
        assert again.texts() == {"before"}


# ------------------------------------------------------------------ refusals


def test_a_backup_that_fails_its_verification_changes_nothing(vault: Vault) -> None:
    backup_id = backed_up(vault)
    path = vault.backups_directory / file_name(uuid_text(backup_id))
    damaged = bytearray(path.read_bytes())
    damaged[-1] ^= 1
    path.write_bytes(damaged)
    before = vault.files()
    refused = refusal_of(vault.restore(backup_id))
    assert refused.code is ErrorCode.BACKUP_INVALID
    assert refused.reason is not None
    assert "its SHA-256 is not that of its record" in refused.reason
    assert vault.workloads.seen(PauseWorkloads) == []
    assert vault.texts() == {"before", "after"}
    assert set(vault.files()) - set(before) == {"restore-latest.json"}
    ((kind, outcome, _),) = vault.audited("restore_started", "restore_failed")
    assert (kind, outcome) == ("restore_started", "rejected")
    vault.assert_whole()


def test_an_unknown_backup_is_not_found(vault: Vault) -> None:
    assert vault.restore(b"x" * 16) == Refusal(ErrorCode.NOT_FOUND)
    assert vault.board.restore is None


def test_a_second_restore_is_refused_while_one_runs(vault: Vault) -> None:
    backup_id = backed_up(vault)
    entered, gate = threading.Event(), threading.Event()

    def wait(_message: object) -> tuple[()]:
        entered.set()
        assert gate.wait(10.0)
        return ()

    vault.workloads.script[PauseWorkloads] = wait
    first: list[Any] = []
    asking = threading.Thread(target=lambda: first.append(vault.restore(backup_id)))
    asking.start()
    assert entered.wait(10.0)
    assert vault.board.maintenance == "draining"
    assert vault.board.closed
    assert vault.ask(RestoreBackup(caller=ADMIN, backup_id=backup_id)) == Refusal(ErrorCode.WORKLOAD_CONFLICT)
    gate.set()
    asking.join(10.0)
    assert isinstance(first[0], Restored)


# ------------------------------------------------------------------ failures


@pytest.mark.parametrize("written", [False, True], ids=["before", "after"])
@pytest.mark.parametrize(("phase", "error"), FAULTS)
def test_a_journal_that_fails_leaves_one_whole_content(
    vault: Vault,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    phase: Phase,
    written: bool,
    error: Callable[[], Exception],
) -> None:
    backup_id = backed_up(vault)
    failing_at(monkeypatch, {phase: written}, error)
    answer = vault.restore(backup_id)
    state = vault.board.restore
    assert state is not None
    assert vault.board.maintenance == "running"
    if phase == "succeeded":
        assert isinstance(answer, Restored)
        assert state.outcome == "succeeded"
        assert vault.texts() == {"before"}
    else:
        assert answer == Refusal(ErrorCode.RESTORE_FAILED, reason=state.reason)
        assert (state.outcome, state.rolled_back) == ("failed", phase not in UNTOUCHED)
        assert state.reason
        assert vault.texts() == {"before", "after"}
        assert [kind for kind, *_ in vault.audited("restore_failed")] == ["restore_failed"]
    vault.assert_whole()
    known = {record.id for record in vault.records() if record.status is Status.READY}
    assert state.pre_restore_id is None or state.pre_restore_id in known
    # And so it is after the next start.
    texts = vault.texts()
    vault.stop()
    with Vault(tmp_path / "data") as again:
        assert again.texts() == texts
        assert again.board.restore == state
        again.assert_whole()


@pytest.mark.parametrize("phase", FORWARD[4:7])
def test_a_directory_that_stays_read_only_holds_the_service_closed_until_a_start_can_go_back(
    vault: Vault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, phase: Phase
) -> None:
    backup_id = backed_up(vault)
    failing = dict.fromkeys(PHASES[PHASES.index(phase) :], False)
    failing_at(monkeypatch, failing, read_only)

    def unable(_directory: BackupDirectory) -> None:
        raise read_only()

    monkeypatch.setattr(restore, "drop_journal", unable)
    assert vault.restore(backup_id) == Refusal(ErrorCode.MAINTENANCE_ACTIVE, reason=HELD_REASON)
    assert vault.board.maintenance == "held"
    assert vault.board.closed
    state = vault.board.restore
    assert state is not None
    assert state.outcome == "held"
    failed = vault.workloads.expect(WorkloadsFailed)
    assert uuid_text(state.operation_id) in failed.reason
    with pytest.raises(Paused):
        vault.add("refused")
    assert JOURNAL_NAME in vault.files()
    monkeypatch.undo()
    vault.stop()
    with Vault(tmp_path / "data") as again:
        assert again.texts() == {"before", "after"}
        assert again.board.restore is not None
        assert again.board.restore.outcome == "failed"
        eventually(lambda: again.audited("restore_failed"))
        again.assert_whole()


def test_a_full_disk_while_the_content_is_replaced_leaves_the_former_one(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup_id = backed_up(vault)

    def full(_store: WriteStore, _source: Path, _progress: object) -> None:
        raise StorageFailed("the database: the disk is full; free some space.")

    monkeypatch.setattr(WriteStore, "replace_content", full)
    assert refusal_of(vault.restore(backup_id)).code is ErrorCode.RESTORE_FAILED
    state = vault.board.restore
    assert state is not None
    assert state.reason == "the database: the disk is full; free some space."
    assert state.rolled_back
    assert vault.texts() == {"before", "after"}
    vault.assert_whole()


def test_workloads_that_do_not_stop_end_the_restore_before_anything_happens(vault: Vault) -> None:
    backup_id = backed_up(vault)
    vault.workloads.script[PauseWorkloads] = lambda _: Refusal(ErrorCode.INTERNAL_ERROR)
    assert refusal_of(vault.restore(backup_id)).code is ErrorCode.RESTORE_FAILED
    assert vault.texts() == {"before", "after"}
    assert vault.workloads.seen(ReleaseWorkloads)
    vault.assert_whole()


def test_a_controller_that_dies_in_a_restore_leaves_it_alone(vault: Vault) -> None:
    backup_id = backed_up(vault)
    entered, gate = threading.Event(), threading.Event()

    def wait(_message: object) -> tuple[()]:
        entered.set()
        assert gate.wait(10.0)
        return ()

    vault.workloads.script[PauseWorkloads] = wait
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(vault.restore(backup_id)))
    asking.start()
    assert entered.wait(10.0)
    child = vault.keepers.backup_child()
    vault.keepers.backups.bind(None)
    vault.revive(child)
    assert vault.ask(RestoreBackup(caller=ADMIN, backup_id=backup_id)) == Refusal(ErrorCode.WORKLOAD_CONFLICT)
    gate.set()
    asking.join(10.0)
    assert isinstance(answers[0], Restored)
    assert vault.texts() == {"before"}
    vault.assert_whole()


# ---------------------------------------------------------------- the pause


def test_during_a_pause_only_its_operation_is_carried_out(vault: Vault) -> None:
    vault.add("before")
    operation = b"o" * 16
    vault.core.write(PauseWriter(caller=ADMIN, operation_id=operation, seconds=60.0))
    with pytest.raises(Paused):
        vault.add("refused")
    with pytest.raises(Unavailable):
        vault.core.write(PauseWriter(caller=ADMIN, operation_id=b"p" * 16, seconds=60.0))
    assert vault.texts() == {"before"}
    vault.core.write(ResumeWriter(caller=ADMIN, operation_id=operation))
    vault.add("after")
    assert vault.texts() == {"before", "after"}


def test_a_pause_ends_by_itself_when_nobody_extends_it(vault: Vault) -> None:
    vault.core.write(PauseWriter(caller=ADMIN, operation_id=b"o" * 16, seconds=60.0))
    vault.clock.advance(59)
    with pytest.raises(Paused):
        vault.add("refused")
    vault.clock.advance(2)
    vault.add("after")
    assert vault.texts() == {"after"}


# ------------------------------------------------------------------ recovery


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"x" * 16_385, "has more than"),
        (b"{", "is no JSON"),
        (b"[]", "does not hold"),
        (
            b'{"operation_id": "x", "phase": "requested", "candidate_file": "a", "pre_restore_file": null}',
            "names",
        ),
    ],
)
def test_a_journal_that_says_nothing_ends_the_start_and_leaves_the_database_alone(
    tmp_path: Path, content: bytes, why: str
) -> None:
    with Vault(tmp_path / "data") as vault:
        vault.add("before")
    before = vault.database.read_bytes()
    (vault.backups_directory / JOURNAL_NAME).write_bytes(content)
    with pytest.raises(Refused, match=why):
        Vault(tmp_path / "data").start()
    assert vault.database.read_bytes() == before
    assert not list(vault.directory.glob("remindi.db-*"))


@pytest.mark.parametrize(
    "change",
    [
        {"operation_id": "no uuid"},
        {"operation_id": None},
        {"phase": "unknown"},
        {"phase": None},
        {"candidate_file": "../remindi.db"},
        {"candidate_file": "/etc/passwd"},
        {"pre_restore_file": "remindi.db"},
        {"phase": "live_replaced", "pre_restore_file": None},
    ],
)
def test_a_journal_that_is_not_safe_is_unusable(tmp_path: Path, change: dict[str, Any]) -> None:
    directory = BackupDirectory(tmp_path)
    name = file_name(uuid_text(b"n" * 16))
    write_journal(directory, Journal(b"o" * 16, "live_replaced", name, name))
    assert read_journal(directory) == Journal(b"o" * 16, "live_replaced", name, name)
    write_journal(directory, Journal(b"o" * 16, "live_replaced", name, name))
    text = (tmp_path / JOURNAL_NAME).read_text()
    (tmp_path / JOURNAL_NAME).write_text(json.dumps(json.loads(text) | change))
    with pytest.raises(journal.JournalUnusable):
        read_journal(directory)


def test_a_backup_to_go_back_to_that_is_gone_ends_the_start(tmp_path: Path, clock: ManualClock) -> None:
    with Vault(tmp_path / "data", clock) as vault:
        vault.add("before")
    directory = BackupDirectory(vault.backups_directory)
    name = file_name(uuid_text(b"n" * 16))
    write_journal(directory, Journal(b"o" * 16, "live_replaced", name, name))
    with pytest.raises(RecoveryFailed, match="its file is gone"):
        recover(directory, vault.database, "owner-under-test", clock)
    assert read_journal(directory) is not None
