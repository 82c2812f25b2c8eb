"""Texts that an option gives itself, or says where to read: ``@FILE``, ``-`` for standard input."""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any, Final

from remindi.cli import exits
from remindi.cli.exits import Refused

MAX_BYTES: Final = 1_000_000
"""A little less than the service takes in one request."""
_BLOCK_BYTES: Final = 1_048_576


def text_of(option: str, given: str) -> str:
    """The text that ``given`` is or names.

    Raises:
        Refused: it cannot be read, is too large or no UTF-8.
    """
    if given != "-" and not given.startswith("@"):
        return given
    named = "standard input" if given == "-" else given[1:]
    try:
        if given == "-":
            raw = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(named).open("rb") as file:
                raw = file.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise Refused(exits.FAILED, f"{option}: {named} is larger than {MAX_BYTES} bytes.")
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused(exits.FAILED, f"{option}: {named} is not valid UTF-8.") from None
    except OSError as error:
        raise _unreadable(option, named, error) from None


def object_of(option: str, given: str) -> dict[str, Any]:
    """The JSON object that ``given`` is or names.

    Raises:
        Refused: it cannot be read, or is none.
    """
    try:
        value = json.loads(text_of(option, given))
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Refused(exits.USAGE, f"{option}: must be a JSON object.")
    return value


def hash_of(option: str, file: Path) -> str:
    """The SHA-256 of a file as evidence takes it.

    Raises:
        Refused: it cannot be read.
    """
    digest = hashlib.sha256()
    try:
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK_BYTES):
                digest.update(block)
    except OSError as error:
        raise _unreadable(option, str(file), error) from None
    return f"sha256:{digest.hexdigest()}"


def _unreadable(option: str, named: str, error: OSError) -> Refused:
    return Refused(exits.DATA_DIRECTORY, f"{option}: {named} cannot be read: {error.strerror}.")
