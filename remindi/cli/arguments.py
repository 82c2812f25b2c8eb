"""The command line: what may be said, and what each command is given."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from remindi import __version__
from remindi.cli.backup_arguments import (
    BackupArguments,
    DoctorArguments,
    TransferArguments,
    add_data_commands,
)
from remindi.cli.exits import EXITS
from remindi.cli.parser import Parser, Subparsers, file, made, port
from remindi.cli.service_arguments import (
    DEFAULT_HOST,
    DEFAULT_PORT,
    DEFAULT_STATE,
    ENV_FILE_NAME,
    ApiArguments,
    ItemArguments,
)
from remindi.config import VARIABLES

_ITEMS: Final = "items, through a running service"
_SERVICE: Final = "a running service"
_DATA: Final = "the data, of a service that runs or is stopped"
GROUPS: Final = {
    _ITEMS: {
        "add": "promise something",
        "list": "list stored items, newest first; evaluates nothing",
        "show": "show one item whole",
        "check": "ask what is ready, the most pressing first",
        "complete": "end an item with evidence",
        "snooze": "put a due item off",
        "update": "change an item, or go on to its next occurrence",
        "cancel": "end an item without having done it",
        "history": "tell everything that happened to an item",
    },
    _SERVICE: {
        "status": "tell whether it is ready, what runs and what waits",
        "settings": "list, get or set the settings",
        "workloads": "list, start, stop or restart what runs",
        "adapters": "list, show, set or test the adapters of conditions; also of a stopped service",
    },
    _DATA: {
        "backup": "create, list, verify or restore backups",
        "doctor": "look whether database, files, disk and backups are as they should be",
        "export": "write all items with their history as JSON Lines",
        "import": "store the items of an export; of a stopped service",
    },
    "this machine": {
        "serve": "run the service",
        "console": "run the administration API alone, for repair: no MCP, no scheduler",
        "init": "make an env file with fresh secrets, and the directories",
        "schema": "write or check the generated schema/tools",
        "version": "print the version",
    },
}
"""Every command by what it is about, with what it does."""
_HELPS: Final = {name: text for group in GROUPS.values() for name, text in group.items()}

_WITH_VALUE: Final = ("--env-file", "--url", "--zone")
_WITH_ACTIONS: Final = ("adapters", "backup", "settings", "workloads")

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
    admin_host: str = DEFAULT_HOST
    admin_port: int | None = None
    """Null: the administration API is where the rest is. 0 lets the system choose."""


@dataclass(frozen=True, slots=True)
class ConsoleArguments:
    """``remindi console``."""

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


Arguments = (
    ServeArguments
    | ConsoleArguments
    | InitArguments
    | SchemaArguments
    | VersionArguments
    | AdaptersArguments
    | ItemArguments
    | ApiArguments
    | BackupArguments
    | DoctorArguments
    | TransferArguments
)


def parse(argv: list[str] | None = None) -> Arguments:
    """Read the command line.

    Raises:
        SystemExit: it is wrong (exit code 2), or help was asked for (0).
    """
    argv = _behind_the_command(sys.argv[1:] if argv is None else argv) or ["--help"]
    given = _parser(_named(argv)).parse_args(argv)
    kind = getattr(given, "kind", None)
    if kind is not None:
        return cast(Arguments, made(kind, given))
    match given.command:
        case "serve":
            if given.admin_host is not None and given.admin_port is None:
                given.parser.error("--admin-host says where; --admin-port must say on which port")
            admin_host = given.admin_host or DEFAULT_HOST
            return ServeArguments(given.host, given.port, given.env_file, admin_host, given.admin_port)
        case "console":
            return ConsoleArguments(given.host, given.port, given.env_file)
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


def _behind_the_command(argv: list[str]) -> list[str]:
    """The same line with the options of a service that stand before its command put right behind that.

    What holds there may be said again later in the line, and holds then.
    """
    before: list[str] = []
    words: list[str] = []
    rest = list(argv)
    while rest and len(words) < (2 if words and words[0] in _WITH_ACTIONS else 1):
        word = rest.pop(0)
        name, equals, _ = word.partition("=")
        if word == "--json" or (name in _WITH_VALUE and equals):
            before.append(word)
        elif name in _WITH_VALUE and rest:
            before += [word, rest.pop(0)]
        elif word.startswith("-"):
            return argv
        else:
            words.append(word)
    return [*words, *before, *rest]


def _named(argv: list[str]) -> frozenset[str]:
    """The command that is called; all of them where none is.

    PERF: making the parsers of twenty commands takes longer than carrying most of them out.
    """
    word = next((word for word in argv if not word.startswith("-")), "")
    return frozenset((word,) if word in _HELPS else _HELPS)


def _parser(commands_named: frozenset[str]) -> Parser:
    parser = Parser(
        prog="remindi",
        usage="remindi COMMAND ...",
        description="Remindi keeps obligations and brings them back: reminders for agents, over MCP.",
        epilog=_exit_table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"remindi {__version__}")
    commands = parser.add_subparsers(
        title="commands",
        description=_command_table(),
        dest="command",
        required=True,
        metavar="COMMAND",
        help="remindi COMMAND --help says more",
        prog="remindi",
        parser_class=Parser,
    )
    if commands_named & GROUPS[_ITEMS].keys():
        from remindi.cli.item_arguments import add_item_commands

        add_item_commands(commands, _HELPS)
    if commands_named & GROUPS[_SERVICE].keys():
        from remindi.cli.api_arguments import add_api_commands

        add_api_commands(commands, _HELPS)
    if commands_named & GROUPS[_DATA].keys():
        add_data_commands(commands, _HELPS)
    _add_adapters(commands)
    _add_serve(commands)
    _add_console(commands)
    _add_init(commands)
    schema = commands.add_parser("schema", description=_sentence("schema"))
    way = schema.add_mutually_exclusive_group(required=True)
    way.add_argument("--write", action="store_true", help="write the files anew")
    way.add_argument("--check", action="store_true", help="exit 1 when a file is missing, stale or surplus")
    commands.add_parser("version", description=_sentence("version"))
    return parser


def _sentence(command: str) -> str:
    return f"{_HELPS[command].capitalize()}."


def _add_serve(commands: "Subparsers[Parser]") -> None:
    serve = commands.add_parser(
        "serve",
        description="Run the service until SIGTERM or SIGINT.",
        epilog=_environment_table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_listener(serve)
    serve.add_argument(
        "--admin-port",
        type=port,
        help="serve WebUI and administration API on this port, and no longer on --port (default: there)",
    )
    serve.add_argument(
        "--admin-host",
        help=f"address of --admin-port (default: {DEFAULT_HOST})",
    )
    serve.set_defaults(parser=serve)


def _add_console(commands: "Subparsers[Parser]") -> None:
    console = commands.add_parser(
        "console",
        description="Run the administration API alone, on a database whose service should not run: no MCP, no"
        " scheduler, no live events. It takes the data directory as the service does.",
        epilog=_environment_table(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_listener(console)


def _add_listener(parser: Parser) -> None:
    parser.add_argument("--host", default=DEFAULT_HOST, help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=port, default=DEFAULT_PORT, help="port (default: %(default)s)")
    parser.add_argument(
        "--env-file",
        type=file,
        metavar="FILE",
        help="file of NAME=VALUE lines; variables of the environment win over it",
    )


def _add_init(commands: "Subparsers[Parser]") -> None:
    init = commands.add_parser(
        "init",
        description="Make an env file (0600) with a random token and password, an owner id and paths, and the"
        " directories (0700). Nothing that exists is overwritten.",
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
        type=port,
        default=DEFAULT_PORT,
        help="port that the instructions name (default: %(default)s)",
    )


def _add_adapters(commands: "Subparsers[Parser]") -> None:
    adapters = commands.add_parser(
        "adapters",
        description="What conditions may look at. Works with a service that runs, through its socket in the"
        " data directory, and with one that is stopped; a change is in force at once. The environment"
        " says where that directory is, or an env file: the one of --env-file, else"
        f" {DEFAULT_STATE / ENV_FILE_NAME} in the current directory, when it is there and REMINDI_DB_PATH is"
        " not set.",
    )
    _add_adapter_options(adapters, None, False)
    actions = adapters.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)
    name = Parser(add_help=False)
    name.add_argument("name", metavar="NAME", help="an adapter, as `remindi adapters list` names it")
    _add_action(actions, "list", "list the adapters")
    _add_action(actions, "show", "print what an adapter is set to, as JSON that `set` takes", name)
    change = _add_action(actions, "set", "set an adapter whole", name)
    change.formatter_class = argparse.RawDescriptionHelpFormatter
    change.epilog = _SET_EXAMPLE
    change.add_argument(
        "--file",
        type=file,
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
    actions: "Subparsers[Parser]",
    action: str,
    what: str,
    *parents: Parser,
) -> Parser:
    parser = actions.add_parser(
        action,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        parents=parents,
    )
    # What stands before the action holds unless it is said again.
    _add_adapter_options(parser, argparse.SUPPRESS, argparse.SUPPRESS)
    return parser


def _add_adapter_options(parser: Parser, no_file: str | None, no_json: str | bool) -> None:
    parser.add_argument(
        "--env-file",
        type=file,
        default=no_file,
        metavar="FILE",
        help="the env file of the service",
    )
    parser.add_argument(
        "--json", action="store_true", default=no_json, help="print the answer as one line of JSON"
    )


def _command_table() -> str:
    lines = []
    for title, commands in GROUPS.items():
        lines += ["", f"{title}:", *(f"  {name:<10} {text}" for name, text in commands.items())]
    return "\n".join(lines[1:])


def _exit_table() -> str:
    return "exit codes:\n" + "\n".join(f"  {row.code:>3}  {row.meaning}" for row in EXITS)


def _environment_table() -> str:
    rows = []
    for row in VARIABLES:
        needed = "required" if row.required else f"default {row.default or 'none'}"
        rows.append(f"  {row.name} ({needed})\n      must be {row.rule}")
    return "environment (meaning: .env.example):\n" + "\n".join(rows)
