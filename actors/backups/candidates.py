"""Candidates: files that are to become backups, or to be restored, held against what is said of them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from actors.backups.files import BackupDirectory, sha256_of
from actors.backups.meter import Meter
from actors.store.copying import Counts, copy_database
from actors.store.migrations import known_migrations
from actors.store.verification import Invalid, Verified, verify
from actors.system import Clock
from remindi.backups import BackupRecord, Source, Status

NEWEST_SCHEMA: Final = len(known_migrations())
HASHING: Final = "backups:hash"
HASH_SECONDS: Final = 86_400.0
"""For a file of any size."""


class Candidates:
    """Makes and verifies the files of one backup directory; in the worker's thread."""

    def __init__(
        self, directory: BackupDirectory, database: Path, owner: str, clock: Clock, meter: Meter
    ) -> None:
        """Make them for one database and its owner."""
        self.directory = directory
        self._database = database
        self._owner = owner
        self._clock = clock
        self._meter = meter

    def copied(self, identifier: bytes, source: Source, author: str) -> BackupRecord:
        """Copy the live database into a published backup.

        Raises:
            DirectoryFailed, StoreError: it could not be made; nothing is left of it.
            Invalid: the copy failed a check, so the live database would too.
        """
        self.directory.require_space(_size(self._database))
        temporary = self.directory.temporary()
        created_at = self._clock.now()
        try:
            self._meter.step("copying")
            held = copy_database(self._database, temporary, progress=self._meter)
            return self._published(identifier, temporary, source, author, created_at, held)
        finally:
            temporary.unlink(missing_ok=True)

    def taken(self, identifier: bytes, temporary: Path, author: str) -> BackupRecord:
        """Make a file that was received whole a published backup.

        Raises:
            Invalid: it failed a check.
            DirectoryFailed, StoreError: it could not be done; nothing is left of it.
        """
        try:
            return self._published(identifier, temporary, Source.UPLOAD, author, self._clock.now(), None)
        finally:
            temporary.unlink(missing_ok=True)

    def proven(self, record: BackupRecord) -> BackupRecord:
        """Hold a backup against its record and all of contract 14.3; the record with what was found now.

        Raises:
            Invalid: it failed a check.
            DirectoryFailed, StoreError: nobody knows.
        """
        path = self.directory.path_of(record.id)
        if not path.is_file() or path.is_symlink():
            raise Invalid("its file is gone")
        if not self.directory.holds(record):
            raise Invalid("its length is not that of its record")
        self._meter.step("verifying")
        with self._hashing(path) as hashed:
            verified = self._verified(path)
            if hashed()[0] != record.sha256:
                raise Invalid("its SHA-256 is not that of its record")
        if verified.schema_version != record.schema_version:
            raise Invalid("its schema version is not that of its record")
        return record._replace(
            status=Status.READY, verified_at=self._clock.now(), items=verified.counts.items
        )

    def _published(
        self,
        identifier: bytes,
        temporary: Path,
        source: Source,
        author: str,
        created_at: int,
        held: Counts | None,
    ) -> BackupRecord:
        self._meter.step("verifying")
        with self._hashing(temporary) as hashed:
            verified = self._verified(temporary)
            if held is not None and verified.counts != held:
                raise Invalid("it does not hold what the database held when it was copied")
            digest, size = hashed()
        record = BackupRecord(
            id=identifier,
            source=source,
            status=Status.READY,
            sha256=digest,
            size_bytes=size,
            schema_version=verified.schema_version,
            created_at=created_at,
            verified_at=self._clock.now(),
            created_by=author,
            items=verified.counts.items,
        )
        self.directory.publish(temporary, record)
        return record

    def _verified(self, path: Path) -> Verified:
        return verify(path, self._owner, scratch=self.directory.path, now=self._clock.now())

    @contextmanager
    def _hashing(self, path: Path) -> Iterator[Callable[[], tuple[str, int]]]:
        """Hash a file beside the block, for which the database may be closed; the callable waits for it."""
        with ThreadPoolExecutor(1, thread_name_prefix=HASHING) as beside:
            hashed = beside.submit(sha256_of, path, self._meter)
            yield lambda: hashed.result(HASH_SECONDS)


def _size(database: Path) -> int:
    """How large a copy may become: the file and what its log may add."""
    size = 0
    for path in (database, database.with_name(f"{database.name}-wal")):
        if path.exists():
            size += path.stat().st_size
    return size
