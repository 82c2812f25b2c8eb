"""``remindi export`` and ``remindi import`` with the real process: what goes out comes back, or nothing."""

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from remindi.cli import exits
from tests.conftest import MakeService
from tests.process.acts import (
    LONG_AGO,
    LONG_AHEAD,
    all_items,
    completion,
    fresh,
    history,
    new_item,
    update,
)
from tests.process.shell import Done, in_a_process, remindi
from tests.service import Connection, Service

PROJECT: Final = "export"
TRIGGERS: Final[tuple[dict[str, Any], ...]] = (
    {"trigger": {"type": "at_time", "at": LONG_AGO}, "overdue_after_seconds": 31_536_000},
    {"trigger": {"type": "after_elapsed", "after_seconds": 3_600}, "task_id": "task"},
    {
        "trigger": {"type": "interval", "first_at": LONG_AGO, "every_seconds": 3_600},
        "recurrence": {
            "every_seconds": 3_600,
            "missed_policy": "skip",
            "max_occurrences": 9,
            "end_at": LONG_AHEAD,
        },
    },
    {"trigger": {"type": "next_session"}, "session_id": "session"},
    {"trigger": {"type": "next_continuation"}, "session_id": "session", "task_lineage_id": "lineage"},
    {
        "trigger": {"type": "goal_active", "goal_id": "goal"},
        "links": [
            {"type": "goal", "value": "goal"},
            {"type": "url", "value": 'https://example.com/?a=1&b="ü"'},
        ],
    },
    {
        "trigger": {
            "type": "condition",
            "adapter": "observation_window_ended",
            "parameters": {"window_end": LONG_AHEAD},
            "manual_check_at": LONG_AHEAD,
        },
        "instructions": '  Look,\n\tthen "write" - 🦊 ',
    },
)


def fill(connection: Connection) -> None:
    """Items of every trigger and state, with histories and evidence."""
    for more in TRIGGERS:
        assert connection.call("remindi_add", new_item(PROJECT, **more))["ok"]
    made = [
        connection.call("remindi_add", new_item(PROJECT, trigger={"type": "at_time", "at": LONG_AGO}))["data"]
        for _ in range(4)
    ]
    snoozed, completed, cancelled, updated = [each["remindi"]["id"] for each in made]
    connection.call("remindi_check", {"project_id": PROJECT, "lifecycle_event": "task_start"})
    versions = {item["id"]: item["version"] for item in all_items(connection, PROJECT)}
    about = {"reason": "not now", "idempotency_key": fresh("change")}
    assert connection.call(
        "remindi_snooze",
        {
            "remindi_id": snoozed,
            "expected_version": versions[snoozed],
            "snooze_until": _soon(),
            **about,
        },
    )["ok"]
    evidence = completion(completed, versions[completed])
    evidence["evidence"]["metadata"] = {"b": [1.5, -0.0, 1e100, 12345678901234567890], "a": {"ü": None}}
    assert connection.call("remindi_complete", evidence)["ok"]
    cancelling = {"remindi_id": cancelled, "expected_version": versions[cancelled], **about}
    assert connection.call("remindi_cancel", cancelling)["ok"]
    version = versions[updated]
    for _ in range(300):
        changed = connection.call("remindi_update", update(updated, version, f"at version {version}"))
        version = changed["data"]["remindi"]["version"]


def _soon() -> str:
    return (datetime.now(UTC) + timedelta(hours=1)).isoformat()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with items of all kinds, whose scheduler leaves them alone."""
    with Service(tmp_path_factory.mktemp("running") / "service") as service:
        assert remindi(service, "workloads", "stop", "scheduler").code == 0
        with service.connection() as connection:
            fill(connection)
        yield service


@pytest.fixture(scope="module")
def export(running: Service) -> Path:
    """An export of them, made while the service runs."""
    file = running.root / "export.jsonl"
    done = remindi(running, "export", str(file))
    assert (done.code, done.err) == (0, ""), done
    return file


@pytest.fixture
def empty(make_service: MakeService) -> Service:
    """A stopped service without a database."""
    return make_service()


def lines_of(file: Path) -> list[bytes]:
    return file.read_bytes().splitlines(keepends=True)


def sealed(lines: list[bytes]) -> bytes:
    """Lines with a last line that is true of them, as one who makes an export up would write it."""
    items = [json.loads(line) for line in lines[1:]]
    totals = {
        "items": sum("item" in each for each in items),
        "events": sum(len(each["events"]) for each in items),
        "evidence": sum(each.get("evidence") is not None for each in items),
    }
    end = {"end": {**totals, "sha256": hashlib.sha256(b"".join(lines[1:])).hexdigest()}}
    return b"".join(lines) + json.dumps(end, separators=(",", ":")).encode() + b"\n"


def changed(line: bytes, **fields: Any) -> bytes:
    value = json.loads(line)
    value["item"] |= fields
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def tried(service: Service, content: bytes, *options: str) -> Done:
    """Import bytes."""
    file = service.root / "given.jsonl"
    file.write_bytes(content)
    return remindi(service, "import", str(file), *options)


def assert_nothing_stored(service: Service) -> None:
    if service.database.exists():
        with closing(sqlite3.connect(service.database)) as database:
            assert database.execute("SELECT count(*) FROM item").fetchone() == (0,)


# ------------------------------------------------------------------ round trip


def test_an_export_imported_into_an_empty_database_exports_the_same_bytes_but_for_its_time(
    export: Path, empty: Service
) -> None:
    done = remindi(empty, "import", str(export))
    assert done.code == 0, done
    assert "11 items stored; 0 are there already" in done.out
    assert "a new database was made at" in done.err
    again = empty.root / "again.jsonl"
    assert remindi(empty, "export", str(again)).code == 0
    first, second = lines_of(export), lines_of(again)
    assert first[1:] == second[1:]
    one, other = json.loads(first[0]), json.loads(second[0])
    assert {**one, "created_at": None} == {**other, "created_at": None}


def test_what_was_imported_is_served_with_history_search_and_counters_as_before(
    running: Service, export: Path, empty: Service
) -> None:
    assert remindi(empty, "import", str(export)).code == 0
    with empty, empty.connection() as there, running.connection() as here:
        items = all_items(here, PROJECT)
        found = {item["id"]: item for item in all_items(there, PROJECT)}
        # The scheduler of the new service has looked at them; what it cannot change is the same.
        for item in items:
            if item["state"] in ("completed", "cancelled", "snoozed"):
                assert found[item["id"]] == item
                assert history(there, item["id"]) == history(here, item["id"])
        assert [item["id"] for item in items] == [item["id"] for item in all_items(there, PROJECT)]
    with closing(sqlite3.connect(empty.database)) as database:
        assert database.execute("SELECT sum(count) FROM item_count").fetchone() == (len(items),)
        assert database.execute("SELECT count(*) FROM search_docsize").fetchone() == (len(items),)


def test_standard_streams_carry_an_export_from_a_running_service_into_a_stopped_one(
    running: Service, export: Path, empty: Service
) -> None:
    sent = in_a_process(("export",), running.env, running.root)
    assert sent.code == 0
    assert "11 items written" in sent.err
    assert sent.out.encode().split(b"\n", 1)[1] == export.read_bytes().split(b"\n", 1)[1]
    taken = in_a_process(("import", "-"), empty.env, empty.root, given=sent.out)
    assert taken.code == 0, taken


def test_a_second_import_changes_nothing_and_a_partial_one_adds_what_is_missing(
    export: Path, empty: Service
) -> None:
    lines = lines_of(export)
    starts = [number for number, line in enumerate(lines) if line.startswith(b'{"item"')]
    part = sealed(lines[: starts[5]])
    assert "5 items stored" in tried(empty, part).out
    assert "6 items stored; 5 are there already" in remindi(empty, "import", str(export)).out
    done = remindi(empty, "import", str(export), "--json")
    assert done.json() == {"dry_run": False, "added": 0, "present": 11}
    assert "0 items stored" in remindi(empty, "import", str(export)).out
    again = empty.root / "again.jsonl"
    assert remindi(empty, "export", str(again)).code == 0
    assert lines_of(again)[1:] == lines[1:]


def test_a_dry_run_says_what_would_be_done_and_changes_no_byte(export: Path, empty: Service) -> None:
    done = remindi(empty, "import", str(export), "--dry-run")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("11 items would be stored; 0 are there already")
    assert not empty.database.exists()
    remindi(empty, "import", str(export))
    before = empty.database.read_bytes()
    assert remindi(empty, "import", str(export), "--dry-run").out.startswith(
        "0 items would be stored; 11 are"
    )
    assert empty.database.read_bytes() == before


# -------------------------------------------------------------------- refusals


def test_an_item_that_differs_refuses_all_and_is_named(export: Path, empty: Service) -> None:
    lines = lines_of(export)
    assert tried(empty, sealed(lines[:4])).code == 0
    other = changed(lines[2], message="another message")
    for options in ((), ("--dry-run",)):
        done = tried(empty, sealed([*lines[:2], other, *lines[3:-1]]), *options)
        assert done.code == exits.FAILED
        assert "1 item is here already, and not the same. Nothing was stored." in done.err
        assert json.loads(lines[2])["item"]["id"] in done.err
    with closing(sqlite3.connect(empty.database)) as database:
        assert database.execute("SELECT count(*) FROM item").fetchone() == (3,)


def test_a_running_service_takes_no_import_and_says_how(running: Service, export: Path) -> None:
    done = remindi(running, "import", str(export))
    assert done.code == exits.RUNNING
    assert "stop it, import, start it again" in done.err


def test_items_of_another_owner_are_taken_only_when_that_is_said(
    export: Path, make_service: MakeService
) -> None:
    other = make_service(env={"REMINDI_OWNER_ID": "somebody else"})
    done = remindi(other, "import", str(export))
    assert done.code == exits.FAILED
    assert "another REMINDI_OWNER_ID" in done.err
    assert remindi(other, "import", str(export), "--another-owner").code == 0


def hostile(lines: list[bytes]) -> dict[str, bytes]:
    """Exports that are not what they seem, by what is wrong with them."""
    one, line = lines[:1], lines[1]
    value = json.loads(line)
    return {
        "empty": b"",
        "cut off after a line": b"".join(lines[:3]),
        "cut off within a line": b"".join(lines)[:-20],
        "no manifest": b"".join(lines[1:]),
        "a future format": lines[0].replace(b'"format_version":1', b'"format_version":2') + lines[-1],
        "a line changed": b"".join(lines).replace(b"look at it again", b"look at it often", 1),
        "a line left out": b"".join([*lines[:2], *lines[3:]]),
        "two lines swapped": sealed([*one, lines[2], lines[1]]),
        "an item twice": sealed([*one, line, line]),
        "something behind the end": b"".join(lines) + b"\n",
        "a wrong count": b"".join(lines).replace(b'"items":11', b'"items":12'),
        "no UTF-8": one[0] + b"\xff\xfe\n",
        "deep nesting": one[0] + b"[" * 100_000 + b"\n",
        "a line without end": one[0] + b"x" * (17 * 1_048_576),
        "a name twice": sealed([*one, line]).replace(b'"events":[', b'"evidence":null,"events":[', 1),
        "white space": sealed([*one, line.replace(b":", b": ", 1)]),
        "an unknown field": sealed([*one, changed(line, owner="me")]),
        "a wrong type": sealed([*one, changed(line, version="1")]),
        "a version below one": sealed([*one, changed(line, version=0)]),
        "too long a message": sealed([*one, changed(line, message="x" * 8_193)]),
        "a control character": sealed([*one, changed(line, message="a\u0000b")]),
        "a state without its time": sealed([*one, changed(line, state="completed")]),
        "a snooze by halves": sealed([*one, changed(line, snooze_until=LONG_AHEAD)]),
        "NaN": sealed([*one, line]).replace(b'"occurrence_no":1', b'"occurrence_no":NaN'),
        "events out of order": sealed(
            [
                *one,
                json.dumps({**value, "events": value["events"] * 2}, separators=(",", ":")).encode() + b"\n",
            ]
        ),
        "events of another item": sealed(
            [*one, line, b'{"remindi_id":"01a22ef6-e7d5-7000-8030-702e69897165","events":[]}\n']
        ),
        "an event id that is none": sealed([*one, line]).replace(b'"event_id":"', b'"event_id":"x', 1),
    }


def test_a_hostile_or_damaged_file_stores_nothing_and_names_its_line(export: Path, empty: Service) -> None:
    for what, content in hostile(lines_of(export)).items():
        for options in (("--dry-run",), ()):
            done = tried(empty, content, *options)
            assert done.code == exits.FAILED, (what, done)
            assert "line " in done.err, (what, done)
            assert "Nothing was stored." in done.err, (what, done)
            assert len(done.err) < 2_000, what
            assert_nothing_stored(empty)


def test_evidence_that_is_anothers_is_refused_by_name(export: Path, empty: Service) -> None:
    lines = lines_of(export)
    done_line = next(line for line in lines if b'"state":"completed"' in line)
    value = json.loads(done_line)
    twin = json.loads(done_line)
    twin["item"]["id"] = twin["item"]["id"][:-1] + ("1" if twin["item"]["id"][-1] == "0" else "0")
    both = sorted([value, twin], key=lambda each: str(each["item"]["id"]))
    texts = [json.dumps(each, separators=(",", ":"), ensure_ascii=False).encode() + b"\n" for each in both]
    texts = [done_line if each is value else text for each, text in zip(both, texts, strict=True)]
    done = tried(empty, sealed([lines[0], *texts]))
    assert done.code == exits.FAILED, done
    assert_nothing_stored(empty)


# ----------------------------------------------------------------------- files


def test_an_export_never_replaces_a_file_and_leaves_none_behind_when_it_fails(
    running: Service, export: Path
) -> None:
    before = export.read_bytes()
    done = remindi(running, "export", str(export))
    assert done.code == exits.DATA_DIRECTORY
    assert "is there already" in done.err
    assert export.read_bytes() == before
    assert remindi(running, "export", str(running.root / "no" / "such")).code == exits.DATA_DIRECTORY
    assert not list(running.root.glob(".tmp-*"))
    assert export.stat().st_mode & 0o777 == 0o600


def test_an_export_of_a_killed_service_has_all_that_was_acknowledged_and_leaves_its_log_alone(
    make_service: MakeService,
) -> None:
    service = make_service().start()
    with service.connection() as connection:
        for _ in range(5):
            assert connection.call("remindi_add", new_item(PROJECT))["ok"]
    service.kill()
    files = {
        path.name: path.read_bytes() for path in service.data.glob("remindi.db*") if path.suffix != ".db-shm"
    }
    done = in_a_process(("export",), service.env, service.root)
    assert done.code == 0, done
    assert json.loads(done.out.splitlines()[-1])["end"]["items"] == 5
    after = {
        path.name: path.read_bytes() for path in service.data.glob("remindi.db*") if path.suffix != ".db-shm"
    }
    assert after == files


def test_a_database_of_an_older_schema_is_exported_as_it_is(
    running: Service, export: Path, make_service: MakeService
) -> None:
    service = make_service()
    service.data.mkdir(mode=0o700, parents=True)
    # NOTE: nothing of it is changed, so the copy of a running service's file by SQLite is enough.
    with (
        closing(sqlite3.connect(running.database)) as source,
        closing(sqlite3.connect(service.database)) as copy,
    ):
        source.backup(copy)
        copy.executescript(
            "DROP TABLE backup; DROP TABLE generation; DELETE FROM migration WHERE version = 3;"
        )
    done = in_a_process(("export",), service.env, service.root)
    assert done.code == 0, done
    assert json.loads(done.out.splitlines()[0])["schema_version"] == 2
    assert done.out.encode().splitlines(keepends=True)[1:] == lines_of(export)[1:]
    shutil.rmtree(service.data)
