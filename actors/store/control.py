"""Control rows: settings, adapters, desired workloads, the lease, the audit (contract 8.3, 12, 13)."""

import json
from typing import Any, Final

import apsw

from actors.messages.control import Control, LeaseRow, SettingRow, WorkloadRow
from actors.store.connections import first_row
from actors.store.errors import BadControlRow
from actors.system import Identifiers
from remindi.adapters import Adapter, AdapterRegistry, read_configuration
from remindi.errors import ErrorCode, Refusal
from remindi.events import Caller
from remindi.settings import SETTINGS, Settings, check_setting

COMPONENTS: Final = ("mcp", "scheduler")
LEASE_NAME: Final = "trigger-evaluator"
_FIRST_AUTHOR: Final = "system:defaults"


def add_missing_rows(connection: apsw.Connection, now: int) -> None:
    """Give every setting, adapter and workload its row."""
    for setting in SETTINGS:
        connection.execute(
            "INSERT OR IGNORE INTO setting (key, value, version, updated_at, updated_by)"
            " VALUES (?, ?, 1, ?, ?)",
            (setting.key, setting.default, now, _FIRST_AUTHOR),
        )
    for adapter in AdapterRegistry.defaults():
        connection.execute(
            "INSERT OR IGNORE INTO adapter (name, enabled, configuration, version, updated_at, updated_by)"
            " VALUES (?, 0, ?, 1, ?, ?)",
            (adapter.name, json.dumps(adapter.configuration.model_dump(mode="json")), now, _FIRST_AUTHOR),
        )
    for component in COMPONENTS:
        connection.execute(
            "INSERT OR IGNORE INTO workload (component, desired, version, updated_at, updated_by)"
            " VALUES (?, 'running', 1, ?, ?)",
            (component, now, _FIRST_AUTHOR),
        )


def read_control(connection: apsw.Connection) -> Control:
    """All control state.

    Raises:
        BadControlRow: a row is unknown or malformed; it is named by table and key.
    """
    return Control(read_settings(connection), _read_adapters(connection), read_workloads(connection))


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


def read_lease(connection: apsw.Connection) -> LeaseRow | None:
    """The lease, whoever holds it."""
    row = first_row(
        connection,
        "SELECT holder, acquired_at, expires_at, version FROM lease WHERE name = ?",
        (LEASE_NAME,),
    )
    return None if row is None else LeaseRow(*row)


def acquire_lease(connection: apsw.Connection, holder: str, now: int, length_ms: int) -> LeaseRow | None:
    """Take the lease when it is absent or expired; None when it is held, also by the same holder."""
    held = read_lease(connection)
    if held is not None and held.expires_at > now:
        return None
    taken = LeaseRow(holder, now, now + length_ms, 1 if held is None else held.version + 1)
    _store_lease(connection, taken)
    return taken


def renew_lease(connection: apsw.Connection, held: LeaseRow, now: int, length_ms: int) -> LeaseRow | None:
    """Renew exactly the lease held; None when it is lost."""
    stored = read_lease(connection)
    if stored is None or (stored.holder, stored.version) != (held.holder, held.version):
        return None
    if stored.expires_at <= now:
        return None
    renewed = stored._replace(expires_at=now + length_ms, version=stored.version + 1)
    _store_lease(connection, renewed)
    return renewed


def release_lease(connection: apsw.Connection, held: LeaseRow) -> bool:
    """Delete exactly the lease held."""
    connection.execute(
        "DELETE FROM lease WHERE name = ? AND holder = ? AND version = ?",
        (LEASE_NAME, held.holder, held.version),
    )
    return connection.changes() == 1


def drop_leases(connection: apsw.Connection) -> None:
    """Drop what a dead process left; only while the lock of the data directory is held."""
    connection.execute("DELETE FROM lease")


def holds_lease(connection: apsw.Connection, holder: str, now: int) -> bool:
    """Whether a scheduler may write under its lease now."""
    held = read_lease(connection)
    return held is not None and held.holder == holder and held.expires_at > now


def _store_lease(connection: apsw.Connection, lease: LeaseRow) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO lease (name, holder, acquired_at, expires_at, version)"
        " VALUES (?, ?, ?, ?, ?)",
        (LEASE_NAME, *lease),
    )


def _read_adapters(connection: apsw.Connection) -> AdapterRegistry:
    adapters = []
    known = {adapter.name for adapter in AdapterRegistry.defaults()}
    for name, enabled, text in connection.execute(
        "SELECT name, enabled, configuration FROM adapter ORDER BY name"
    ):
        if name not in known:
            raise BadControlRow(f"The database holds an unknown adapter: {name[:64]!r}.")
        configuration = read_configuration(name, json.loads(text))
        if isinstance(configuration, Refusal):
            raise BadControlRow(f"The stored configuration of adapter {name} is malformed.")
        adapters.append(Adapter(name, bool(enabled), configuration))
    return AdapterRegistry(adapters)
