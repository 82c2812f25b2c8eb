"""The log filter: which lines REMINDI_LOG_LEVEL lets through (contract 17.2, 17.4). Pure."""

import logging
import re
from typing import Final, NamedTuple

TRACE: Final = 5
OFF: Final = logging.CRITICAL + 10
LEVELS: Final = {
    "off": OFF,
    "error": logging.ERROR,
    "warn": logging.WARNING,
    "info": logging.INFO,
    "debug": logging.DEBUG,
    "trace": TRACE,
}
"""The words of the filter and the ``logging`` levels they stand for."""

_TARGET: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(?:\.[A-Za-z_][A-Za-z0-9_-]*)*")


class LogFilter(NamedTuple):
    """A level for everything, and levels for single targets with what lies below them."""

    level: int
    targets: tuple[tuple[str, int], ...] = ()
    """Logger name and its level."""


DEFAULT: Final = LogFilter(logging.INFO)


def parse_log_filter(text: str) -> LogFilter:
    """Read a level, or a comma list of at most one level and of ``target=level`` entries.

    Raises:
        ValueError: the text is empty, names an unknown level, or names something twice.
    """
    level: int | None = None
    targets: dict[str, int] = {}
    for entry in (part.strip() for part in text.split(",")):
        target, equals, word = (part.strip() for part in entry.partition("="))
        if not equals:
            if level is not None:
                raise ValueError("two levels for everything")
            level = _level(target)
        elif target in targets or _TARGET.fullmatch(target) is None:
            raise ValueError("a target twice, or none")
        else:
            targets[target] = _level(word)
    return LogFilter(DEFAULT.level if level is None else level, tuple(targets.items()))


def _level(word: str) -> int:
    try:
        return LEVELS[word.lower()]
    except KeyError:
        raise ValueError("no such level") from None
