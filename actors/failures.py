"""Failures of the database as seen by the actors that lean on it: told apart, and put in words."""

from typing import Final, TypeVar

from remindi.errors import Refusal

T = TypeVar("T")

_WORDS: Final = {
    "Overloaded": "The database has too many requests waiting.",
    "Unavailable": "The database is closed or being restarted.",
    "Paused": "The database is closed for maintenance.",
    "OutcomeUnknown": "The database did not answer in time.",
    "DatabaseRefused": "The database stayed locked by another program.",
    "StorageFailed": "Reading or writing the database failed.",
    "Damaged": "The database is damaged.",
}
"""By the name of the exception: the store's own are nothing that its users import."""


class DatabaseRefused(Exception):
    """The database stayed locked by another program for the whole busy timeout."""


def unrefused(answer: T) -> T:
    """An answer that is none of the refusals with which the writer meets a locked database.

    Raises:
        DatabaseRefused: it is one.
    """
    if isinstance(answer, Refusal):
        raise DatabaseRefused
    return answer


def in_words(error: BaseException) -> str:
    """One fixed sentence for an exception, as a workload row shows it; never its own text."""
    name = type(error).__name__
    return _WORDS.get(name, f"An unexpected {name}; the log says more.")
