"""Opening a file: a new one, ours, and every kind that is refused and left as it is (contract 16)."""

import hashlib
from pathlib import Path

import pytest

from actors.messages.readers import GetControl, ListSettings
from actors.store import (
    AlteredSchema,
    BadControlRow,
    Damaged,
    NewerSchema,
    StoreError,
    WriteStore,
    check_damage,
)
from actors.store.migrations import known_migrations
from actors.system import system_random
from remindi.adapters.configuration import ADAPTER_NAMES
from remindi.settings import SETTINGS
from tests.fakes.clocks import ManualClock
from tests.fakes.core import OWNER, Core, raw


def open_store(path: Path) -> WriteStore:
    return WriteStore(path, OWNER, ManualClock(), system_random())


@pytest.fixture
def stopped(path: Path) -> Path:
    """The file of a core that has stopped."""
    with Core(path):
        pass
    return path


def refused(path: Path, kind: type[StoreError]) -> str:
    """Opening must be refused and must leave the file byte for byte, without companions."""
    before = path.read_bytes()
    with pytest.raises(kind) as caught:
        open_store(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]
    text = str(caught.value)
    assert "\n" not in text
    assert path.name in text
    return text


def test_a_new_file_gets_every_migration_and_every_control_row(core: Core, path: Path) -> None:
    control = core.read(GetControl())
    assert [(row.component, row.desired) for row in control.workloads] == [
        ("mcp", "running"),
        ("scheduler", "running"),
    ]
    assert sorted(adapter.name for adapter in control.adapters) == sorted(ADAPTER_NAMES)
    assert not any(adapter.enabled for adapter in control.adapters)
    rows = core.read(ListSettings())
    assert [(row.key, row.value, row.version) for row in rows] == [
        (setting.key, setting.default, 1) for setting in SETTINGS
    ]
    with raw(path) as connection:
        ledger = list(connection.execute("SELECT version, name, sha256 FROM migration ORDER BY version"))
    assert ledger == [(script.version, script.name, script.sha256) for script in known_migrations()]


def test_the_ledger_holds_the_sha256_of_the_script_as_it_is_shipped() -> None:
    for script in known_migrations():
        shipped = Path(__file__).parents[2] / "schema" / "migrations" / script.name
        assert hashlib.sha256(shipped.read_bytes()).hexdigest() == script.sha256


def test_opening_ours_again_changes_nothing(stopped: Path) -> None:
    with raw(stopped) as connection:
        before = list(connection.execute("SELECT * FROM migration"))
    with Core(stopped):
        pass
    with raw(stopped) as connection:
        assert list(connection.execute("SELECT * FROM migration")) == before


def test_a_newer_schema_is_refused_with_both_numbers(stopped: Path) -> None:
    known = len(known_migrations())
    with raw(stopped) as connection:
        connection.execute("INSERT INTO migration VALUES (?, '9999_later.sql', 'x', 0)", (known + 41,))
    text = refused(stopped, NewerSchema)
    assert str(known) in text
    assert str(known + 41) in text


@pytest.mark.parametrize(("column", "value"), [("name", "0001_other.sql"), ("sha256", "0" * 64)])
def test_an_altered_ledger_is_refused(stopped: Path, column: str, value: str) -> None:
    with raw(stopped) as connection:
        connection.execute(f"UPDATE migration SET {column} = ? WHERE version = 1", (value,))
    refused(stopped, AlteredSchema)


def test_a_ledger_with_a_hole_is_refused(stopped: Path) -> None:
    with raw(stopped) as connection:
        connection.execute("UPDATE migration SET version = 0 WHERE version = 1")
    refused(stopped, AlteredSchema)


def test_an_empty_ledger_beside_our_tables_is_refused_without_a_trace(stopped: Path) -> None:
    with raw(stopped) as connection:
        connection.execute("DELETE FROM migration")
    with pytest.raises(Exception):  # noqa: B017, PT011
        open_store(stopped)
    with raw(stopped) as connection:
        assert list(connection.execute("SELECT * FROM migration")) == []


def test_a_database_of_somebody_else_is_refused(path: Path) -> None:
    with raw(path) as connection:
        connection.execute("CREATE TABLE recipe (id INTEGER PRIMARY KEY, text TEXT)")
    refused(path, StoreError)


def test_a_file_that_is_no_database_is_refused(path: Path) -> None:
    path.write_bytes(b"Dear diary, " * 1_000)
    refused(path, Damaged)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO setting VALUES ('nobody.knows', 1, 1, 0, 'x')",
        "INSERT INTO adapter VALUES ('carrier_pigeon', 0, '{}', 1, 0, 'x')",
        "UPDATE adapter SET configuration = '{\"type\": \"http_health\"}' WHERE name = 'http_health'",
        "UPDATE adapter SET configuration = '[]' WHERE name = 'http_health'",
    ],
)
def test_unknown_or_malformed_control_rows_refuse_startup(stopped: Path, statement: str) -> None:
    with raw(stopped) as connection:
        connection.execute(statement)
    with pytest.raises(BadControlRow):
        open_store(stopped)


def test_a_missing_control_row_comes_back_with_its_default_and_the_others_stay(stopped: Path) -> None:
    with raw(stopped) as connection:
        connection.execute("DELETE FROM setting WHERE key = 'scheduler.lease_seconds'")
        connection.execute("UPDATE setting SET value = 7, version = 4 WHERE key = 'adapters.max_concurrency'")
    with Core(stopped) as core:
        rows = {row.key: row for row in core.read(ListSettings())}
    assert (rows["scheduler.lease_seconds"].value, rows["scheduler.lease_seconds"].version) == (90, 1)
    assert (rows["adapters.max_concurrency"].value, rows["adapters.max_concurrency"].version) == (7, 4)


def test_a_stored_value_outside_its_bounds_counts_as_the_nearest_bound(stopped: Path) -> None:
    with raw(stopped) as connection:
        connection.execute("UPDATE setting SET value = 999999 WHERE key = 'adapters.timeout_seconds'")
    with Core(stopped) as core:
        assert core.read(GetControl()).settings["adapters.timeout_seconds"] == 60


def test_a_writer_that_cannot_open_its_file_does_not_start_and_says_why(path: Path) -> None:
    path.write_bytes(b"no database" * 1_000)
    core = Core(path)
    with pytest.raises(Damaged):
        core.start()
    core.stop()


def test_damage_is_found_by_the_check_that_runs_in_the_background(stopped: Path) -> None:
    assert check_damage(stopped) is None
    content = bytearray(stopped.read_bytes())
    middle = len(content) // 2 // 4_096 * 4_096
    content[middle : middle + 4_096] = b"\xa5" * 4_096
    stopped.write_bytes(content)
    found = check_damage(stopped)
    assert found is not None
    assert stopped.name in found


def test_leases_left_by_a_dead_process_are_dropped_at_the_start(stopped: Path) -> None:
    with raw(stopped) as connection:
        connection.execute("INSERT INTO lease VALUES ('trigger-evaluator', 'dead', 0, 9000000000000000, 3)")
    open_store(stopped).close()
    with raw(stopped) as connection:
        assert list(connection.execute("SELECT * FROM lease")) == []
