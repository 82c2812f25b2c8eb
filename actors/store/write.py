"""The write store: the one connection that changes the database, in groups that commit together."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import apsw

from actors.messages.control import Control, LeaseRow, SettingRow, WorkloadRow
from actors.store import adapters, backups, control, idempotency, items, leases, replacing, search
from actors.store.checks import change_number
from actors.store.connections import BUSY_TIMEOUT_MS, open_reader, open_writer, translated
from actors.store.copying import Progress, nothing
from actors.store.errors import Damaged
from actors.store.evaluations import Evaluations
from actors.store.migrations import migrate, quick_check
from actors.store.mutations import Moment, Mutations
from actors.store.names import Names
from actors.store.tally import Tally
from actors.system import Clock, Identifiers, Random
from remindi import audit
from remindi.adapters import AdapterRow, Configuration
from remindi.backups import BackupRecord
from remindi.errors import Refusal
from remindi.events import Caller
from remindi.settings import BACKUP_RETENTION_COUNT, IDEMPOTENCY_RETENTION_DAYS, LEASE_SECONDS, Settings

log = logging.getLogger("remindi.store")

CHECKPOINT_PAGES: Final = 4_000
"""WAL pages from which on a checkpoint follows a group: 16 MB."""
RESTART_PAGES: Final = 16_000
"""WAL pages from which on the checkpoint waits for readers, so that the log starts over: 64 MB."""
CHECKPOINT_PATIENCE_MS: Final = 200
"""How long it waits for them."""


class WriteStore:
    """Everything that changes the database. Used by the writer alone, on its own thread."""

    def __init__(self, path: Path, owner: str, clock: Clock, chance: Random) -> None:
        """Open the database, bring its schema up, add missing control rows, drop leases left behind.

        Raises:
            StoreError: the database cannot be used; the text says why.
        """
        self._clock = clock
        self._chance = chance
        self._path = path
        self._owner = owner
        self.replaced = False
        """Whether the last replacement of the content was carried out, whatever was raised after it."""
        self._connection = open_writer(path)
        try:
            self._load()
        except BaseException:
            self._connection.close(True)
            raise

    def _load(self) -> None:
        """Bring the content up, and learn from it what is kept in memory."""
        clock, connection = self._clock, self._connection
        with translated(self._path):
            migrate(connection, self._path, clock.now())
            connection.execute("BEGIN IMMEDIATE")
            control.add_missing_rows(connection, clock.now())
            leases.drop_leases(connection)
            self._names = Names(connection)
            number = self._names.intern(self._owner)
            connection.execute("COMMIT")
            self._names.committed()
            self.control: Control = control.read_control(connection)
            self.generation: bytes = backups.read_generation(connection)
            newest = items.newest_identifier(connection)
            self._committed = change_number(connection)
        self._identifiers = Identifiers(clock, self._chance, newest)
        self._wal_pages = 0
        self._restart_at = RESTART_PAGES
        self._stale_control = False
        self._before = self._numbered = 0
        self._newest = self._committed + 1
        connection.set_wal_hook(self._count_wal_pages)
        self._tally = Tally(connection, number)
        self.mutations = Mutations(connection, number, self._names, self._identifiers, self._tally)
        self.evaluations = Evaluations(connection, number, self._names, self._identifiers, self._tally)

    def replace_content(self, source: Path, progress: Progress = nothing) -> None:
        """Put the content of a verified database file in place of all that is here; between groups.

        One transaction: whenever the process ends, either content is there whole. Afterwards the store is as
        if just opened, and its generation is another. Readers see the former content until their
        transactions end.

        Args:
            source: of a file that nobody writes, of our schema or an older one.
            progress: told bytes of bytes; what it raises undoes the work.

        Raises:
            StoreError: the former content is still there.
        """
        self.replaced = False
        with translated():
            replacing.pour_file(self._connection, source, progress)
            self.replaced = True
            replacing.set_apart(self._connection)
        self._load()

    def begin(self) -> None:
        """Start a group."""
        with translated():
            self._connection.execute("BEGIN IMMEDIATE")
        self._before = self._numbered = self._connection.total_changes()
        self._newest = self._committed + 1

    @contextmanager
    def member(self) -> Iterator[None]:
        """One member of the group: what it did is undone when it raises; the others stand."""
        with translated():
            self._connection.execute("SAVEPOINT member")
            try:
                yield
            except BaseException:
                self._undo_member()
                raise
            self._connection.execute("RELEASE member")
        self._tally.member_stands()

    @property
    def broken(self) -> bool:
        """Whether SQLite has given the group up by itself, as it does on a full disk."""
        return not self._connection.in_transaction

    def commit(self) -> bool:
        """Make the group durable; True when control rows changed, so that ``control`` is new.

        Raises:
            StoreError: nothing of the group was stored.
        """
        with translated():
            written = self._connection.total_changes() != self._before
            if written:
                search.index_new(self._connection)
                self._tally.store()
                self._connection.execute("UPDATE change_counter SET value = ?", (self._newest,))
            changed = control.read_control(self._connection) if self._stale_control else None
            self._connection.execute("COMMIT")
        if written:
            self._committed = self._newest
        self._names.committed()
        self._stale_control = False
        if changed is None:
            return False
        self.control = changed
        return True

    def rollback(self) -> None:
        """Give the group up."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._names.rolled_back()
        self._tally.rolled_back()
        self.mutations.rolled_back()
        self._stale_control = False

    def moment(self, caller: Caller) -> Moment:
        """What a member of the present group happens under; its number is above all that was written."""
        changes = self._connection.total_changes()
        if changes != self._numbered:
            self._numbered = changes
            self._newest += 1
        return Moment(caller, self._clock.now(), self._newest, self.control)

    def checkpoint(self) -> None:
        """Move the write-ahead log into the database when it has grown; between groups."""
        if self._wal_pages < CHECKPOINT_PAGES:
            return
        # NOTE: PASSIVE never waits, but a log that readers always hold would grow without bound.
        restart = self._wal_pages >= self._restart_at
        mode = apsw.SQLITE_CHECKPOINT_RESTART if restart else apsw.SQLITE_CHECKPOINT_PASSIVE
        pages, self._wal_pages = self._wal_pages, 0
        try:
            self._checkpoint(mode)
            if restart or pages < RESTART_PAGES:
                self._restart_at = RESTART_PAGES
        except apsw.Error as error:
            # A long reader, such as a check of the whole file: wait for it again only much later.
            self._restart_at = pages + RESTART_PAGES
            log.warning("checkpoint postponed", extra={"error": str(error)})

    def close(self) -> None:
        """Move the log into the database and close; no ``-wal`` file is left when nobody else reads."""
        self.rollback()
        try:
            self._checkpoint(apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error as error:
            log.warning("the last checkpoint failed", extra={"error": str(error)})
        self._connection.close(True)

    def _checkpoint(self, mode: int) -> None:
        """Checkpoint, waiting at most a moment for readers: nobody else gets anything done meanwhile."""
        self._connection.set_busy_timeout(CHECKPOINT_PATIENCE_MS)
        try:
            self._connection.wal_checkpoint(mode=mode)
        finally:
            self._connection.set_busy_timeout(BUSY_TIMEOUT_MS)

    def abandon(self) -> None:
        """Close without a checkpoint, so that a successor can write."""
        self._connection.close(True)

    def message(self, key: int) -> str:
        """What an item says, for log lines that may carry it."""
        return items.message(self._connection, key)

    def update_setting(
        self, moment: Moment, key: str, value: int, expected_version: int
    ) -> SettingRow | Refusal:
        """Store a setting with its audit row, also when it is refused (contract 13.2)."""
        answer = control.update_setting(
            self._connection,
            key=key,
            value=value,
            expected_version=expected_version,
            caller=moment.caller,
            now=moment.now,
        )
        self._audit_update(moment, audit.RUNTIME_SETTING_UPDATED, audit.about_setting(key), answer)
        return answer

    def update_adapter(
        self, moment: Moment, name: str, enabled: bool, configuration: Configuration, expected_version: int
    ) -> AdapterRow | Refusal:
        """Store an adapter with its audit row, also when it is refused (contract 13.2)."""
        answer = adapters.update_adapter(
            self._connection,
            name=name,
            enabled=enabled,
            configuration=configuration,
            expected_version=expected_version,
            caller=moment.caller,
            now=moment.now,
        )
        self._audit_update(moment, audit.ADAPTER_CONFIG_UPDATED, audit.about_adapter(name), answer)
        return answer

    def record_audit(
        self,
        moment: Moment,
        kind: str,
        outcome: str,
        details: tuple[tuple[str, str], ...],
        occurred_at: int | None = None,
    ) -> None:
        """Store an audit row alone; ``occurred_at`` of what happened before this moment."""
        self._audit(moment, kind, outcome, dict(details), occurred_at)

    def store_backup(self, record: BackupRecord) -> None:
        """Store a backup's record, over what is known of it."""
        backups.store_backup(self._connection, record)

    def expire_backups(self, moment: Moment) -> tuple[BackupRecord, ...]:
        """Let retention decide which backups expire, each with its audit row (contract 14.4)."""
        expired = backups.expire_backups(self._connection, self.control.settings[BACKUP_RETENTION_COUNT])
        for record in expired:
            details = audit.about_backup(record.id, record.source)
            self._audit(moment, audit.BACKUP_EXPIRED, audit.SUCCEEDED, details)
        return expired

    def set_desired(
        self, moment: Moment, components: tuple[str, ...], desired: str, action: str
    ) -> tuple[WorkloadRow, ...]:
        """Store what is desired of workloads, with the audit row of the attempt (contract 13.2)."""
        rows = control.set_desired(self._connection, components, desired, moment.caller, moment.now)
        self._stale_control = True
        component = components[0] if len(components) == 1 else audit.ALL
        self._audit(moment, f"workload_{action}", audit.SUCCEEDED, {"component": component})
        return rows

    def restore_desired(self, moment: Moment, rows: tuple[WorkloadRow, ...]) -> Control:
        """Store what was desired of workloads before a restore; all control state as it is then."""
        for row in rows:
            control.set_desired(self._connection, (row.component,), row.desired, moment.caller, moment.now)
        self._stale_control = True
        return control.read_control(self._connection)

    def acquire_lease(self, moment: Moment, holder: str) -> LeaseRow | None:
        """Take the lease (contract 8.3)."""
        return leases.acquire_lease(self._connection, holder, moment.now, self._lease_ms())

    def lease(self) -> LeaseRow | None:
        """The lease as it stands."""
        return leases.read_lease(self._connection)

    def renew_lease(self, moment: Moment, held: LeaseRow) -> LeaseRow | None:
        """Renew the lease (contract 8.3)."""
        return leases.renew_lease(self._connection, held, moment.now, self._lease_ms())

    def release_lease(self, held: LeaseRow) -> bool:
        """Free the lease (contract 8.3)."""
        return leases.release_lease(self._connection, held)

    def holds_lease(self, moment: Moment, holder: str) -> bool:
        """Whether ``holder`` may write under the lease now."""
        return leases.holds_lease(self._connection, holder, moment.now)

    def purge_idempotency(self, moment: Moment, limit: int) -> int:
        """Drop expired keys from the oldest on."""
        retention = self.control.settings[IDEMPOTENCY_RETENTION_DAYS]
        return idempotency.purge(self._connection, idempotency.expiry(moment.now, retention), limit)

    def _lease_ms(self) -> int:
        settings: Settings = self.control.settings
        return settings[LEASE_SECONDS] * 1_000

    def _audit_update(self, moment: Moment, kind: str, details: dict[str, str], answer: object) -> None:
        """Audit a change of control rows, which makes ``control`` stale unless it was refused."""
        if isinstance(answer, Refusal):
            self._audit(moment, kind, audit.REJECTED, details | {"failure_code": answer.code.value})
        else:
            self._stale_control = True
            self._audit(moment, kind, audit.SUCCEEDED, details)

    def _audit(
        self,
        moment: Moment,
        kind: str,
        outcome: str,
        details: dict[str, str],
        occurred_at: int | None = None,
    ) -> None:
        control.audit(
            self._connection,
            kind,
            outcome,
            details,
            caller=moment.caller,
            now=moment.now if occurred_at is None else occurred_at,
            identifiers=self._identifiers,
        )

    def _undo_member(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK TO member")
            self._connection.execute("RELEASE member")
        self._names.rolled_back()
        self._tally.member_undone()
        self.mutations.rolled_back()

    def _count_wal_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._wal_pages = pages
        return apsw.SQLITE_OK


def check_damage(path: Path) -> str | None:
    """Check a database on a connection of its own; what is wrong, or None. Reads the whole file."""
    try:
        connection = open_reader(path)
        try:
            with translated(path):
                quick_check(connection, path)
        finally:
            connection.close(True)
    except Damaged as error:
        return str(error)
    return None
