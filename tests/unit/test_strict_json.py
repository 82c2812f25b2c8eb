"""The one JSON reading of all doors (contract 2.3)."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from web.strict_json import MAX_NESTING, JsonError, parse

TEXTS = st.text(st.characters(codec="utf-8"))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner) | st.dictionaries(TEXTS, inner),
    max_leaves=20,
)


def nested(levels: int, opening: str = "[", closing: str = "]") -> bytes:
    """Return so many arrays or objects inside each other."""
    return (opening * levels + ("1" if opening != "[" else "") + closing * levels).encode()


@given(VALUES, st.booleans())
def test_what_json_writes_is_read_back_value_for_value(value: Any, ascii_only: bool) -> None:
    assert parse(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"{]",
        b"[1,]",
        b'{"a":1,}',
        b"{'a':1}",
        b"[1] 2",
        b"01",
        b"+1",
        b".5",
        b"1.",
        b"0x1",
        b"NaN",
        b"Infinity",
        b"-Infinity",
        b"[NaN]",
        b"1e400",
        b"-1e400",
        b"1" + b"0" * 400 + b".0",
        b'{"a":{"b":[1e999]}}',
        b'{"a":1,"a":2}',
        b'{"a":1,"\\u0061":2}',
        b'[{"x":{"a":1,"b":2,"a":1}}]',
        b'"\\ud800"',
        b'"\\uDC00"',
        b'"\\ud800\\ud800"',
        b'"\\udc00\\ud800"',
        b'{"\\ud800":1}',
        b'["\\ud83d\\ude00", "\\ud83d"]',
        b'"\xed\xa0\x80"',
        b'"\xff"',
        b'"\xc0\x80"',
        b"\xef\xbb\xbf{}",
        '{"a":1}'.encode("utf-16"),
        b'"a\nb"',
        b'"a\x00b"',
        b'"\\x41"',
        b'"\\u00"',
        b'"open',
        b"\x00",
        b"9" * 5_000,
    ],
)
def test_what_is_not_strictly_json_is_refused(text: bytes) -> None:
    with pytest.raises(JsonError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b' {"a" : [1, -0, 2.5, 1e3, true, null]}\n', {"a": [1, 0, 2.5, 1000.0, True, None]}),
        (b'"\\ud83d\\ude00 \\uD83D\\uDE00"', "\U0001f600 \U0001f600"),
        (b'"\\\\ud800"', "\\ud800"),
        (b'"\\u0000\\n"', "\x00\n"),
        (b"123456789012345678901234567890", 123456789012345678901234567890),
        (b"1e-400", 0.0),
        (b'"\x7f"', "\x7f"),
    ],
)
def test_what_is_json_is_read(text: bytes, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('[{"a":[', "]}]")])
def test_nesting_is_bounded_exactly(opening: str, closing: str) -> None:
    each = opening.count("[") + opening.count("{")
    fits = MAX_NESTING // each
    assert parse(nested(fits, opening, closing)) is not None
    with pytest.raises(JsonError):
        parse(nested(fits + 1, opening, closing))
    assert parse(nested(fits + 1, opening, closing), nesting=MAX_NESTING + each) is not None


@pytest.mark.parametrize("count", [65, 4_095, 4_096, 4_097, 100_000, 1_000_000])
def test_a_tower_of_brackets_is_refused_whatever_its_height(count: int) -> None:
    for text in (b"[" * count, nested(count), b'{"a":' * count, b"]" * count, b'"' + b"[" * count):
        with pytest.raises(JsonError):
            parse(text)


def test_many_brackets_side_by_side_or_in_strings_are_no_nesting() -> None:
    side_by_side = b"[" + b",".join([b"[{}]"] * 10_000) + b"]"
    assert len(parse(side_by_side)) == 10_000
    in_strings = json.dumps(["[" * 1_000, "\\", '"[[[[', "{" * 1_000 + '"\\']).encode()
    assert parse(in_strings) == json.loads(in_strings)


@given(VALUES, st.integers(0, 8))
def test_nesting_counts_as_a_walk_counts_it(value: Any, limit: int) -> None:
    text = json.dumps(value).encode()
    try:
        parse(text, nesting=limit)
    except JsonError:
        assert depth(value) > limit
    else:
        assert depth(value) <= limit


@given(st.binary(max_size=60) | st.text(alphabet='[]{}":,\\ud8e0 1', max_size=40).map(str.encode))
def test_no_text_makes_it_raise_anything_else(text: bytes) -> None:
    try:
        value = parse(text)
    except JsonError:
        return
    # What passes is plain: it can be written again, as UTF-8.
    json.dumps(value, allow_nan=False, ensure_ascii=False).encode()


def depth(value: Any) -> int:
    """Return how many arrays and objects lie inside each other."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth, value), default=0)
    assert not isinstance(value, float) or not math.isinf(value)
    return 0
