"""The data directory: private, ours alone, locked while the process lives (contract 17.1 steps 2 and 3)."""

import errno
import fcntl
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

DIRECTORY_MODE: Final = 0o700
FILE_MODE: Final = 0o600
LOCK_NAME: Final = "remindi.lock"
TEMPORARY_PREFIX: Final = ".tmp-"
"""Of files that nobody needs when the process that made them is gone."""


class DirectoryUnusable(Exception):
    """A directory cannot be used; the text is one line that names the path, the uid and the right needed."""


class DirectoryInUse(Exception):
    """Another Remindi process uses the directory; the text is one line."""


class DirectoryLock:
    """An exclusive lock that the kernel drops when the process ends, however it ends."""

    def __init__(self, descriptor: int) -> None:
        """Keep the descriptor of a locked file."""
        self._descriptor = descriptor

    def release(self) -> None:
        """Let the next process in."""
        os.close(self._descriptor)


def prepare(directory: Path, variable: str) -> None:
    """Make a directory exist, private to the process user.

    Args:
        directory: absolute path.
        variable: of the environment, whose value brought it; named in the error.

    Raises:
        DirectoryUnusable: it cannot be made, is another user's, world-writable, or not writable for us.
    """
    uid = os.geteuid()
    where = f"{directory} ({variable})"
    try:
        directory.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
    except FileExistsError:
        raise DirectoryUnusable(f"{where} is no directory.") from None
    except OSError as error:
        raise DirectoryUnusable(
            f"{where} cannot be created: {_words(error)}. uid {uid} needs the right to write to"
            f" {_nearest(directory)}."
        ) from None
    try:
        status = directory.stat()
        if status.st_uid != uid:
            raise DirectoryUnusable(
                f"{where} belongs to uid {status.st_uid}; it must belong to uid {uid}, which runs Remindi,"
                f" with rights 0700."
            )
        if status.st_mode & stat.S_IWOTH:
            raise DirectoryUnusable(
                f"{where} is writable for everybody; uid {uid} needs it with rights 0700."
            )
        if stat.S_IMODE(status.st_mode) != DIRECTORY_MODE:
            directory.chmod(DIRECTORY_MODE)
    except OSError as error:
        raise DirectoryUnusable(_unwritable(where, uid, error)) from None


def secure_database(path: Path) -> None:
    """Make a database that exists, with its log, readable and writable for its owner alone.

    Raises:
        DirectoryUnusable: the path is no file, or its rights cannot be set.
    """
    uid = os.geteuid()
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        where = f"{file} (REMINDI_DB_PATH)"
        try:
            mode = file.stat().st_mode
            if not stat.S_ISREG(mode):
                raise DirectoryUnusable(f"{where} is no regular file.")
            if stat.S_IMODE(mode) != FILE_MODE:
                file.chmod(FILE_MODE)
            if not os.access(file, os.R_OK | os.W_OK, effective_ids=True):
                raise PermissionError(errno.EACCES, "")
        except FileNotFoundError:
            continue
        except OSError as error:
            raise DirectoryUnusable(
                f"{where} cannot be used: {_words(error)}. uid {uid} must own it, with rights 0600."
            ) from None


def lock(directory: Path) -> DirectoryLock:
    """Take the exclusive lock of a prepared data directory.

    Raises:
        DirectoryInUse: another process has it.
        DirectoryUnusable: the lock file cannot be made, or the file system has no locks.
    """
    path = directory / LOCK_NAME
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise DirectoryUnusable(_unwritable(f"{directory} (REMINDI_DB_PATH)", os.geteuid(), error)) from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise DirectoryInUse(
            f"Another Remindi process uses this directory: {directory} (REMINDI_DB_PATH). Stop it first,"
            " or give this one its own."
        ) from None
    except OSError as error:
        os.close(descriptor)
        raise DirectoryUnusable(
            f"{path} cannot be locked: {_words(error)}. uid {os.geteuid()} needs a file system with locks."
        ) from None
    return DirectoryLock(descriptor)


def remove_leftovers(directory: Path) -> None:
    """Remove temporary files that a process left when it died; only while the lock is held.

    Raises:
        DirectoryUnusable: one cannot be removed.
    """
    try:
        for leftover in directory.glob(f"{TEMPORARY_PREFIX}*"):
            if leftover.is_symlink() or leftover.is_file():
                leftover.unlink()
    except OSError as error:
        raise DirectoryUnusable(_unwritable(str(directory), os.geteuid(), error)) from None


def stopped_uncleanly(path: Path) -> bool:
    """Whether a database was left by a process that did not close it: its log is still there."""
    with suppress(OSError):
        return path.with_name(f"{path.name}-wal").stat().st_size > 0
    return False


def _unwritable(where: str, uid: int, error: OSError) -> str:
    return f"{where} cannot be used: {_words(error)}. uid {uid} needs the rights to read, write and enter it."


def _words(error: OSError) -> str:
    return os.strerror(error.errno or errno.EIO).lower()


def _nearest(directory: Path) -> Path:
    """The nearest ancestor that exists: where a right is missing."""
    for ancestor in directory.parents:
        with suppress(OSError):
            if ancestor.exists():
                return ancestor
    return directory.parent
