"""``remindi backup`` with the real process: the service running, stopped, killed, or too broken to start."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from remindi.cli import exits
from remindi.cli.backup_arguments import PHRASE
from tests.conftest import MakeService
from tests.process.shell import Done, in_a_process, remindi
from tests.service import Service

ROOT: Final = Path(__file__).parents[2]
CONFIRM: Final = ("--confirm", PHRASE)


def backup(service: Service, *arguments: str, given: str = "", cwd: Path | None = None) -> Done:
    return remindi(service, "backup", *arguments, given=given, cwd=cwd)


def listed(service: Service) -> list[dict[str, Any]]:
    done = backup(service, "list", "--json")
    assert done.code == 0, done
    rows: list[dict[str, Any]] = done.json()
    return rows


def add(service: Service, message: str) -> str:
    done = remindi(service, "add", message, "--project", "backups", "--at", "2999-01-01 00:00")
    assert done.code == 0, done
    return done.id()


def messages(service: Service) -> set[str]:
    """What the stored items say; of a stopped service too."""
    done = in_a_process(("export",), service.env, service.root)
    assert done.code == 0, done
    return {value["item"]["message"] for value in map(json.loads, done.out.splitlines()) if "item" in value}


def wreck(path: Path) -> None:
    """Overwrite a page that every start reads."""
    with path.open("r+b") as file:
        file.seek(4_096)
        file.write(b"\xff" * 65_536)


def has_no_leftovers(service: Service) -> bool:
    return not [*service.backups.glob(".tmp-*"), *service.data.glob(".tmp-*")]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a service that was stopped, with an item *old*."""
    with Service(tmp_path_factory.mktemp("state") / "service") as service:
        add(service, "old")
    return service.root


@pytest.fixture
def stopped(make_service: MakeService, state: Path) -> Service:
    """A service of its own that was stopped, with an item *old*."""
    service = make_service()
    shutil.copytree(state / "data", service.data)
    return service


@pytest.fixture(params=["running", "stopped"])
def service(request: pytest.FixtureRequest, stopped: Service) -> Iterator[Service]:
    """The same, running or not."""
    if request.param == "running":
        with stopped:
            yield stopped
    else:
        yield stopped


def with_another_item(service: Service, message: str) -> None:
    """Add an item, for which a stopped service is started."""
    if service.alive():
        add(service, message)
    else:
        with service:
            add(service, message)


# --------------------------------------------------------- the same, running or not


def test_create_list_and_verify_tell_the_same_of_a_backup(service: Service) -> None:
    assert "Make one: remindi backup create" in backup(service, "list").out
    made = backup(service, "create", "--json").json()
    assert (made["source"], made["status"]) == ("manual", "ready")
    file = service.backups / made["file_name"]
    assert file.stat().st_size == made["size_bytes"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.with_name(f"{file.name}.json").exists()
    assert listed(service) == [made]
    table = backup(service, "list").out.splitlines()
    assert table[0].split() == ["BACKUP", "STATUS", "SOURCE", "MB", "MADE", "PROVEN"]
    assert table[1].startswith(f"{made['id']}  ready   manual")
    for named in ((), ("all",), (made["id"],), (made["id"][-6:],)):
        done = backup(service, "verify", *named)
        assert (done.code, done.err) == (0, ""), done
        assert done.out.startswith(f"{made['id']} is proven restorable")
    (verified,) = backup(service, "verify", "--json").json()
    assert verified["backup"]["verified_at"] >= made["verified_at"]
    assert has_no_leftovers(service)


def test_restore_by_the_end_of_an_id_brings_the_former_items_back_and_keeps_those_of_now(
    service: Service,
) -> None:
    made = backup(service, "create", "--json").json()
    with_another_item(service, "new")
    assert messages(service) == {"old", "new"}
    done = backup(service, "restore", made["id"][-8:], given=f"{PHRASE}\n")
    assert done.code == 0, done
    assert messages(service) == {"old"}
    told = done.err.splitlines()
    assert told[0].startswith(f"Restore: {made['id']}, manual")
    for phase in ("what was live is backed up", "the backup is in place", "done"):
        assert any(line.endswith(phase) for line in told), told
    pre_restore = done.id()
    assert {row["id"]: row["source"] for row in listed(service)} == {
        made["id"]: "manual",
        pre_restore: "pre_restore",
    }
    back = backup(service, "restore", pre_restore, *CONFIRM, "--json").json()
    assert (back["outcome"], back["backup_id"], back["rolled_back"]) == ("succeeded", pre_restore, False)
    assert messages(service) == {"old", "new"}
    assert has_no_leftovers(service)


def test_a_bare_file_is_restored_from_another_directory_by_a_relative_path(
    service: Service, tmp_path: Path
) -> None:
    made = backup(service, "create", "--json").json()
    elsewhere = tmp_path / "another disk"
    elsewhere.mkdir()
    shutil.copy(service.backups / made["file_name"], elsewhere / "copy.db")
    with_another_item(service, "new")
    done = backup(service, "restore", "copy.db", *CONFIRM, cwd=elsewhere)
    assert done.code == 0, done
    assert messages(service) == {"old"}
    assert sorted(row["source"] for row in listed(service)) == ["manual", "pre_restore", "upload"]
    assert [path.name for path in elsewhere.iterdir()] == ["copy.db"]


@pytest.mark.parametrize("said", ["", "yes\n", "restore remindi\n", f" {PHRASE}\n", f"{PHRASE} \n"])
def test_nothing_but_the_phrase_restores(service: Service, said: str) -> None:
    made = backup(service, "create", "--json").json()
    for done in (
        backup(service, "restore", made["id"], given=said),
        backup(service, "restore", made["id"], "--confirm", said.removesuffix("\n")),
    ):
        assert done.code == exits.FAILED
        assert f'the phrase is "{PHRASE}". Nothing was changed.' in done.err
    assert len(listed(service)) == 1


def test_what_is_no_backup_is_refused_in_words_and_leaves_nothing(service: Service, tmp_path: Path) -> None:
    made = backup(service, "create", "--json").json()
    text = tmp_path / "text.db"
    text.write_text("not a database\n" * 1_000)
    cut = tmp_path / "cut.db"
    cut.write_bytes((service.backups / made["file_name"]).read_bytes()[:-4_096])
    strange = tmp_path / "strange.db"
    with closing(sqlite3.connect(strange)) as database:
        database.executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
    for file in (text, cut, strange):
        done = backup(service, "restore", str(file), *CONFIRM, "--json")
        assert done.code == exits.FAILED, done
        assert "Nothing was changed." in done.err
        assert done.json()["error"]["code"] == "BACKUP_INVALID"
    for missing in (tmp_path / "missing.db", tmp_path):
        done = backup(service, "restore", str(missing), *CONFIRM)
        assert done.code == exits.FAILED, done
    unknown = "01a22ef6-e7d5-7000-8030-702e69897165"
    for name in (unknown, "ffffff", "x"):
        done = backup(service, "restore", name, *CONFIRM)
        assert done.code == exits.FAILED
        assert "There is no backup" in done.err
    assert backup(service, "verify", unknown).code == exits.FAILED
    assert listed(service) == [made]
    assert messages(service) == {"old"}
    assert has_no_leftovers(service)


def test_a_damaged_backup_fails_its_verification_and_the_others_are_told_too(service: Service) -> None:
    first, second = (backup(service, "create", "--json").json() for _ in range(2))
    wreck(service.backups / first["file_name"])
    done = backup(service, "verify")
    assert done.code == exits.FAILED
    assert f"{first['id']} is not restorable" in done.out
    assert f"{second['id']} is proven restorable" in done.out
    status = {row["id"]: row["status"] for row in listed(service)}
    assert status == {first["id"]: "invalid", second["id"]: "ready"}
    done = backup(service, "restore", first["id"], *CONFIRM)
    assert done.code == exits.FAILED
    assert messages(service) == {"old"}


# ------------------------------------------------------------------ a broken database


@pytest.mark.parametrize("what", ["damaged", "garbage", "empty", "missing", "no directory"])
def test_a_database_that_cannot_be_opened_is_kept_aside_and_the_backup_is_put_in_place(
    stopped: Service, what: str
) -> None:
    made = backup(stopped, "create", "--json").json()
    with_another_item(stopped, "new")
    match what:
        case "damaged":
            wreck(stopped.database)
        case "garbage":
            stopped.database.write_bytes(os.urandom(100_000))
        case "empty":
            stopped.database.write_bytes(b"")
        case "missing":
            stopped.database.unlink()
        case "no directory":
            shutil.rmtree(stopped.data)
    broken = stopped.database.read_bytes() if stopped.database.exists() else None
    # To a start an empty file is a new database.
    if what != "empty":
        found = backup(stopped, "list")
        assert found.code == 0, found
        assert "this is what the backup directory says of itself" in found.err
        assert made["id"] in found.out
    done = backup(stopped, "restore", made["id"][-8:], *CONFIRM)
    assert done.code == 0, done
    assert "is in place: 1 items. Start the service." in done.out
    kept = list(stopped.data.glob("remindi.db.damaged-*"))
    assert [path.read_bytes() for path in kept] == ([] if broken is None else [broken])
    assert all(str(path) in done.out for path in kept)
    assert messages(stopped) == {"old"}
    assert has_no_leftovers(stopped)
    assert remindi(stopped, "doctor").code == 0
    with stopped:
        add(stopped, "after")
        assert {"manual"} <= {row["source"] for row in listed(stopped)}


def test_a_stale_log_of_the_damaged_database_is_kept_aside_and_not_replayed(stopped: Service) -> None:
    made = backup(stopped, "create", "--json").json()
    stopped.start()
    add(stopped, "new")
    stopped.kill()
    wreck(stopped.database)
    assert backup(stopped, "restore", made["id"], *CONFIRM).code == 0
    assert {path.name.rpartition("-")[2] for path in stopped.data.glob("*.damaged-*")} >= {"wal"}
    assert messages(stopped) == {"old"}


def test_a_broken_database_stays_as_it_is_unless_a_sound_backup_is_confirmed(
    stopped: Service, tmp_path: Path
) -> None:
    made = backup(stopped, "create", "--json").json()
    wreck(stopped.database)
    broken = stopped.database.read_bytes()
    text = tmp_path / "text.db"
    text.write_text("not a database\n" * 1_000)
    for arguments, given in (
        ((made["id"],), "no\n"),
        ((str(text), *CONFIRM), ""),
        ((str(tmp_path / "missing.db"), *CONFIRM), ""),
        (("ffffff", *CONFIRM), ""),
    ):
        done = backup(stopped, "restore", *arguments, given=given)
        assert done.code != 0, arguments
        assert stopped.database.read_bytes() == broken
    assert not list(stopped.data.glob("*.damaged-*"))
    assert has_no_leftovers(stopped)


def test_a_running_service_on_a_damaged_database_says_to_stop_it_first(stopped: Service) -> None:
    made = backup(stopped, "create", "--json").json()
    with stopped:
        # Damage that a page in use does not show at once.
        with closing(sqlite3.connect(stopped.database)) as database:
            database.executescript(
                "PRAGMA ignore_check_constraints = ON; UPDATE body SET trigger_fields = '{'"
            )
        done = backup(stopped, "restore", made["id"], *CONFIRM)
        assert done.code == exits.FAILED, done
        assert "stop the service and run this again" in done.err
    done = backup(stopped, "restore", made["id"], *CONFIRM)
    assert done.code == 0, done
    assert messages(stopped) == {"old"}


# --------------------------------------------------------------- killed at any step


KILLED: Final = """
import os, sys
left = int(sys.argv[1])
def watch(event, arguments):
    global left
    if event in ("os.rename", "os.link", "os.remove", "os.mkdir"):
        left -= 1
        if left == 0:
            os._exit(137)
sys.addaudithook(watch)
from remindi.__main__ import main
code = main(sys.argv[2:])
sys.stdout.flush()
os._exit(code)
"""
"""Runs a command that ends, as by a power cut, right before its n-th change of a directory."""


def killed(service: Service, steps: int, *arguments: str) -> int:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(steps), *arguments],
        env=service.env | {"PYTHONPATH": str(ROOT)},
        cwd=service.root,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in done.stderr, done.stderr
    return done.returncode


@pytest.mark.slow
def test_killed_at_any_step_the_broken_files_or_the_backup_are_there_and_the_command_may_be_run_again(
    stopped: Service, make_service: MakeService
) -> None:
    made = backup(stopped, "create", "--json").json()
    wreck(stopped.database)
    broken = stopped.database.read_bytes()
    sound = (stopped.backups / made["file_name"]).read_bytes()
    steps = 0
    while True:
        steps += 1
        tried = make_service()
        shutil.copytree(stopped.data, tried.data)
        shutil.copytree(stopped.backups, tried.backups)
        code = killed(tried, steps, "backup", "restore", made["id"], *CONFIRM)
        files = [path.read_bytes() for path in tried.data.glob("remindi.db*") if path.suffix[:4] != ".db-"]
        assert broken in files or code == 0, steps
        assert tried.database.exists(), steps
        assert (tried.backups / made["file_name"]).read_bytes() == sound
        if code == 0:
            break
        assert code == 137, steps
        done = backup(tried, "restore", made["id"], *CONFIRM)
        assert done.code == 0, (steps, done)
        assert messages(tried) == {"old"}
        assert [path.read_bytes() for path in tried.data.glob("*.damaged-*")].count(broken) >= 1 or (
            "The backup is live now" in done.out
        )
        assert has_no_leftovers(tried), steps
    assert steps > 3
