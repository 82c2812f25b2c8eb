"""Search: the words of every message and instruction, kept in the transaction of the item that holds them.

New items are indexed once a group, right before it commits, and not one by one by a trigger: each member is a
savepoint, and at every savepoint FTS5 writes what it has gathered as a segment of its own, which cost an add
three times as much. Only texts are indexed, so nothing that happens to an item later touches the index but an
update of its words.
"""

from typing import Final

import apsw

_TOKENIZER: Final = ("unicode61", ["remove_diacritics", "2"])
"""As the table was made with."""
_SHORTEST_PREFIX: Final = 2
"""Characters from which on the last word stands for all that begin with it; one letter begins too many."""
_INDEX_NEW: Final = (
    "INSERT INTO search (rowid, message, instructions) SELECT key, message, instructions FROM body"
    " WHERE key > (SELECT ifnull(max(id), 0) FROM search_docsize)"
)
_TAKE_OUT: Final = "INSERT INTO search (search, rowid, message, instructions) VALUES ('delete', ?1, ?2, ?3)"
_PUT_IN: Final = "INSERT INTO search (rowid, message, instructions) VALUES (?1, ?2, ?3)"
Texts = tuple[str, str | None]
"""Message and instructions."""


def index_new(connection: apsw.Connection) -> None:
    """Index the items that were added since the last time."""
    connection.execute(_INDEX_NEW)


def index_again(connection: apsw.Connection, key: int, before: Texts, after: Texts) -> None:
    """Index other words of an item, which may be new in this group; called before they are stored."""
    index_new(connection)
    connection.execute(_TAKE_OUT, (key, *before))
    connection.execute(_PUT_IN, (key, *after))


def expression(connection: apsw.Connection, text: str) -> str | None:
    """What finds the items that hold every word of ``text``; None when it has no word, and so finds nothing.

    A word is what the index takes for one, and stands in quotes: nothing of a caller's text is FTS5 syntax.
    """
    name, arguments = _TOKENIZER
    tokenize = connection.fts5_tokenizer(name, arguments)
    words: list[str] = list(
        tokenize(  # type: ignore[arg-type]  # the stub knows only the form with offsets and synonyms
            text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False
        )
    )
    if not words:
        return None
    prefix = "*" if len(words[-1]) >= _SHORTEST_PREFIX else ""
    return " ".join(f'"{word}"' for word in words) + prefix
