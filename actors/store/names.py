"""Names: texts that repeat, kept once and known by number. Numbers never change and never go."""

from collections import OrderedDict
from typing import Final

import apsw

from actors.store.connections import first_row

_CACHED: Final = 20_000


class Names:
    """The names of one connection, with a cache that knows only what is committed."""

    def __init__(self, connection: apsw.Connection) -> None:
        """Look names up, and intern them, through ``connection``."""
        self._connection = connection
        self._numbers: OrderedDict[str, int] = OrderedDict()
        self._texts: OrderedDict[int, str] = OrderedDict()
        self._fresh: dict[str, int] = {}

    def find(self, text: str) -> int | None:
        """The number of a name, or None when no item or event uses it."""
        number = self._numbers.get(text) or self._fresh.get(text)
        if number is None:
            row = first_row(self._connection, "SELECT id FROM name WHERE text = ?", (text,))
            if row is None:
                return None
            number = row[0]
            self._remember(number, text)
        return number

    def intern(self, text: str) -> int:
        """The number of a name, made when there is none; for the writer, inside its transaction."""
        number = self.find(text)
        if number is None:
            self._connection.execute("INSERT INTO name (text) VALUES (?)", (text,))
            number = self._connection.last_insert_rowid()
            self._fresh[text] = number
        return number

    def text(self, number: int) -> str:
        """The name of a number."""
        text = self._texts.get(number)
        if text is None:
            row = first_row(self._connection, "SELECT text FROM name WHERE id = ?", (number,))
            if row is None:
                raise LookupError("a name is missing")
            text = str(row[0])
            self._remember(number, text)
        return text

    def text_or_none(self, number: int | None) -> str | None:
        """``text`` for a number that may be absent."""
        return None if number is None else self.text(number)

    def committed(self) -> None:
        """What was interned is durable now."""
        for text, number in self._fresh.items():
            self._remember(number, text)
        self._fresh.clear()

    def rolled_back(self) -> None:
        """What was interned may be gone: forget everything, it is looked up again when needed."""
        self._fresh.clear()
        self._numbers.clear()
        self._texts.clear()

    def _remember(self, number: int, text: str) -> None:
        self._numbers[text] = number
        self._texts[number] = text
        if len(self._texts) > _CACHED:
            _, oldest_text = self._texts.popitem(last=False)
            self._numbers.pop(oldest_text, None)
