"""``remindi export`` and ``remindi import``: all items as JSON Lines, out of a database and into one.

A file that is imported may be damaged or made up: lines are read one at a time within a bound, each must be
exactly what an export writes, and nothing is stored before the last one has been counted and hashed.
"""

import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

from actors import data_directory
from actors.backups.files import BackupDirectory
from actors.backups.recovery import RecoveryFailed, recover
from actors.data_directory import DirectoryInUse, DirectoryUnusable
from actors.store.errors import StoreError
from actors.store.exporting import exporting
from actors.store.importing import SHOWN, Differing, Imported, Unfit, import_items, try_import
from actors.store.write import check_damage
from actors.system import SystemClock
from remindi.cli import exits
from remindi.cli.backup_arguments import STREAM, ExportArguments, ImportArguments, TransferArguments
from remindi.cli.endings import Said, ended
from remindi.cli.exits import Refused, cause
from remindi.cli.operator import configuration, lock_stopped, require_database
from remindi.cli.serve import DAMAGED
from remindi.cli.store_refusals import refusal_of_store
from remindi.config import Config
from remindi.errors import Refusal
from remindi.exports import (
    FORMAT_VERSION,
    MAX_LINE_BYTES,
    Exported,
    Sum,
    end_line,
    item_lines,
    manifest_line,
    owner_digest,
)
from remindi.inputs.exports import read_end, read_item, read_manifest
from web.strict_json import JsonError, parse

NESTING: Final = 72
"""Of a line: what a caller may nest, within what is ours."""
_FILE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def run(arguments: TransferArguments) -> int:
    """Carry one command out and return its exit code (``remindi.cli.exits``)."""
    os.umask(0o077)
    match arguments:
        case ExportArguments():
            return ended(lambda: _export(arguments), as_json=arguments.as_json)
        case ImportArguments():
            return ended(lambda: _import(arguments), as_json=arguments.as_json)
        case _:
            raise TypeError(type(arguments).__name__)


# -------------------------------------------------------------------- export


def _export(arguments: ExportArguments) -> Said:
    if arguments.file == STREAM and arguments.as_json:
        raise Refused(exits.USAGE, "--json goes with a FILE: standard output is the export itself.")
    config = configuration(arguments.env_file)
    database = Path(config.db_path)
    require_database(database)
    with _left_alone(database) as in_use:
        lines = Sum()
        try:
            with (
                exporting(database, config.owner_id, in_use=in_use) as export,
                _written(arguments.file) as out,
            ):
                out.write(manifest_line(config.owner_id, export.schema_version, SystemClock().now()))
                for exported in export.items:
                    written = item_lines(exported)
                    lines.add(exported, written)
                    out.writelines(written)
                out.write(end_line(lines))
        except StoreError as error:
            raise refusal_of_store(error) from None
        except BrokenPipeError:
            # The reader has enough.
            return Said(None, [])
    told = f"{_counted(lines.totals.items, 'item')} written, with {lines.totals.events} events and"
    told = f"{told} {lines.totals.evidence} evidence records."
    if arguments.file == STREAM:
        return Said(None, [], notes=[told])
    data = {"file": str(arguments.file.absolute()), **lines.totals._asdict(), "sha256": lines.sha256}
    return Said(data, [f"{arguments.file}: {told}"])


@contextmanager
def _left_alone(database: Path) -> Iterator[bool]:
    """Keep a stopped service from starting meanwhile; tells whether one runs."""
    try:
        lock = lock_stopped(database)
    except DirectoryInUse:
        yield True
        return
    try:
        yield False
    finally:
        lock.release()


@contextmanager
def _written(file: Path) -> Iterator[BinaryIO]:
    """Standard output, or a new private file that is there whole and durable or not at all."""
    if file == STREAM:
        try:
            yield sys.stdout.buffer
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Refused(
                exits.DATA_DIRECTORY, f"standard output cannot be written: {cause(error)}"
            ) from None
        return
    temporary = file.with_name(f".tmp-{secrets.token_hex(8)}")
    try:
        if file.exists() or file.is_symlink():
            raise Refused(exits.DATA_DIRECTORY, f"{file} is there already; name a new file.")
        try:
            with os.fdopen(os.open(temporary, _FILE_FLAGS, 0o600), "wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            # Other than a rename, a link never replaces what has come there meanwhile.
            file.hardlink_to(temporary)
        finally:
            with suppress(OSError):
                temporary.unlink()
        BackupDirectory(file.absolute().parent).sync()
    except OSError as error:
        raise Refused(exits.DATA_DIRECTORY, f"{file} cannot be written: {cause(error)}") from None


# -------------------------------------------------------------------- import


def _import(arguments: ImportArguments) -> Said:
    config = configuration(arguments.env_file)
    database = Path(config.db_path)
    with _read(arguments.file) as source, _stopped(database):
        lines = _Lines(source, "standard input" if arguments.file == STREAM else str(arguments.file))
        _check_manifest(lines, config, arguments)
        made = not database.exists()
        try:
            if arguments.dry_run:
                imported = try_import(database, lines.items())
            else:
                _refuse_damage(config, database)
                imported = import_items(database, config.owner_id, lines.items(), SystemClock())
        except Differing as differing:
            raise _refusal_of_differing(differing) from None
        except Unfit as unfit:
            raise Refused(
                exits.FAILED,
                f"Item {unfit} does not fit in here: an id in it is another item's. Nothing was stored.",
            ) from None
        except StoreError as error:
            raise refusal_of_store(error) from None
    return _said(arguments, database, imported, made=made)


def _refuse_damage(config: Config, database: Path) -> None:
    """Do what a start does with what an unclean end left; this process closes the database cleanly.

    Raises:
        Refused: the database cannot be used.
        StoreError: it cannot be read.
    """
    directory = BackupDirectory(Path(config.backup_dir))
    try:
        recover(directory, database, config.owner_id, SystemClock())
    except RecoveryFailed as error:
        raise Refused(exits.DATABASE, str(error)) from None
    if data_directory.stopped_uncleanly(database) and check_damage(database) is not None:
        raise Refused(exits.DATABASE, DAMAGED)


def _said(arguments: ImportArguments, database: Path, imported: Imported, *, made: bool) -> Said:
    data = {"dry_run": arguments.dry_run, **imported._asdict()}
    there = f"{imported.present} are there already, the same in all"
    if arguments.dry_run:
        return Said(
            data, [f"{_counted(imported.added, 'item')} would be stored; {there}. Nothing was changed."]
        )
    notes = [f"a new database was made at {database} (REMINDI_DB_PATH)"] if made else []
    return Said(data, [f"{_counted(imported.added, 'item')} stored; {there}."], notes)


def _check_manifest(lines: "_Lines", config: Config, arguments: ImportArguments) -> None:
    value = lines.next_value()
    manifest = read_manifest(value)
    if isinstance(manifest, Refusal):
        version = value.get("format_version") if isinstance(value, dict) else None
        if type(version) is int and version > FORMAT_VERSION:
            raise lines.fault(
                f"its format is {version} and this Remindi knows format {FORMAT_VERSION}; use a newer version"
            )
        raise lines.fault("it is no export of Remindi")
    if manifest.owner_sha256 != owner_digest(config.owner_id) and not arguments.another_owner:
        raise lines.fault(
            "its items belong to another REMINDI_OWNER_ID; with --another-owner they become this one's"
        )


def _refusal_of_differing(differing: Differing) -> Refused:
    are = "is" if differing.count == 1 else "are"
    lines = [
        f"{_counted(differing.count, 'item')} {are} here already, and not the same. Nothing was stored.",
        *differing.first,
    ]
    if differing.count > SHOWN:
        lines.append(f"and {differing.count - SHOWN} more")
    return Refused(exits.FAILED, "\n".join(lines))


@contextmanager
def _stopped(database: Path) -> Iterator[None]:
    """The data directory of a stopped service, for this process alone."""
    try:
        database.parent.mkdir(mode=data_directory.DIRECTORY_MODE, parents=True, exist_ok=True)
        lock = lock_stopped(database)
    except DirectoryInUse:
        raise Refused(
            exits.RUNNING,
            f"A Remindi process uses {database.parent} (REMINDI_DB_PATH). Items are imported into a stopped"
            " service: stop it, import, start it again.",
        ) from None
    except (OSError, DirectoryUnusable) as error:
        why = cause(error) if isinstance(error, OSError) else str(error)
        raise Refused(exits.DATA_DIRECTORY, f"{database.parent} (REMINDI_DB_PATH): {why}") from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _read(file: Path) -> Iterator[BinaryIO]:
    if file == STREAM:
        yield sys.stdin.buffer
        return
    try:
        with file.open("rb") as source:
            yield source
    except OSError as error:
        raise Refused(exits.DATA_DIRECTORY, f"{file} cannot be read: {cause(error)}") from None


class _Lines:
    """An export, line by line."""

    def __init__(self, source: BinaryIO, named: str) -> None:
        self._source = source
        self._named = named
        self._number = 0
        self._raw = b""

    def items(self) -> Iterator[Exported]:
        """The items between manifest and end; ends when the last line has held true.

        Raises:
            Refused: something is wrong with the file.
        """
        lines, newest = Sum(), b""
        value = self.next_value()
        while "end" not in value:
            first, raw, more = value, [self._raw], []
            number = self._number
            value = self.next_value()
            while "remindi_id" in value:
                more.append(value)
                raw.append(self._raw)
                value = self.next_value()
            exported = self._item(first, more, raw, number)
            if exported.record.item.id <= newest:
                raise self.fault("its id does not come after that of the item before", number)
            newest = exported.record.item.id
            lines.add(exported, raw)
            yield exported
        self._check_end(value, lines)

    def next_value(self) -> Any:
        """The JSON object of the next line.

        Raises:
            Refused: there is none.
        """
        self._raw = self._source.readline(MAX_LINE_BYTES + 1)
        self._number += 1
        if not self._raw:
            raise self.fault("the export ends before its last line: it was cut off")
        if len(self._raw) > MAX_LINE_BYTES:
            raise self.fault(f"it is longer than {MAX_LINE_BYTES} bytes")
        if not self._raw.endswith(b"\n"):
            raise self.fault("it has no end: the export was cut off")
        try:
            value = parse(self._raw, nesting=NESTING)
        except JsonError as error:
            raise self.fault(f"it is no JSON ({error})") from None
        if not isinstance(value, dict):
            raise self.fault("it is no JSON object")
        return value

    def fault(self, what: str, line: int | None = None) -> Refused:
        """The refusal of a line."""
        number = self._number if line is None else line
        return Refused(exits.FAILED, f"{self._named}, line {number}: {what}. Nothing was stored.")

    def _item(self, first: Any, more: list[Any], raw: list[bytes], number: int) -> Exported:
        exported = read_item(first, more)
        if isinstance(exported, Refusal):
            faults = ", ".join(f"{error.field or 'the line'} ({error.reason})" for error in exported.errors)
            raise self.fault(f"it breaks a rule: {faults}", number)
        if item_lines(exported) != raw:
            raise self.fault("it is not as an export writes it", number)
        return exported

    def _check_end(self, value: Any, lines: Sum) -> None:
        end = read_end(value)
        if isinstance(end, Refusal):
            raise self.fault("it is no last line of an export")
        if (end.items, end.events, end.evidence) != lines.totals:
            raise self.fault("its counts are not those of the lines before it")
        if end.sha256 != lines.sha256:
            raise self.fault("its SHA-256 is not that of the lines before it: one was changed")
        if self._source.read(1):
            raise self.fault("something follows the last line")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
