"""A process that restores and is killed at a given moment: right before or right after a journal entry.

Run as `python doomed.py DIRECTORY PHASE before|after forward|rollback|given_up`. It adds an item, makes a
backup, adds another item and restores the backup; it keeps a copy of SQLite's log of the former content as
`stale-wal`. It ends by SIGKILL, or with 3 when that moment never came.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

from actors.backups import restore
from actors.backups.candidates import Candidates
from actors.backups.files import BackupDirectory
from actors.backups.journal import Journal, write_journal
from actors.store.copying import Counts
from actors.store.errors import StorageFailed
from actors.store.verification import Invalid, verify_live
from remindi.backups import BackupRecord
from tests.fakes.vault import Vault


def die() -> None:
    """End as a crash does."""
    os.kill(os.getpid(), signal.SIGKILL)


def doom(phase: str, moment: str, way: str) -> None:
    """Have the restore go that way, and end at that moment."""

    def write(directory: BackupDirectory, journal: Journal) -> None:
        if journal.phase == phase and moment == "before":
            die()
        write_journal(directory, journal)
        if journal.phase == phase:
            die()

    setattr(restore, "write_journal", write)  # noqa: B010 - a function is replaced
    if way == "rollback":
        looks = iter((True, False))

        def look(path: Path, owner: str) -> Counts:
            if next(looks):
                raise Invalid("it is damaged")
            return verify_live(path, owner)

        setattr(restore, "verify_live", look)  # noqa: B010 - as above
    elif way == "given_up":

        def fail(*_: object) -> BackupRecord:
            raise StorageFailed("The disk is full; free some space.")

        setattr(Candidates, "copied", fail)  # noqa: B010 - as above


def main(directory: Path, phase: str, moment: str, way: str) -> int:
    """Restore, and do not come back."""
    vault = Vault(directory)
    vault.start()
    vault.add("before")
    record = vault.create()
    vault.add("after")
    shutil.copyfile(f"{vault.database}-wal", directory / "stale-wal")
    doom(phase, moment, way)
    vault.restore(record.id)
    return 3


if __name__ == "__main__":
    os._exit(main(Path(sys.argv[1]), *sys.argv[2:5]))
