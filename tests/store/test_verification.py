"""Verification: what is a backup of ours, and every kind of file that is none (contract 14.3).

Each file is refused before anything of it runs, in one sentence, and nothing is left beside it.
"""

import os
import random
import shutil
import sqlite3
import struct
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.store.connections import APPLICATION_ID
from actors.store.copying import Counts, copy_database
from actors.store.migrations import LEDGER, known_migrations
from actors.store.verification import Invalid, Verified, verify
from tests.fakes.core import OWNER, Core
from tests.fakes.script import Script
from tests.process.acts import completion

NEWEST = len(known_migrations())
NOW = 1_800_000_000_000
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup with items in several states."""
    folder = tmp_path_factory.mktemp("sound")
    with Core(folder / "remindi.db") as core:
        script = Script(core)
        names = [script.add(message=f"message {number} about lighthouses") for number in range(40)]
        done = names[0]
        core.data("remindi_complete", **completion(done, script.item(done)["version"]))
        core.data("remindi_check", project_id="p", lifecycle_event="checkpoint")
        copy_database(folder / "remindi.db", folder / "backup.sqlite3")
    return folder / "backup.sqlite3"


@pytest.fixture
def file(sound: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it that a test may spoil; nothing may be left beside it."""
    folder = tmp_path / "files"
    folder.mkdir()
    target = folder / "candidate.sqlite3"
    shutil.copyfile(sound, target)
    yield target
    assert sorted(path.name for path in folder.iterdir()) == [target.name]


def verified(file: Path, owner: str = OWNER) -> Verified:
    before = file.read_bytes()
    try:
        return verify(file, owner, scratch=file.parent, now=NOW)
    finally:
        assert file.read_bytes() == before


def refused(file: Path, owner: str = OWNER) -> str:
    with pytest.raises(Invalid) as caught:
        verified(file, owner)
    text = str(caught.value)
    assert "\n" not in text
    assert str(file.parent) not in text
    return text


def spoil(file: Path, *statements: str) -> None:
    """Change a file as a stranger could: without constraints, triggers or defenses."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA foreign_keys = OFF")
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("PRAGMA writable_schema = ON")
        for statement in statements:
            connection.executescript(statement)


def without_triggers(file: Path, *statements: str) -> None:
    """The same to data that triggers protect; the triggers are there again afterwards."""
    with closing(sqlite3.connect(file)) as connection:
        triggers = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
    spoil(
        file,
        *(f"DROP TRIGGER {name}" for name, _ in triggers),
        *statements,
        *(f"{sql};" for _, sql in triggers),
    )


def test_a_backup_of_ours_is_one_and_is_counted(file: Path) -> None:
    assert verified(file) == Verified(NEWEST, Counts(40, 80, 1))


def test_a_log_in_the_header_is_no_fault(file: Path) -> None:
    with file.open("r+b") as raw:
        raw.seek(18)
        raw.write(b"\x02\x02")
    assert verified(file).schema_version == NEWEST


def test_statistics_are_no_fault(file: Path) -> None:
    spoil(file, "ANALYZE")
    assert verified(file).schema_version == NEWEST


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"x",
        b"no database at all\n" * 1_000,
        b"SQLite format 3\x00",
        b"SQLite format 3\x00" + bytes(84),
        bytes(8_192),
    ],
)
def test_what_is_no_database_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    refused(file)


@pytest.mark.parametrize("share", [0.0001, 0.1, 0.5, 0.9, 0.9999])
def test_a_file_that_was_cut_off_is_refused(file: Path, share: float) -> None:
    size = file.stat().st_size
    os.truncate(file, max(1, int(size * share)))
    assert refused(file)


def test_a_file_with_more_behind_it_is_refused(file: Path) -> None:
    with file.open("ab") as raw:
        raw.write(bytes(4_096))
    assert "length" in refused(file)


@pytest.mark.parametrize("page_size", [512, 1_024, 8_192, 65_536])
def test_another_page_size_is_refused(file: Path, page_size: int) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        connection.execute("CREATE TABLE t (a)")
    assert "page size" in refused(file)


def test_the_database_of_another_program_is_refused(file: Path) -> None:
    spoil(file, "PRAGMA application_id = 7")
    assert refused(file) == "it is the database of another program"


def test_an_empty_database_of_ours_is_refused(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("CREATE TABLE t (a)")
    assert refused(file) == "its tables are not those that Remindi makes"


def test_another_owner_is_refused(file: Path) -> None:
    assert refused(file, "somebody-else") == "it holds items of another owner"


FUTURE = f"INSERT INTO migration VALUES ({NEWEST + 1}, '0099_future.sql', '{'a' * 64}', 0)"


@pytest.mark.parametrize("more", ["", "CREATE TABLE of_the_future (a);"])
def test_a_newer_schema_is_refused_with_both_numbers(file: Path, more: str) -> None:
    spoil(file, f"{FUTURE};{more}")
    text = refused(file)
    assert f"schema {NEWEST + 1}" in text
    assert f"schema {NEWEST}" in text


@pytest.mark.parametrize(
    "statement",
    [
        f"UPDATE migration SET sha256 = '{'b' * 64}' WHERE version = 1",
        "UPDATE migration SET name = '0001_other.sql' WHERE version = 1",
        "DELETE FROM migration WHERE version = 2",
        f"DELETE FROM migration WHERE version = {NEWEST}",
        "DELETE FROM migration",
        "UPDATE migration SET version = 0 WHERE version = 1",
    ],
)
def test_an_altered_ledger_is_refused(file: Path, statement: str) -> None:
    spoil(file, statement)
    assert "ledger" in refused(file)


def test_a_file_without_a_ledger_is_refused(file: Path) -> None:
    spoil(file, "DROP TABLE migration")
    assert refused(file) == "its tables are not those that Remindi makes"


BROKEN = {
    "completed without evidence": ("DELETE FROM evidence", "without its evidence"),
    "evidence without completion": (
        (
            "INSERT INTO evidence SELECT key, randomblob(16), 1, 's', NULL, 'h', 0, 0, owner, NULL"
            " FROM item WHERE state <> 4 LIMIT 1"
        ),
        "without its evidence, or evidence of",
    ),
    "evidence of no item": (
        (
            "INSERT INTO evidence SELECT 999999, randomblob(16), 1, 's', NULL, 'h', 0, 0, owner, NULL"
            " FROM item LIMIT 1"
        ),
        "refer to nothing",
    ),
    "snoozed by halves": ("UPDATE item SET snooze_until = 5 WHERE key = 2", "snoozed by halves"),
    "malformed trigger": ("UPDATE body SET trigger_fields = '{' WHERE key = 2", "malformed JSON"),
    "malformed event": ("UPDATE event SET details = '{' WHERE key >> 24 = 2", "malformed JSON"),
    "malformed evidence": ("UPDATE evidence SET metadata = '{'", "malformed JSON"),
    "malformed adapter": ("UPDATE adapter SET configuration = '{'", "malformed JSON"),
    "malformed audit": (
        "INSERT INTO audit VALUES (1, randomblob(16), 't', 'a', NULL, 0, 'succeeded', '{')",
        "malformed JSON",
    ),
    "malformed answer": ("UPDATE idempotency SET answer = '{'", "malformed JSON"),
    "a project that is not there": ("UPDATE item SET project = 99999 WHERE key = 2", "refer to nothing"),
    "an item without a body": ("DELETE FROM body WHERE key = 2", "without its message|check found errors"),
    "an unknown state": ("UPDATE item SET state = 9 WHERE key = 2", "breaks a rule of the table item"),
    "an unknown event": (
        "UPDATE event SET type = 99 WHERE key >> 24 = 2",
        "breaks a rule of the table event",
    ),
    "a counter below its least": (
        "UPDATE item SET occurrence_no = 0 WHERE key = 2",
        "rule of the table item",
    ),
    "an unknown workload": ("UPDATE workload SET desired = 'asleep'", "rule of the table workload"),
    "a completed item that is not": ("UPDATE item SET completed_at = 5 WHERE key = 2", "table item"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_each_broken_invariant_is_refused(file: Path, name: str) -> None:
    statement, meaning = BROKEN[name]
    without_triggers(file, statement)
    assert any(word in refused(file) for word in meaning.split("|"))


def test_an_index_that_lacks_rows_is_refused(file: Path) -> None:
    spoil(
        file,
        "CREATE TABLE kept AS SELECT rootpage FROM sqlite_schema WHERE name = 'item_all'",
        "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'item_task')"
        " WHERE name = 'item_all'",
        "DROP TABLE kept",
    )
    assert refused(file)


STRANGE = {
    "trigger": "CREATE TRIGGER stray AFTER INSERT ON item BEGIN SELECT 1; END",
    "trigger in place of ours": (
        "DROP TRIGGER item_stays; CREATE TRIGGER item_stays BEFORE DELETE ON item BEGIN SELECT 1; END"
    ),
    "view": "CREATE VIEW stray AS SELECT * FROM item",
    "view in place of a table": (
        "ALTER TABLE lease RENAME TO hidden; CREATE VIEW lease AS SELECT * FROM hidden"
    ),
    "endless view": (
        "CREATE VIEW stray AS"
        " WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
    ),
    "table": "CREATE TABLE stray (a)",
    "virtual table": "CREATE VIRTUAL TABLE stray USING fts5 (a)",
    "index": "CREATE INDEX stray ON item (version)",
    "index on an expression": "CREATE INDEX stray ON item (abs(version) + 1)",
    "column": "ALTER TABLE lease ADD COLUMN stray",
    "generated column": "ALTER TABLE lease ADD COLUMN stray AS (length(zeroblob(900000000)))",
    "default": "ALTER TABLE lease ADD COLUMN stray DEFAULT (randomblob(100))",
    "fewer indexes": "DROP INDEX item_all",
    "text that is no statement": "UPDATE sqlite_schema SET sql = 'CREATE NONSENSE' WHERE name = 'lease'",
    "another table under our name": (
        "UPDATE sqlite_schema SET sql = 'CREATE TABLE migration (version, name, sha256, applied_at)'"
        " WHERE name = 'migration'"
    ),
    "names that repeat": (
        "INSERT INTO sqlite_schema SELECT type, name, tbl_name, rootpage, sql FROM sqlite_schema"
        " WHERE name = 'lease'"
    ),
    "page outside the file": "UPDATE sqlite_schema SET rootpage = 1000000 WHERE name = 'lease'",
    "many tables": "".join(f"CREATE TABLE stray_{number} (a);" for number in range(1_200)),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_schema_that_is_not_ours_is_refused_before_it_runs(file: Path, name: str) -> None:
    spoil(file, STRANGE[name])
    assert refused(file)


def test_what_a_stranger_would_have_run_is_never_run(file: Path) -> None:
    """A function of the connection that counts its calls stands for all that a schema could call."""
    called: list[object] = []
    real = apsw.Connection

    class Watched(real):  # type: ignore[misc,valid-type]
        def __init__(self, *arguments: object, **named: object) -> None:
            super().__init__(*arguments, **named)
            self.create_scalar_function("spy", lambda *_: called.append(1), deterministic=True)

    spoil(file, "CREATE VIEW lease_of_spies AS SELECT 1")
    with closing(real(str(file))) as connection:
        connection.create_scalar_function("spy", lambda *_: 1, deterministic=True)
        connection.execute("CREATE INDEX spied ON migration (spy(version))")
        connection.execute("CREATE VIEW spying AS SELECT spy(version) FROM migration")
        connection.execute("CREATE TRIGGER spies AFTER UPDATE ON lease BEGIN SELECT spy(1); END")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apsw, "Connection", Watched)
        refused(file)
    assert called == []


def test_other_encodings_are_refused(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA encoding = 'UTF-16'")
        connection.execute("PRAGMA page_size = 4096")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute("CREATE TABLE migration (version)")
    assert refused(file)


def test_a_lying_page_count_is_refused(file: Path) -> None:
    with file.open("r+b") as raw:
        raw.seek(28)
        raw.write(struct.pack(">I", 2**31))
    assert "length" in refused(file)


@pytest.mark.parametrize("version", range(1, NEWEST))
def test_a_file_of_an_older_schema_is_proven_on_a_copy(tmp_path: Path, version: int) -> None:
    folder = tmp_path / "old"
    folder.mkdir()
    file = folder / "old.sqlite3"
    make_old(file, version)
    assert verified(file).schema_version == version
    assert [path.name for path in folder.iterdir()] == ["old.sqlite3"]


def make_old(file: Path, version: int) -> None:
    """A database of an older schema, made by our own scripts."""
    with closing(apsw.Connection(str(file))) as connection:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(LEDGER)
        for script in known_migrations()[:version]:
            for _ in connection.execute(script.sql):
                pass
            connection.execute(
                "INSERT INTO migration VALUES (?, ?, ?, 0)", (script.version, script.name, script.sha256)
            )


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32))
def test_flipped_bits_are_told_in_a_sentence_or_hurt_nothing(sound: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    content = bytearray(sound.read_bytes())
    for _ in range(chance.choice((1, 1, 4, 64))):
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    file = tmp_path / "flipped.sqlite3"
    file.write_bytes(content)
    act: Callable[[], Verified] = lambda: verify(file, OWNER, scratch=tmp_path, now=NOW)  # noqa: E731
    try:
        found = act()
    except Invalid:
        return
    assert found.counts.items == 40
