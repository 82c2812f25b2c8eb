"""Configuration: what an administrator tells each of the four adapters (contract 7.3).

Whether the roots of ``file_exists`` are there is a question to the file system and not asked here.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, PlainSerializer

from remindi.errors import ErrorCode, Refusal, invalid
from remindi.inputs.failures import Arguments, read
from remindi.inputs.fields import Integer, Text, Token, checked_characters, refuse

OBSERVATION_WINDOW_ENDED: Final = "observation_window_ended"
HTTP_HEALTH: Final = "http_health"
TCP_REACHABLE: Final = "tcp_reachable"
FILE_EXISTS: Final = "file_exists"
ADAPTER_NAMES: Final = (FILE_EXISTS, HTTP_HEALTH, OBSERVATION_WINDOW_ENDED, TCP_REACHABLE)
"""By name."""

ALIAS_PATTERN: Final = r"^[A-Za-z0-9._-]{1,128}$"
MIN_STATUS: Final = 100
MAX_STATUS: Final = 599
MAX_RESPONSE_BYTES: Final = 1_048_576
MAX_CONTENT_TYPE_CHARACTERS: Final = 128
MAX_HOST_CHARACTERS: Final = 253
MAX_PORT: Final = 65_535

_Entry = TypeVar("_Entry")


def _array(value: Any) -> Any:
    if type(value) is not list:
        raise refuse("shape_type")
    return tuple(value)


def _no_control_characters(text: str) -> str:
    if any(character < " " or "\x7f" <= character <= "\x9f" for character in text):
        raise refuse("control_character")
    return text


def _some_and_unique(statuses: tuple[int, ...]) -> tuple[int, ...]:
    if not statuses:
        raise refuse("too_short")
    if len(set(statuses)) != len(statuses):
        raise refuse("duplicate")
    return statuses


def _https(url: str) -> str:
    checked_characters(url)
    if any(character.isspace() or character == "\\" for character in url):
        raise refuse("content_format")
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise refuse("content_format") from None
    if parts.scheme != "https" or "#" in url or port == 0:
        raise refuse("content_format")
    if "@" in parts.netloc:
        raise refuse("credentials")
    if not host:
        raise refuse("host_missing")
    return url


def _absolute(path: str) -> str:
    checked_characters(path)
    _no_control_characters(path)
    if not path.startswith("/"):
        raise refuse("content_format")
    return path


def _without_parent_steps(path: str) -> str:
    if ".." in PurePosixPath(path).parts:
        raise refuse("content_format")
    return path


Alias = Annotated[str, Token(ALIAS_PATTERN, minimum=1, maximum=128)]
AbsolutePath = Annotated[str, AfterValidator(_absolute)]
Aliases = Annotated[
    Mapping[Alias, _Entry],
    AfterValidator(lambda aliases: MappingProxyType(dict(aliases))),
    PlainSerializer(dict),
]


class ObservationWindowConfiguration(Arguments):
    """``observation_window_ended`` has nothing to configure."""

    type: Literal["observation_window_ended"]


class HttpAlias(Arguments):
    """One address that ``http_health`` may ask, and what counts as healthy."""

    url: Annotated[str, AfterValidator(_https)]
    expected_statuses: Annotated[
        tuple[Annotated[int, Integer(MIN_STATUS, MAX_STATUS)], ...],
        BeforeValidator(_array),
        AfterValidator(_some_and_unique),
    ]
    max_response_bytes: Annotated[int, Integer(1, MAX_RESPONSE_BYTES)]
    """Cap of the body, which is read to its end."""
    expected_content_type: (
        Annotated[str, Text(MAX_CONTENT_TYPE_CHARACTERS), AfterValidator(_no_control_characters)] | None
    ) = None
    allow_redirects: bool
    allow_private: bool


class HttpHealthConfiguration(Arguments):
    """The aliases of ``http_health``."""

    type: Literal["http_health"]
    aliases: Aliases[HttpAlias]


class TcpAlias(Arguments):
    """One address that ``tcp_reachable`` may connect to."""

    host: Annotated[str, Text(MAX_HOST_CHARACTERS), AfterValidator(_no_control_characters)]
    port: Annotated[int, Integer(1, MAX_PORT)]
    allow_private: bool


class TcpReachableConfiguration(Arguments):
    """The aliases of ``tcp_reachable``."""

    type: Literal["tcp_reachable"]
    aliases: Aliases[TcpAlias]


class FileExistsConfiguration(Arguments):
    """Where ``file_exists`` may look, and the aliases of paths there."""

    type: Literal["file_exists"]
    roots: Annotated[tuple[AbsolutePath, ...], BeforeValidator(_array)]
    aliases: Aliases[Annotated[AbsolutePath, AfterValidator(_without_parent_steps)]]


Configuration = (
    ObservationWindowConfiguration
    | HttpHealthConfiguration
    | TcpReachableConfiguration
    | FileExistsConfiguration
)
_MODELS: Final[Mapping[str, type[Configuration]]] = MappingProxyType(
    {
        OBSERVATION_WINDOW_ENDED: ObservationWindowConfiguration,
        HTTP_HEALTH: HttpHealthConfiguration,
        TCP_REACHABLE: TcpReachableConfiguration,
        FILE_EXISTS: FileExistsConfiguration,
    }
)


def read_configuration(adapter: str, value: object) -> Configuration | Refusal:
    """Read the ``configuration`` of the adapter of this name.

    Returns:
        The configuration, ADAPTER_NOT_FOUND for an unknown name, or VALIDATION_ERROR with pointers under
        ``/configuration``.
    """
    model = _MODELS.get(adapter)
    if model is None:
        return Refusal(ErrorCode.ADAPTER_NOT_FOUND)
    if not isinstance(value, dict):
        return invalid(("/configuration", "null_not_allowed" if value is None else "type"))
    return read(model, value, 0, at="/configuration")


def empty_configuration(adapter: str) -> Configuration:
    """What an adapter knows before an administrator said anything: no alias, no root."""
    match adapter:
        case "observation_window_ended":
            return ObservationWindowConfiguration(type="observation_window_ended")
        case "http_health":
            return HttpHealthConfiguration(type="http_health", aliases={})
        case "tcp_reachable":
            return TcpReachableConfiguration(type="tcp_reachable", aliases={})
        case "file_exists":
            return FileExistsConfiguration.model_validate({"type": "file_exists", "roots": [], "aliases": {}})
        case _:
            raise LookupError(f"no adapter is called {adapter!r}")
