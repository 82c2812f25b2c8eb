"""Starts that are refused: one line per reason, the documented exit code, no traceback, nothing changed."""

import fcntl
import hashlib
import os
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest

from actors.store.migrations import known_migrations
from remindi.config import VARIABLES
from tests.conftest import MakeService
from tests.process.acts import all_items, new_item
from tests.service import HOST, TOKEN, Service, eventually

NOBODY: Final = 65_534
"""Another uid than that of the tests, which run as root."""

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="gives files away and becomes another user")


def refusal(service: Service, code: int) -> list[str]:
    """Run a service that is to refuse its start; return the lines it said to people."""
    assert service.run_to_end() == code, service.output()
    said = service.stderr().splitlines()
    assert said
    assert all(line.startswith("remindi: ") for line in said), said
    assert "Traceback" not in service.output()
    return said


def one_line(service: Service, code: int) -> str:
    (line,) = refusal(service, code)
    return line


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---------------------------------------------------------------- second process


def test_a_second_process_on_the_same_data_is_refused_and_the_first_goes_on(
    make_service: MakeService,
) -> None:
    first, second = make_service(), make_service()
    second.env |= {"REMINDI_DB_PATH": str(first.database)}
    with first:
        first.call("remindi_add", new_item("first"))
        line = one_line(second, 75)
        assert "Another Remindi process uses this directory" in line
        assert str(first.data) in line
        first.call("remindi_add", new_item("first"))
        with first.connection() as connection:
            assert len(all_items(connection, "first")) == 2


def test_a_second_process_with_another_file_in_the_same_directory_is_refused(
    make_service: MakeService,
) -> None:
    first, second = make_service(), make_service()
    second.env |= {"REMINDI_DB_PATH": str(first.data / "other.db")}
    with first:
        assert "Another Remindi process" in one_line(second, 75)
        assert not (first.data / "other.db").exists()


def test_a_second_process_through_a_link_to_the_directory_is_refused(make_service: MakeService) -> None:
    first, second = make_service(), make_service()
    with first:
        (second.root / "link").symlink_to(first.data)
        second.env |= {"REMINDI_DB_PATH": str(second.root / "link" / "remindi.db")}
        assert "Another Remindi process" in one_line(second, 75)


@pytest.mark.slow
def test_of_eight_processes_that_start_at_once_one_serves(make_service: MakeService) -> None:
    services = [make_service() for _ in range(8)]
    for service in services[1:]:
        service.env |= {"REMINDI_DB_PATH": str(services[0].database)}
    for service in services:
        service.launch()
    (winner,) = eventually(lambda: [s for s in services if s.ready()], within=30)
    losers = [service for service in services if service is not winner]
    assert [service.wait() for service in losers] == [75] * 7
    assert winner.stop() == 0


def test_a_lock_file_left_behind_keeps_nobody_out(make_service: MakeService) -> None:
    service = make_service()
    service.data.mkdir(mode=0o700)
    (service.data / "remindi.lock").write_text("4711")
    with service:
        assert service.ready()


def test_a_lock_held_by_a_program_that_died_is_free(make_service: MakeService) -> None:
    service = make_service()
    service.data.mkdir(mode=0o700)
    with (service.data / "remindi.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert "Another Remindi process" in one_line(service, 75)
    with service:
        assert service.ready()


# ------------------------------------------------------------------- environment


def test_every_broken_variable_is_named_at_once_and_no_value(make_service: MakeService) -> None:
    secret = "s3cret value"
    broken = {row.name: f"{secret}\x7f" for row in VARIABLES}
    # Any text is right for these; what breaks them is its absence or bytes that are no Unicode.
    broken |= {"REMINDI_OWNER_ID": " ", "REMINDI_WEBUI_TITLE": "\udcff"}
    broken |= {"REMINDI_WEBUI_USERNAME": "\udcff", "REMINDI_WEBUI_PASSWORD": "\udcfe"}
    service = make_service(env=broken)
    said = refusal(service, 78)
    assert [line.split()[1] for line in said] == [row.name for row in VARIABLES]
    assert secret not in service.output()
    assert not service.data.exists()


def test_required_variables_that_are_missing_are_all_named(make_service: MakeService) -> None:
    names = ("REMINDI_OWNER_ID", "REMINDI_MCP_TOKEN", "REMINDI_WEBUI_USERNAME", "REMINDI_WEBUI_PASSWORD")
    said = refusal(make_service(env=dict.fromkeys(names)), 78)
    assert [line.split()[1] for line in said] == list(names)


def test_unknown_variables_are_named_in_one_warning(make_service: MakeService) -> None:
    with make_service(
        env={"REMINDI_MCP_TOKENS": "a secret of somebody", "REMINDI_LISTENER_ADDRESS": "x"}
    ) as service:
        (warning,) = eventually(lambda: [line for line in service.log_lines() if line["level"] == "warn"])
        assert "REMINDI_MCP_TOKENS (nearest known: REMINDI_MCP_TOKEN)" in warning["message"]
        assert "REMINDI_LISTENER_ADDRESS" in warning["message"]
        assert "a secret of somebody" not in service.output()


ENV_FILES: Final[dict[str, Callable[[Path], object]]] = {
    "is not there": lambda _: None,
    "is a directory": lambda path: path.mkdir(),
    "is no UTF-8": lambda path: path.write_bytes(b"REMINDI_OWNER_ID=\xff\xfe-secret\n"),
    "is too large": lambda path: path.write_bytes(b"#" * 65_537),
    "has a line that is none": lambda path: path.write_text("REMINDI_OWNER_ID=a\nsecret\n"),
    "has a quote that does not end": lambda path: path.write_text("REMINDI_OWNER_ID='secret\n"),
    "names a variable twice": lambda path: path.write_text("REMINDI_OWNER_ID=a\nREMINDI_OWNER_ID=secret\n"),
    "holds a NUL": lambda path: path.write_bytes(b"REMINDI_OWNER_ID=secret\x00\n"),
}


@pytest.mark.parametrize("fault", ENV_FILES)
def test_an_env_file_that_cannot_be_used_is_refused_by_name(make_service: MakeService, fault: str) -> None:
    service = make_service()
    path = service.root / "remindi.env"
    ENV_FILES[fault](path)
    service.arguments = ("--env-file", str(path))
    line = one_line(service, 78)
    assert str(path) in line
    assert "secret" not in line


def test_the_environment_wins_over_the_env_file(make_service: MakeService) -> None:
    service = make_service(env={"REMINDI_MCP_TOKEN": None})
    path = service.root / "remindi.env"
    path.write_text(f"REMINDI_MCP_TOKEN={TOKEN}\nREMINDI_DB_PATH=/not/used\n")
    service.arguments = ("--env-file", str(path))
    with service, service.connection(token=TOKEN) as connection:
        assert connection.call("remindi_list")["ok"]


# -------------------------------------------------------------------------- port


def test_a_port_in_use_is_refused_and_the_directory_is_free_again(make_service: MakeService) -> None:
    service = make_service()
    with socket.socket() as other:
        other.bind((HOST, service.port))
        other.listen()
        line = one_line(service, 69)
        assert str(service.port) in line
        assert "in use" in line
    with service:
        assert service.ready()


# ------------------------------------------------------------------- permissions


BECOME_NOBODY: Final = (
    *("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--bounding-set=-all", "--"),
)


@pytest.fixture
def of_nobody() -> Iterator[Service]:
    """A service that runs as another user, without capabilities, in a folder that this user can reach."""
    with TemporaryDirectory(prefix="remindi-test-") as folder:
        Path(folder).chmod(0o755)
        service = Service(Path(folder) / "service", prefix=BECOME_NOBODY)
        os.chown(service.root, NOBODY, NOBODY)
        os.chown(service.root / "tmp", NOBODY, NOBODY)
        yield service
        if service.alive():
            service.kill()


@needs_root
def test_another_user_starts_in_a_directory_of_his_own(of_nobody: Service) -> None:
    service = of_nobody
    with service:
        assert service.database.stat().st_uid == NOBODY


@needs_root
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o777])
def test_a_directory_of_root_is_refused_to_another_user(of_nobody: Service, mode: int) -> None:
    service = of_nobody
    service.data.mkdir()
    service.data.chmod(mode)
    line = one_line(service, 73)
    for told in (str(service.data), "REMINDI_DB_PATH", f"uid {NOBODY}", "uid 0", "0700"):
        assert told in line
    assert list(service.data.iterdir()) == []
    assert stat.S_IMODE(service.data.stat().st_mode) == mode


@needs_root
def test_a_directory_that_cannot_be_made_is_refused(of_nobody: Service) -> None:
    service = of_nobody
    (service.root / "locked").mkdir(mode=0o755)
    service.env["REMINDI_DB_PATH"] = str(service.root / "locked" / "deep" / "data" / "remindi.db")
    line = one_line(service, 73)
    for told in (str(service.root / "locked"), f"uid {NOBODY}", "right to write"):
        assert told in line


@needs_root
def test_a_directory_of_ours_without_rights_is_made_private(of_nobody: Service) -> None:
    service = of_nobody
    service.data.mkdir()
    os.chown(service.data, NOBODY, NOBODY)
    service.data.chmod(0o055)
    with service:
        assert stat.S_IMODE(service.data.stat().st_mode) == 0o700


def test_a_directory_that_everybody_may_write_is_refused(make_service: MakeService) -> None:
    service = make_service()
    service.data.mkdir()
    service.data.chmod(0o777)
    line = one_line(service, 73)
    for told in (str(service.data), "writable for everybody", f"uid {os.geteuid()}", "0700"):
        assert told in line


@needs_root
def test_a_database_of_root_is_refused_to_another_user(of_nobody: Service) -> None:
    service = of_nobody
    with service:
        pass
    os.chown(service.database, 0, 0)
    before = digest(service.database)
    line = one_line(service, 73)
    for told in (str(service.database), f"uid {NOBODY}"):
        assert told in line
    assert digest(service.database) == before


@needs_root
def test_a_lock_file_of_root_is_refused_to_another_user(of_nobody: Service) -> None:
    service = of_nobody
    service.data.mkdir(mode=0o700)
    (service.data / "remindi.lock").touch(0o600)
    os.chown(service.data, NOBODY, NOBODY)
    line = one_line(service, 73)
    assert f"uid {NOBODY}" in line


def test_a_path_that_is_no_directory_is_refused(make_service: MakeService) -> None:
    service = make_service()
    service.data.write_text("a file")
    assert str(service.data) in one_line(service, 73)


def test_a_database_that_is_a_directory_is_refused(make_service: MakeService) -> None:
    service = make_service()
    service.database.mkdir(parents=True)
    assert str(service.database) in one_line(service, 73)


def test_a_backup_directory_that_is_a_file_is_refused_and_named(make_service: MakeService) -> None:
    service = make_service()
    service.backups.write_text("a file")
    line = one_line(service, 73)
    assert str(service.backups) in line
    assert "REMINDI_BACKUP_DIR" in line


def test_everything_made_is_private_and_what_was_open_is_made_so(make_service: MakeService) -> None:
    service = make_service()
    with service:
        service.call("remindi_add", new_item("private"))
        for folder in (service.data, service.backups):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        files = list(service.data.iterdir())
        assert {"remindi.db", "remindi.db-wal", "remindi.lock"} <= {file.name for file in files}
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    service.data.chmod(0o755)
    service.database.chmod(0o666)
    with service:
        assert stat.S_IMODE(service.data.stat().st_mode) == 0o700
        assert stat.S_IMODE(service.database.stat().st_mode) == 0o600


# -------------------------------------------------------------------- the database


@pytest.fixture
def stored(make_service: MakeService) -> Service:
    """A service that has stored something and was stopped."""
    service = make_service()
    with service:
        service.call("remindi_add", new_item("stored"))
    return service


def change(service: Service, sql: str) -> None:
    with closing(sqlite3.connect(service.database)) as connection:
        connection.executescript(sql)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_newer_schema_is_refused_with_both_numbers_and_left_alone(stored: Service) -> None:
    change(stored, "INSERT INTO migration VALUES (4711, '4711_later.sql', 'x', 0)")
    before = digest(stored.database)
    line = one_line(stored, 76)
    for told in (str(stored.database), "schema 4711", f"schema {len(known_migrations())}", "backup"):
        assert told in line
    assert digest(stored.database) == before
    assert not stored.database.with_name("remindi.db-wal").exists()


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE migration SET sha256 = 'x'",
        "UPDATE migration SET name = '0001_other.sql'",
        "UPDATE migration SET version = 0 WHERE version = 1",
        "INSERT INTO migration VALUES (-1, 'x', 'x', 0)",
    ],
)
def test_an_altered_migration_is_refused_and_left_alone(stored: Service, sql: str) -> None:
    change(stored, sql)
    before = digest(stored.database)
    assert "differs" in one_line(stored, 76)
    assert digest(stored.database) == before


@pytest.mark.parametrize("sql", ["DROP TABLE migration", "DELETE FROM migration"])
def test_a_database_without_its_ledger_is_refused_and_left_alone(stored: Service, sql: str) -> None:
    change(stored, sql)
    before = digest(stored.database)
    assert str(stored.database) in one_line(stored, 76)
    assert digest(stored.database) == before


def test_the_database_of_another_program_is_refused_and_left_alone(make_service: MakeService) -> None:
    service = make_service()
    service.data.mkdir(mode=0o700)
    with closing(sqlite3.connect(service.database)) as connection:
        connection.executescript("CREATE TABLE theirs (a); INSERT INTO theirs VALUES (1);")
    before = digest(service.database)
    assert "another program" in one_line(service, 65)
    assert digest(service.database) == before


@pytest.mark.parametrize(
    "content", [b"hello, world\n" * 1_000, b"SQLite format 3\x00" + b"\xff" * 8_176, b"x"]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    make_service: MakeService, content: bytes
) -> None:
    service = make_service()
    service.data.mkdir(mode=0o700)
    service.database.write_bytes(content)
    line = one_line(service, 65)
    assert str(service.database) in line
    assert service.database.read_bytes() == content


def test_an_empty_file_becomes_a_database(make_service: MakeService) -> None:
    service = make_service()
    service.data.mkdir(mode=0o700)
    service.database.touch()
    with service:
        assert service.call("remindi_add", new_item("empty"))["ok"]


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO setting VALUES ('remindi.unknown', 1, 1, 0, 'x')",
        "INSERT INTO adapter VALUES ('telepathy', 0, '{}', 1, 0, 'x')",
        'UPDATE adapter SET configuration = \'{"type":"other"}\'',
        "UPDATE adapter SET configuration = '[]'",
    ],
)
def test_a_control_row_that_no_remindi_wrote_is_refused(stored: Service, sql: str) -> None:
    change(stored, sql)
    assert one_line(stored, 65)


def test_a_setting_outside_of_its_bounds_counts_as_the_nearest_one(stored: Service) -> None:
    change(stored, "UPDATE setting SET value = -1; UPDATE setting SET value = 1e18 WHERE key LIKE 'remindi%'")
    with stored:
        assert stored.call("remindi_add", new_item("again"))["ok"]


def test_missing_control_rows_are_added(stored: Service) -> None:
    change(stored, "DELETE FROM setting; DELETE FROM adapter; DELETE FROM workload")
    with stored:
        assert stored.call("remindi_add", new_item("again"))["ok"]


@pytest.mark.slow
def test_a_database_locked_by_another_program_is_refused_after_its_patience(stored: Service) -> None:
    with closing(sqlite3.connect(stored.database, isolation_level=None)) as connection:
        connection.execute("PRAGMA locking_mode = EXCLUSIVE")
        connection.execute("BEGIN EXCLUSIVE")
        line = one_line(stored, 75)
    assert "locked by another program" in line


# ------------------------------------------------------------------- stopping early


def test_a_stop_during_the_start_ends_it_cleanly(make_service: MakeService) -> None:
    service = make_service()
    service.launch()
    eventually(service.log_lines, within=30)
    assert service.stop() == 0
    assert service.log_lines()[-1]["message"] == "stopped"


def test_without_standard_output_the_service_still_serves(make_service: MakeService) -> None:
    service = make_service()
    service.prefix = (sys.executable, "-c", "import os,sys; os.close(1); os.execv(sys.argv[1], sys.argv[1:])")
    service.launch()
    eventually(lambda: service.ready() or not service.alive(), within=30)
    assert service.ready(), service.output()
    assert service.call("remindi_add", new_item("silent"))["ok"]
    assert service.stop(signal.SIGTERM) == 0


def test_help_and_version_need_no_environment() -> None:
    for arguments in (["version"], ["--help"], ["serve", "--help"]):
        done = subprocess.run(
            [sys.executable, "-m", "remindi", *arguments],
            env={},
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert done.returncode == 0
        assert done.stdout
        assert done.stderr == b""
