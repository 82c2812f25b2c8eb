"""Display: stored text on a terminal. Nothing in it is obeyed, and its width is known.

Whoever stored a text may be hostile to whoever reads it: what a terminal would act on is shown as an escape.
"""

import os
import shutil
import unicodedata
from collections.abc import Mapping
from typing import Final, NamedTuple, TextIO

ELLIPSIS: Final = "…"
_JOINERS: Final = "\u200c\u200d"
"""Format characters that scripts and emoji need, and that reorder nothing."""
_CODES: Final = {"red": "31", "yellow": "33", "green": "32", "bold": "1", "dim": "2"}


class Screen(NamedTuple):
    """Where output goes."""

    width: int | None
    """Columns; null: no terminal, so nothing is cut and identifiers are whole."""
    colour: bool


def screen_of(stream: TextIO, environ: Mapping[str, str]) -> Screen:
    """What is known of a stream; ``NO_COLOR`` and ``TERM=dumb`` turn colour off."""
    if not stream.isatty():
        return Screen(None, colour=False)
    width = shutil.get_terminal_size().columns
    if "COLUMNS" not in environ:
        width = os.get_terminal_size(stream.fileno()).columns or width
    return Screen(max(width, 1), colour=not environ.get("NO_COLOR") and environ.get("TERM") != "dumb")


def escaped(text: str) -> str:
    r"""Text on one line: control, format and other unprintable characters as ``\n``, ``\x1b``, ``\u202e``."""
    if text.isprintable():
        return text
    return "".join(character if _is_shown(character) else _escape(character) for character in text)


def escaped_lines(text: str) -> list[str]:
    """The same line by line; only line feeds stay what they are."""
    return [escaped(line.expandtabs()) for line in text.replace("\r\n", "\n").split("\n")]


def width_of(text: str) -> int:
    """Columns that escaped text takes."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int) -> str:
    """Escaped text in at most ``width`` columns, with an ellipsis where something is left out."""
    if width_of(text) <= width:
        return text
    kept, used = [], 1
    for character in text:
        used += _columns(character)
        if used > width:
            break
        kept.append(character)
    return "".join(kept).rstrip() + ELLIPSIS if width >= 1 else ""


def coloured(text: str, colour: str | None, screen: Screen) -> str:
    """Text in a colour, where the screen has any."""
    return f"\x1b[{_CODES[colour]}m{text}\x1b[0m" if colour is not None and screen.colour else text


def _is_shown(character: str) -> bool:
    return character.isprintable() or character in _JOINERS


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def _columns(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me") or character in _JOINERS:
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
