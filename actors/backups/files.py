"""The backup directory: files that are there whole or not at all, private, and durable (contract 14.1)."""

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final
from uuid import UUID

from actors.data_directory import FILE_MODE, TEMPORARY_PREFIX
from remindi.backups import BackupRecord, file_name
from remindi.identifiers import uuid_text
from remindi.manifests import MAX_BYTES, manifest_of, read_manifest

MANIFEST_SUFFIX: Final = ".json"
SPARE_BYTES: Final = 16 * 1_048_576
"""Free space that is left for the service itself."""
_PIECE_BYTES: Final = 1_048_576


class DirectoryFailed(Exception):
    """Reading or writing failed; the text is one sentence for people that says what to do."""


class BackupDirectory:
    """What lies in the backup directory, by what it is."""

    def __init__(self, path: Path) -> None:
        """Take a directory that exists and is ours."""
        self.path = path

    def temporary(self) -> Path:
        """A name that nobody uses, beside what the file is to become."""
        return self.path / f"{TEMPORARY_PREFIX}{secrets.token_hex(16)}.sqlite3"

    def path_of(self, identifier: bytes) -> Path:
        """Where the file of a backup lies."""
        return self.path / file_name(uuid_text(identifier))

    def holds(self, record: BackupRecord) -> bool:
        """Whether the file of a record is there, in its full length."""
        try:
            return self.path_of(record.id).stat().st_size == record.size_bytes
        except OSError:
            return False

    def publish(self, temporary: Path, record: BackupRecord) -> None:
        """Give a temporary file, which is durable, its name, with a manifest beside it.

        Raises:
            DirectoryFailed: neither has its name.
        """
        target = self.path_of(record.id)
        manifest = _manifest_path(target)
        with told():
            self.write(manifest.name, manifest_of(record))
            try:
                temporary.rename(target)
                self.sync()
            except BaseException:
                target.unlink(missing_ok=True)
                manifest.unlink(missing_ok=True)
                raise

    def remove(self, identifier: bytes) -> None:
        """Remove a backup's files, the manifest first; without it the rest is nobody's."""
        target = self.path_of(identifier)
        with told():
            _manifest_path(target).unlink(missing_ok=True)
            target.unlink(missing_ok=True)
            self.sync()

    def remove_orphans(self, known: Container[bytes]) -> None:
        """Remove manifests of backups that nobody knows and whose file never got its name.

        Args:
            known: identifiers of all records.
        """
        for path in self.path.glob(f"remindi-*.sqlite3{MANIFEST_SUFFIX}"):
            target = path.with_name(path.name.removesuffix(MANIFEST_SUFFIX))
            with suppress(ValueError, OSError):
                identifier = UUID(target.name.removeprefix("remindi-").removesuffix(".sqlite3")).bytes
                if self.path_of(identifier) == target and identifier not in known and not target.exists():
                    path.unlink()

    def manifests(self, newest_schema: int) -> Iterator[BackupRecord]:
        """Records of valid manifests that lie beside their files; forged and moved ones are passed over."""
        for path in sorted(self.path.glob(f"remindi-*.sqlite3{MANIFEST_SUFFIX}")):
            text = self.read(path.name, MAX_BYTES + 1)
            record = None if text is None else read_manifest(text, newest_schema)
            if (
                record is not None
                and _manifest_path(self.path_of(record.id)) == path
                and _is_plain(self.path_of(record.id))
            ):
                yield record

    def write(self, name: str, content: bytes) -> None:
        """Put a small file in place of whatever has its name, at once and durably.

        Raises:
            OSError: what had the name still has it.
        """
        temporary = self.path / f"{TEMPORARY_PREFIX}{secrets.token_hex(16)}"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(temporary, flags, FILE_MODE), "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(self.path / name)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        self.sync()

    def read(self, name: str, most: int) -> bytes | None:
        """At most so many bytes of a plain file; None when there is none."""
        try:
            descriptor = os.open(self.path / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except OSError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            try:
                return file.read(most)
            except OSError:
                return None

    def sync(self) -> None:
        """Make names durable."""
        descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def require_space(self, wanted: int) -> None:
        """Refuse to begin what the disk has no room for.

        Raises:
            DirectoryFailed: it would not fit; the text names both figures.
        """
        with told():
            free = shutil.disk_usage(self.path).free
        if free < wanted + SPARE_BYTES:
            raise DirectoryFailed(
                f"It needs {megabytes(wanted + SPARE_BYTES)} MB on the disk of the backup directory,"
                f" which has {megabytes(free)} MB free. Free some space."
            )


def sha256_of(path: Path, progress: Callable[[int, int], None]) -> tuple[str, int]:
    """The SHA-256 of a file as lower-case hex, and its length."""
    digest, done = hashlib.sha256(), 0
    with told(), path.open("rb") as file:
        total = os.fstat(file.fileno()).st_size
        while piece := file.read(_PIECE_BYTES):
            digest.update(piece)
            done += len(piece)
            progress(done, total)
    return digest.hexdigest(), done


class told:  # noqa: N801 - read as a word of the sentence it stands in
    """Turn errors of the operating system into sentences for people."""

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        """End.

        Raises:
            DirectoryFailed: instead of an ``OSError``.
        """
        if isinstance(error, OSError):
            raise DirectoryFailed(_sentence(error)) from error


def _sentence(error: OSError) -> str:
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "The disk of the backup directory is full. Free some space."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return "The backup directory cannot be written. Check its owner and rights (0700)."
        case errno.ENOENT:
            return "The file or the backup directory is gone."
        case code:
            words = os.strerror(code).lower() if code else "it failed"
            return f"Reading or writing in the backup directory failed: {words}."


def megabytes(size: int) -> str:
    """Bytes in millions, for people."""
    return f"{size / 1e6:,.0f}"


def _manifest_path(target: Path) -> Path:
    return target.with_name(f"{target.name}{MANIFEST_SUFFIX}")


def _is_plain(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()
