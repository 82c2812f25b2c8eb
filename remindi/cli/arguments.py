"""The command line: what may be said, and what each command is given."""

import argparse
from collections.abc import Sequence
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

_SET_EXAMPLE: Final = """example, a file for tcp_reachable:
  {
    "enabled": true,
    "configuration": {
      "type": "tcp_reachable",
      "aliases": {"database": {"host": "db.internal.example", "port": 5432, "allow_private": true}}
    }
  }
"""


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


@dataclass(frozen=True, slots=True, kw_only=True)
class AdaptersArguments:
    """``remindi adapters``: what its actions have in common."""

    env_file: Path | None
    as_json: bool
    """Whether the envelope of the answer is printed instead of text for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAdaptersArguments(AdaptersArguments):
    """``remindi adapters list``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAdapterArguments(AdaptersArguments):
    """``remindi adapters show NAME``."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetAdapterArguments(AdaptersArguments):
    """``remindi adapters set NAME --file FILE``."""

    name: str
    file: Path
    """``-``: standard input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TryAliasArguments(AdaptersArguments):
    """``remindi adapters test NAME ALIAS``."""

    name: str
    alias: str


Arguments = ServeArguments | InitArguments | SchemaArguments | VersionArguments | AdaptersArguments


class _Parser(argparse.ArgumentParser):
    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Leave nothing unread to the parser above, which would point to its own help."""
        known, unread = super().parse_known_args(args, namespace)
        if unread:
            self.error(f"unrecognized arguments: {' '.join(unread)}")
        return known, unread

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
        case "adapters":
            return _adapter_command(given)
        case _:
            return VersionArguments()


def _adapter_command(given: argparse.Namespace) -> AdaptersArguments:
    match given.action:
        case "list":
            return ListAdaptersArguments(env_file=given.env_file, as_json=given.json)
        case "show":
            return ShowAdapterArguments(env_file=given.env_file, as_json=given.json, name=given.name)
        case "set":
            return SetAdapterArguments(
                env_file=given.env_file, as_json=given.json, name=given.name, file=given.file
            )
        case _:
            return TryAliasArguments(
                env_file=given.env_file, as_json=given.json, name=given.name, alias=given.alias
            )


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
    _add_adapters(commands)
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
        type=_file,
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


def _add_adapters(commands: "argparse._SubParsersAction[_Parser]") -> None:
    adapters = commands.add_parser(
        "adapters",
        help="list, show, set or test the adapters of conditions",
        description="What conditions may look at. Works with a service that runs, through its socket in the"
        " data directory, and with one that is stopped; a change is in force at once. The environment"
        " says where that directory is, or an env file: the one of --env-file, else"
        f" {DEFAULT_STATE / ENV_FILE_NAME} in the current directory, when it is there and REMINDI_DB_PATH is"
        " not set.",
        allow_abbrev=False,
    )
    _add_adapter_options(adapters, None, False)
    actions = adapters.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=_Parser)
    name = _Parser(add_help=False)
    name.add_argument("name", metavar="NAME", help="an adapter, as `remindi adapters list` names it")
    _add_action(actions, "list", "list the adapters")
    _add_action(actions, "show", "print what an adapter is set to, as JSON that `set` takes", name)
    change = _add_action(actions, "set", "set an adapter whole", name)
    change.formatter_class = argparse.RawDescriptionHelpFormatter
    change.epilog = _SET_EXAMPLE
    change.add_argument(
        "--file",
        type=_file,
        required=True,
        metavar="FILE",
        help="JSON as `show` prints it, - for standard input; without expected_version whatever is set now is"
        " replaced",
    )
    test = _add_action(
        actions, "test", "probe an alias once; exits 0 when it is satisfied, 1 when it is not", name
    )
    test.add_argument("alias", metavar="ALIAS", help="an alias of the adapter")


def _add_action(
    actions: "argparse._SubParsersAction[_Parser]",
    action: str,
    what: str,
    *parents: _Parser,
) -> _Parser:
    parser = actions.add_parser(
        action,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        parents=parents,
        allow_abbrev=False,
    )
    # What stands before the action holds unless it is said again.
    _add_adapter_options(parser, argparse.SUPPRESS, argparse.SUPPRESS)
    return parser


def _add_adapter_options(parser: _Parser, no_file: str | None, no_json: str | bool) -> None:
    parser.add_argument(
        "--env-file",
        type=_file,
        default=no_file,
        metavar="FILE",
        help="the env file of the service",
    )
    parser.add_argument(
        "--json", action="store_true", default=no_json, help="print the answer as one line of JSON"
    )


def _file(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("must name a file")
    return Path(text)


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
