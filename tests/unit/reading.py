"""Reading in tests: what became of arguments, in one line."""

from typing import Any

from remindi.errors import ErrorCode, Refusal
from remindi.inputs import READERS
from tests.unit.samples import NOW, Arguments


def read(tool: str, arguments: Arguments, now: int = NOW) -> Any:
    """The request that arguments become; fails the test when they are refused."""
    found = READERS[tool](arguments, now)
    assert not isinstance(found, Refusal), found
    return found


def failures(tool: str, arguments: Arguments, now: int = NOW) -> list[tuple[str, str]]:
    """Fields and reasons for which arguments are refused; empty when they are accepted."""
    found = READERS[tool](arguments, now)
    if not isinstance(found, Refusal):
        return []
    assert found.code is ErrorCode.VALIDATION_ERROR
    assert 1 <= len(found.errors) <= 20
    assert all(len(error.field) <= 128 for error in found.errors)
    return [(error.field, error.reason) for error in found.errors]
