"""What the schema itself refuses, whatever the code does (contract 16)."""

from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from actors.store.connections import open_reader, open_writer
from tests.fakes.core import Core, raw
from tests.fakes.script import PAST, Script

EVIDENCE = {
    "type": "observation",
    "summary": "saw the job end with status 0",
    "reference_uri": "https://ci.example/1",
    "observed_at": PAST,
}
EVIDENCE_ROW = (
    "INSERT INTO evidence SELECT {item}, zeroblob(16), {type}, summary, {uri}, NULL, 0, 0, recorded_by, NULL"
    " FROM evidence"
)
EVENT_ROW = (
    "INSERT INTO event SELECT {key}, zeroblob(16), {type}, 0, actor, NULL, 0, 1, 2, '{details}'"
    " FROM event LIMIT 1"
)


@pytest.fixture
def connection(path: Path) -> Iterator[apsw.Connection]:
    """A stopped core's file with a scheduled, a due, a snoozed, a completed, a cancelled item: keys 1-5."""
    with Core(path) as core:
        script = Script(core)
        script.add(
            trigger={"type": "at_time", "at": "2028-01-01T00:00:00Z"}, links=[{"type": "url", "value": "u"}]
        )
        names = [script.add(overdue_after_seconds=31_000_000) for _ in range(4)]
        script.page(limit=50)
        script.change("remindi_snooze", names[1], snooze_until="2027-02-01T00:00:00Z")
        version = script.item(names[2])["version"]
        core.data(
            "remindi_complete",
            remindi_id=names[2],
            expected_version=version,
            idempotency_key="complete-1",
            evidence=EVIDENCE,
        )
        script.change("remindi_cancel", names[3])
    with raw(path) as opened:
        opened.execute("PRAGMA foreign_keys = ON")
        states = [row[0] for row in opened.execute("SELECT state FROM item ORDER BY key")]
        assert states == [0, 1, 3, 4, 5]
        yield opened


@pytest.mark.parametrize(
    "statement",
    [
        # Enumerations hold only listed values, counters stay above their minimum.
        "UPDATE item SET state = 6 WHERE key = 1",
        "UPDATE item SET state = -1 WHERE key = 1",
        "UPDATE item SET priority = 4 WHERE key = 1",
        "UPDATE item SET trigger_type = 7, next_fire_at = NULL WHERE key = 1",
        "UPDATE item SET last_condition_status = 4 WHERE key = 1",
        "UPDATE item SET version = 0 WHERE key = 1",
        "UPDATE item SET occurrence_no = 0 WHERE key = 1",
        "UPDATE item SET snooze_count = -1 WHERE key = 1",
        "UPDATE item SET event_count = 0 WHERE key = 1",
        "UPDATE item SET overdue_after_seconds = -1 WHERE key = 1",
        "UPDATE item SET overdue_after_seconds = 31536001 WHERE key = 1",
        "UPDATE item SET poll_interval_seconds = 29 WHERE key = 1",
        "UPDATE item SET version = 'two' WHERE key = 1",
        # Completed <=> completed_at and no cancelled_at; cancelled the other way round.
        "UPDATE item SET completed_at = NULL WHERE key = 4",
        "UPDATE item SET cancelled_at = 1 WHERE key = 4",
        "UPDATE item SET completed_at = 1 WHERE key = 1",
        "UPDATE item SET cancelled_at = NULL WHERE key = 5",
        "UPDATE item SET completed_at = 1 WHERE key = 5",
        "UPDATE item SET state = 4 WHERE key = 1",
        "UPDATE item SET state = 5 WHERE key = 1",
        # Snoozed <=> both snooze fields, the former state due or overdue.
        "UPDATE item SET snooze_until = NULL WHERE key = 3",
        "UPDATE item SET snoozed_from_state = NULL WHERE key = 3",
        "UPDATE item SET snoozed_from_state = 0 WHERE key = 3",
        "UPDATE item SET snoozed_from_state = 3 WHERE key = 3",
        "UPDATE item SET snooze_until = 1 WHERE key = 2",
        "UPDATE item SET snoozed_from_state = 1 WHERE key = 2",
        "UPDATE item SET state = 3 WHERE key = 2",
        # A due item knows since when, a time trigger knows its time.
        "UPDATE item SET due_since = NULL WHERE key = 2",
        "UPDATE item SET next_fire_at = NULL WHERE key = 1",
        "UPDATE item SET trigger_type = 3 WHERE key = 1",
        # JSON columns are valid.
        "UPDATE body SET trigger_fields = '{' WHERE key = 1",
        "UPDATE body SET recurrence_fields = 'never' WHERE key = 1",
        EVENT_ROW.format(key="key + 9", type="0", details="{"),
        "UPDATE adapter SET configuration = 'x' WHERE name = 'http_health'",
        # At most one evidence record per item, with URI or hash.
        EVIDENCE_ROW.format(item="4", type="type", uri="'a:b'"),
        EVIDENCE_ROW.format(item="1", type="type", uri="NULL"),
        EVIDENCE_ROW.format(item="1", type="9", uri="'a:b'"),
        # Events and evidence cannot lose their item, nothing edits or removes them.
        "DELETE FROM item WHERE key = 1",
        "DELETE FROM event",
        "UPDATE event SET occurred_at = 0",
        "DELETE FROM evidence",
        "UPDATE evidence SET summary = 'x'",
        EVENT_ROW.format(key="99 << 24", type="0", details="{}"),
        EVIDENCE_ROW.format(item="99", type="type", uri="'a:b'"),
        EVENT_ROW.format(key="key + 9", type="13", details="{}"),
        # One identifier, one item.
        "UPDATE item SET id = (SELECT id FROM item WHERE key = 2) WHERE key = 1",
        "UPDATE item SET id = zeroblob(15) WHERE key = 1",
        "INSERT INTO link SELECT item, position, 4, 'v', project, created_at FROM link",
        "UPDATE link SET type = 5",
        # Control rows.
        "UPDATE workload SET desired = 'paused'",
        "INSERT INTO workload VALUES ('backups', 'running', 1, 0, 'x')",
        "UPDATE setting SET version = 0",
        "INSERT INTO lease VALUES ('trigger-evaluator', 'h', 0, 0, 0)",
        # Counters stand where items can stand, for an owner that there is.
        "INSERT INTO item_count VALUES (1, 7, 0)",
        "INSERT INTO item_count VALUES (999, 0, 0)",
        "INSERT INTO daily (owner, day) VALUES (999, 0)",
        "INSERT INTO due_to_done VALUES (1, 0, -1, 1)",
    ],
)
def test_the_schema_refuses(connection: apsw.Connection, statement: str) -> None:
    with pytest.raises((apsw.ConstraintError, apsw.SQLError)):
        connection.execute(statement)


@pytest.mark.parametrize(
    "statement",
    [
        EVIDENCE_ROW.format(item="1", type="type", uri="'a:b'"),
        EVENT_ROW.format(key="key + 9", type="0", details="{}"),
        "UPDATE item SET version = version + 1",
    ],
)
def test_the_schema_takes_the_like_when_it_is_right(connection: apsw.Connection, statement: str) -> None:
    connection.execute(statement)


def test_the_files_settings_hold_on_every_connection(path: Path) -> None:
    with Core(path):
        pass
    for opened in (open_writer(path), open_reader(path)):
        values = {
            name: next(iter(opened.execute(f"PRAGMA {name}")))[0]
            for name in ("journal_mode", "foreign_keys", "synchronous", "busy_timeout")
        }
        assert values == {"journal_mode": "wal", "foreign_keys": 1, "synchronous": 2, "busy_timeout": 5_000}
        opened.close(True)


def test_a_reader_cannot_write(path: Path) -> None:
    with Core(path):
        pass
    opened = open_reader(path)
    with pytest.raises(apsw.ReadOnlyError):
        opened.execute("DELETE FROM lease")
    opened.close(True)


REPLACEMENTS = {
    "event": (
        "INSERT OR REPLACE INTO event (key, id, type, actor_type, actor, occurred_at, details)"
        " SELECT key, id, type, actor_type, actor, occurred_at, details FROM event LIMIT 1"
    ),
    "evidence": "INSERT OR REPLACE INTO evidence SELECT * FROM evidence LIMIT 1",
}


@pytest.mark.parametrize("table", REPLACEMENTS)
def test_not_even_a_replacement_takes_a_row_of_history_away(script: Script, table: str) -> None:
    name = script.add()
    target = {"remindi_id": name, "expected_version": 1, "idempotency_key": script.key()}
    script.core.data("remindi_complete", **target, evidence=EVIDENCE)
    connection = open_writer(script.core.path)
    try:
        with pytest.raises(apsw.ConstraintError, match="never deleted"):
            connection.execute(REPLACEMENTS[table])
    finally:
        connection.close(True)
