"""Arguments of the commands on the data as a whole: ``backup doctor export import``."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remindi.cli.parser import Parser, Subparsers, file
from remindi.cli.service_arguments import DEFAULT_STATE, ENV_FILE_NAME

PHRASE: Final = "RESTORE REMINDI"
"""What must be said before a database is replaced (contract 15.1)."""
ALL: Final = "all"
STREAM: Final = Path("-")
_WHERE: Final = (
    " The environment says where the data are, or an env file: the one of --env-file, else"
    f" {DEFAULT_STATE / ENV_FILE_NAME} in the current directory, when it is there and REMINDI_DB_PATH is not"
    " set."
)


@dataclass(frozen=True, kw_only=True)
class DataArguments:
    """What the commands on the data have in common."""

    env_file: Path | None
    as_json: bool
    """Whether one line of JSON is printed instead of text for people."""


@dataclass(frozen=True, kw_only=True)
class BackupArguments(DataArguments):
    """What the actions of ``remindi backup`` have in common."""


@dataclass(frozen=True, kw_only=True)
class CreateBackupArguments(BackupArguments):
    """``remindi backup create``."""


@dataclass(frozen=True, kw_only=True)
class ListBackupsArguments(BackupArguments):
    """``remindi backup list``."""


@dataclass(frozen=True, kw_only=True)
class VerifyBackupArguments(BackupArguments):
    """``remindi backup verify [ID]``."""

    backup: str
    """An id, its end, or ``ALL``."""


@dataclass(frozen=True, kw_only=True)
class RestoreArguments(BackupArguments):
    """``remindi backup restore BACKUP``."""

    backup: str
    """An id, its end, or a file."""
    confirm: str | None
    """The phrase; null: it is asked for."""


@dataclass(frozen=True, kw_only=True)
class DoctorArguments(DataArguments):
    """``remindi doctor``."""


@dataclass(frozen=True, kw_only=True)
class TransferArguments(DataArguments):
    """What ``remindi export`` and ``remindi import`` have in common."""


@dataclass(frozen=True, kw_only=True)
class ExportArguments(TransferArguments):
    """``remindi export [FILE]``."""

    file: Path


@dataclass(frozen=True, kw_only=True)
class ImportArguments(TransferArguments):
    """``remindi import FILE``."""

    file: Path
    dry_run: bool
    another_owner: bool


def add_data_commands(commands: "Subparsers[Parser]", helps: dict[str, str]) -> None:
    """Add the parsers of the commands on the data."""
    _add_backup(commands)
    doctor = _command(commands, "doctor", helps["doctor"], DoctorArguments)
    doctor.description = (
        "Look at the database, its files, the disk and the backups, and change nothing. Works with a service"
        " that runs, is stopped, or cannot start. Exits 0 when there are at most warnings, 1 when there is a"
        f" problem.{_WHERE}"
    )
    export = _command(commands, "export", helps["export"], ExportArguments)
    export.add_argument(
        "file",
        nargs="?",
        type=file,
        default=STREAM,
        metavar="FILE",
        help="a new file (default: standard output)",
    )
    bring = _command(commands, "import", helps["import"], ImportArguments)
    bring.description = (
        "Store the items of an export that are missing; of a stopped service. Items that are there and the"
        f" same are passed over; when one differs, nothing is stored.{_WHERE}"
    )
    bring.add_argument(
        "file", type=file, metavar="FILE", help="made by `remindi export`, - for standard input"
    )
    bring.add_argument("--dry-run", action="store_true", help="only say what would be stored")
    bring.add_argument(
        "--another-owner",
        action="store_true",
        help="take the items of another REMINDI_OWNER_ID; they become this one's",
    )


def _add_backup(commands: "Subparsers[Parser]") -> None:
    backup = commands.add_parser(
        "backup",
        description="Make, list, verify and restore backups, of a service that runs or is stopped."
        f" docs/backup-and-restore.md tells more.{_WHERE}",
    )
    _options(backup, None, False)
    actions = backup.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)
    _action(actions, "create", "make a backup and prove that it can be restored", CreateBackupArguments)
    _action(actions, "list", "list the backups, the newest first", ListBackupsArguments)
    verify = _action(actions, "verify", "prove once more that backups can be restored", VerifyBackupArguments)
    verify.add_argument(
        "backup",
        nargs="?",
        default=ALL,
        metavar="ID",
        help="of a backup, or its last characters (default: all, one after another)",
    )
    restore = _action(
        actions,
        "restore",
        "replace the database by a backup; what is live is backed up first",
        RestoreArguments,
    )
    restore.add_argument(
        "backup",
        metavar="ID|FILE",
        help="of a backup, or its last characters; or a database file from anywhere",
    )
    restore.add_argument(
        "--confirm", metavar="PHRASE", help=f'"{PHRASE}", for scripts; it is asked for when this is not given'
    )


def _command(commands: "Subparsers[Parser]", name: str, what: str, kind: type[DataArguments]) -> Parser:
    parser = commands.add_parser(name, description=f"{_sentence(what)}{_WHERE}")
    _options(parser, None, False)
    parser.set_defaults(kind=kind)
    return parser


def _action(actions: "Subparsers[Parser]", name: str, what: str, kind: type[DataArguments]) -> Parser:
    parser = actions.add_parser(name, help=what, description=_sentence(what))
    # What stands before the action holds unless it is said again.
    _options(parser, argparse.SUPPRESS, argparse.SUPPRESS)
    parser.set_defaults(kind=kind)
    return parser


def _options(parser: Parser, no_file: str | None, no_json: str | bool) -> None:
    parser.add_argument(
        "--env-file", type=file, default=no_file, metavar="FILE", help="the env file of the service"
    )
    parser.add_argument(
        "--json",
        dest="as_json",
        action="store_true",
        default=no_json,
        help="print what came of it as one line of JSON",
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
