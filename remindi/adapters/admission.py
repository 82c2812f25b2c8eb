"""Admission: whether a condition may be stored, and with which warnings (contract 7.1)."""

from typing import Final

from remindi.adapters.configuration import (
    FileExistsConfiguration,
    HttpHealthConfiguration,
    TcpReachableConfiguration,
)
from remindi.adapters.parameters import (
    PLACE,
    FileParameters,
    HttpParameters,
    Parameters,
    TcpParameters,
    read_parameters,
)
from remindi.adapters.registry import Adapter, AdapterRegistry
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.triggers import Condition

DISABLED_WARNING: Final = (
    "The adapter is disabled; until an administrator enables it only manual_check_at makes this item due."
)
UNKNOWN_ALIAS_WARNING: Final = (
    "The alias is not configured; until an administrator adds it only manual_check_at makes this item due."
)


def admit(condition: Condition, registry: AdapterRegistry) -> Refusal | tuple[str, ...]:
    """Judge a condition that is about to be stored.

    Returns:
        ``data.warnings`` of the answer, which name neither alias nor target, or the refusal.
    """
    adapter = registry.get(condition.adapter)
    if adapter is None:
        return Refusal(ErrorCode.ADAPTER_NOT_FOUND)
    parameters = read_parameters(condition.adapter, condition.parameters_json)
    if isinstance(parameters, Refusal):
        return parameters
    if not _status_may_come(parameters, adapter):
        return invalid((f"{PLACE}/expected_status", "parameters"))
    by_hand = condition.manual_check_at is not None
    warnings = []
    if not adapter.enabled:
        if not by_hand:
            return Refusal(ErrorCode.ADAPTER_DISABLED)
        warnings.append(DISABLED_WARNING)
    unknown = _unknown_alias(parameters, adapter)
    if unknown is not None:
        if not by_hand:
            return invalid((f"{PLACE}/{unknown}", "unknown_alias"))
        warnings.append(UNKNOWN_ALIAS_WARNING)
    return tuple(warnings)


def _status_may_come(parameters: Parameters, adapter: Adapter) -> bool:
    """Whether the expected status, if one is given, is one of the alias's, if that is known."""
    if not isinstance(parameters, HttpParameters) or parameters.expected_status is None:
        return True
    configuration = adapter.configuration
    if not isinstance(configuration, HttpHealthConfiguration):
        return True
    alias = configuration.aliases.get(parameters.target)
    return alias is None or parameters.expected_status in alias.expected_statuses


def _unknown_alias(parameters: Parameters, adapter: Adapter) -> str | None:
    """The parameter that names an alias which is not configured, if one does."""
    match parameters, adapter.configuration:
        case HttpParameters(target=target), HttpHealthConfiguration(aliases=aliases):
            return None if target in aliases else "target"
        case TcpParameters(target=target), TcpReachableConfiguration(aliases=aliases):
            return None if target in aliases else "target"
        case FileParameters(path_alias=path_alias), FileExistsConfiguration(aliases=aliases):
            return None if path_alias in aliases else "path_alias"
        case _:
            return None
