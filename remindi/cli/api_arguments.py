"""Arguments of the commands on the service itself: ``status settings workloads``."""

from dataclasses import dataclass
from typing import Final

from remindi.cli.parser import Parser, Subparsers, whole
from remindi.cli.service_arguments import ApiArguments, add_service_options

CREDENTIALS: Final = "REMINDI_WEBUI_USERNAME and REMINDI_WEBUI_PASSWORD"
COMPONENTS: Final = ("mcp", "scheduler", "all")
TRANSITIONS: Final = ("start", "stop", "restart")


@dataclass(frozen=True, kw_only=True)
class StatusArguments(ApiArguments):
    """``remindi status``."""


@dataclass(frozen=True, kw_only=True)
class ListSettingsArguments(ApiArguments):
    """``remindi settings list``."""


@dataclass(frozen=True, kw_only=True)
class GetSettingArguments(ApiArguments):
    """``remindi settings get KEY``."""

    setting: str


@dataclass(frozen=True, kw_only=True)
class SetSettingArguments(ApiArguments):
    """``remindi settings set KEY VALUE``."""

    setting: str
    value: int


@dataclass(frozen=True, kw_only=True)
class ListWorkloadsArguments(ApiArguments):
    """``remindi workloads list``."""


@dataclass(frozen=True, kw_only=True)
class MoveWorkloadsArguments(ApiArguments):
    """``remindi workloads start | stop | restart COMPONENT``."""

    transition: str
    component: str


def add_api_commands(commands: "Subparsers[Parser]", helps: dict[str, str]) -> None:
    """Add the parsers of the commands on the service."""
    status = commands.add_parser("status", description=_sentence(helps["status"]))
    add_service_options(status, CREDENTIALS)
    status.set_defaults(kind=StatusArguments)

    actions = _actions(commands, "settings", helps)
    _action(actions, "list", "all settings, with their bounds", ListSettingsArguments)
    get = _action(actions, "get", "the value of one setting", GetSettingArguments)
    change = _action(actions, "set", "set one; it is in force within a second", SetSettingArguments)
    for parser in (get, change):
        parser.add_argument("setting", metavar="KEY", help="such as scheduler.poll_interval_seconds")
    change.add_argument(
        "value",
        type=whole,
        metavar="VALUE",
        help="a whole number within the bounds that `remindi settings list` shows",
    )

    actions = _actions(commands, "workloads", helps)
    _action(actions, "list", "what is to run, and what does", ListWorkloadsArguments)
    for transition in TRANSITIONS:
        move = _action(actions, transition, f"{transition} a workload", MoveWorkloadsArguments)
        move.add_argument(
            "component", choices=COMPONENTS, metavar="WORKLOAD", help=f"one of {', '.join(COMPONENTS)}"
        )
        move.set_defaults(transition=transition)


def _actions(commands: "Subparsers[Parser]", name: str, helps: dict[str, str]) -> "Subparsers[Parser]":
    parser = commands.add_parser(name, description=_sentence(helps[name]))
    return parser.add_subparsers(dest="action", required=True, metavar="ACTION", parser_class=Parser)


def _action(actions: "Subparsers[Parser]", name: str, what: str, kind: type[ApiArguments]) -> Parser:
    parser = actions.add_parser(name, help=what, description=_sentence(what))
    add_service_options(parser, CREDENTIALS)
    parser.set_defaults(kind=kind)
    return parser


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
