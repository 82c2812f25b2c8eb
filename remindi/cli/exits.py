"""Exit codes: what the process says when it ends, as one table for the help, the documentation and the tests.

The numbers are those of sysexits.h where it has one that fits.
"""

import errno
import os
from typing import Any, Final, NamedTuple


class Exit(NamedTuple):
    """One exit code."""

    code: int
    name: str
    meaning: str


class Refused(Exception):
    """A command is not carried out: an exit code, and lines for people."""

    def __init__(self, code: int, text: str) -> None:
        """Keep both."""
        super().__init__(text)
        self.code = code

    def envelope(self) -> dict[str, Any]:
        """The same for ``--json``: shaped as a service's refusal, under the name of the exit code."""
        (name,) = [row.name for row in EXITS if row.code == self.code]
        retryable = self.code in (UNAVAILABLE, RUNNING)
        error = {"code": name, "message": str(self), "retryable": retryable}
        return {"ok": False, "request_id": None, "error": error}


def cause(error: OSError) -> str:
    """What the system refused, as the end of a line; where a permission is missing, whose it is."""
    words = f"{os.strerror(error.errno or errno.EIO).lower()}."
    if isinstance(error, PermissionError):
        words += f" Run this as the user of the service; this is uid {os.geteuid()}."
    return words


OK: Final = 0
FAILED: Final = 1
USAGE: Final = 2
DATABASE: Final = 65
UNAVAILABLE: Final = 69
INTERNAL: Final = 70
RUNNING: Final = 75
SCHEMA: Final = 76
DATA_DIRECTORY: Final = 73
NOT_PERMITTED: Final = 77
CONFIGURATION: Final = 78

EXITS: Final = (
    Exit(OK, "OK", "done; a service ended because it was asked to"),
    Exit(FAILED, "FAILED", "refused, not satisfied, or not up to date: the lines say what"),
    Exit(USAGE, "USAGE", "the command line is wrong"),
    Exit(DATABASE, "DATABASE", "the database is damaged or holds what no Remindi wrote"),
    Exit(
        UNAVAILABLE, "UNAVAILABLE", "no service answers there, or not now; the address cannot be listened on"
    ),
    Exit(INTERNAL, "INTERNAL", "a fault of Remindi, or a part of it failed again and again"),
    Exit(DATA_DIRECTORY, "DATA_DIRECTORY", "the data directory or a file cannot be made, read or written"),
    Exit(RUNNING, "RUNNING", "another Remindi process uses the data directory"),
    Exit(SCHEMA, "SCHEMA", "a newer Remindi wrote the database, or its migrations were altered"),
    Exit(NOT_PERMITTED, "NOT_PERMITTED", "the service takes neither this token, this sign-in nor this Host"),
    Exit(CONFIGURATION, "CONFIGURATION", "the environment breaks a rule; each line names a variable"),
)
"""By code."""
