"""How a command ends: what it says on which stream, as text or as JSON, and its exit code."""

import json
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
        if as_json:
            _print_json(refused.envelope())
        return refused.code
    except Declined as declined:
        _complain(declined.lines)
        code = _CODES.get(declined.envelope["error"]["code"], exits.FAILED)
        if as_json:
            _print_json(declined.envelope)
        return code
    if as_json:
        _print_json(said.data)
    else:
        _print(said.lines)
    _complain(said.notes)
    return said.code


def _print_json(value: Any) -> None:
    """One line of JSON, in UTF-8 whatever the terminal speaks (RFC 8259)."""
    _print([json.dumps(value, ensure_ascii=False, separators=(",", ":"))], encoding="utf-8")


def _print(lines: Sequence[str], *, encoding: str | None = None) -> None:
    # Text of items may hold what an output's encoding has no word for.
    sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")  # type: ignore[union-attr]
    for line in lines:
        print(line)


def _complain(lines: Sequence[str]) -> None:
    for line in lines:
        print(f"remindi: {line}", file=sys.stderr)
