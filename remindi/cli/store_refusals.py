"""What a command says of a database that cannot be used."""

from actors.store import errors
from remindi.cli import exits
from remindi.cli.exits import Refused


def refusal_of_store(error: errors.StoreError) -> Refused:
    """The line and the exit code."""
    match error:
        case errors.NewerSchema() | errors.AlteredSchema():
            return Refused(exits.SCHEMA, str(error))
        case errors.StorageFailed():
            return Refused(exits.DATA_DIRECTORY, str(error))
        case errors.Busy():
            return Refused(exits.RUNNING, str(error))
        case _:
            return Refused(exits.DATABASE, str(error))
