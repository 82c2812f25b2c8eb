"""The power cut: a file system of our own in a file, which stops in the middle of everything (ext4).

The shutdown ioctl of ext4 ends the file system without flushing its journal: what was not made durable is
gone, as when the power fails. What the disk itself would lose of its own cache, no file can show.
"""

import fcntl
import os
import struct
import subprocess
from pathlib import Path
from typing import Final

_SHUTDOWN: Final = 0x8004587D
"""``EXT4_IOC_SHUTDOWN`` (linux/fs/ext4/ext4.h)."""
_NO_FLUSH: Final = 2
"""``EXT4_GOING_FLAGS_NOLOGFLUSH``: not even the journal's last transaction reaches the disk."""


class Disk:
    """A disk that can lose its power. A context manager; it is mounted inside."""

    def __init__(self, root: Path, megabytes: int) -> None:
        """Make one of so many megabytes, below a folder."""
        self._image = root / "disk.img"
        self.at = root / "disk"
        self.at.mkdir()
        with self._image.open("wb") as file:
            file.truncate(megabytes * 1_048_576)
        subprocess.run(["mkfs.ext4", "-q", "-F", "-m", "0", self._image], check=True)

    def __enter__(self) -> "Disk":
        """Mount it."""
        self._mount()
        return self

    def __exit__(self, *_: object) -> None:
        """Unmount it, whoever still uses it."""
        subprocess.run(["umount", "--lazy", self.at], check=True)

    def cut(self) -> None:
        """Cut the power: from now on every access fails."""
        descriptor = os.open(self.at, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _NO_FLUSH))
        finally:
            os.close(descriptor)

    def restore_power(self) -> None:
        """Mount it again; the file system replays what its own journal holds. Nobody may still use it."""
        subprocess.run(["umount", self.at], check=True)
        subprocess.run(["fsck.ext4", "-p", self._image], check=False, stdout=subprocess.DEVNULL)
        self._mount()

    def _mount(self) -> None:
        subprocess.run(["mount", "-o", "loop", self._image, self.at], check=True)
