"""Stored text on a terminal: nothing in it is obeyed, every line fits."""

import io
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.cli.display import Screen, coloured, cut, escaped, escaped_lines, screen_of, width_of
from remindi.cli.tables import Cell, Column, Row, left_out, table

PIPE = Screen(None, colour=False)
COLUMNS = (
    Column("ID"),
    Column("STATE", leaves=2),
    Column("WHEN", leaves=3),
    Column("MESSAGE", leaves=1, gives=True),
)
ROWS: list[Row] = [
    ("a1b2c3d4", "due", "2 h ago", "Look at the build of the nightly report"),
    ("e5f6a7b8", Cell("overdue", "red"), "in 3 d", "日本語の長いメッセージがここにあります"),
]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ü 日本", "plain ü 日本"),
        ("\x1b[2J\x07", r"\x1b[2J\x07"),
        ("a\nb\tc\r", r"a\nb\tc\r"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\x9b31m", r"\x9b31m"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
        ("\u2028", r"\u2028"),
        ("👨\u200d👩", "👨\u200d👩"),
    ],
)
def test_what_a_terminal_would_act_on_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert escaped(text) == shown


@given(st.text(st.characters()))
def test_nothing_that_is_shown_controls_a_terminal_or_turns_text_around(text: str) -> None:
    for line in (escaped(text), *escaped_lines(text)):
        assert not {unicodedata.category(character) for character in line} & {"Cc", "Cs", "Zl", "Zp"}
        assert not set(line) & set("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def test_lines_stay_lines_where_there_is_room_for_them() -> None:
    assert escaped_lines("a\r\nb\n\tc\x00") == ["a", "b", r"        c\x00"]


@given(st.text().map(escaped), st.integers(1, 40))
def test_cut_text_fits_and_says_that_it_was_cut(text: str, width: int) -> None:
    short = cut(text, width)
    assert width_of(short) <= width
    assert short == text or short.endswith("…")


def test_wide_characters_take_two_columns_and_combining_ones_none() -> None:
    assert width_of("日本") == 4
    assert width_of("e\u0301") == 1
    assert cut("日本語", 5) == "日本…"
    assert cut("日本語", 4) == "日…"


def test_a_pipe_gets_the_whole_table_without_colour() -> None:
    lines = table(COLUMNS, ROWS, PIPE)
    assert lines[0].split() == ["ID", "STATE", "WHEN", "MESSAGE"]
    assert lines[2] == "e5f6a7b8  overdue  in 3 d   日本語の長いメッセージがここにあります"
    assert "\x1b" not in "".join(lines)


def test_a_narrow_screen_leaves_columns_out_before_the_message_is_gone() -> None:
    assert table(COLUMNS, ROWS, Screen(50, colour=False))[1].endswith("Look at the build of…")
    assert table(COLUMNS, ROWS, Screen(32, colour=False))[0].split() == ["ID", "STATE", "MESSAGE"]
    assert table(COLUMNS, ROWS, Screen(24, colour=False))[0].split() == ["ID", "MESSAGE"]
    assert table(COLUMNS, ROWS, Screen(8, colour=False)) == ["ID", "a1b2c3d4", "e5f6a7b8"]
    assert table(COLUMNS, ROWS, Screen(4, colour=False)) == ["ID", "a1b…", "e5f…"]


def test_what_is_left_out_can_be_told() -> None:
    assert left_out(COLUMNS, ROWS, PIPE) == []
    assert left_out(COLUMNS, ROWS, Screen(50, colour=False)) == []
    assert left_out(COLUMNS, ROWS, Screen(24, colour=False)) == ["STATE", "WHEN"]


texts = st.text(max_size=30).map(escaped)


@given(st.lists(st.tuples(texts, texts, texts, texts), max_size=5), st.integers(1, 120), st.booleans())
def test_no_line_is_wider_than_the_screen(
    rows: list[tuple[str, str, str, str]], width: int, colour: bool
) -> None:
    cells = [(first, Cell(second, "red"), third, fourth) for first, second, third, fourth in rows]
    for line in table(COLUMNS, cells, Screen(width, colour=colour)):
        assert width_of(re.sub(r"\x1b\[[0-9]+m", "", line)) <= width


def test_colour_is_for_screens_that_have_it() -> None:
    assert coloured("x", "red", Screen(80, colour=True)) == "\x1b[31mx\x1b[0m"
    assert coloured("x", None, Screen(80, colour=True)) == "x"
    assert coloured("x", "red", PIPE) == "x"


def test_what_is_no_terminal_has_neither_width_nor_colour() -> None:
    assert screen_of(io.StringIO(), {"COLUMNS": "40"}) == PIPE
