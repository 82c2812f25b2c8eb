"""How a command ends: what it says on which stream, as text or as JSON, and its exit code."""

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

from remindi.cli import exits
from remindi.cli.exits import Refused

Json = dict[str, Any]

_CODES: Final = {
    "INTERNAL_ERROR": exits.INTERNAL,
    "DATABASE_BUSY": exits.UNAVAILABLE,
    "MAINTENANCE_ACTIVE": exits.UNAVAILABLE,
    "UNAUTHENTICATED": exits.NOT_PERMITTED,
    "FORBIDDEN": exits.NOT_PERMITTED,
    "CSRF_REJECTED": exits.NOT_PERMITTED,
}


class Said(NamedTuple):
    """The answer of a command that was carried out."""

    data: Any
    """For ``--json``."""
    lines: Sequence[str]
    """For people."""
    notes: Sequence[str] = ()
    """What people should know besides; goes to standard error, with ``--json`` too."""
    code: int = exits.OK


class Declined(Exception):
    """The service answered with a refusal."""

    def __init__(self, envelope: Json, lines: Sequence[str]) -> None:
        """Take the envelope of contract 1.1, and what it means in words."""
        super().__init__()
        self.envelope = envelope
        self.lines = lines


def ended(act: Callable[[], Said], *, as_json: bool) -> int:
    """Carry a command out, say what came of it, and return its exit code."""
    # An interrupt ends this as it ends any command: what was acknowledged is stored.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        said = act()
    except Refused as refused:
        _complain(str(refused).splitlines())
        return refused.code
    except Declined as declined:
        _complain(declined.lines)
        code = _CODES.get(declined.envelope["error"]["code"], exits.FAILED)
        return _print_json(declined.envelope, code) if as_json else code
    code = _print_json(said.data, said.code) if as_json else _print(said.lines, said.code)
    _complain(said.notes)
    return code


def _print_json(value: Any, code: int) -> int:
    """One line of JSON, in UTF-8 whatever the terminal speaks (RFC 8259)."""
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _print([line], code, encoding="utf-8")


def _print(lines: Sequence[str], code: int, *, encoding: str | None = None) -> int:
    """Write to standard output; returns the code, or that of an output that cannot be written."""
    try:
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
        for line in lines:
            print(line)
        sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
    except OSError as error:
        _forget_output()
        _complain([f"Standard output cannot be written: {error.strerror}."])
        return exits.DATA_DIRECTORY
    return code


def _forget_output() -> None:
    """Let nothing be written when the interpreter ends and flushes once more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _complain(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"remindi: {line}", file=sys.stderr)
