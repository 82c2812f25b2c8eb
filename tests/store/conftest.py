"""Fixtures of the store tests: a core on a file of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.core import Core
from tests.fakes.script import Script


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "remindi.db"


@pytest.fixture
def core(path: Path) -> Iterator[Core]:
    with Core(path) as running:
        yield running


@pytest.fixture
def script(core: Core) -> Script:
    return Script(core)
