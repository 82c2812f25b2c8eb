"""Adapter rows: the versioned configuration of the four adapters (contract 7.3, 11.9)."""

import json

import apsw

from actors.store.connections import first_row
from actors.store.errors import BadControlRow
from remindi.adapters import Adapter, AdapterRegistry, AdapterRow, Configuration, read_configuration
from remindi.errors import ErrorCode, Refusal
from remindi.events import Caller


def add_missing_rows(connection: apsw.Connection, now: int, author: str) -> None:
    """Give every adapter its row."""
    for adapter in AdapterRegistry.defaults():
        connection.execute(
            "INSERT OR IGNORE INTO adapter (name, enabled, configuration, version, updated_at, updated_by)"
            " VALUES (?, 0, ?, 1, ?, ?)",
            (adapter.name, _text(adapter.configuration), now, author),
        )


def adapter_rows(connection: apsw.Connection) -> tuple[AdapterRow, ...]:
    """The adapter rows, by name.

    Raises:
        BadControlRow: a row is unknown or malformed.
    """
    return tuple(
        AdapterRow(name, bool(enabled), _configuration(name, text), version, updated_at, updated_by)
        for name, enabled, text, version, updated_at, updated_by in connection.execute(
            "SELECT name, enabled, configuration, version, updated_at, updated_by FROM adapter ORDER BY name"
        )
    )


def read_adapters(connection: apsw.Connection) -> AdapterRegistry:
    """All adapters as a snapshot.

    Raises:
        BadControlRow: a row is unknown or malformed.
    """
    return AdapterRegistry(
        Adapter(row.name, row.enabled, row.configuration) for row in adapter_rows(connection)
    )


def update_adapter(
    connection: apsw.Connection,
    *,
    name: str,
    enabled: bool,
    configuration: Configuration,
    expected_version: int,
    caller: Caller,
    now: int,
) -> AdapterRow | Refusal:
    """Store what an adapter knows and whether it may probe, whole; no other adapter is looked at."""
    row = first_row(connection, "SELECT version FROM adapter WHERE name = ?", (name,))
    if row is None:
        return Refusal(ErrorCode.ADAPTER_NOT_FOUND)
    version = row[0]
    if version != expected_version:
        return Refusal(ErrorCode.VERSION_CONFLICT, current_version=version)
    connection.execute(
        "UPDATE adapter SET enabled = ?, configuration = ?, version = version + 1, updated_at = ?,"
        " updated_by = ? WHERE name = ?",
        (int(enabled), _text(configuration), now, caller.actor_id, name),
    )
    return AdapterRow(name, enabled, configuration, version + 1, now, caller.actor_id)


def _text(configuration: Configuration) -> str:
    return json.dumps(configuration.model_dump(mode="json"))


def _configuration(name: str, text: str) -> Configuration:
    configuration = read_configuration(name, json.loads(text))
    if not isinstance(configuration, Refusal):
        return configuration
    if configuration.code == ErrorCode.ADAPTER_NOT_FOUND:
        raise BadControlRow(f"The database holds an unknown adapter: {name[:64]!r}.")
    raise BadControlRow(f"The stored configuration of adapter {name} is malformed.")
