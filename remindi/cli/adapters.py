"""``remindi adapters``: what an operator sees and changes of the adapters; the service runs or not."""

import json
import os
import signal
import sys
from pathlib import Path
from time import time_ns
from typing import Any, Final

from actors.probes.outcomes import PRIVATE
from remindi.cli import exits
from remindi.cli.arguments import (
    AdaptersArguments,
    ListAdaptersArguments,
    SetAdapterArguments,
    ShowAdapterArguments,
    TryAliasArguments,
)
from remindi.cli.display import screen_of
from remindi.cli.durations import relative
from remindi.cli.exits import Refused
from remindi.cli.operator import Ask, reached
from remindi.cli.tables import Column, table
from remindi.cli.words import printable, refusal_lines
from remindi.instants import parse_instant
from web.operator.operations import GET_ADAPTER, LIST_ADAPTERS, TRY_ALIAS, UPDATE_ADAPTER
from web.strict_json import JsonError, parse

Json = dict[str, Any]

MAX_FILE_BYTES: Final = 1_000_000
"""A little less than the service takes in one line."""
SHOWN_ALIASES: Final = 6
"""Named in a line; of the others only the number is told."""
_COLUMNS: Final = (
    Column("NAME"),
    Column("ENABLED", leaves=1),
    Column("ALIASES", leaves=2, gives=True),
    Column("VERSION", leaves=3),
    Column("UPDATED", leaves=4),
)
_HOW_TO: Final = (
    "To {aim}: remindi adapters show {name} > adapter.json, write {change} there, then"
    " remindi adapters set {name} --file adapter.json"
)


class _Refusal(Exception):
    """The service refused; holds the envelope, and what it means in words."""

    def __init__(self, envelope: Json, lines: list[str]) -> None:
        super().__init__()
        self.envelope = envelope
        self.lines = lines


def run(arguments: AdaptersArguments) -> int:
    """Carry one command out and return its exit code (``remindi.cli.exits``)."""
    os.umask(0o077)
    # An interrupt ends this as it ends any command; the database is safe at every moment.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        code = _run(arguments)
    except Refused as refused:
        _complain(*str(refused).splitlines())
        if arguments.as_json:
            _print_json(refused.envelope())
        code = refused.code
    except _Refusal as refusal:
        error = refusal.envelope["error"]
        _complain(*refusal.lines)
        if arguments.as_json:
            _print_json(refusal.envelope)
        code = exits.INTERNAL if error["code"] == "INTERNAL_ERROR" else exits.FAILED
    return code


def _run(arguments: AdaptersArguments) -> int:
    match arguments:
        case ListAdaptersArguments():
            with reached(arguments.env_file) as ask:
                return _list(arguments, ask)
        case ShowAdapterArguments():
            with reached(arguments.env_file) as ask:
                return _show(arguments, ask)
        case SetAdapterArguments():
            body = _body(arguments.file)
            with reached(arguments.env_file) as ask:
                return _set(arguments, body, ask)
        case TryAliasArguments():
            with reached(arguments.env_file) as ask:
                return _test(arguments, ask)
        case _:
            raise TypeError(type(arguments).__name__)


# ------------------------------------------------------------------ commands


def _list(arguments: ListAdaptersArguments, ask: Ask) -> int:
    envelope = _asked(ask, LIST_ADAPTERS)
    if arguments.as_json:
        _print_json(envelope)
        return exits.OK
    now = time_ns() // 1_000_000
    rows = [
        (
            row["adapter_name"],
            "yes" if row["enabled"] else "no",
            _named(_aliases(row)) or "-",
            str(row["version"]),
            relative(parse_instant(row["updated_at"]), now),
        )
        for row in envelope["data"]["adapters"]
    ]
    for line in table(_COLUMNS, rows, screen_of(sys.stdout, os.environ)):
        print(line)
    return exits.OK


def _show(arguments: ShowAdapterArguments, ask: Ask) -> int:
    envelope = _asked(ask, GET_ADAPTER, adapter_name=arguments.name)
    if arguments.as_json:
        _print_json(envelope)
        return exits.OK
    row = envelope["data"]["adapter"]
    shown = {key: row[key] for key in ("enabled", "configuration")} | {"expected_version": row["version"]}
    print(json.dumps(shown, indent=2, ensure_ascii=False))
    return exits.OK


def _set(arguments: SetAdapterArguments, body: Any, ask: Ask) -> int:
    if isinstance(body, dict) and "expected_version" not in body:
        body = {**body, "expected_version": _row(ask, arguments.name)["version"]}
    envelope = _asked(ask, UPDATE_ADAPTER, adapter_name=arguments.name, update=body)
    if arguments.as_json:
        _print_json(envelope)
        return exits.OK
    row = envelope["data"]["adapter"]
    aliases = _aliases(row)
    known = f", with {_named(aliases)}" if aliases else ""
    print(f"{arguments.name} is {_enabled(row)}, at version {row['version']}{known}.")
    return exits.OK


def _test(arguments: TryAliasArguments, ask: Ask) -> int:
    try:
        envelope = _asked(ask, TRY_ALIAS, adapter_name=arguments.name, alias=arguments.alias)
    except _Refusal as refusal:
        if refusal.envelope["error"]["code"] == "VALIDATION_ERROR":
            refusal.lines = [_not_there(_row(ask, arguments.name), arguments.alias)]
        raise
    probe = envelope["data"]["probe"]
    satisfied = probe["status"] == "satisfied"
    if arguments.as_json:
        _print_json(envelope)
        return exits.OK if satisfied else exits.FAILED
    print(f"{probe['status']} ({probe['latency_ms']} ms): {probe['summary']}")
    if not satisfied and not _row(ask, arguments.name)["enabled"]:
        print(_HOW_TO.format(aim="enable it", name=arguments.name, change='"enabled": true'))
    elif probe["summary"] == PRIVATE.summary:
        print(_HOW_TO.format(aim="allow it", name=arguments.name, change='"allow_private": true'))
    return exits.OK if satisfied else exits.FAILED


# ---------------------------------------------------------------------- bits


def _asked(ask: Ask, operation: str, **arguments: Any) -> Json:
    envelope = ask(operation, arguments)
    if not envelope["ok"]:
        given = arguments.get("update")
        raise _Refusal(envelope, refusal_lines(arguments.get("adapter_name", ""), envelope["error"], given))
    return envelope


def _row(ask: Ask, name: str) -> Json:
    row: Json = _asked(ask, GET_ADAPTER, adapter_name=name)["data"]["adapter"]
    return row


def _body(file: Path) -> Any:
    """The JSON value in a file, or on standard input for ``-``."""
    shown = "standard input" if str(file) == "-" else str(file)
    try:
        if str(file) == "-":
            text = sys.stdin.buffer.read(MAX_FILE_BYTES + 1)
        else:
            with file.open("rb") as stream:
                text = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise Refused(exits.DATA_DIRECTORY, f"{shown} cannot be read: {error.strerror}.") from None
    if len(text) > MAX_FILE_BYTES:
        raise Refused(exits.FAILED, f"{shown} is larger than {MAX_FILE_BYTES} bytes.")
    try:
        return parse(text)
    except JsonError as error:
        raise Refused(exits.FAILED, f"{shown} is no JSON: {_fault(text) or error}.") from None


def _fault(text: bytes) -> str | None:
    """Where a text stops being JSON, if it does."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno}, column {error.colno}"
    except (ValueError, RecursionError):
        return None
    return None


def _not_there(row: Json, alias: str) -> str:
    """Why an alias cannot be tried."""
    name = row["adapter_name"]
    if "aliases" not in row["configuration"]:
        return f"{name} has no aliases, so there is nothing to test; enabled is all that it is set to"
    has = f"it has {_named(aliases)}" if (aliases := _aliases(row)) else "it has none"
    return f"{name} has no alias {printable(alias)}; {has}"


def _aliases(row: Json) -> list[str]:
    return sorted(row["configuration"].get("aliases", {}))


def _named(aliases: list[str]) -> str:
    more = len(aliases) - SHOWN_ALIASES
    return ", ".join(aliases[:SHOWN_ALIASES]) + (f" and {more} more" if more > 0 else "")


def _enabled(row: Json) -> str:
    return "enabled" if row["enabled"] else "disabled"


def _print_json(envelope: Json) -> None:
    print(json.dumps(envelope, ensure_ascii=False, separators=(",", ":")))


def _complain(*lines: str) -> None:
    for line in lines:
        print(f"remindi: {line}", file=sys.stderr)
