"""Adapter rows: versioned, audited with every change and refusal, and of no influence on each other."""

import json
from typing import Any

import pytest

from actors.messages.readers import GetControl, ListAdapters
from actors.messages.writer import RecordAudit, UpdateAdapter
from actors.store import BadControlRow
from remindi import views
from remindi.adapters import ADAPTER_NAMES, AdapterRow, Configuration, read_configuration
from remindi.errors import ErrorCode, Refusal
from remindi.events import ActorType, Caller
from tests.fakes.core import Core, raw

OPERATOR = Caller(ActorType.USER, "operator:local", "exchange-1")
TCP: dict[str, Any] = {
    "type": "tcp_reachable",
    "aliases": {"db": {"host": "db.example.com", "port": 5432, "allow_private": False}},
}
HTTP: dict[str, Any] = {
    "type": "http_health",
    "aliases": {
        "api": {
            "url": "https://api.example.com/health",
            "expected_statuses": [200, 204],
            "max_response_bytes": 65_536,
            "expected_content_type": None,
            "allow_redirects": False,
            "allow_private": False,
        }
    },
}


def configuration(value: dict[str, Any]) -> Configuration:
    read = read_configuration(value["type"], value)
    assert not isinstance(read, Refusal), read
    return read


def update(core: Core, value: dict[str, Any], version: int, *, enabled: bool = True) -> AdapterRow | Refusal:
    return core.write(
        UpdateAdapter(
            caller=OPERATOR,
            name=value["type"],
            enabled=enabled,
            configuration=configuration(value),
            expected_version=version,
        )
    )


def audited(core: Core) -> list[tuple[str, str, str | None, str, dict[str, str]]]:
    with raw(core.path) as connection:
        return [
            (kind, actor, request_id, outcome, json.loads(details))
            for kind, actor, request_id, outcome, details in connection.execute(
                "SELECT type, actor, request_id, outcome, details FROM audit ORDER BY sequence"
            )
        ]


def test_the_four_come_by_name_disabled_and_empty(core: Core) -> None:
    rows = core.read(ListAdapters())
    assert [row.name for row in rows] == list(ADAPTER_NAMES)
    assert [(row.enabled, row.version, row.updated_by) for row in rows] == [(False, 1, "system:defaults")] * 4


def test_a_change_raises_the_version_and_is_seen_at_once_and_after_a_restart(core: Core) -> None:
    core.clock.wall += 1_000
    row = update(core, HTTP, 1)
    assert row == AdapterRow("http_health", True, configuration(HTTP), 2, core.clock.now(), "operator:local")
    assert row in core.read(ListAdapters())
    assert isinstance(row, AdapterRow)
    assert views.adapter_data(row)["configuration"] == HTTP
    core.restart()
    assert row in core.read(ListAdapters())


def test_a_change_touches_no_other_adapter(core: Core) -> None:
    before = {row.name: row for row in core.read(ListAdapters())}
    update(core, TCP, 1)
    after = {row.name: row for row in core.read(ListAdapters())}
    assert {name for name in ADAPTER_NAMES if after[name] != before[name]} == {"tcp_reachable"}


def test_a_stale_version_is_told_the_present_one_and_changes_nothing(core: Core) -> None:
    update(core, TCP, 1)
    assert update(core, TCP, 1, enabled=False) == Refusal(ErrorCode.VERSION_CONFLICT, current_version=2)
    adapter = core.read(GetControl()).adapters.get("tcp_reachable")
    assert adapter is not None
    assert adapter.enabled


def test_an_unknown_name_is_refused_and_audited_under_the_marker(core: Core) -> None:
    message = UpdateAdapter(
        caller=OPERATOR,
        name="https://secret.example",
        enabled=True,
        configuration=configuration(TCP),
        expected_version=1,
    )
    assert core.write(message) == Refusal(ErrorCode.ADAPTER_NOT_FOUND)
    assert [row[3:] for row in audited(core)] == [
        ("rejected", {"adapter_name": "unknown", "failure_code": "ADAPTER_NOT_FOUND"})
    ]


def test_each_attempt_leaves_one_audit_row_without_a_word_of_the_configuration(core: Core) -> None:
    update(core, TCP, 1)
    update(core, TCP, 1)
    who = ("adapter_config_updated", "operator:local", "exchange-1")
    name = {"adapter_name": "tcp_reachable"}
    assert audited(core) == [
        (*who, "succeeded", name),
        (*who, "rejected", name | {"failure_code": "VERSION_CONFLICT"}),
    ]


def test_a_refusal_found_elsewhere_is_audited_by_itself(core: Core) -> None:
    core.write(
        RecordAudit(
            caller=OPERATOR,
            event_type="adapter_config_updated",
            outcome="rejected",
            details=(("adapter_name", "unknown"), ("failure_code", "VALIDATION_ERROR")),
        )
    )
    details = {"adapter_name": "unknown", "failure_code": "VALIDATION_ERROR"}
    assert audited(core) == [("adapter_config_updated", "operator:local", "exchange-1", "rejected", details)]
    assert [row.version for row in core.read(ListAdapters())] == [1, 1, 1, 1]


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        ("UPDATE adapter SET name = 'ftp' WHERE name = 'http_health'", "unknown adapter: 'ftp'"),
        ("UPDATE adapter SET configuration = '[]' WHERE name = 'file_exists'", "adapter file_exists is malf"),
        ("UPDATE adapter SET configuration = '{}' WHERE name = 'file_exists'", "adapter file_exists is malf"),
    ],
)
def test_a_row_that_no_remindi_wrote_refuses_startup_by_its_name(
    core: Core, statement: str, sentence: str
) -> None:
    core.stop()
    with raw(core.path) as connection:
        connection.execute(statement)
    with pytest.raises(BadControlRow, match=sentence):
        core.start()
