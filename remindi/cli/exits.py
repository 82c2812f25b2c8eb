"""Exit codes: what the process says when it ends, as one table for the help, the documentation and the tests.

The numbers are those of sysexits.h where it has one that fits.
"""

import errno
import os
from typing import Final, NamedTuple


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
PORT: Final = 69
INTERNAL: Final = 70
RUNNING: Final = 75
SCHEMA: Final = 76
DATA_DIRECTORY: Final = 73
CONFIGURATION: Final = 78

EXITS: Final = (
    Exit(OK, "OK", "done; a service ended because it was asked to"),
    Exit(FAILED, "FAILED", "refused, not satisfied, or not up to date: the lines say what"),
    Exit(USAGE, "USAGE", "the command line is wrong"),
    Exit(DATABASE, "DATABASE", "the database is damaged or holds what no Remindi wrote"),
    Exit(PORT, "PORT", "the address cannot be listened on"),
    Exit(INTERNAL, "INTERNAL", "a fault of Remindi, or a part of it failed again and again"),
    Exit(DATA_DIRECTORY, "DATA_DIRECTORY", "the data directory or a file cannot be made, read or written"),
    Exit(RUNNING, "RUNNING", "another Remindi process uses the data directory"),
    Exit(SCHEMA, "SCHEMA", "a newer Remindi wrote the database, or its migrations were altered"),
    Exit(CONFIGURATION, "CONFIGURATION", "the environment breaks a rule; each line names a variable"),
)
"""By code."""
