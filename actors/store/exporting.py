"""Exporting: every item of an owner with all that belongs to it, of one moment."""

from collections.abc import Iterator
from typing import Final

import apsw

from actors.store.history import history_page
from actors.store.migrations import known_migrations
from actors.store.names import Names
from actors.store.rows import CONTENT_COLUMNS, ITEM_COLUMNS, records_of
from actors.store.connections import first_row
from remindi.errors import Refusal
from remindi.exports import Exported
from remindi.items import ItemRecord
from remindi.requests import HistoryQuery

_PAGE: Final = 200
_EVENTS_AT_ONCE: Final = 10_000
_ITEMS: Final = f"SELECT {ITEM_COLUMNS}, {CONTENT_COLUMNS} FROM item NOT INDEXED JOIN body USING (key)"
