"""Inputs of the adapter routes: from a body to an update that may be stored (contract 7.3, 11.9).

Beside the package's face: the adapters' models are made of its fields and would meet themselves there.
"""

from typing import Annotated, Any, Final, NamedTuple

from pydantic import Field

from remindi.adapters import ADAPTER_NAMES, Configuration, read_configuration
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.inputs.failures import Arguments, read
from remindi.inputs.fields import Integer, OwnObject

MIN_VERSION: Final = 1


class AdapterUpdate(NamedTuple):
    """What an adapter shall be, whole, if it is at this version."""

    name: str
    enabled: bool
    configuration: Configuration
    expected_version: int


class AdapterBody(Arguments):
    """Body of ``PATCH /adapters/{name}``."""

    enabled: Annotated[bool, Field(description="Whether it may probe.")]
    configuration: Annotated[
        str,
        OwnObject(),
        Field(description="The whole configuration; its type is the name of the adapter."),
    ]
    expected_version: Annotated[
        int, Integer(MIN_VERSION), Field(description="The version of the row as it was read last.")
    ]


def read_adapter_update(name: str, body: Any) -> AdapterUpdate | Refusal:
    """Read what an adapter shall become, in the order of contract 11.9.

    Args:
        name: of the adapter, as the path gave it.
        body: a decoded JSON value: exactly ``enabled``, ``configuration`` and ``expected_version``.

    Returns:
        The update; VALIDATION_ERROR for the body's shape, ADAPTER_NOT_FOUND, or VALIDATION_ERROR with
        pointers under ``/configuration``. Roots are not looked at here, nor is the version.
    """
    if not isinstance(body, dict):
        return invalid(("", "null_not_allowed" if body is None else "type"))
    found = read(AdapterBody, body, 0)
    if isinstance(found, Refusal):
        return found
    if name not in ADAPTER_NAMES:
        return Refusal(ErrorCode.ADAPTER_NOT_FOUND)
    configuration = read_configuration(name, body["configuration"])
    if isinstance(configuration, Refusal):
        return configuration
    return AdapterUpdate(name, found.enabled, configuration, found.expected_version)
