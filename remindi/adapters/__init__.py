"""Adapters: the four read-only probes as the domain sees them: names, configuration, parameters, admission.

Contract 7.1, 7.3 and 7.4. How a probe reaches the outside is none of the domain's business.
"""

from typing import Final

from remindi.adapters.admission import DISABLED_WARNING, UNKNOWN_ALIAS_WARNING, admit
from remindi.adapters.configuration import (
    ADAPTER_NAMES,
    FILE_EXISTS,
    HTTP_HEALTH,
    OBSERVATION_WINDOW_ENDED,
    TCP_REACHABLE,
    Configuration,
    FileExistsConfiguration,
    HttpAlias,
    HttpHealthConfiguration,
    ObservationWindowConfiguration,
    TcpAlias,
    TcpReachableConfiguration,
    read_configuration,
)
from remindi.adapters.parameters import (
    FileParameters,
    HttpParameters,
    Parameters,
    TcpParameters,
    WindowParameters,
    parameters_of_alias,
    read_parameters,
)
from remindi.adapters.registry import Adapter, AdapterRegistry, AdapterRow

ADAPTER_VERSION: Final = "1"
"""``adapter_version`` of every probe result; rises when an adapter judges otherwise than before."""

__all__ = [
    "ADAPTER_NAMES",
    "ADAPTER_VERSION",
    "DISABLED_WARNING",
    "FILE_EXISTS",
    "HTTP_HEALTH",
    "OBSERVATION_WINDOW_ENDED",
    "TCP_REACHABLE",
    "UNKNOWN_ALIAS_WARNING",
    "Adapter",
    "AdapterRegistry",
    "AdapterRow",
    "Configuration",
    "FileExistsConfiguration",
    "FileParameters",
    "HttpAlias",
    "HttpHealthConfiguration",
    "HttpParameters",
    "ObservationWindowConfiguration",
    "Parameters",
    "TcpAlias",
    "TcpParameters",
    "TcpReachableConfiguration",
    "WindowParameters",
    "admit",
    "parameters_of_alias",
    "read_configuration",
    "read_parameters",
]
