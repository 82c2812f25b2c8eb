"""The service with a disk that hangs: at a phase of a restore, or when a backup is copied.

Run as `python held_up.py MARKER PHASE|backup serve ...`. When the moment comes the marker is made; from then
on that job hangs for ever.
"""

import sys
import threading
from pathlib import Path
from typing import Any

from actors.backups import restore
from actors.backups.candidates import Candidates
from actors.backups.files import BackupDirectory
from actors.backups.journal import Journal, write_journal
from remindi.__main__ import main


def hang(marker: Path) -> None:
    """Say that the moment has come, and never come back."""
    marker.touch()
    threading.Event().wait()


def hold_up(marker: Path, moment: str) -> None:
    """Have one job hang."""
    if moment == "backup":

        def copied(*_: Any) -> None:
            hang(marker)

        setattr(Candidates, "copied", copied)  # noqa: B010 - a method is replaced
        return

    def write(directory: BackupDirectory, journal: Journal) -> None:
        write_journal(directory, journal)
        if journal.phase == moment:
            hang(marker)

    setattr(restore, "write_journal", write)  # noqa: B010 - a function is replaced


if __name__ == "__main__":
    hold_up(Path(sys.argv[1]), sys.argv[2])
    sys.exit(main(sys.argv[3:]))
