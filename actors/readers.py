"""The reader: one query-only connection on a thread of its own, for every read that anybody asks for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, assert_never

from actors.actor import Actor
from actors.failures import DatabaseRefused
from actors.messages.readers import (
    GetBackup,
    GetCheckPage,
    GetControl,
    GetItem,
    GetOrigin,
    GetOverview,
    GetWaiting,
    ListAdapters,
    ListAudit,
    ListBackups,
    ListDueConditions,
    ListEvents,
    ListItems,
    ListSettings,
    Origin,
    ReopenReader,
)
from actors.store import Busy, ReadStore

ReaderMessage = (
    GetCheckPage
    | ListItems
    | GetItem
    | ListEvents
    | ListDueConditions
    | GetWaiting
    | GetControl
    | ListSettings
    | ListAdapters
    | ListAudit
    | GetOverview
    | ListBackups
    | GetBackup
    | GetOrigin
    | ReopenReader
)


class Reader(Actor):
    """Answers queries from a short transaction each; it sees everything whose reply has gone out."""

    def __init__(self, name: str, on_death: Callable[[str], None], *, store_path: Path, owner: str) -> None:
        """Make the reader; the database is opened on its own thread, after the writer has brought it up."""
        super().__init__(name, on_death)
        self._open: Callable[[], ReadStore] = lambda: ReadStore(store_path, owner)

    def on_start(self) -> None:
        """Open the store (pykka's hook)."""
        self._store = self._open()

    def on_stop(self) -> None:
        """Close the store (pykka's hook)."""
        self._store.close()
        self.fail_waiting()

    def on_failure(self, *told: Any) -> None:
        """Close the store (pykka's hook); an open reader would hold the write-ahead log."""
        self._store.close()
        super().on_failure(*told)

    def handle(self, message: ReaderMessage) -> Any:
        """Answer one query.

        Raises:
            DatabaseRefused: the database stayed locked; the store's own word for it goes no further.
        """
        try:
            return self._read(message)
        except Busy:
            raise DatabaseRefused from None

    def _read(self, message: ReaderMessage) -> Any:
        match message:
            case GetCheckPage():
                return self._store.check_page(message.query, message.as_of, probing=message.probing)
            case ListItems():
                return self._store.list_page(message.query)
            case GetItem():
                return self._store.record(message.remindi_id)
            case ListEvents():
                return self._store.history_page(message.query)
            case ListDueConditions():
                return self._store.due_conditions(
                    message.as_of, message.project_id, message.after, message.limit
                )
            case GetWaiting():
                return self._store.waiting(message.as_of, message.limit)
            case GetControl():
                return self._store.control()
            case ListSettings():
                return self._store.setting_rows()
            case ListAdapters():
                return self._store.adapter_rows()
            case ListAudit():
                return self._store.audit_page(message.query)
            case GetOverview():
                return self._store.overview(message.as_of)
            case ListBackups():
                return self._store.backups()
            case GetBackup():
                return self._store.backup(message.backup_id)
            case GetOrigin():
                return Origin(self._store.born_at(), self._store.generation())
            case ReopenReader():
                former, self._store = self._store, self._open()
                former.close()
                return None
            case _:
                assert_never(message)
