"""Strict JSON for every door: what is not plainly JSON is refused, not repaired (contract 2.3).

Beyond the standard library's reading: UTF-8 only, no duplicate names, no NaN or Infinity (a number too large
for a float included), no lone surrogates, bounded nesting.
"""

import json
import math
from itertools import accumulate
from typing import Any, Final, NoReturn

MAX_NESTING: Final = 64
"""Objects and arrays inside each other (contract 2.3)."""

_BRACKETS: Final = b"[]{}"
_NOT_BRACKETS: Final = bytes(code for code in range(256) if code not in _BRACKETS)
_STEPS: Final = bytes.maketrans(_BRACKETS, bytes((2, 0, 2, 0)))
_SLICE: Final = 4_096


class JsonError(ValueError):
    """The text is not JSON as this service takes it."""


def parse(text: bytes, *, nesting: int = MAX_NESTING) -> Any:
    """Read a JSON text.

    Args:
        text: UTF-8 without a byte order mark.
        nesting: how many objects and arrays may lie inside each other.

    Raises:
        JsonError: anything is wrong with it. The error says nothing of the text.
    """
    if text.count(b"[") + text.count(b"{") > nesting and _deeper_than(text, nesting):
        raise JsonError("nested too deeply")
    try:
        decoded = text.decode("utf-8")
        value = _decoder.decode(decoded)
        if b"\\u" in text and "\\ud" in decoded.lower():
            # PERF: only an escape can bring a lone surrogate in, and few texts have one in that range.
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except JsonError:
        raise
    except (ValueError, RecursionError):
        # NOTE: an integer of more digits than Python converts is a plain ValueError.
        raise JsonError("malformed") from None
    return value


def _deeper_than(text: bytes, nesting: int) -> bool:
    """Whether brackets outside of strings nest deeper; for texts that are no JSON any answer will do."""
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(unescaped.split(b'"')[::2])
    steps = outside.translate(_STEPS, _NOT_BRACKETS)
    depth = 0
    # A text of brackets only ends the walk in its first slice.
    for start in range(0, len(steps), _SLICE):
        depths = list(accumulate((step - 1 for step in steps[start : start + _SLICE]), initial=depth))
        if max(depths) > nesting:
            return True
        depth = depths[-1]
    return False


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise JsonError("a name twice")
    return made


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise JsonError("a number too large")
    return number


def _constant(_: str) -> NoReturn:
    raise JsonError("not a number")


_decoder: Final = json.JSONDecoder(object_pairs_hook=_object, parse_float=_float, parse_constant=_constant)
