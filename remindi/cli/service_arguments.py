"""Arguments of commands that speak to a running service over HTTP: where it is, how to be known there."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from remindi.cli.parser import Parser

DEFAULT_STATE: Final = Path(".remindi")
ENV_FILE_NAME: Final = "remindi.env"
DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 8_000
DEFAULT_URL: Final = f"http://{DEFAULT_HOST}:{DEFAULT_PORT}"


@dataclass(frozen=True, kw_only=True)
class ServiceArguments:
    """What commands that speak to a running service have in common."""

    url: str | None
    env_file: Path | None
    zone: str | None
    """Of local times, in and out."""
    as_json: bool
    """Whether ``data`` of the answer, or the envelope of a refusal, is printed instead of text for people."""


@dataclass(frozen=True, kw_only=True)
class ItemArguments(ServiceArguments):
    """What the commands on items have in common."""


@dataclass(frozen=True, kw_only=True)
class ApiArguments(ServiceArguments):
    """What the commands on the service have in common."""


def add_service_options(parser: Parser, secret: str) -> None:
    """Add the options of every such command, after its own.

    Args:
        parser: of the command.
        secret: the variables that it needs.
    """
    group = parser.add_argument_group("the service")
    group.add_argument(
        "--url", metavar="URL", help=f"where it is (default: REMINDI_URL, else {DEFAULT_URL}); /mcp is added"
    )
    group.add_argument(
        "--env-file",
        type=Path,
        metavar="FILE",
        help=f"file with {secret} (default: the environment, which wins;"
        f" {DEFAULT_STATE / ENV_FILE_NAME} when it is there)",
    )
    group = parser.add_argument_group("output")
    group.add_argument(
        "--zone",
        metavar="ZONE",
        help="of local times, such as Europe/Berlin (default: TZ, else the machine's)",
    )
    group.add_argument(
        "--json", dest="as_json", action="store_true", help="print the answer's data as one line of JSON"
    )
