"""The operator's operations on a real writer and reader: order, audit, and what closes them."""

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actors.board import Board
from actors.messages.backups import RestoreBackup, Restored, TakeUpload
from actors.messages.probes import CheckConfiguration, NotProbed, ProbeAnswer, RunProbe
from actors.system import Identifiers, system_random
from remindi.adapters import ADAPTER_NAMES
from remindi.config import Config
from remindi.cursors import Cursors
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.items import ConditionStatus
from tests.fakes.addresses import AnsweringAddress, nobody
from tests.fakes.api import RECORD, Backups
from tests.fakes.core import Core, raw
from tests.service import OWNER, TOKEN
from tests.unit.test_input_adapters import JSON
from web.door import Door
from web.operator.operations import Operations

FILES = {"type": "file_exists", "roots": ["/srv/a", "/srv/b"], "aliases": {"n": "/srv/a/n"}}
TCP = {
    "type": "tcp_reachable",
    "aliases": {"db": {"host": "db.example.com", "port": 5432, "allow_private": False}},
}


class Stage:
    """Operations with a real database and a scripted pool."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.board = Board()
        self.board.startup = "ready"
        self.probes = AnsweringAddress("probes", {CheckConfiguration: lambda _: None})
        self.backups = Backups()
        core.path.with_suffix(".backups").mkdir(mode=0o700)
        self.operations = Operations(
            Door(
                config=Config(
                    owner_id=OWNER, mcp_token=TOKEN, backup_dir=str(core.path.with_suffix(".backups"))
                ),
                backups=self.backups,
                board=self.board,
                writer=core.writer,
                reader=core.reader,
                probes=self.probes,
                cursors=Cursors(TOKEN),
                clock=core.clock,
                ids=Identifiers(core.clock, system_random()),
                actor_id="mcp:under-test",
            )
        )

    def ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return asyncio.run(self.operations.answer({"operation": operation, "arguments": arguments}))

    def set(self, value: Any, version: int = 1, *, enabled: Any = True, name: str | None = None) -> Any:
        update = {"enabled": enabled, "configuration": value, "expected_version": version}
        return self.ask("update_adapter", adapter_name=name or value["type"], update=update)

    def audited(self) -> list[tuple[str, dict[str, str]]]:
        with raw(self.core.path) as connection:
            rows = connection.execute("SELECT outcome, details FROM audit ORDER BY sequence")
            return [(outcome, json.loads(details)) for outcome, details in rows]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    with Core(tmp_path / "remindi.db") as core:
        yield Stage(core)


def refused(envelope: dict[str, Any]) -> tuple[str, Any]:
    assert envelope.keys() == {"ok", "request_id", "error"}
    assert envelope["error"].keys() == {"code", "message", "retryable", "details"}
    return envelope["error"]["code"], envelope["error"]["details"]


def test_the_four_are_listed_as_the_contract_shows_them(stage: Stage) -> None:
    envelope = stage.ask("list_adapters")
    assert envelope.keys() == {"ok", "request_id", "data"}
    first = envelope["data"]["adapters"][0]
    assert first == {
        "adapter_name": "file_exists",
        "enabled": False,
        "configuration": {"type": "file_exists", "roots": [], "aliases": {}},
        "version": 1,
        "updated_at": first["updated_at"],
        "updated_by": "system:defaults",
    }


def test_what_is_set_is_shown_and_audited(stage: Stage) -> None:
    row = stage.set(TCP)["data"]["adapter"]
    assert (row["enabled"], row["version"], row["updated_by"]) == (True, 2, "operator:local")
    assert stage.ask("get_adapter", adapter_name="tcp_reachable")["data"]["adapter"] == row
    assert stage.audited() == [("succeeded", {"adapter_name": "tcp_reachable"})]


def test_only_file_exists_is_held_against_the_file_system(stage: Stage) -> None:
    stage.set(TCP)
    assert stage.probes.asked == []
    stage.set(FILES)
    assert [type(asked) for asked in stage.probes.asked] == [CheckConfiguration]


def test_refusals_come_in_the_order_of_the_contract_and_each_is_audited(stage: Stage) -> None:
    missing = invalid(("/configuration/roots/0", "format"))
    stage.probes.script[CheckConfiguration] = lambda _: missing
    assert refused(stage.set({"x": 1}, 9, enabled=1, name="telepathy"))[0] == "VALIDATION_ERROR"
    assert refused(stage.set({"x": 1}, 9, name="telepathy")) == ("ADAPTER_NOT_FOUND", {})
    assert refused(stage.set({"x": 1}, 9, name="file_exists"))[0] == "VALIDATION_ERROR"
    assert refused(stage.set(FILES, 9)) == (
        "VALIDATION_ERROR",
        {"errors": [{"field": "/configuration/roots/0", "reason": "format"}]},
    )
    stage.probes.script[CheckConfiguration] = lambda _: None
    assert refused(stage.set(FILES, 9)) == ("VERSION_CONFLICT", {"current_version": 1})
    assert stage.audited() == [
        ("rejected", {"adapter_name": name, "failure_code": code})
        for name, code in (
            ("unknown", "VALIDATION_ERROR"),
            ("unknown", "ADAPTER_NOT_FOUND"),
            ("file_exists", "VALIDATION_ERROR"),
            ("file_exists", "VALIDATION_ERROR"),
            ("file_exists", "VERSION_CONFLICT"),
        )
    ]
    assert stage.ask("get_adapter", adapter_name="file_exists")["data"]["adapter"]["version"] == 1


def test_a_root_that_vanished_stops_no_edit_and_a_new_one_must_be_there(stage: Stage) -> None:
    assert stage.set(FILES)["ok"]
    vanished = invalid(("/configuration/roots/1", "format"), ("/configuration/aliases/n", "format"))
    stage.probes.script[CheckConfiguration] = lambda _: vanished
    assert stage.set(FILES, 2, enabled=False)["ok"]
    assert stage.set(FILES | {"aliases": {"n": "/srv/a/n", "m": "/srv/a/m"}}, 3)["ok"]
    assert refused(stage.set(FILES | {"roots": ["/srv/a", "/srv/c"]}, 4)) == (
        "VALIDATION_ERROR",
        {"errors": [{"field": "/configuration/roots/1", "reason": "format"}]},
    )


def test_an_alias_is_tried_once_on_a_condition_that_no_item_has(stage: Stage) -> None:
    def look(asked: RunProbe) -> ProbeAnswer:
        return ProbeAnswer(asked.target, ConditionStatus.SATISFIED, "It answers.", 1_000, "1", 12)

    stage.probes.script[RunProbe] = look
    stage.set(TCP)
    assert stage.ask("try_alias", adapter_name="tcp_reachable", alias="db")["data"] == {
        "probe": {
            "status": "satisfied",
            "latency_ms": 12,
            "summary": "It answers.",
            "observed_at": "1970-01-01T00:00:01.000Z",
            "adapter_version": "1",
        }
    }
    (asked,) = stage.probes.asked
    assert (asked.target.key, json.loads(asked.target.condition.parameters_json)) == (0, {"target": "db"})
    assert len(stage.audited()) == 1


def test_an_alias_that_did_not_get_its_turn_is_unknown(stage: Stage) -> None:
    stage.probes.script[RunProbe] = lambda _: NotProbed()
    stage.set(TCP)
    probe = stage.ask("try_alias", adapter_name="tcp_reachable", alias="db")["data"]["probe"]
    assert (probe["status"], probe["latency_ms"]) == ("unknown", 0)


@pytest.mark.parametrize("name", ["tcp_reachable", "observation_window_ended"])
def test_an_unknown_alias_is_refused(stage: Stage, name: str) -> None:
    unknown = {"errors": [{"field": "/alias", "reason": "unknown_alias"}]}
    assert refused(stage.ask("try_alias", adapter_name=name, alias="db")) == ("VALIDATION_ERROR", unknown)


@pytest.mark.parametrize("operation", ["get_adapter", "try_alias"])
def test_an_unknown_adapter_is_refused(stage: Stage, operation: str) -> None:
    more = {"alias": "a"} if operation == "try_alias" else {}
    envelope = stage.ask(operation, adapter_name="telepathy", **more)
    assert refused(envelope) == ("ADAPTER_NOT_FOUND", {})


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (None, "VALIDATION_ERROR"),
        ([], "VALIDATION_ERROR"),
        ({}, "VALIDATION_ERROR"),
        ({"operation": "list_adapters"}, "VALIDATION_ERROR"),
        ({"operation": 1, "arguments": {}}, "VALIDATION_ERROR"),
        ({"operation": "list_adapters", "arguments": []}, "VALIDATION_ERROR"),
        ({"operation": "list_adapters", "arguments": {"x": 1}}, "VALIDATION_ERROR"),
        ({"operation": "get_adapter", "arguments": {"adapter_name": 1}}, "VALIDATION_ERROR"),
        ({"operation": "list_adapters", "arguments": {}, "more": 1}, "VALIDATION_ERROR"),
        ({"operation": "drop_everything", "arguments": {}}, "NOT_FOUND"),
    ],
)
def test_what_is_no_request_is_refused(stage: Stage, request_: object, code: str) -> None:
    assert refused(asyncio.run(stage.operations.answer(request_)))[0] == code


def test_no_update_that_a_fuzzer_finds_breaks_anything_or_changes_what_it_may_not(stage: Stage) -> None:
    @settings(deadline=None, max_examples=150)
    @given(st.sampled_from([*ADAPTER_NAMES, "telepathy"]), JSON, JSON)
    def attempt(name: str, update: Any, value: Any) -> None:
        before = stage.ask("list_adapters")["data"]
        if isinstance(update, dict):
            update = {"enabled": True, "configuration": value, "expected_version": 1} | update
        envelope = stage.ask("update_adapter", adapter_name=name, update=update)
        if not envelope["ok"]:
            assert refused(envelope)[0] in ("VALIDATION_ERROR", "ADAPTER_NOT_FOUND", "VERSION_CONFLICT")
            assert stage.ask("list_adapters")["data"] == before

    attempt()
    assert all(details.keys() <= {"adapter_name", "failure_code"} for _, details in stage.audited())


@pytest.mark.parametrize("startup", ["starting", "stopping"])
def test_a_closed_service_refuses_every_operation(stage: Stage, startup: Any) -> None:
    stage.board.startup = startup
    assert refused(stage.ask("list_adapters")) == ("MAINTENANCE_ACTIVE", {})
    assert refused(stage.set(TCP)) == ("MAINTENANCE_ACTIVE", {})


def test_maintenance_closes_it(stage: Stage) -> None:
    stage.board.maintenance = "paused"
    assert refused(stage.ask("list_adapters")) == ("MAINTENANCE_ACTIVE", {})


def test_a_damaged_database_is_read_and_not_written(stage: Stage) -> None:
    stage.board.startup = "damaged"
    assert stage.ask("list_adapters")["ok"]
    assert refused(stage.set(TCP)) == ("MAINTENANCE_ACTIVE", {})


def test_a_pool_that_is_gone_changes_nothing_and_is_no_riddle(stage: Stage) -> None:
    stage.probes.script[CheckConfiguration] = nobody
    assert refused(stage.set(FILES)) == ("DATABASE_BUSY", {})
    assert stage.ask("get_adapter", adapter_name="file_exists")["data"]["adapter"]["version"] == 1


def test_a_bug_is_an_internal_error_and_nothing_more(stage: Stage) -> None:
    def broken(_: object) -> Refusal:
        raise LookupError("https://secret.example")

    stage.probes.script[CheckConfiguration] = broken
    envelope = stage.set(FILES)
    assert refused(envelope) == ("INTERNAL_ERROR", {})
    assert "secret" not in json.dumps(envelope)


# -------------------------------------------------------------------- backups

BACKUP = "0190aaaa-bbbb-7ccc-addd-eeeeffff0002"
OPERATION = bytes.fromhex("0190aaaabbbb7cccadddeeeeffff0003")


def kept(stage: Stage) -> list[str]:
    return [path.name for path in stage.core.path.with_suffix(".backups").iterdir()]


def test_backups_are_made_listed_and_checked(stage: Stage) -> None:
    assert stage.ask("create_backup")["data"]["backup"]["id"] == BACKUP
    assert stage.ask("list_backups")["data"] == {"backups": []}
    assert refused(stage.ask("verify_backup", backup_id=BACKUP))[0] == "NOT_FOUND"
    assert refused(stage.ask("verify_backup", backup_id="x")) == (
        "VALIDATION_ERROR",
        {"errors": [{"field": "/arguments/backup_id", "reason": "format"}]},
    )
    assert {asked.caller.actor_id for asked in stage.backups.asked} == {"operator:local"}


def test_a_restore_says_what_was_restored(stage: Stage) -> None:
    stage.backups.script[RestoreBackup] = lambda _: Restored(OPERATION, RECORD.id)
    data = stage.ask("restore", backup_id=BACKUP)["data"]
    assert data["restored"]["backup_id"] == BACKUP
    assert data["maintenance"] == "running"


def test_a_file_from_anywhere_is_taken_in_and_restored(stage: Stage, tmp_path: Path) -> None:
    stage.backups.script[RestoreBackup] = lambda asked: Restored(OPERATION, asked.backup_id)
    content = os.urandom(3_000_000)
    file = tmp_path / "a file.bin"
    file.write_bytes(content)
    assert stage.ask("restore_file", path=str(file))["data"]["restored"]["backup_id"] == BACKUP
    assert stage.backups.uploaded == [content]
    assert file.read_bytes() == content
    assert kept(stage) == []


@pytest.mark.parametrize("what", ["missing", "directory", "pipe", "relative", "below a file"])
def test_what_is_no_file_is_told_and_leaves_nothing(stage: Stage, tmp_path: Path, what: str) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").touch()
    path = {"relative": "backup.sqlite3", "below a file": str(tmp_path / "file" / "x")}.get(
        what, str(tmp_path / what)
    )
    code, details = refused(stage.ask("restore_file", path=path))
    assert code == ("VALIDATION_ERROR" if what == "relative" else "BACKUP_INVALID")
    assert what == "relative" or details["reason"].endswith(".")
    assert (kept(stage), stage.backups.asked) == ([], [])


def test_a_file_whose_taker_is_gone_leaves_nothing(stage: Stage, tmp_path: Path) -> None:
    stage.backups.script[TakeUpload] = nobody
    (tmp_path / "file").write_bytes(b"x")
    assert refused(stage.ask("restore_file", path=str(tmp_path / "file")))[0] == "DATABASE_BUSY"
    assert kept(stage) == []


def test_during_a_restore_its_state_is_told_and_a_second_one_is_a_conflict(
    stage: Stage, tmp_path: Path
) -> None:
    stage.board.maintenance = "paused"
    assert stage.ask("status")["data"]["maintenance"] == "paused"
    assert refused(stage.ask("latest_restore"))[0] == "NOT_FOUND"
    stage.backups.script[RestoreBackup] = lambda _: Refusal(ErrorCode.WORKLOAD_CONFLICT)
    assert refused(stage.ask("restore", backup_id=BACKUP))[0] == "WORKLOAD_CONFLICT"
    (tmp_path / "file").write_bytes(b"x")
    assert refused(stage.ask("restore_file", path=str(tmp_path / "file")))[0] == "WORKLOAD_CONFLICT"
    for operation in ("create_backup", "list_backups", "list_adapters"):
        assert refused(stage.ask(operation))[0] == "MAINTENANCE_ACTIVE"
    assert kept(stage) == []


def test_a_service_that_is_held_closed_says_so(stage: Stage) -> None:
    stage.board.maintenance = "held"
    held = ("MAINTENANCE_ACTIVE", {"reason": "restore_rollback_failed"})
    assert refused(stage.ask("create_backup")) == held
    assert refused(stage.ask("restore", backup_id=BACKUP)) == held
    assert stage.ask("status")["data"]["maintenance"] == "held"
