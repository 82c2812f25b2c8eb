"""The command line: what may be said, and what each command is given."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from remindi import __version__
from remindi.cli.exits import EXITS, USAGE
from remindi.config import VARIABLES

DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8_000
DEFAULT_STATE: Final = Path(".remindi")
ENV_FILE_NAME: Final = "remindi.env"


@dataclass(frozen=True, slots=True)
class ServeArguments:
    """``remindi serve``."""

    host: str
    port: int
    """0 lets the system choose."""
    env_file: Path | None


@dataclass(frozen=True, slots=True)
class InitArguments:
    """``remindi init``."""

    directory: Path
    env_file: Path
    port: int = DEFAULT_PORT
    """Named in the instructions only."""


@dataclass(frozen=True, slots=True)
class SchemaArguments:
    """``remindi schema``."""

    write: bool
    """False: only compare."""


@dataclass(frozen=True, slots=True)
class VersionArguments:
    """``remindi version``."""


Arguments = ServeArguments | InitArguments | SchemaArguments | VersionArguments


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Name the fault and where help is, instead of the whole usage."""
        self.exit(USAGE, f"{self.prog}: {message}\nTry '{self.prog} --help'.\n")


def parse(argv: list[str] | None = None) -> Arguments:
    """Read the command line.

    Raises:
        SystemExit: it is wrong (exit code 2), or help was asked for (0).
    """
    given = _parser().parse_args(["--help"] if argv == [] else argv)
    match given.command:
        case "serve":
            return ServeArguments(given.host, given.port, given.env_file)
        case "init":
            return InitArguments(given.dir, given.env_file or given.dir / ENV_FILE_NAME, given.port)
        case "schema":
            return SchemaArguments(given.write)
        case _:
            return VersionArguments()


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="remindi",
        description="Remindi keeps obligations and brings them back: reminders for agents, over MCP.",
        epilog=_exit_table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"remindi {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    _add_serve(commands)
    _add_init(commands)
    commands.add_parser("version", help="print the version", allow_abbrev=False)
    schema = commands.add_parser(
        "schema", help="write or check the generated schema/tools", allow_abbrev=False
    )
    way = schema.add_mutually_exclusive_group(required=True)
    way.add_argument("--write", action="store_true", help="write the files anew")
    way.add_argument("--check", action="store_true", help="exit 1 when a file is missing, stale or surplus")
    return parser


def _add_serve(commands: "argparse._SubParsersAction[_Parser]") -> None:
    serve = commands.add_parser(
        "serve",
        help="run the service",
        description="Run the service until SIGTERM or SIGINT.",
        epilog=_environment_table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    serve.add_argument("--host", default=DEFAULT_HOST, help="address to listen on (default: %(default)s)")
    serve.add_argument("--port", type=_port, default=DEFAULT_PORT, help="port (default: %(default)s)")
    serve.add_argument(
        "--env-file",
        type=Path,
        metavar="FILE",
        help="file of NAME=VALUE lines; variables of the environment win over it",
    )


def _add_init(commands: "argparse._SubParsersAction[_Parser]") -> None:
    init = commands.add_parser(
        "init",
        help="make an env file with fresh secrets, and the directories",
        description="Make an env file (0600) with a random token and password, an owner id and paths, and the"
        " directories (0700). Nothing that exists is overwritten.",
        allow_abbrev=False,
    )
    init.add_argument(
        "--dir",
        type=Path,
        default=DEFAULT_STATE,
        metavar="DIR",
        help="where data and backups will lie (default: %(default)s)",
    )
    init.add_argument(
        "--env-file", type=Path, metavar="FILE", help=f"the env file (default: DIR/{ENV_FILE_NAME})"
    )
    init.add_argument(
        "--port",
        type=_port,
        default=DEFAULT_PORT,
        help="port that the instructions name (default: %(default)s)",
    )


def _port(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or int(text) > 65_535:
        raise argparse.ArgumentTypeError("must be a number from 0 to 65535")
    return int(text)


def _exit_table() -> str:
    return "exit codes:\n" + "\n".join(f"  {row.code:>3}  {row.meaning}" for row in EXITS)


def _environment_table() -> str:
    rows = []
    for row in VARIABLES:
        needed = "required" if row.required else f"default {row.default or 'none'}"
        rows.append(f"  {row.name} ({needed})\n      must be {row.rule}")
    return "environment (meaning: .env.example):\n" + "\n".join(rows)
