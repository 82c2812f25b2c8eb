"""``remindi doctor`` with the real process: running, stopped, killed, broken, missing; it changes nothing."""

import json
import os
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from remindi.cli import exits
from tests.conftest import MakeService
from tests.process.acts import new_item
from tests.process.shell import Done, in_a_process, remindi
from tests.service import Service, eventually

NOBODY: Final = 65_534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that runs, with an item and a backup."""
    with Service(tmp_path_factory.mktemp("running") / "service") as service:
        with service.connection() as connection:
            assert connection.call("remindi_add", new_item("doctor"))["ok"]
        assert remindi(service, "backup", "create").code == 0
        yield service


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a service that was stopped, with an item and a backup."""
    with Service(tmp_path_factory.mktemp("kept") / "service") as service:
        with service.connection() as connection:
            assert connection.call("remindi_add", new_item("doctor"))["ok"]
        assert remindi(service, "backup", "create").code == 0
    return service.root


@pytest.fixture
def stopped(make_service: MakeService, kept: Path) -> Service:
    """A service of its own that was stopped."""
    service = make_service()
    shutil.copytree(kept / "data", service.data)
    shutil.copytree(kept / "backups", service.backups)
    return service


def checks(done: Done) -> dict[str, Any]:
    """What ``--json`` says, by check."""
    told = done.json()
    assert told["verdict"] in ("ok", "warning", "problem")
    worst = {check["verdict"] for check in told["checks"]}
    assert told["verdict"] == next(each for each in ("problem", "warning", "ok") if each in worst)
    assert done.code == (exits.FAILED if told["verdict"] == "problem" else exits.OK)
    return {check["check"]: check for check in told["checks"]}


def doctor(service: Service) -> dict[str, Any]:
    return checks(remindi(service, "doctor", "--json"))


def state_of(root: Path) -> dict[str, tuple[int, int, bytes]]:
    """Everything below a folder but what SQLite keeps for itself in memory."""
    return {
        str(path.relative_to(root)): (path.stat().st_mode, path.stat().st_mtime_ns, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file() and not path.name.endswith("-shm") and path.suffix != ".log"
    }


def wreck(path: Path, offset: int, length: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xff" * length)


# ----------------------------------------------------------------------- sound


def test_a_sound_service_has_every_check_ok_running_and_stopped(running: Service, stopped: Service) -> None:
    expected = {
        "service",
        "data directory",
        "database file",
        "backup directory",
        "schema",
        "integrity",
        "foreign keys",
        "items",
        "search",
        "log",
        "lease",
        "restore",
        "space for a backup",
        "space for a restore",
        "last backup",
        "last proof",
    }
    for service in (running, stopped):
        found = doctor(service)
        assert found.keys() == expected
        assert {check["verdict"] for check in found.values()} == {"ok"}, found
        assert found["items"]["found"].startswith("1 with 1 events and 0 evidence records")
    assert "It runs." in doctor(running)["service"]["found"]
    assert "holds the scheduler's lease" in doctor(running)["lease"]["found"]
    done = remindi(running, "doctor")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "0 problems, 0 warnings."
    assert all(line.startswith("ok ") for line in done.out.splitlines()[:-1])


def test_it_changes_nothing_of_a_stopped_a_killed_and_a_broken_service(
    stopped: Service, make_service: MakeService
) -> None:
    before = state_of(stopped.root)
    names = sorted(path.name for path in stopped.data.iterdir())
    doctor(stopped)
    assert state_of(stopped.root) == before
    assert sorted(path.name for path in stopped.data.iterdir()) == names
    wreck(stopped.database, 20_480, 40_000)
    before = state_of(stopped.root)
    doctor(stopped)
    assert state_of(stopped.root) == before

    killed = make_service().start()
    with killed.connection() as connection:
        assert connection.call("remindi_add", new_item("doctor"))["ok"]
    killed.kill()
    before = state_of(killed.data)
    found = doctor(killed)
    assert state_of(killed.data) == before
    assert "the next start takes it in" in found["log"]["found"]
    assert "the next start drops" in found["lease"]["found"]
    assert found["items"]["found"].startswith("1 with")


def test_it_runs_beside_a_start_without_refusing_it(stopped: Service) -> None:
    ended = threading.Event()

    def look() -> None:
        while not ended.is_set():
            in_a_process(("doctor",), stopped.env, stopped.root)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(3):
            stopped.start()
            assert stopped.stop() == 0
    finally:
        ended.set()
        looking.join()


# ---------------------------------------------------------------------- broken


def test_a_missing_database_and_a_missing_directory_are_problems_that_say_what_to_do(
    stopped: Service, make_service: MakeService
) -> None:
    stopped.database.unlink()
    found = doctor(stopped)
    assert found["database file"]["verdict"] == "problem"
    assert "remindi backup restore" in found["database file"]["advice"]
    assert "schema" not in found
    nowhere = make_service()
    found = doctor(nowhere)
    assert found["data directory"]["verdict"] == "problem"
    assert "mounted" in found["data directory"]["advice"]
    assert not nowhere.data.exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [("text", b"not a database at all\n" * 500), ("scrap", b"SQLite format 3\x00"), ("nothing", b"")],
)
def test_a_file_that_is_no_database_is_a_problem(stopped: Service, name: str, content: bytes) -> None:
    stopped.database.write_bytes(content)
    found = doctor(stopped)
    problems = [check for check in found.values() if check["verdict"] == "problem"]
    assert [check["check"] for check in problems] in (["integrity"], ["schema"]), (name, found)
    assert "remindi backup restore" in problems[0]["advice"]


def test_damage_of_pages_is_found_wherever_it_is(stopped: Service) -> None:
    whole = stopped.database.read_bytes()
    missed = []
    for offset in range(4_096, len(whole) - 4_096, 4_096):
        wreck(stopped.database, offset, 4_096)
        if doctor(stopped).get("integrity", {}).get("verdict") != "problem":
            missed.append(offset)
        stopped.database.write_bytes(whole)
    # A page that nobody uses may hold anything.
    assert not missed
    assert doctor(stopped)["integrity"]["verdict"] == "ok"


def test_broken_rules_are_named(stopped: Service) -> None:
    with closing(sqlite3.connect(stopped.database)) as database:
        database.executescript(
            "PRAGMA ignore_check_constraints = ON;"
            "UPDATE item SET state = 4, completed_at = 1;"
            "UPDATE body SET trigger_fields = '{';"
        )
    found = doctor(stopped)
    assert found["items"]["verdict"] == "problem"
    assert "without its evidence" in found["items"]["found"]
    assert "malformed JSON" in found["items"]["found"]


def test_rows_that_refer_to_nothing_and_words_that_are_not_indexed_are_found(stopped: Service) -> None:
    with closing(sqlite3.connect(stopped.database)) as database:
        database.executescript("INSERT INTO link VALUES (99, 0, 0, 'goal', 1, 0)")
    found = doctor(stopped)
    assert found["foreign keys"]["verdict"] == "problem"
    assert found["integrity"]["verdict"] == "ok"
    with closing(sqlite3.connect(stopped.database)) as database:
        database.executescript(
            "DELETE FROM link WHERE item = 99; INSERT INTO search (search) VALUES ('delete-all')"
        )
    found = doctor(stopped)
    assert found["search"]["verdict"] == "warning"
    assert found["foreign keys"]["verdict"] == "ok"


def test_a_trigger_of_a_stranger_is_a_problem_of_the_schema_and_is_not_run(stopped: Service) -> None:
    with closing(sqlite3.connect(stopped.database)) as database:
        database.executescript("DROP TRIGGER item_stays; CREATE VIEW mine AS SELECT * FROM item")
    found = doctor(stopped)
    assert found["schema"]["verdict"] == "problem"
    assert "not those that Remindi makes" in found["schema"]["found"]
    assert "items" not in found


def test_a_newer_schema_and_an_altered_ledger_are_problems_of_the_schema(stopped: Service) -> None:
    with closing(sqlite3.connect(stopped.database)) as database:
        database.executescript("UPDATE migration SET sha256 = 'x' WHERE version = 1")
    assert "differs from the one this Remindi ships" in doctor(stopped)["schema"]["found"]
    with closing(sqlite3.connect(stopped.database)) as database:
        database.executescript("INSERT INTO migration VALUES (99, '0099_later.sql', 'x', 0)")
    assert "newer version" in doctor(stopped)["schema"]["found"]


# ---------------------------------------------------------- rights, journal, backups


def test_rights_that_a_start_mends_are_warnings_and_others_problems(stopped: Service) -> None:
    stopped.data.chmod(0o750)
    stopped.database.chmod(0o644)
    found = doctor(stopped)
    assert found["data directory"]["verdict"] == found["database file"]["verdict"] == "warning"
    assert f"chmod 0600 {stopped.database}" in found["database file"]["advice"]
    stopped.data.chmod(0o777)
    assert doctor(stopped)["data directory"]["verdict"] == "problem"
    stopped.data.chmod(0o700)
    stopped.database.chmod(0o600)
    shutil.rmtree(stopped.backups)
    found = doctor(stopped)
    assert found["backup directory"]["verdict"] == "warning"


@needs_root
def test_a_directory_that_may_not_be_entered_is_a_problem_and_no_traceback(stopped: Service) -> None:
    prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
    for folder in (stopped.root, *stopped.root.parents):
        if folder == Path("/tmp") or folder.stat().st_uid != 0 or folder == Path("/"):
            break
        folder.chmod(folder.stat().st_mode | 0o005)
    done = in_a_process(("doctor", "--json"), stopped.env, stopped.root, prefix=prefix)
    found = checks(done)
    assert found["data directory"]["verdict"] == "problem"
    assert "integrity" not in found


def test_an_interrupted_restore_and_a_journal_that_says_nothing_are_told(stopped: Service) -> None:
    journal = stopped.backups / "restore-journal.json"
    (file,) = stopped.backups.glob("*.sqlite3")
    entry = {
        "operation_id": "01a22ef6-e7d5-7000-8030-702e69897165",
        "phase": "live_replaced",
        "candidate_file": file.name,
        "pre_restore_file": file.name,
    }
    journal.write_text(json.dumps(entry))
    found = doctor(stopped)
    assert found["restore"]["verdict"] == "warning"
    assert "The next start puts the former database back." in found["restore"]["found"]
    journal.write_text(json.dumps(entry | {"phase": "requested"}))
    assert "The next start goes on with what is live." in doctor(stopped)["restore"]["found"]
    journal.write_text("{")
    assert doctor(stopped)["restore"]["verdict"] == "problem"


def test_backups_that_are_lost_or_missing_are_told(stopped: Service) -> None:
    (file,) = stopped.backups.glob("*.sqlite3")
    file.unlink()
    found = doctor(stopped)
    assert found["backup files"]["verdict"] == "problem"
    assert file.name.removeprefix("remindi-").removesuffix(".sqlite3") in found["backup files"]["found"]
    assert found["last backup"]["verdict"] == found["last proof"]["verdict"] == "warning"


def test_an_old_backup_is_a_warning(stopped: Service) -> None:
    with closing(sqlite3.connect(stopped.database)) as database:
        database.execute("UPDATE backup SET created_at = 0, verified_at = 0")
        database.commit()
    found = doctor(stopped)
    assert found["last backup"]["verdict"] == found["last proof"]["verdict"] == "warning"
    assert "remindi backup verify" in found["last proof"]["advice"]


def test_a_service_that_starts_or_hangs_is_told_from_one_that_is_stopped(stopped: Service) -> None:
    stopped.start()
    (stopped.data / "remindi.sock").unlink()
    assert "does not answer on its socket" in doctor(stopped)["service"]["found"]
    assert eventually(stopped.alive)
    assert stopped.stop() == 0
