"""Parameters: what a condition tells its adapter (contract 7.4). They name aliases, no addresses or paths."""

import json
from typing import Annotated, Final

from remindi.adapters.configuration import (
    ALIAS_PATTERN,
    FILE_EXISTS,
    HTTP_HEALTH,
    MAX_STATUS,
    MIN_STATUS,
    OBSERVATION_WINDOW_ENDED,
    TCP_REACHABLE,
    Configuration,
    ObservationWindowConfiguration,
)
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.inputs.failures import Arguments, read
from remindi.inputs.fields import Instant, Integer, Token

PLACE: Final = "/trigger/parameters"
AliasName = Annotated[str, Token(ALIAS_PATTERN)]


class WindowParameters(Arguments):
    """Of ``observation_window_ended``."""

    window_end: Annotated[int, Instant()]
    """An instant in milliseconds; it comes as a timestamp of contract 2.4."""


class HttpParameters(Arguments):
    """Of ``http_health``."""

    target: AliasName
    expected_status: Annotated[int | None, Integer(MIN_STATUS, MAX_STATUS)] = None
    """None: any status that the alias expects."""


class TcpParameters(Arguments):
    """Of ``tcp_reachable``."""

    target: AliasName


class FileParameters(Arguments):
    """Of ``file_exists``."""

    path_alias: AliasName


Parameters = WindowParameters | HttpParameters | TcpParameters | FileParameters
_MODELS: Final[dict[str, type[Parameters]]] = {
    OBSERVATION_WINDOW_ENDED: WindowParameters,
    HTTP_HEALTH: HttpParameters,
    TCP_REACHABLE: TcpParameters,
    FILE_EXISTS: FileParameters,
}


def read_parameters(adapter: str, parameters_json: str) -> Parameters | Refusal:
    """Read the parameters of a condition of this adapter.

    Returns:
        The parameters, ADAPTER_NOT_FOUND for an unknown name, or VALIDATION_ERROR with reason ``parameters``
        at each wrong key under ``/trigger/parameters``.
    """
    model = _MODELS.get(adapter)
    if model is None:
        return Refusal(ErrorCode.ADAPTER_NOT_FOUND)
    found = read(model, json.loads(parameters_json), 0, at=PLACE)
    if isinstance(found, Refusal):
        return invalid(*[(error.field, "parameters") for error in found.errors])
    return found


def parameters_of_alias(configuration: Configuration, alias: str) -> str | None:
    """Parameters, as JSON text, of a condition that only names this alias; None when there is none such."""
    if isinstance(configuration, ObservationWindowConfiguration) or alias not in configuration.aliases:
        return None
    return json.dumps({"path_alias" if configuration.type == FILE_EXISTS else "target": alias})
