"""Search: the words of every message and instruction, kept in the transaction of the item that holds them.

New items are indexed once a group, right before it commits, and not one by one by a trigger: each member is a
savepoint, and at every savepoint FTS5 writes what it has gathered as a segment of its own, which cost an add
three times as much. Only texts are indexed, so nothing that happens to an item later touches the index but an
update of its words.
"""

from typing import Final, NamedTuple

import apsw

_TOKENIZER: Final = ("unicode61", ["remove_diacritics", "2"])
"""As the table was made with."""
_SHORTEST_PREFIX: Final = 2
"""Characters that a last word needs to stand for all that begin with it; one letter begins too many."""
_INDEX_NEW: Final = (
    "INSERT INTO search (rowid, message, instructions) SELECT key, message, instructions FROM body"
    " WHERE key > (SELECT ifnull(max(id), 0) FROM search_docsize)"
)
_TAKE_OUT: Final = "INSERT INTO search (search, rowid, message, instructions) VALUES ('delete', ?1, ?2, ?3)"
_PUT_IN: Final = "INSERT INTO search (rowid, message, instructions) VALUES (?1, ?2, ?3)"
_FIND: Final = "SELECT rowid FROM search WHERE search MATCH ? LIMIT ?"
FEW: Final = 1_000
"""Items up to which it is cheapest to read and sort all that hold the words."""

Texts = tuple[str, str | None]
"""Message and instructions."""


class Found(NamedTuple):
    """What the words of a text find."""

    expression: str
    """For MATCH. Each word stands in quotes: nothing of a caller's text is FTS5 syntax."""
    few: list[int] | None
    """The keys of all items that hold the words, whoever owns them; null when there are many."""


def index_new(connection: apsw.Connection) -> None:
    """Index the items that were added since the last time."""
    connection.execute(_INDEX_NEW)


def index_again(connection: apsw.Connection, key: int, before: Texts, after: Texts) -> None:
    """Index other words of an item, which may be new in this group; called before they are stored."""
    index_new(connection)
    connection.execute(_TAKE_OUT, (key, *before))
    connection.execute(_PUT_IN, (key, *after))


def find(connection: apsw.Connection, text: str) -> Found | None:
    """Look for a text; None when it has no word. The last word stands for all that begin with it."""
    name, arguments = _TOKENIZER
    tokenize = connection.fts5_tokenizer(name, arguments)
    words: list[str] = list(
        tokenize(  # type: ignore[arg-type]  # the stub knows only the form with offsets and synonyms
            text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
        )
    )
    if not words:
        return None
    whole = expression = " ".join(f'"{word}"' for word in words)
    keys = _first(connection, whole)
    # PERF: the beginning of a word that 50,000 items hold costs 6 ms, the word itself a fraction of one.
    if len(words[-1]) >= _SHORTEST_PREFIX:
        expression = f"{whole}*"
        if len(keys) <= FEW:
            keys = _first(connection, expression)
    return Found(expression, keys if len(keys) <= FEW else None)


def _first(connection: apsw.Connection, expression: str) -> list[int]:
    """The keys of some items that match: of all of them, or of one more than are few."""
    return [key for (key,) in connection.execute(_FIND, (expression, FEW + 1))]
