"""``remindi backup``: backups of a service that runs, through its socket, or of one that is stopped.

A database that is too broken to be opened is replaced without one: see ``remindi.cli.salvage``.
"""

import os
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from actors.system import SystemClock
from remindi.backups import Status, file_name
from remindi.cli import exits, salvage
from remindi.cli.backup_arguments import (
    ALL,
    PHRASE,
    BackupArguments,
    CreateBackupArguments,
    ListBackupsArguments,
    RestoreArguments,
    VerifyBackupArguments,
)
from remindi.cli.display import escaped, screen_of
from remindi.cli.durations import relative
from remindi.cli.endings import Declined, Said, ended
from remindi.cli.exits import Refused
from remindi.cli.operator import Ask, configuration, reached
from remindi.cli.tables import Cell, Column, table
from remindi.config import Config
from remindi.identifiers import parse_uuid, uuid_text
from remindi.instants import parse_instant
from remindi.views import backup_data
from web.operator.operations import (
    CREATE_BACKUP,
    LATEST_RESTORE,
    LIST_BACKUPS,
    RESTORE,
    RESTORE_FILE,
    VERIFY_BACKUP,
)

Json = dict[str, Any]

PATIENCE_SECONDS: Final = 3_660.0
"""For a backup or a restore: a little longer than the service itself waits."""
GLANCE_SECONDS: Final = 0.25
"""How often the phases of a restore are looked at."""
SHORTEST_END: Final = 4
"""Characters of an id's end that stand for it."""
_COLUMNS: Final = (
    Column("BACKUP", gives=True),
    Column("STATUS", leaves=1),
    Column("SOURCE", leaves=3),
    Column("MB", leaves=5),
    Column("MADE", leaves=2),
    Column("PROVEN", leaves=4),
)
_COLOURS: Final = {Status.READY.value: None, Status.EXPIRED.value: "dim", Status.INVALID.value: "red"}
_PHASES: Final = {
    "requested": "asked for",
    "candidate_verified": "the backup is proven restorable",
    "workloads_quiesced": "the database is closed, running work is done",
    "pre_restore_backup_verified": "what was live is backed up",
    "live_replaced": "the backup is in place",
    "replacement_verified": "it is opened and verified",
    "workloads_restarted": "the database is open again",
    "succeeded": "done",
    "rollback_started": "it failed; going back",
    "pre_restore_reinstalled": "what was live is in place again",
    "rollback_verified": "it is opened and verified",
    "workloads_restarted_or_held": "the database is open again, or held closed",
    "failed": "the restore has failed",
}
_CLOSED: Final = "MAINTENANCE_ACTIVE"
_BROKEN: Final = (exits.DATABASE, exits.SCHEMA, exits.DATA_DIRECTORY)
"""Why a database cannot be asked for its backups."""


def run(arguments: BackupArguments) -> int:
    """Carry one command out and return its exit code (``remindi.cli.exits``)."""
    os.umask(0o077)
    return ended(lambda: _run(arguments), as_json=arguments.as_json)


def _run(arguments: BackupArguments) -> Said:
    match arguments:
        case CreateBackupArguments():
            with reached(arguments.env_file, PATIENCE_SECONDS) as ask:
                record = _asked(ask, CREATE_BACKUP)["backup"]
            return Said(record, [f"{record['id']} is made and proven restorable: {_told(record)}."])
        case ListBackupsArguments():
            return _list(arguments)
        case VerifyBackupArguments():
            with reached(arguments.env_file, PATIENCE_SECONDS) as ask:
                return _verified(arguments, ask)
        case RestoreArguments():
            return _restored(arguments)
        case _:
            raise TypeError(type(arguments).__name__)


# ------------------------------------------------------------- list, verify


def _list(arguments: ListBackupsArguments) -> Said:
    try:
        with reached(arguments.env_file) as ask:
            records = _records(ask, arguments)
    except Refused as refused:
        found = [] if refused.code not in _BROKEN else salvage.manifests(configuration(arguments.env_file))
        if not found:
            raise
        records = [backup_data(record) for record in reversed(found)]
        note = "The database cannot be asked; this is what the backup directory says of itself."
        return Said(records, _listed(records), [*str(refused).splitlines(), note])
    return Said(records, _listed(records))


def _records(ask: Ask, arguments: BackupArguments) -> list[Json]:
    """All backups, the newest first; those too that a service has not taken up yet since its start."""
    records: list[Json] = _asked(ask, LIST_BACKUPS)["backups"]
    known = {record["id"] for record in records}
    found = map(backup_data, salvage.manifests(configuration(arguments.env_file)))
    records += [record for record in found if record["id"] not in known]
    return sorted(records, key=lambda record: str(record["created_at"]), reverse=True)


def _listed(records: Sequence[Json]) -> list[str]:
    if not records:
        return ["There are no backups. Make one: remindi backup create"]
    now = SystemClock().now()
    rows = [
        (
            record["id"],
            Cell(record["status"], _COLOURS[record["status"]]),
            record["source"],
            f"{record['size_bytes'] / 1e6:,.1f}",
            relative(parse_instant(record["created_at"]), now),
            relative(parse_instant(record["verified_at"]), now),
        )
        for record in records
    ]
    return table(_COLUMNS, rows, screen_of(sys.stdout, os.environ))


def _verified(arguments: VerifyBackupArguments, ask: Ask) -> Said:
    records = _records(ask, arguments)
    wanted = (
        [record["id"] for record in records if record["status"] != Status.EXPIRED.value]
        if arguments.backup == ALL
        else [_identified(arguments.backup, records)]
    )
    if not wanted:
        return Said([], ["There are no backups. Make one: remindi backup create"])
    results, lines, failed = [], [], 0
    for identifier in wanted:
        envelope = ask(VERIFY_BACKUP, {"backup_id": identifier})
        if envelope["ok"]:
            record = envelope["data"]["backup"]
            results.append({"id": identifier, "ok": True, "backup": record})
            lines.append(f"{identifier} is proven restorable: {_told(record)}.")
        elif arguments.backup == ALL and envelope["error"]["code"] in ("BACKUP_INVALID", "NOT_FOUND"):
            failed += 1
            results.append({"id": identifier, "ok": False, "error": envelope["error"]})
            lines.append(f"{identifier} is not restorable: {_why(envelope['error'])}")
        else:
            raise Declined(envelope, [f"{identifier}: {_why(envelope['error'])}"])
    return Said(results, lines, code=exits.FAILED if failed else exits.OK)


def _identified(given: str, records: Sequence[Json]) -> str:
    """The id that a command line means, whole or by its end.

    Raises:
        Refused: it means none, or several.
    """
    try:
        return uuid_text(parse_uuid(given))
    except ValueError:
        pass
    end = given.lower()
    found = [record["id"] for record in records if len(end) >= SHORTEST_END and record["id"].endswith(end)]
    match found:
        case [only]:
            return str(only)
        case []:
            raise Refused(exits.FAILED, f"There is no backup {escaped(given)}; see `remindi backup list`.")
        case _:
            raise Refused(
                exits.FAILED, f"{len(found)} backups end with {escaped(given)}; give more of the id."
            )


# ------------------------------------------------------------------ restore


def _restored(arguments: RestoreArguments) -> Said:
    config = configuration(arguments.env_file)
    broken = salvage.why_broken(config)
    if broken is None:
        with reached(arguments.env_file, PATIENCE_SECONDS) as ask:
            return _restored_by(ask, arguments)
    source = _source(config, arguments.backup)
    return salvage.put_in_place(config, source, broken, lambda lines: _confirm(arguments, lines))


def _source(config: Config, given: str) -> salvage.Source:
    """What a command line means while the database cannot be asked."""
    file = _file(given)
    if file is not None:
        return salvage.Source(file, None)
    records = {uuid_text(record.id): record for record in salvage.manifests(config)}
    identifier = _identified(given, [{"id": name} for name in records])
    if identifier not in records:
        raise Refused(exits.FAILED, f"There is no backup {identifier} in {config.backup_dir}.")
    return salvage.Source(Path(config.backup_dir) / file_name(identifier), records[identifier])


def _restored_by(ask: Ask, arguments: RestoreArguments) -> Said:
    records = _records(ask, arguments)
    file = _file(arguments.backup)
    now = SystemClock().now()
    if file is not None:
        size = file.stat().st_size / 1e6
        _confirm(arguments, [f"Restore: the file {file}, {size:,.1f} MB. It is verified first.", _AFTER])
        envelope = _watched(ask, RESTORE_FILE, {"path": str(file)})
    else:
        identifier = _identified(arguments.backup, records)
        record = next((each for each in records if each["id"] == identifier), None)
        if record is None:
            raise Refused(exits.FAILED, f"There is no backup {identifier}; see `remindi backup list`.")
        made = relative(parse_instant(record["created_at"]), now)
        newer = sum(each["created_at"] > record["created_at"] for each in records)
        newest = f"{newer} newer {'one is' if newer == 1 else 'ones are'} there" if newer else "the newest"
        lines = [f"Restore: {identifier}, {_told(record)}, made {made}; {newest}.", _AFTER]
        _confirm(arguments, lines)
        envelope = _watched(ask, RESTORE, {"backup_id": identifier})
    if not envelope["ok"]:
        raise _refusal_of_restore(ask, envelope)
    restore = envelope["data"]["restore"]
    return Said(
        restore,
        [
            "The backup is live now.",
            f"What was live before is backup {restore['pre_restore_backup_id']}.",
        ],
    )


_AFTER: Final = (
    "What is live now is made a backup first, then replaced whole: items, history, settings and adapters."
    " Whatever came after that backup was made is only in the backup of now."
)


def _file(given: str) -> Path | None:
    """The file that a command line means; what reads as an id is one.

    Raises:
        Refused: it means one that is not there.
    """
    try:
        parse_uuid(given)
    except ValueError:
        path = Path(given).absolute()
        if path.is_file():
            return path
        if os.sep in given or path.exists():
            raise Refused(exits.FAILED, f"There is no file {escaped(str(path))}.") from None
    return None


def _confirm(arguments: RestoreArguments, lines: Sequence[str]) -> None:
    """Say what will happen, and go on only for the phrase.

    Raises:
        Refused: it was not given.
    """
    for line in lines:
        print(line, file=sys.stderr)
    given = arguments.confirm
    if given is None:
        print(f"Type {PHRASE} to go on: ", end="", file=sys.stderr, flush=True)
        given = sys.stdin.readline().removesuffix("\n")
        if not sys.stdin.isatty():
            print(file=sys.stderr)
    if given != PHRASE:
        raise Refused(exits.FAILED, f'Not confirmed: the phrase is "{PHRASE}". Nothing was changed.')


def _watched(ask: Ask, operation: str, about: Json) -> Json:
    """Ask for a restore, and tell its phases while it runs."""
    before = _latest(ask)
    answers: SimpleQueue[Callable[[], Json]] = SimpleQueue()

    def carry_out() -> None:
        try:
            envelope = ask(operation, about)
        except Exception as error:
            failure = error

            def fail() -> Json:
                raise failure

            answers.put(fail)
        else:
            answers.put(lambda: envelope)

    threading.Thread(target=carry_out, name="restore", daemon=True).start()
    told = 0
    while True:
        try:
            envelope = answers.get(timeout=GLANCE_SECONDS)()
        except Empty:
            told = _tell(_latest(ask), before, told)
            continue
        _tell(_latest(ask), before, told)
        return envelope


def _latest(ask: Ask) -> Json | None:
    """The latest restore; null when it cannot be asked for now, or there was none."""
    try:
        envelope = ask(LATEST_RESTORE, {})
    except Refused:
        return None
    restore: Json | None = envelope["data"]["restore"] if envelope["ok"] else None
    return restore


def _tell(latest: Json | None, before: Json | None, told: int) -> int:
    """Print the phases that are new; how many have been."""
    if latest is None or (before is not None and latest["operation_id"] == before["operation_id"]):
        return told
    for reached_phase in latest["phases"][told:]:
        at = reached_phase["at"][11:-1]
        print(f"{at} {_PHASES[reached_phase['phase']]}", file=sys.stderr, flush=True)
    return len(latest["phases"])


def _refusal_of_restore(ask: Ask, envelope: Json) -> Declined:
    error = envelope["error"]
    lines = [_why(error)]
    latest = _latest(ask)
    if latest is not None and latest["outcome"] == "held":
        lines = [
            f"The restore failed: {latest['reason']}",
            "Mend the disk, then restart the service: it goes back by itself.",
        ]
    elif latest is not None and error["code"] == "RESTORE_FAILED":
        lines = [f"The restore failed: {latest['reason']}", "What was live before is live."]
        if latest["pre_restore_backup_id"] is None:
            lines.append(
                "If that is damaged (`remindi doctor` tells), stop the service and run this again: the"
                " damaged files are kept aside then."
            )
    elif error["code"] == "WORKLOAD_CONFLICT":
        lines = ["Another restore runs. Nothing was changed."]
    elif error["code"] in ("BACKUP_INVALID", "NOT_FOUND"):
        lines.append("Nothing was changed.")
    return Declined(envelope, lines)


# --------------------------------------------------------------------- bits


def _asked(ask: Ask, operation: str) -> Json:
    envelope = ask(operation, {})
    if not envelope["ok"]:
        raise Declined(envelope, [_why(envelope["error"])])
    data: Json = envelope["data"]
    return data


def _why(error: Json) -> str:
    """What the service says, with its reason where it gives one."""
    reason = error.get("details", {}).get("reason")
    if reason is None or error["code"] == _CLOSED:
        return str(error["message"])
    return f"{error['message']} {escaped(reason)}"


def _told(record: Json) -> str:
    return f"{record['source']}, {record['size_bytes'] / 1e6:,.1f} MB, schema {record['schema_version']}"
