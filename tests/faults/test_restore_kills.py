"""SIGKILL right before and right after each journal entry of a restore: the next start keeps one content.

Which one is what the table of contract 15.2 says of the entry that was durable. The next start is that of
the service: leftovers removed, the journal followed, then the keepers started.
"""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from actors import data_directory
from actors.backups.files import BackupDirectory
from actors.backups.journal import INSTALLS, read_journal
from remindi.backups import PHASES, BackupRecord, Phase, RestoreState, Source, Status, file_name
from remindi.identifiers import uuid_text
from tests.fakes.vault import Vault

pytestmark = pytest.mark.faults

ROOT: Final = Path(__file__).parents[2]
DOOMED: Final = ROOT / "tests" / "fakes" / "doomed.py"
MOMENTS: Final = ("before", "after")
FORWARD: Final = PHASES[:8]
BACK: Final = PHASES[8:]
GIVEN_UP: Final = PHASES[11:]
SIGKILLED: Final = -9
NEW: Final = ("workloads_restarted", "succeeded")
"""Entries after which the new content is live."""


def run_until_killed(directory: Path, phase: Phase, moment: str, way: str) -> Phase | None:
    """Restore in a process that is killed; the journal entry that was durable then."""
    ended = subprocess.run(
        [sys.executable, str(DOOMED), str(directory), phase, moment, way],
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        timeout=60,
        capture_output=True,
    )
    assert ended.returncode == SIGKILLED, ended.stderr.decode()
    journal = read_journal(BackupDirectory(directory / "backups"))
    return None if journal is None else journal.phase


@contextmanager
def next_start(directory: Path) -> Iterator[Vault]:
    """Start as the service does."""
    data_directory.remove_leftovers(directory / "backups")
    with Vault(directory) as vault:
        yield vault


def assert_as_promised(vault: Vault, durable: Phase | None) -> RestoreState | None:
    """Hold what is there now against the table."""
    assert vault.texts() == ({"before"} if durable in NEW else {"before", "after"})
    state = vault.board.restore
    if durable is None:
        assert state is None
        assert vault.audited("restore_started", "restore_succeeded", "restore_failed") == []
        vault.assert_whole()
        return None
    assert state is not None
    assert state.outcome == ("succeeded" if durable in NEW else "failed")
    assert state.rolled_back == (durable in INSTALLS or durable == "rollback_verified")
    assert state.ended_at is not None
    # Jobs are done one after another: once this is answered, records and files have been brought together.
    assert isinstance(vault.verify(state.backup_id), BackupRecord)
    told = [
        (kind, outcome)
        for kind, outcome, _ in vault.audited("restore_started", "restore_succeeded", "restore_failed")
    ]
    ended = ("restore_succeeded", "succeeded") if durable in NEW else ("restore_failed", "failed")
    assert told == [("restore_started", "succeeded"), ended]
    records = vault.records()
    assert state.pre_restore_id in (None, *(record.id for record in records))
    assert {record.status for record in records} == {Status.READY}
    assert len([record for record in records if record.source is Source.PRE_RESTORE]) <= 1
    names = {file_name(uuid_text(record.id)) for record in records}
    assert set(vault.files()) == names | {f"{name}.json" for name in names} | {"restore-latest.json"}
    vault.assert_whole()
    return state


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("phase", FORWARD)
def test_a_kill_on_the_way_forward(tmp_path: Path, phase: Phase, moment: str) -> None:
    durable = run_until_killed(tmp_path, phase, moment, "forward")
    position = FORWARD.index(phase)
    assert durable == (phase if moment == "after" else FORWARD[position - 1] if position else None)
    with next_start(tmp_path) as vault:
        state = assert_as_promised(vault, durable)
    with next_start(tmp_path) as vault:
        # A second start has nothing to follow and nothing to add.
        assert vault.board.restore == state


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("phase", BACK)
def test_a_kill_on_the_way_back(tmp_path: Path, phase: Phase, moment: str) -> None:
    durable = run_until_killed(tmp_path, phase, moment, "rollback")
    position = BACK.index(phase)
    assert durable == (phase if moment == "after" else BACK[position - 1] if position else "live_replaced")
    with next_start(tmp_path) as vault:
        assert vault.texts() == {"before", "after"}
        state = vault.board.restore
        assert state is not None
        assert (state.outcome, state.rolled_back) == ("failed", True)
        assert state.reason == "The database failed its verification: it is damaged."
        # Jobs are done one after another: then records and files have been brought together.
        assert isinstance(vault.verify(state.backup_id), BackupRecord)
        assert state.pre_restore_id in {record.id for record in vault.records()}
        vault.assert_whole()


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("phase", GIVEN_UP)
def test_a_kill_when_nothing_was_replaced(tmp_path: Path, phase: Phase, moment: str) -> None:
    run_until_killed(tmp_path, phase, moment, "given_up")
    with next_start(tmp_path) as vault:
        assert vault.texts() == {"before", "after"}
        state = vault.board.restore
        assert state is not None
        assert (state.outcome, state.rolled_back, state.pre_restore_id) == ("failed", False, None)
        assert state.reason == "The disk is full; free some space."
        vault.assert_whole()


@pytest.mark.parametrize("phase", [phase for phase in FORWARD if phase in INSTALLS])
def test_a_log_of_the_former_content_beside_the_live_file_is_not_replayed(
    tmp_path: Path, phase: Phase
) -> None:
    run_until_killed(tmp_path, phase, "after", "forward")
    shutil.move(tmp_path / "stale-wal", tmp_path / "remindi.db-wal")
    (tmp_path / "remindi.db-shm").unlink(missing_ok=True)
    with next_start(tmp_path) as vault:
        assert_as_promised(vault, phase)
    assert not list(tmp_path.glob("remindi.db-*"))


@pytest.mark.parametrize("damage", ["header", "middle", "empty", "gone"])
def test_a_live_file_that_is_damaged_is_replaced_by_the_pre_restore_backup(
    tmp_path: Path, damage: str
) -> None:
    run_until_killed(tmp_path, "live_replaced", "after", "forward")
    live = tmp_path / "remindi.db"
    content = live.read_bytes()
    match damage:
        case "header":
            live.write_bytes(b"\xff" * 4_096 + content[4_096:])
        case "middle":
            live.write_bytes(content[:8_192] + b"\xff" * 8_192 + content[16_384:])
        case "empty":
            live.write_bytes(b"")
        case _:
            live.unlink()
    with next_start(tmp_path) as vault:
        assert_as_promised(vault, "live_replaced")


def test_a_kill_during_the_recovery_is_recovered_from(tmp_path: Path) -> None:
    run_until_killed(tmp_path, "replacement_verified", "after", "forward")
    program = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from actors.backups import recovery\n"
        "from tests.fakes.vault import Vault\n"
        "recovery.verify_live = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "Vault(Path(sys.argv[1])).start()\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        check=False,
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert ended.returncode == SIGKILLED
    with next_start(tmp_path) as vault:
        assert_as_promised(vault, "replacement_verified")
