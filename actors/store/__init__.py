"""The store: the only place that knows SQL and SQLite, behind ``WriteStore`` and ``ReadStore``."""

from actors.store.errors import (
    AlteredSchema,
    BadControlRow,
    Busy,
    Damaged,
    ForeignDatabase,
    NewerSchema,
    StorageFailed,
    StoreError,
)
from actors.store.read import ReadStore
from actors.store.write import WriteStore, check_damage

__all__ = [
    "AlteredSchema",
    "BadControlRow",
    "Busy",
    "Damaged",
    "ForeignDatabase",
    "NewerSchema",
    "ReadStore",
    "StorageFailed",
    "StoreError",
    "WriteStore",
    "check_damage",
]
