"""Bodies of the administration routes that are not of items or adapters (contract 11.5, 11.9)."""

from typing import Annotated, Any, Final

from pydantic import Field

from remindi.errors import Refusal, invalid
from remindi.inputs.adapters import MIN_VERSION
from remindi.inputs.failures import Arguments, Model, read
from remindi.inputs.fields import MAX_INTEGER, Integer


class Login(Arguments):
    """Body of ``POST /auth/login``."""

    username: Annotated[str, Field(description="The user name of the configuration.")]
    password: Annotated[str, Field(description="Its password.")]


class Proof(Arguments):
    """Body of ``POST /auth/reauthenticate``."""

    password: Annotated[str, Field(description="The password of the configuration.")]


class SettingUpdate(Arguments):
    """Body of ``PATCH /settings/{key}``; the bounds of a value are those of its setting."""

    value: Annotated[int, Integer(-MAX_INTEGER - 1), Field(description="The new value.")]
    expected_version: Annotated[
        int, Integer(MIN_VERSION), Field(description="The version of the row as it was read last.")
    ]


class AliasTrial(Arguments):
    """Body of ``POST /adapters/{name}/test``."""

    alias: Annotated[str, Field(description="Which configured alias to look at.")]


CONFIRMATION: Final = "RESTORE REMINDI"
"""What is typed to restore a backup (contract 15.1)."""


class RestoreConfirmation(Arguments):
    """Body of ``POST /backups/{id}/restore``."""

    confirmation: Annotated[
        str, Field(description=f"Exactly {CONFIRMATION}.", json_schema_extra={"const": CONFIRMATION})
    ]


class Nothing(Arguments):
    """A body that holds nothing: ``{}``."""


def read_body(model: type[Model], body: Any) -> Model | Refusal:
    """Read a decoded JSON value that must be an object fitting ``model``."""
    if not isinstance(body, dict):
        return invalid(("", "null_not_allowed" if body is None else "type"))
    return read(model, body, 0)


def read_confirmation(body: Any) -> Refusal | None:
    """The refusal of a body that does not confirm a restore: first its shape, then the phrase."""
    given = read_body(RestoreConfirmation, body)
    if isinstance(given, Refusal):
        return given
    return None if given.confirmation == CONFIRMATION else invalid(("/confirmation", "confirmation"))
