"""The backup controller: what is made, verified and kept, what it makes by itself, and what is audited."""

import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from actors.backups.candidates import Candidates
from actors.backups.files import DirectoryFailed
from actors.backups.schedule import next_automatic
from actors.messages import Ping
from actors.messages.backups import (
    AuditPostponed,
    BackupFile,
    ClockTicked,
    CreateBackup,
    OpenBackup,
    Restored,
    TakeUpload,
)
from actors.messages.feed import BackupsChanged
from actors.messages.workloads import BackupsReported, PauseWorkloads
from actors.messages.writer import RecordAudit, UpdateSetting
from actors.store.errors import StorageFailed
from remindi.audit import SUCCEEDED
from remindi.backups import AutomaticFailure, BackupRecord, Source, Status, file_name
from remindi.errors import ErrorCode, Refusal
from remindi.identifiers import uuid_text
from remindi.manifests import manifest_of, read_manifest
from tests.fakes.clocks import ManualClock
from tests.fakes.vault import ADMIN, Vault
from tests.service import eventually

BOUND = 10.0
DAY = 86_400
HOUR_MS = 3_600_000
FULL = "The disk of the backup directory is full. Free some space."


@pytest.fixture
def vault(tmp_path: Path, clock: ManualClock) -> Iterator[Vault]:
    with Vault(tmp_path / "data", clock) as vault:
        yield vault


@pytest.fixture
def scheduled(tmp_path: Path, clock: ManualClock) -> Iterator[Vault]:
    """One that makes backups by itself."""
    with Vault(tmp_path / "data", clock, automatic=True) as vault:
        settled(vault)
        yield vault


def settled(vault: Vault) -> None:
    """Wait until the schedule is known."""
    eventually(lambda: vault.board.backups.next_automatic_at is not None)


def let_pass(vault: Vault, seconds: float) -> None:
    """Let time pass on the clock, and have the controller look at it."""
    vault.clock.advance(seconds)
    vault.timer.fire(vault.timer.expect(ClockTicked, vault.keepers.backups))


def made_by_itself(vault: Vault, count: int) -> list[BackupRecord]:
    """Wait until so many automatic backups are known and the schedule has heard of the last one."""

    def made() -> list[BackupRecord]:
        records = [record for record in vault.records() if record.source is Source.AUTOMATIC]
        at = vault.board.backups.next_automatic_at
        return records if len(records) == count and at is not None and at > vault.clock.now() else []

    return eventually(made)


def path_of(vault: Vault, record: BackupRecord) -> Path:
    return vault.backups_directory / file_name(uuid_text(record.id))


def damage(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def set_setting(vault: Vault, key: str, value: int) -> None:
    answer = vault.core.write(UpdateSetting(caller=ADMIN, key=key, value=value, expected_version=1))
    assert not isinstance(answer, Refusal)


def about(vault: Vault, kind: str) -> list[tuple[str, dict[str, Any]]]:
    """Outcome and details of all audit rows of a type."""
    return [(outcome, json.loads(details)) for _, outcome, details in vault.audited(kind)]


def full(*_: object) -> BackupRecord:
    raise DirectoryFailed(FULL)


# ---------------------------------------------------------- made and verified


def test_a_backup_is_a_file_with_a_manifest_a_record_and_an_audit_row(vault: Vault) -> None:
    vault.add("kept")
    record = vault.create()
    assert (record.source, record.status, record.items) == (Source.MANUAL, Status.READY, 1)
    assert record.created_by == ADMIN.actor_id
    assert vault.records() == (record,)
    path = path_of(vault, record)
    assert sorted(vault.files()) == [path.name, f"{path.name}.json"]
    assert {file.stat().st_mode & 0o777 for file in vault.backups_directory.iterdir()} == {0o600}
    assert path.with_name(f"{path.name}.json").read_bytes() == manifest_of(record)
    about_it = {"backup_id": uuid_text(record.id), "source": "manual"}
    assert about(vault, "backup_created") == [("succeeded", about_it)]
    assert vault.board.backups.job is None
    vault.feed.expect(BackupsChanged)


def test_a_backup_that_fails_leaves_nothing_and_is_audited(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Candidates, "copied", full)
    assert vault.ask(CreateBackup(caller=ADMIN)) == Refusal(ErrorCode.INTERNAL_ERROR)
    assert vault.files() == []
    assert vault.records() == ()
    assert about(vault, "backup_created") == [("failed", {"source": "manual"})]
    monkeypatch.undo()
    vault.create()


def test_a_verification_is_recorded_with_its_time(vault: Vault) -> None:
    record = vault.create()
    vault.clock.advance(DAY)
    proven = vault.verify(record.id)
    assert isinstance(proven, BackupRecord)
    assert proven.verified_at == vault.clock.now() > record.verified_at
    assert vault.records() == (proven,)
    assert about(vault, "backup_verified") == [
        ("succeeded", {"backup_id": uuid_text(record.id), "source": "manual"})
    ]


@pytest.mark.parametrize("harm", [damage, Path.unlink], ids=["damaged", "gone"])
def test_a_backup_whose_file_is_damaged_or_gone_is_invalid_from_then_on(
    vault: Vault, harm: Callable[[Path], None]
) -> None:
    record = vault.create()
    harm(path_of(vault, record))
    refusal = vault.verify(record.id)
    assert isinstance(refusal, Refusal)
    assert refusal.code is ErrorCode.BACKUP_INVALID
    assert [known.status for known in vault.records()] == [Status.INVALID]
    ((outcome, details),) = about(vault, "backup_verified")
    assert (outcome, details["failure_code"]) == ("rejected", "BACKUP_INVALID")


def test_a_file_that_comes_back_whole_is_ready_again_after_the_next_start(
    vault: Vault, tmp_path: Path
) -> None:
    record = vault.create()
    path = path_of(vault, record)
    content = path.read_bytes()
    path.unlink()
    assert isinstance(vault.verify(record.id), Refusal)
    vault.stop()
    path.write_bytes(content)
    with Vault(tmp_path / "data") as again:
        eventually(lambda: [known.status for known in again.records()] == [Status.READY])


@pytest.mark.parametrize("kind", ["verify", "open"])
def test_what_nobody_knows_is_not_found(vault: Vault, kind: str) -> None:
    unknown = b"x" * 16
    asked = vault.verify(unknown) if kind == "verify" else vault.ask(OpenBackup(backup_id=unknown))
    assert asked == Refusal(ErrorCode.NOT_FOUND)
    assert len(vault.audited("backup_verified")) == (kind == "verify")


def test_a_download_is_verified_and_leaves_no_audit_row(vault: Vault) -> None:
    record = vault.create()
    opened = vault.ask(OpenBackup(caller=ADMIN, backup_id=record.id))
    assert isinstance(opened, BackupFile)
    assert opened.path == path_of(vault, record)
    assert vault.audited("backup_verified") == []
    damage(opened.path)
    assert isinstance(vault.ask(OpenBackup(caller=ADMIN, backup_id=record.id)), Refusal)


# -------------------------------------------------------------------- uploads


def uploaded(vault: Vault, content: bytes) -> BackupRecord | Refusal:
    temporary = vault.backups_directory / ".tmp-upload.sqlite3"
    temporary.write_bytes(content)
    return vault.ask(TakeUpload(caller=ADMIN, temporary=temporary))


def test_an_own_backup_can_be_uploaded_again(vault: Vault) -> None:
    vault.add("kept")
    made = vault.create()
    taken = uploaded(vault, path_of(vault, made).read_bytes())
    assert isinstance(taken, BackupRecord)
    assert (taken.source, taken.items, taken.sha256) == (Source.UPLOAD, 1, made.sha256)
    assert taken.id != made.id
    assert [outcome for outcome, _ in about(vault, "backup_uploaded")] == ["succeeded"]


def test_an_upload_that_is_no_backup_leaves_nothing_but_its_audit_row(vault: Vault) -> None:
    refusal = uploaded(vault, b"no database" * 1_000)
    assert isinstance(refusal, Refusal)
    assert refusal.code is ErrorCode.BACKUP_INVALID
    assert vault.files() == []
    assert vault.records() == ()
    assert about(vault, "backup_uploaded") == [
        ("rejected", {"source": "upload", "failure_code": "BACKUP_INVALID"})
    ]


# ------------------------------------------------------------------ retention


def test_the_newest_automatic_and_uploaded_ones_stay_and_the_others_expire_with_their_files(
    scheduled: Vault,
) -> None:
    vault = scheduled
    set_setting(vault, "backups.retention_count", 2)
    manual = vault.create()
    for number in range(1, 4):
        let_pass(vault, DAY)
        made_by_itself(vault, number)
    statuses = [record.status for record in vault.records() if record.source is Source.AUTOMATIC]
    assert statuses == [Status.READY, Status.READY, Status.EXPIRED]
    (expired,) = [record for record in vault.records() if record.status is Status.EXPIRED]
    eventually(lambda: not path_of(vault, expired).exists())
    assert vault.verify(expired.id) == Refusal(ErrorCode.NOT_FOUND)
    assert about(vault, "backup_expired") == [
        ("succeeded", {"backup_id": uuid_text(expired.id), "source": "automatic"})
    ]
    assert isinstance(vault.verify(manual.id), BackupRecord)


# ------------------------------------------------------------- reconciliation


def test_files_that_the_database_does_not_know_are_listed_and_forged_ones_are_not(
    vault: Vault, tmp_path: Path
) -> None:
    first, second = vault.create(), vault.create()
    vault.stop()
    # Another database beside the same backups.
    other = tmp_path / "data" / "remindi.db"
    other.unlink()
    path = path_of(vault, second)
    moved = path.with_name(file_name(uuid_text(b"m" * 16)))
    path.rename(moved)
    moved.with_name(f"{moved.name}.json").write_bytes(manifest_of(second))
    (path.with_name(f"{path.name}.json")).unlink()
    with Vault(tmp_path / "data") as again:
        eventually(lambda: [record.id for record in again.records()] == [first.id])
        assert again.records()[0]._replace(verified_at=0) == first._replace(verified_at=0)


def test_what_was_left_half_way_is_cleared_away_at_the_next_start(vault: Vault, tmp_path: Path) -> None:
    record = vault.create()
    vault.stop()
    # A process that died between the names of a manifest and its file.
    orphan = file_name(uuid_text(b"o" * 16))
    (vault.backups_directory / f"{orphan}.json").write_bytes(manifest_of(record._replace(id=b"o" * 16)))
    gone = path_of(vault, record)
    gone.unlink()
    with Vault(tmp_path / "data") as again:
        eventually(lambda: [known.status for known in again.records()] == [Status.INVALID])
        # The manifest of a known one stays: its file may come back.
        eventually(lambda: again.files() == [f"{gone.name}.json"])
    assert read_manifest((vault.backups_directory / f"{gone.name}.json").read_bytes(), 99) is not None


# ------------------------------------------------------------------- schedule


@pytest.mark.parametrize(
    ("newest", "failure", "expected"),
    [
        (None, None, 1_000 + 300_000),
        (5_000, None, 5_000 + 300_000),
        (5_000, AutomaticFailure(400_000, "why", 700_000), 700_000),
        (None, AutomaticFailure(400_000, "why", 700_000), 700_000),
    ],
)
def test_the_next_one_counts_from_the_newest_or_from_the_birth_of_the_database(
    newest: int | None, failure: AutomaticFailure | None, expected: int
) -> None:
    assert next_automatic(1_000, newest, 300, failure) == expected


def test_backups_are_made_by_themselves_at_the_interval(scheduled: Vault) -> None:
    born_at = scheduled.clock.now()
    assert scheduled.board.backups.next_automatic_at == born_at + DAY * 1_000
    let_pass(scheduled, DAY - 1)
    assert scheduled.records() == ()
    let_pass(scheduled, 1)
    (record,) = made_by_itself(scheduled, 1)
    assert (record.created_by, record.created_at) == ("system:backup", born_at + DAY * 1_000)
    assert scheduled.board.backups.next_automatic_at == record.created_at + DAY * 1_000
    assert about(scheduled, "backup_created") == [
        ("succeeded", {"backup_id": uuid_text(record.id), "source": "automatic"})
    ]


def test_the_interval_counts_across_restarts(scheduled: Vault, tmp_path: Path) -> None:
    let_pass(scheduled, DAY)
    (record,) = made_by_itself(scheduled, 1)
    scheduled.stop()
    scheduled.clock.advance(DAY - 10)
    with Vault(tmp_path / "data", scheduled.clock, automatic=True) as again:
        settled(again)
        assert again.board.backups.next_automatic_at == record.created_at + DAY * 1_000
        assert len(again.records()) == 1
    scheduled.clock.advance(20)
    with Vault(tmp_path / "data", scheduled.clock, automatic=True) as again:
        made_by_itself(again, 2)


def test_a_manual_backup_moves_no_automatic_one(scheduled: Vault) -> None:
    before = scheduled.board.backups.next_automatic_at
    scheduled.clock.advance(100)
    scheduled.create()
    assert scheduled.board.backups.next_automatic_at == before


def test_another_interval_is_followed_at_once(scheduled: Vault) -> None:
    scheduled.clock.advance(301)
    set_setting(scheduled, "backups.interval_seconds", 300)
    made_by_itself(scheduled, 1)


def test_a_failure_is_shown_everywhere_and_tried_again(
    scheduled: Vault, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Candidates, "copied", full)
    let_pass(scheduled, DAY)
    failed = scheduled.workloads.expect(BackupsReported)
    assert failed.failure == f"The last automatic backup failed: {FULL}"
    now = scheduled.clock.now()
    eventually(lambda: scheduled.board.backups.failure == AutomaticFailure(now, FULL, now + 300_000))
    assert scheduled.board.backups.next_automatic_at == now + 300_000
    assert about(scheduled, "backup_created") == [("failed", {"source": "automatic"})]
    assert FULL in caplog.text
    monkeypatch.undo()
    let_pass(scheduled, 299)
    assert scheduled.records() == ()
    let_pass(scheduled, 1)
    made_by_itself(scheduled, 1)
    assert scheduled.board.backups.failure is None
    assert scheduled.workloads.expect(BackupsReported, 2).failure is None


def test_a_clock_that_is_set_back_puts_no_backup_off(scheduled: Vault) -> None:
    let_pass(scheduled, DAY)
    made_by_itself(scheduled, 1)
    scheduled.clock.wall -= 365 * DAY * 1_000
    let_pass(scheduled, 0)
    eventually(lambda: scheduled.board.backups.next_automatic_at == scheduled.clock.now() + DAY * 1_000)
    let_pass(scheduled, DAY)
    made_by_itself(scheduled, 2)


def test_what_does_not_make_backups_by_itself_has_no_schedule(vault: Vault) -> None:
    let_pass(vault, 3 * DAY)
    vault.create()
    assert vault.board.backups.next_automatic_at is None
    assert [record.source for record in vault.records()] == [Source.MANUAL]


# ---------------------------------------------------------------- maintenance


def test_a_restore_extends_the_pause_of_the_writer_for_as_long_as_it_works(
    vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault.add("before")
    record = vault.create()
    entered, gate = threading.Event(), threading.Event()
    copied = Candidates.copied

    def slowly(candidates: Candidates, *arguments: Any) -> BackupRecord:
        entered.set()
        assert gate.wait(BOUND)
        return copied(candidates, *arguments)

    monkeypatch.setattr(Candidates, "copied", slowly)
    answers: list[Any] = []
    asking = threading.Thread(target=lambda: answers.append(vault.restore(record.id)))
    asking.start()
    assert entered.wait(BOUND)
    for _ in range(6):
        # Longer than the lease in all: it is extended every quarter of it.
        let_pass(vault, 15)
        vault.ask(Ping())
        vault.core.write(Ping())
    gate.set()
    asking.join(BOUND)
    assert isinstance(answers[0], Restored)
    assert vault.texts() == {"before"}


def test_audit_rows_that_came_during_maintenance_follow_with_their_time(vault: Vault) -> None:
    record = vault.create()
    at = vault.clock.now() - 5_000
    row = RecordAudit(
        caller=ADMIN,
        event_type="login_succeeded",
        outcome=SUCCEEDED,
        details=(("kind", "login"),),
        occurred_at=at,
    )

    def pause(_message: object) -> tuple[()]:
        vault.keepers.backups.notify(AuditPostponed(record=row))
        return ()

    vault.workloads.script[PauseWorkloads] = pause
    assert not isinstance(vault.restore(record.id), Refusal)
    eventually(lambda: about(vault, "login_succeeded") == [("succeeded", {"kind": "login"})])


def test_a_failing_disk_is_told_in_words(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    record = vault.create()

    def fail(*_: object) -> BackupRecord:
        raise StorageFailed("Reading a backup failed.")

    monkeypatch.setattr(Candidates, "proven", fail)
    assert vault.verify(record.id) == Refusal(ErrorCode.INTERNAL_ERROR)
    assert [known.status for known in vault.records()] == [Status.READY]
    assert [outcome for outcome, _ in about(vault, "backup_verified")] == ["failed"]
