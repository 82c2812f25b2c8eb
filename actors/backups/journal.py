"""The journal of a restore: how far it is, durable before the next step begins (contract 15.2)."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID

from actors.backups.files import BackupDirectory
from remindi.backups import PHASES, Phase, PhaseReached, RestoreState
from remindi.identifiers import uuid_text

JOURNAL_NAME: Final = "restore-journal.json"
LATEST_NAME: Final = "restore-latest.json"
"""The latest restore as it is shown; nothing is decided by it."""
MAX_BYTES: Final = 16_384
_FILE: Final = re.compile(r"remindi-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\.sqlite3")

INSTALLS: Final[frozenset[Phase]] = frozenset(
    (
        "pre_restore_backup_verified",
        "live_replaced",
        "replacement_verified",
        "rollback_started",
        "pre_restore_reinstalled",
    )
)
"""Phases after which a start puts the former content back; after all others it keeps what is live."""


class JournalUnusable(Exception):
    """The journal says nothing that could be followed; the text is one line that says what to do."""


class Journal(NamedTuple):
    """A restore that has not ended."""

    operation_id: bytes
    phase: Phase
    candidate_file: str
    pre_restore_file: str | None


def write_journal(directory: BackupDirectory, journal: Journal) -> None:
    """Make a phase durable.

    Raises:
        OSError: the former phase is what the journal still says.
    """
    text = json.dumps(journal._asdict() | {"operation_id": uuid_text(journal.operation_id)})
    directory.write(JOURNAL_NAME, text.encode())


def drop_journal(directory: BackupDirectory) -> None:
    """End a restore for good.

    Raises:
        OSError: it is still there.
    """
    (directory.path / JOURNAL_NAME).unlink(missing_ok=True)
    directory.sync()


def read_journal(directory: BackupDirectory) -> Journal | None:
    """The journal that an interrupted restore left; None without one.

    Raises:
        JournalUnusable: it is no journal of ours.
    """
    path = directory.path / JOURNAL_NAME
    if not path.exists() and not path.is_symlink():
        return None
    text = directory.read(JOURNAL_NAME, MAX_BYTES + 1)
    if text is None or len(text) > MAX_BYTES:
        raise _unusable(path, "cannot be read" if text is None else f"has more than {MAX_BYTES} bytes")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise _unusable(path, "is no JSON") from None
    if not isinstance(found, dict) or found.keys() != set(Journal._fields):
        raise _unusable(path, "does not hold what a journal holds")
    candidate, pre_restore = found["candidate_file"], found["pre_restore_file"]
    if not _is_safe(candidate) or not (pre_restore is None or _is_safe(pre_restore)):
        raise _unusable(path, "names a file that is no backup")
    if found["phase"] not in PHASES:
        raise _unusable(path, "names an unknown phase")
    try:
        operation = UUID(found["operation_id"]).bytes
    except (ValueError, TypeError, AttributeError):
        raise _unusable(path, "has an operation id that is no UUID") from None
    if pre_restore is None and found["phase"] in INSTALLS:
        raise _unusable(path, "does not name the backup to go back to")
    return Journal(operation, found["phase"], candidate, pre_restore)


def write_latest(directory: BackupDirectory, state: RestoreState) -> None:
    """Keep the state of the latest restore for those who ask after a restart.

    Raises:
        OSError: the former state is what is kept.
    """
    kept = state._asdict() | {
        "operation_id": state.operation_id.hex(),
        "backup_id": state.backup_id.hex(),
        "pre_restore_id": None if state.pre_restore_id is None else state.pre_restore_id.hex(),
    }
    directory.write(LATEST_NAME, json.dumps(kept).encode())


def read_latest(directory: BackupDirectory) -> RestoreState | None:
    """What is known of the latest restore."""
    text = directory.read(LATEST_NAME, MAX_BYTES)
    try:
        return None if text is None else _state(json.loads(text))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _state(kept: Mapping[str, Any]) -> RestoreState:
    pre_restore = kept["pre_restore_id"]
    return RestoreState(
        operation_id=bytes.fromhex(kept["operation_id"]),
        backup_id=bytes.fromhex(kept["backup_id"]),
        outcome=kept["outcome"],
        rolled_back=bool(kept["rolled_back"]),
        reason=kept["reason"],
        pre_restore_id=None if pre_restore is None else bytes.fromhex(pre_restore),
        phases=tuple(PhaseReached(phase, int(at)) for phase, at in kept["phases"]),
        started_at=int(kept["started_at"]),
        ended_at=kept["ended_at"],
    )


def _is_safe(name: object) -> bool:
    return isinstance(name, str) and _FILE.fullmatch(name) is not None


def _unusable(path: Path, why: str) -> JournalUnusable:
    return JournalUnusable(
        f"{path} {why}, so nobody knows how far a restore got. Nothing was changed. Put the right file back,"
        " or remove it to start with the database as it is."
    )
