"""The read store: a query-only connection with short transactions. It never waits for the writer."""

from pathlib import Path

from actors.messages.control import Control, SettingRow
from actors.messages.readers import ConditionsDue, DueCondition, ProbeTarget, Unsettled, Waiting
from actors.store import adapters, audits, backups, checks, control, history, items, lists, overview, ripe
from actors.store.connections import open_reader, snapshot, translated
from actors.store.names import Names
from remindi.adapters import AdapterRow
from remindi.answers import CheckPage, HistoryPage, ListPage
from remindi.audit import AuditQuery, AuditRow
from remindi.backups import BackupRecord
from remindi.errors import NOT_FOUND, Refusal
from remindi.items import ItemRecord
from remindi.overview import Overview
from remindi.requests import CheckQuery, HistoryQuery, ListQuery


class ReadStore:
    """Everything that is read. Used by one reader actor, on its own thread."""

    def __init__(self, path: Path, owner: str) -> None:
        """Open the database that the writer has brought up.

        Raises:
            StoreError: it cannot be opened.
        """
        self._connection = open_reader(path)
        self._names = Names(self._connection)
        number = self._names.find(owner)
        self._owner = -1 if number is None else number

    def close(self) -> None:
        """Close the connection."""
        self._connection.close(True)

    def check_page(
        self, query: CheckQuery, as_of: int, *, probing: bool
    ) -> CheckPage | Unsettled | ConditionsDue:
        """A page of a check when it is settled, else the word that it is not, or that probes come first."""
        with translated(), snapshot(self._connection):
            if probing and ripe.due_conditions(
                self._connection, self._owner, as_of, query.project_id, None, 1, self._names
            ):
                return ConditionsDue()
            found = checks.find_page(self._connection, self._owner, query, as_of, self._names)
            if found.unsettled:
                return Unsettled()
            return checks.shown_page(self._connection, found, as_of, self._names)

    def list_page(self, query: ListQuery) -> ListPage:
        """A page of a list."""
        with translated(), snapshot(self._connection):
            return lists.list_page(self._connection, self._owner, query, self._names)

    def record(self, identifier: bytes) -> ItemRecord | Refusal:
        """One whole item."""
        with translated(), snapshot(self._connection):
            record = items.find_record(self._connection, self._owner, identifier, self._names)
        return NOT_FOUND if record is None else record

    def history_page(self, query: HistoryQuery) -> HistoryPage | Refusal:
        """A page of an item's history."""
        with translated(), snapshot(self._connection):
            return history.history_page(self._connection, self._owner, query, self._names)

    def due_conditions(
        self, as_of: int, project_id: str | None, after: DueCondition | None, limit: int
    ) -> tuple[ProbeTarget, ...]:
        """Condition items whose probe is due."""
        with translated(), snapshot(self._connection):
            return ripe.due_conditions(
                self._connection, self._owner, as_of, project_id, after, limit, self._names
            )

    def waiting(self, as_of: int, limit: int) -> Waiting:
        """What waits for the scheduler."""
        with translated(), snapshot(self._connection):
            return ripe.waiting(self._connection, self._owner, as_of, limit)

    def control(self) -> Control:
        """Settings, adapters and desired workload states."""
        with translated(), snapshot(self._connection):
            return control.read_control(self._connection)

    def setting_rows(self) -> tuple[SettingRow, ...]:
        """The setting rows."""
        with translated(), snapshot(self._connection):
            return control.setting_rows(self._connection)

    def adapter_rows(self) -> tuple[AdapterRow, ...]:
        """The adapter rows."""
        with translated(), snapshot(self._connection):
            return adapters.adapter_rows(self._connection)

    def audit_page(self, query: AuditQuery) -> tuple[AuditRow, ...]:
        """Administration events."""
        with translated(), snapshot(self._connection):
            return audits.audit_page(self._connection, query)

    def overview(self, as_of: int) -> Overview:
        """The overview."""
        with translated(), snapshot(self._connection):
            return overview.overview(self._connection, self._owner, as_of, self._names)

    def backups(self) -> tuple[BackupRecord, ...]:
        """Records of backups, the newest first."""
        with translated(), snapshot(self._connection):
            return backups.backups(self._connection)

    def backup(self, identifier: bytes) -> BackupRecord | None:
        """One backup's record."""
        with translated(), snapshot(self._connection):
            return backups.find_backup(self._connection, identifier)

    def born_at(self) -> int:
        """When the database was made."""
        with translated(), snapshot(self._connection):
            return backups.born_at(self._connection)

    def generation(self) -> bytes:
        """Which content this is."""
        with translated(), snapshot(self._connection):
            return backups.read_generation(self._connection)
