"""Broken disks: small ones that fill up, and system calls that fail or kill at a chosen moment."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_PIECE: Final = b"x" * 65_536


@contextmanager
def small_disk(at: Path, kib: int) -> Iterator[Path]:
    """Mount a file system of so many KiB; whatever still uses it at the end keeps it alone."""
    at.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k,mode=0700", "remindi-test", at], check=True)
    try:
        yield at
    finally:
        subprocess.run(["umount", "--lazy", at], check=True)


def fill(disk: Path) -> Path:
    """Take all space that is left; return the file that holds it."""
    filler = disk / "filler"
    with filler.open("ab", buffering=0) as file:
        size = len(_PIECE)
        while size:
            try:
                file.write(_PIECE[:size])
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                size //= 2
    return filler


def injected(calls: str, fault: str, when: str) -> tuple[str, ...]:
    """A prefix under which system calls of the service fail.

    Args:
        calls: names, as strace takes them.
        fault: ``error=EIO``, ``signal=KILL``, ``delay_enter=2000`` and so on.
        when: which calls of each thread: ``7``, ``7+``, ``7..9``.
    """
    # NOTE: strace 6.1 injects no signals when the kernel filters the calls for it.
    filtered = () if fault.startswith("signal") else ("--seccomp-bpf",)
    return (
        *("strace", "-D", "-f", "-qq", *filtered, "-o", "/dev/null"),
        *("-e", f"trace={calls}", "-e", f"inject={calls}:{fault}:when={when}", "--"),
    )
