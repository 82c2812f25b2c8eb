"""Tables: rows of escaped text in columns, fitted to a screen."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from remindi.cli.display import Screen, coloured, cut, width_of

GAP: Final = 2
_NARROWEST: Final = 12
"""Columns that the one that may be cut keeps while others are still left out for it."""


class Column(NamedTuple):
    """One column."""

    head: str
    leaves: int = 0
    """On a narrow screen the highest number is left out first; one column stays always."""
    gives: bool = False
    """Whether its cells may be cut; one column of a table is that."""


class Cell(NamedTuple):
    """One cell that has a colour; others are plain text."""

    text: str
    colour: str | None = None


Row = Sequence[str | Cell]


def table(columns: Sequence[Column], rows: Sequence[Row], screen: Screen) -> list[str]:
    """The lines of a table, its heads first; no line is wider than the screen."""
    cells = _cells(rows)
    widths = _widths(columns, cells)
    shown = _shown(columns, widths, screen)
    if screen.width is not None:
        _narrow(columns, widths, shown, screen.width)
    heads = [Cell(column.head) for column in columns]
    return [_line([(row[index], widths[index]) for index in shown], screen) for row in (heads, *cells)]


def left_out(columns: Sequence[Column], rows: Sequence[Row], screen: Screen) -> list[str]:
    """The heads of the columns that ``table`` leaves out of the same."""
    shown = _shown(columns, _widths(columns, _cells(rows)), screen)
    return [column.head for index, column in enumerate(columns) if index not in shown]


def _cells(rows: Sequence[Row]) -> list[list[Cell]]:
    return [[cell if isinstance(cell, Cell) else Cell(cell) for cell in row] for row in rows]


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[Cell]]) -> list[int]:
    return [
        max([width_of(column.head), *(width_of(row[index].text) for row in cells)])
        for index, column in enumerate(columns)
    ]


def _shown(columns: Sequence[Column], widths: Sequence[int], screen: Screen) -> list[int]:
    """The columns that fit, the one that may be cut being narrow."""
    shown = list(range(len(columns)))

    def least(index: int) -> int:
        return min(widths[index], _NARROWEST) if columns[index].gives else widths[index]

    while (
        screen.width is not None
        and len(shown) > 1
        and sum(map(least, shown)) + GAP * (len(shown) - 1) > screen.width
    ):
        shown.remove(max(shown, key=lambda index: columns[index].leaves))
    return shown


def _narrow(columns: Sequence[Column], widths: list[int], shown: Sequence[int], width: int) -> None:
    """Cut the column that may be cut, or the only one, to what the others leave."""
    surplus = sum(widths[index] for index in shown) + GAP * (len(shown) - 1) - width
    if surplus > 0:
        index = next((index for index in shown if columns[index].gives), shown[0])
        widths[index] -= surplus


def _line(cells: Sequence[tuple[Cell, int]], screen: Screen) -> str:
    parts = []
    for cell, width in cells:
        text = cut(cell.text, width)
        parts.append(coloured(text, cell.colour, screen) + " " * (width - width_of(text)))
    return (" " * GAP).join(parts).rstrip()
