"""Control rows: settings, desired workloads, the audit, and all control state at once (contract 12, 13)."""

import json
from typing import Any, Final

import apsw

from actors.messages.control import Control, SettingRow, WorkloadRow
from actors.store import adapters
from actors.store.connections import first_row
from actors.store.errors import BadControlRow
from actors.system import Identifiers
from remindi.errors import ErrorCode, Refusal
from remindi.events import Caller
from remindi.settings import SETTINGS, Settings, check_setting

COMPONENTS: Final = ("mcp", "scheduler")
FIRST_AUTHOR: Final = "system:defaults"


def add_missing_rows(connection: apsw.Connection, now: int) -> None:
    """Give every setting, adapter and workload its row."""
    for setting in SETTINGS:
        connection.execute(
            "INSERT OR IGNORE INTO setting (key, value, version, updated_at, updated_by)"
            " VALUES (?, ?, 1, ?, ?)",
            (setting.key, setting.default, now, FIRST_AUTHOR),
        )
    adapters.add_missing_rows(connection, now, FIRST_AUTHOR)
    for component in COMPONENTS:
        connection.execute(
            "INSERT OR IGNORE INTO workload (component, desired, version, updated_at, updated_by)"
            " VALUES (?, 'running', 1, ?, ?)",
            (component, now, FIRST_AUTHOR),
        )


def read_control(connection: apsw.Connection) -> Control:
    """All control state.

    Raises:
        BadControlRow: a row is unknown or malformed; it is named by table and key.
    """
    return Control(read_settings(connection), adapters.read_adapters(connection), read_workloads(connection))


def setting_rows(connection: apsw.Connection) -> tuple[SettingRow, ...]:
    """The setting rows, by key."""
    return tuple(
        SettingRow(*row)
        for row in connection.execute(
            "SELECT key, value, version, updated_at, updated_by FROM setting ORDER BY key"
        )
    )


def read_settings(connection: apsw.Connection) -> Settings:
    """All settings as a snapshot."""
    stored = {row.key: row.value for row in setting_rows(connection)}
    unknown = stored.keys() - {setting.key for setting in SETTINGS}
    if unknown:
        raise BadControlRow(f"The database holds an unknown setting: {min(unknown)[:64]!r}.")
    return Settings(stored)


def read_workloads(connection: apsw.Connection) -> tuple[WorkloadRow, ...]:
    """What is desired of each workload, ``mcp`` first."""
    return tuple(
        WorkloadRow(*row)
        for row in connection.execute("SELECT component, desired, version FROM workload ORDER BY component")
    )


def update_setting(
    connection: apsw.Connection,
    *,
    key: str,
    value: int,
    expected_version: int,
    caller: Caller,
    now: int,
) -> SettingRow | Refusal:
    """Store a setting that holds its bounds; the refusals come in the order of contract 11.9."""
    errors = check_setting(key, value, read_settings(connection))
    if errors:
        return Refusal(ErrorCode.VALIDATION_ERROR, errors)
    version = first_row(connection, "SELECT version FROM setting WHERE key = ?", (key,))[0]
    if version != expected_version:
        return Refusal(ErrorCode.VERSION_CONFLICT, current_version=version)
    connection.execute(
        "UPDATE setting SET value = ?, version = version + 1, updated_at = ?, updated_by = ? WHERE key = ?",
        (value, now, caller.actor_id, key),
    )
    return SettingRow(key, value, version + 1, now, caller.actor_id)


def set_desired(
    connection: apsw.Connection, components: tuple[str, ...], desired: str, caller: Caller, now: int
) -> tuple[WorkloadRow, ...]:
    """Store what is desired of workloads; all rows as they are then."""
    for component in components:
        connection.execute(
            "UPDATE workload SET desired = ?, version = version + 1, updated_at = ?, updated_by = ?"
            " WHERE component = ?",
            (desired, now, caller.actor_id, component),
        )
    return read_workloads(connection)


def audit(
    connection: apsw.Connection,
    kind: str,
    outcome: str,
    details: dict[str, Any],
    *,
    caller: Caller,
    now: int,
    identifiers: Identifiers,
) -> None:
    """Append an audit row, in the transaction of what it tells of."""
    connection.execute(
        "INSERT INTO audit (id, type, actor, request_id, occurred_at, outcome, details)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (identifiers.next(), kind, caller.actor_id, caller.request_id, now, outcome, json.dumps(details)),
    )
