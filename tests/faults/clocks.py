"""A wall clock of its own for one process: moved by the test, while the process runs."""

import struct
import subprocess
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

SOURCE: Final = Path(__file__).with_name("clock.c")


def build_shim(folder: Path) -> Path:
    """Compile the library that moves the clock."""
    shim = folder / "clock.so"
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o", shim, SOURCE], check=True
    )
    return shim


class MovableClock:
    """The wall clock of one service, as an offset to the machine's."""

    def __init__(self, shim: Path, file: Path) -> None:
        self._file = file
        self.env = {"LD_PRELOAD": str(shim), "REMINDI_TEST_CLOCK": str(file)}
        """For the environment of the service."""
        self._ahead = timedelta()
        self._write()

    def move(self, by: timedelta) -> None:
        """Jump, forth or back."""
        self._ahead += by
        self._write()

    def now(self) -> datetime:
        """What the service takes for now."""
        return datetime.fromtimestamp(time.time(), UTC) + self._ahead

    def stamp(self, ahead: timedelta = timedelta()) -> str:
        """An instant relative to that, as a tool takes it."""
        return (self.now() + ahead).isoformat()

    def _write(self) -> None:
        # In place: the process has mapped this very file.
        with self._file.open("r+b" if self._file.exists() else "w+b", buffering=0) as file:
            file.write(struct.pack("=q", self._ahead // timedelta(milliseconds=1)))
