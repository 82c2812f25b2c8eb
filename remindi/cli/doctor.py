"""``remindi doctor``: whether database, files, disk and backups are as they should be. It changes nothing.

It takes no lock and makes no file, so it may run at any time, beside a service too.
"""

import os
import shutil
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from actors.backups.files import SPARE_BYTES, BackupDirectory
from actors.backups.journal import INSTALLS, Journal, JournalUnusable, read_journal, read_latest
from actors.data_directory import DIRECTORY_MODE, FILE_MODE, LOCK_NAME
from actors.store.examining import Examined, examine
from actors.store.migrations import known_migrations
from actors.system import SystemClock
from remindi.backups import BackupRecord, RestoreState, Status
from remindi.cli import exits
from remindi.cli.backup_arguments import DoctorArguments
from remindi.cli.display import Screen, coloured, screen_of
from remindi.cli.durations import relative, write_duration
from remindi.cli.endings import Said, ended
from remindi.cli.exits import Refused, cause
from remindi.cli.operator import asked_briefly, configuration
from remindi.config import Config
from remindi.identifiers import uuid_text
from remindi.instants import stamp
from web.operator.operations import STATUS

Json = dict[str, Any]

WAL_BYTES: Final = 256 * 1_048_576
"""From this size of SQLite's log on something holds it: the writer empties it long before."""
STALE_INTERVALS: Final = 2
"""A newest backup older than so many intervals is warned of."""
PROVEN_DAYS: Final = 30
"""A proof that is older is warned of."""
_MS_PER_DAY: Final = 86_400_000
_HOW_TO: Final = "remindi backup list, then remindi backup restore ID (or a FILE)."
_RESTORE: Final = f"Put a backup in place: {_HOW_TO}"

Verdict = Literal["ok", "warning", "problem"]
State = Literal["running", "silent", "stopped", "unknown"]
_COLOURS: Final = {"ok": "green", "warning": "yellow", "problem": "red"}


class Finding(NamedTuple):
    """What one check found."""

    check: str
    verdict: Verdict
    found: str
    """A sentence, with what it means."""
    advice: str | None = None
    """What to do; null when nothing is."""


def run(arguments: DoctorArguments) -> int:
    """Carry the command out and return its exit code (``remindi.cli.exits``)."""
    return ended(lambda: _run(arguments), as_json=arguments.as_json)


def _run(arguments: DoctorArguments) -> Said:
    config = configuration(arguments.env_file)
    findings = tuple(_Visit(config).findings())
    verdicts = [finding.verdict for finding in findings]
    worst: Verdict = next((each for each in ("problem", "warning") if each in verdicts), "ok")
    data = {"verdict": worst, "database": config.db_path, "checks": [each._asdict() for each in findings]}
    lines = list(_lines(findings, screen_of(sys.stdout, os.environ)))
    problems, warnings = verdicts.count("problem"), verdicts.count("warning")
    lines.append(f"{_counted(problems, 'problem')}, {_counted(warnings, 'warning')}.")
    return Said(data, lines, code=exits.FAILED if problems else exits.OK)


def _lines(findings: Iterable[Finding], screen: Screen) -> Iterator[str]:
    for check, verdict, found, advice in findings:
        yield f"{coloured(f'{verdict:<7}', _COLOURS[verdict], screen)} {check}: {found}"
        if advice is not None:
            yield f"{'':<7} -> {advice}"


class _Visit:
    """One look at a service and its data."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._database = Path(config.db_path)
        self._backups = Path(config.backup_dir)
        self._now = SystemClock().now()
        self._state: State = "unknown"
        self._status: Json | None = None

    def findings(self) -> Iterator[Finding]:
        """What is found, in the order of contract 17.1: what keeps a service from starting comes first."""
        yield self._service()
        entered = self._directory(self._database.parent, "REMINDI_DB_PATH", "data directory")
        yield entered
        usable = entered.verdict != "problem"
        there = usable and self._database.is_file()
        if usable:
            yield self._database_files()
        backups_entered = self._directory(self._backups, "REMINDI_BACKUP_DIR", "backup directory")
        yield backups_entered
        within = backups_entered.verdict != "problem" and self._backups.is_dir()
        examined = self._examined() if there else None
        if examined is not None:
            yield from self._content(examined)
            yield self._log()
            yield self._lease(examined)
        if within:
            yield self._restore()
        if usable:
            yield from self._space(examined, within=within)
        if examined is not None:
            yield from self._kept(examined, within=within)

    # -------------------------------------------------------------- service

    def _service(self) -> Finding:
        try:
            envelope = asked_briefly(self._database.parent, STATUS)
        except Refused as refused:
            return Finding("service", "warning", f"It cannot be told whether it runs. {refused}")
        if envelope is None:
            return self._silent()
        self._state = "running"
        if not envelope["ok"]:
            return Finding("service", "warning", f"It runs, and says: {envelope['error']['message']}")
        self._status = envelope["data"]
        return self._running(envelope["data"])

    def _running(self, status: Json) -> Finding:
        maintenance, startup = status["maintenance"], status["startup"]
        if maintenance == "held":
            return Finding(
                "service",
                "problem",
                "It is held closed: a restore failed, and going back did too.",
                "Free space or mend the disk, then restart the service: it goes back by itself. The log and"
                " `restore` below say more.",
            )
        if startup == "damaged":
            return Finding(
                "service", "problem", "It runs on a damaged database and refuses writes.", _RESTORE
            )
        if maintenance != "running":
            return Finding("service", "warning", f"A restore is under way ({maintenance}).")
        if startup != "ready":
            return Finding("service", "warning", f"It is {startup}.")
        for row in status["workloads"]:
            if row["last_error"] is not None:
                return Finding(
                    "service", "warning", f"It runs; of its workload {row['component']}: {row['last_error']}"
                )
        return Finding("service", "ok", "It runs.")

    def _silent(self) -> Finding:
        if _is_locked(self._database.parent / LOCK_NAME):
            self._state = "silent"
            return Finding(
                "service",
                "warning",
                "A process uses the data directory but does not answer on its socket there.",
                "If it is starting, try again; else its log says more.",
            )
        self._state = "stopped"
        return Finding("service", "ok", "It does not run.")

    # ---------------------------------------------------------------- files

    def _directory(self, path: Path, variable: str, check: str) -> Finding:
        named = f"{path} ({variable})"
        try:
            status = path.stat()
        except FileNotFoundError:
            return Finding(
                check,
                "problem" if variable == "REMINDI_DB_PATH" else "warning",
                f"{named} is not there.",
                "Check the variable, and that its disk is mounted; a start makes a new, empty one.",
            )
        except OSError as error:
            return Finding(check, "problem", f"{named} cannot be seen: {cause(error)}")
        if not stat.S_ISDIR(status.st_mode):
            return Finding(check, "problem", f"{named} is no directory.", "Check the variable.")
        if not os.access(path, os.R_OK | os.X_OK, effective_ids=True):
            return Finding(
                check,
                "problem",
                f"{named} belongs to uid {status.st_uid} and cannot be read by uid {os.geteuid()}.",
                f"Run this as uid {status.st_uid}, or make the directory its own again.",
            )
        mode = stat.S_IMODE(status.st_mode)
        if mode & stat.S_IWOTH:
            return Finding(
                check,
                "problem",
                f"{named} is writable for everybody; no start takes it.",
                f"chmod 0700 {path}",
            )
        if mode != DIRECTORY_MODE:
            return Finding(
                check, "warning", f"{named} has rights {mode:04o}; a start sets 0700.", f"chmod 0700 {path}"
            )
        return Finding(check, "ok", f"{named} is private to uid {status.st_uid}.")

    def _database_files(self) -> Finding:
        named = f"{self._database} (REMINDI_DB_PATH)"
        if not self._database.exists():
            return Finding(
                "database file",
                "problem",
                f"{named} is not there.",
                "Before the first start that is as it should be. Else check the variable and that its disk is"
                f" mounted; when the file is lost, put a backup in place: {_HOW_TO}",
            )
        owner = self._database.parent.stat().st_uid
        for path in (self._database, self._beside("-wal"), self._beside("-shm")):
            with suppress(FileNotFoundError):
                status = path.stat()
                if not stat.S_ISREG(status.st_mode):
                    return Finding("database file", "problem", f"{path} is no regular file.")
                if status.st_uid != owner:
                    return Finding(
                        "database file",
                        "problem",
                        f"{path} belongs to uid {status.st_uid}, and its directory to uid {owner}.",
                        f"chown {owner} {path}",
                    )
                if not os.access(path, os.R_OK, effective_ids=True):
                    return Finding(
                        "database file", "problem", f"{path} cannot be read.", f"chmod 0600 {path}"
                    )
                if (mode := stat.S_IMODE(status.st_mode)) != FILE_MODE:
                    return Finding(
                        "database file",
                        "warning",
                        f"{path} has rights {mode:04o}; a start sets 0600.",
                        f"chmod 0600 {path}",
                    )
        return Finding("database file", "ok", f"{named}, {_megabytes(_size(self._database))} MB.")

    def _log(self) -> Finding:
        size = _size(self._beside("-wal"))
        if size > WAL_BYTES:
            return Finding(
                "log",
                "warning",
                f"SQLite's log has {_megabytes(size)} MB: somebody has read for long, or the disk is slow.",
                "It shrinks when long reads (exports, backups) end; else restart the service.",
            )
        if size and self._state == "stopped":
            return Finding(
                "log",
                "ok",
                f"SQLite's log has {_megabytes(size)} MB: the service ended without closing the database; the"
                " next start takes it in.",
            )
        return Finding("log", "ok", f"SQLite's log has {_megabytes(size)} MB.")

    # -------------------------------------------------------------- content

    def _examined(self) -> Examined:
        in_use = self._state != "stopped"
        examined = examine(self._database, self._config.owner_id, in_use=in_use)
        if examined.sound or in_use or not _is_locked(self._database.parent / LOCK_NAME):
            return examined
        # It was started meanwhile, so what was read as it lay there may have moved.
        self._state = "running"
        return examine(self._database, self._config.owner_id, in_use=True)

    def _content(self, examined: Examined) -> Iterator[Finding]:
        if examined.unreadable is not None:
            yield Finding("integrity", "problem", examined.unreadable, _RESTORE)
            return
        yield self._schema(examined)
        yield (
            Finding("integrity", "problem", f"It is damaged: {'; '.join(examined.damage)}.", _RESTORE)
            if examined.damage
            else Finding("integrity", "ok", "SQLite's integrity check found nothing.")
        )
        if examined.schema_fault is not None:
            return
        yield {
            None: Finding("foreign keys", "problem", "They cannot be checked.", _RESTORE),
            True: Finding("foreign keys", "problem", "There are rows that refer to nothing.", _RESTORE),
            False: Finding("foreign keys", "ok", "Every row refers to one that is there."),
        }[examined.dangling]
        yield self._invariants(examined)
        if examined.unindexed:
            yield Finding(
                "search",
                "warning",
                f"The index of words differs from the items by {examined.unindexed}; searches may miss some.",
                _RESTORE,
            )
        elif examined.unindexed is not None:
            yield Finding("search", "ok", "The index of words knows every item.")

    def _schema(self, examined: Examined) -> Finding:
        newest = len(known_migrations())
        if examined.schema_fault is not None:
            return Finding("schema", "problem", examined.schema_fault, _RESTORE)
        if examined.schema_version != newest:
            return Finding(
                "schema",
                "ok",
                f"It has schema {examined.schema_version}; the next start brings it to {newest}.",
            )
        return Finding("schema", "ok", f"It has schema {newest}, the one of this Remindi.")

    def _invariants(self, examined: Examined) -> Finding:
        if examined.broken is None or examined.counts is None:
            return Finding("items", "problem", "They cannot be read whole.", _RESTORE)
        if examined.broken:
            return Finding("items", "problem", f"Of the database: {'; '.join(examined.broken)}.", _RESTORE)
        items, events, evidence = examined.counts
        return Finding(
            "items",
            "ok",
            f"{items} with {events} events and {evidence} evidence records, whole and consistent.",
        )

    def _lease(self, examined: Examined) -> Finding:
        lease = examined.lease
        if self._state in ("stopped", "unknown"):
            left = "none was left" if lease is None else "one was left, which the next start drops"
            return Finding("lease", "ok", f"Of the scheduler's lease: {left}.")
        if lease is None:
            return Finding("lease", "ok", "Nobody holds the scheduler's lease: the scheduler does not run.")
        if lease.expires_at <= self._now:
            return Finding(
                "lease",
                "warning",
                f"The scheduler's lease ran out {relative(lease.expires_at, self._now)}: nobody renews it.",
                "Look at `remindi workloads list` and the log; restart the scheduler.",
            )
        return Finding("lease", "ok", f"{lease.holder} holds the scheduler's lease.")

    # -------------------------------------------------------------- backups

    def _restore(self) -> Finding:
        directory = BackupDirectory(self._backups)
        try:
            journal = read_journal(directory)
        except JournalUnusable as error:
            return Finding("restore", "problem", str(error))
        if journal is not None:
            return self._under_way(journal)
        latest = read_latest(directory)
        return Finding("restore", "ok", "There was none." if latest is None else self._latest(latest))

    def _under_way(self, journal: Journal) -> Finding:
        named = f"Restore {uuid_text(journal.operation_id)}, at {journal.phase}"
        if self._state != "stopped":
            return Finding("restore", "warning", f"{named}, is under way, or waits for the next start.")
        then = "puts the former database back" if journal.phase in INSTALLS else "goes on with what is live"
        return Finding(
            "restore", "warning", f"{named}, was interrupted. The next start {then}.", "Start the service."
        )

    def _latest(self, latest: RestoreState) -> str:
        when = stamp(latest.started_at)
        if latest.outcome == "succeeded":
            return f"The latest, of {when}, succeeded."
        why = "" if latest.reason is None else f" {latest.reason}"
        return f"The latest, of {when}: {latest.outcome}.{why}"

    def _space(self, examined: Examined | None, *, within: bool) -> Iterator[Finding]:
        """Room for one more backup, and for a restore, which makes one and copies another."""
        size = _size(self._database) + _size(self._beside("-wal"))
        kept = [] if examined is None or examined.backups is None else _ready(examined.backups)
        largest = max([size, *(record.size_bytes for record in kept)])
        if within:
            yield self._room("space for a backup", self._backups, size)
        if not within or not _on_one_disk(self._database.parent, self._backups):
            yield self._room("space for a restore", self._database.parent, largest)
        else:
            yield self._room("space for a restore", self._database.parent, size + largest)

    def _room(self, check: str, directory: Path, wanted: int) -> Finding:
        wanted += SPARE_BYTES
        try:
            free = shutil.disk_usage(directory).free
        except OSError as error:
            return Finding(check, "warning", f"The disk of {directory} cannot be asked: {cause(error)}")
        found = (
            f"{_megabytes(free)} MB are free on the disk of {directory}, {_megabytes(wanted)} MB are needed."
        )
        if free < wanted:
            return Finding(
                check, "problem", found, "Free some space; backups and restores are refused before."
            )
        return Finding(check, "ok", found)

    def _kept(self, examined: Examined, *, within: bool) -> Iterator[Finding]:
        if examined.backups is None:
            yield Finding("last backup", "warning", "The database does not tell which backups there are.")
            return
        ready = _ready(examined.backups)
        if within:
            directory = BackupDirectory(self._backups)
            lost = [record for record in ready if not directory.holds(record)]
            ready = [record for record in ready if record not in lost]
            if lost:
                names = ", ".join(uuid_text(record.id) for record in lost)
                yield Finding(
                    "backup files",
                    "problem",
                    f"Missing or of another length: {names}.",
                    "Bring the files back from where copies of them are, or make a new backup.",
                )
        failure = None if self._status is None else self._status["backups"]["failure"]
        if failure is not None:
            yield Finding(
                "automatic backups", "problem", f"The last one failed at {failure['at']}: {failure['reason']}"
            )
        yield self._last(ready, examined.interval_seconds)
        yield self._proven(ready)

    def _last(self, ready: list[BackupRecord], interval: int | None) -> Finding:
        if not ready:
            return Finding("last backup", "warning", "There is none.", "Make one: remindi backup create")
        newest = max(ready, key=lambda record: record.created_at)
        found = f"{uuid_text(newest.id)}, made {relative(newest.created_at, self._now)}."
        if interval is not None and self._now - newest.created_at > STALE_INTERVALS * interval * 1_000:
            return Finding(
                "last backup",
                "warning",
                f"{found} One is due every {write_duration(interval)}.",
                "Make one: remindi backup create. The log says why none was made.",
            )
        return Finding("last backup", "ok", found)

    def _proven(self, ready: list[BackupRecord]) -> Finding:
        if not ready:
            return Finding("last proof", "warning", "No backup is proven to be restorable.")
        proven = max(ready, key=lambda record: record.verified_at)
        found = f"{uuid_text(proven.id)} was proven restorable {relative(proven.verified_at, self._now)}."
        if self._now - proven.verified_at > PROVEN_DAYS * _MS_PER_DAY:
            return Finding("last proof", "warning", found, "Prove them again: remindi backup verify")
        return Finding("last proof", "ok", found)

    def _beside(self, suffix: str) -> Path:
        return self._database.with_name(f"{self._database.name}{suffix}")


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f}"


def _ready(records: Iterable[BackupRecord]) -> list[BackupRecord]:
    return [record for record in records if record.status == Status.READY]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _on_one_disk(one: Path, other: Path) -> bool:
    with suppress(OSError):
        return one.stat().st_dev == other.stat().st_dev
    return True


def _is_locked(path: Path) -> bool:
    """Whether a process has locked a file, without trying to, which would refuse a start in that moment."""
    with suppress(OSError):
        inode = path.stat().st_ino
        for line in Path("/proc/locks").read_text().splitlines():
            fields = line.split()
            if "FLOCK" in fields and any(field.endswith(f":{inode}") for field in fields):
                return True
    return False


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
