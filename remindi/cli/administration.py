"""``remindi status``, ``settings`` and ``workloads``: the service itself, through its administration API."""

import difflib
import os
import sys
from collections.abc import Sequence
from typing import Any, Final

from remindi.cli import exits
from remindi.cli.api import Api
from remindi.cli.api_arguments import (
    GetSettingArguments,
    ListSettingsArguments,
    ListWorkloadsArguments,
    MoveWorkloadsArguments,
    SetSettingArguments,
    StatusArguments,
)
from remindi.cli.clock import Clock
from remindi.cli.display import Screen, escaped, screen_of
from remindi.cli.durations import relative
from remindi.cli.endings import Declined, Said, ended
from remindi.cli.exits import Refused
from remindi.cli.service import Surroundings, service_of
from remindi.cli.service_arguments import ApiArguments
from remindi.cli.tables import Cell, Column, left_out, table
from remindi.cli.times import shown_with_distance
from remindi.instants import parse_instant

Json = dict[str, Any]

READY: Final = "ready"
_ASLEEP: Final = ("starting", "stopping")
"""Health while the API answers nothing else."""
_COLOURS: Final = {"failed": "red", "stopped": "yellow", "running": "green"}
_WORKLOAD_COLUMNS: Final = (
    Column("WORKLOAD"),
    Column("DESIRED", leaves=2),
    Column("ACTUAL", leaves=1),
    Column("LAST PASS", leaves=3),
    Column("LAG", leaves=4),
    Column("BACKLOG", leaves=5),
    Column("LAST ERROR", leaves=6, gives=True),
)
_SETTING_COLUMNS: Final = (
    Column("SETTING"),
    Column("VALUE", leaves=1),
    Column("BOUNDS", leaves=2),
    Column("VERSION", leaves=4),
    Column("UPDATED", leaves=3),
)


def run(arguments: ApiArguments) -> int:
    """Carry one command out and return its exit code (``remindi.cli.exits``)."""
    return ended(lambda: _run(arguments), as_json=arguments.as_json)


def _run(arguments: ApiArguments) -> Said:
    clock = Clock.started(arguments.zone, os.environ)
    screen = screen_of(sys.stdout, os.environ)
    surroundings = Surroundings(arguments.env_file)
    api = Api(service_of(arguments, surroundings), surroundings)
    match arguments:
        case StatusArguments():
            return _status(api, clock, screen)
        case ListSettingsArguments():
            with api:
                rows = api.get("/settings")
            return _settings(rows, clock, screen)
        case GetSettingArguments():
            with api:
                row = _setting(api, arguments.setting)
            return Said(row, [str(row["value"])])
        case SetSettingArguments():
            with api:
                return _set(api, arguments)
        case ListWorkloadsArguments():
            with api:
                rows = api.get("/workloads")
            return Said(rows, _workloads(rows, clock, screen), _how_to_start(rows))
        case MoveWorkloadsArguments():
            with api:
                rows = api.change("POST", f"/workloads/{arguments.component}/{arguments.transition}", {})
            return Said(rows, _workloads(rows, clock, screen))
        case _:
            raise TypeError(type(arguments).__name__)


# -------------------------------------------------------------------- status


def _status(api: Api, clock: Clock, screen: Screen) -> Said:
    """Health, which everybody may ask for, and behind it what only the owner sees."""
    health = api.health()
    data: Json = {"health": health, "workloads": None, "overview": None}
    lines = [f"health  {health}"]
    if health in _ASLEEP:
        return Said(data, lines, code=exits.FAILED)
    with api:
        data["workloads"] = rows = api.get("/workloads")
        data["overview"] = _overview(api)
    if data["overview"] is not None:
        counts = ", ".join(f"{count} {escaped(state)}" for state, count in data["overview"]["states"].items())
        lines.append(f"items   {counts}")
    lines += ["", *_workloads(rows, clock, screen)]
    well = health == READY and all(row["actual"] == row["desired"] for row in rows)
    return Said(data, lines, _how_to_start(rows), exits.OK if well else exits.FAILED)


def _overview(api: Api) -> Json | None:
    """Counts of the whole database; null from a service that does not count yet."""
    try:
        overview: Json = api.get("/overview")
    except Declined as declined:
        if declined.envelope["error"]["code"] == "NOT_FOUND":
            return None
        raise
    return overview


# ------------------------------------------------------------------ settings


def _settings(rows: list[Json], clock: Clock, screen: Screen) -> Said:
    cells = [
        (
            escaped(row["key"]),
            str(row["value"]),
            f"{row['minimum']}-{row['maximum']}",
            str(row["version"]),
            relative(parse_instant(row["updated_at"]), clock.now),
        )
        for row in rows
    ]
    heads = ", ".join(left_out(_SETTING_COLUMNS, cells, screen))
    notes = [f"Left out, as the terminal is too narrow: {heads}."] if heads else []
    return Said(rows, table(_SETTING_COLUMNS, cells, screen), notes)


def _setting(api: Api, key: str) -> Json:
    rows: dict[str, Json] = {row["key"]: row for row in api.get("/settings")}
    if key not in rows:
        nearest = [known for known in rows if key in known] or difflib.get_close_matches(key[:80], rows)
        hint = f"; the nearest is {escaped(nearest[0])}" if nearest else "; `remindi settings list` shows all"
        raise Refused(exits.FAILED, f"There is no setting {escaped(key[:80])}{hint}.")
    return rows[key]


def _set(api: Api, arguments: SetSettingArguments) -> Said:
    before = _setting(api, arguments.setting)
    if before["value"] == arguments.value:
        return Said(before, [f"{before['key']} is {before['value']} already."])
    body = {"value": arguments.value, "expected_version": before["version"]}
    try:
        row = api.change("PATCH", f"/settings/{before['key']}", body)
    except Declined as declined:
        raise Declined(declined.envelope, _setting_lines(declined, before)) from None
    return Said(row, [f"{row['key']} is {row['value']} now; it was {before['value']}."])


def _setting_lines(declined: Declined, row: Json) -> Sequence[str]:
    """Why a value is refused, in words."""
    error = declined.envelope["error"]
    if error["code"] == "VERSION_CONFLICT":
        return [
            f"{row['key']} was changed by somebody else just now; nothing was set. Look, then set it again."
        ]
    reasons = {entry["reason"] for entry in error.get("details", {}).get("errors", ())}
    if reasons & {"too_small", "too_large"}:
        return [f"{row['key']}: must be a whole number from {row['minimum']} to {row['maximum']}."]
    if "lease_not_above_twice_poll" in reasons:
        return ["scheduler.lease_seconds must be more than twice scheduler.poll_interval_seconds."]
    return declined.lines


# ----------------------------------------------------------------- workloads


def _workloads(rows: list[Json], clock: Clock, screen: Screen) -> list[str]:
    return table(
        _WORKLOAD_COLUMNS,
        [
            (
                escaped(row["component"]),
                escaped(row["desired"]),
                Cell(escaped(row["actual"]), _COLOURS.get(row["actual"])),
                _last_pass(row["last_pass_at"], clock, screen),
                "-" if row["lag_seconds"] is None else f"{row['lag_seconds']} s",
                "-" if row["backlog"] is None else str(row["backlog"]),
                escaped(row["last_error"] or "-"),
            )
            for row in rows
        ],
        screen,
    )


def _how_to_start(rows: list[Json]) -> list[str]:
    """What to do about workloads that are stopped because somebody wanted it."""
    stopped = [escaped(row["component"]) for row in rows if row["desired"] == "stopped"]
    what = "all" if len(stopped) == len(rows) else ", ".join(stopped)
    return [f"Start what is stopped with `remindi workloads start {what}`."] if stopped else []


def _last_pass(stamp: str | None, clock: Clock, screen: Screen) -> str:
    if stamp is None:
        return "-"
    instant = parse_instant(stamp)
    if screen.width is None:
        return shown_with_distance(instant, clock.now, clock.zone)
    return relative(instant, clock.now)
