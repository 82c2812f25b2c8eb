"""A house for every test, and somebody signed in."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.api import Browser, House, house

MakeHouse = Callable[..., House]


@pytest.fixture
def make_house(tmp_path: Path) -> Iterator[MakeHouse]:
    """Make houses; each option is a field of the configuration."""
    with ExitStack() as stack:
        made = iter(range(100))

        def make(**config: Any) -> House:
            return stack.enter_context(house(tmp_path / f"{next(made)}.db", **config))

        yield make


@pytest.fixture
def home(make_house: MakeHouse) -> House:
    return make_house()


@pytest.fixture
def browser(home: House) -> Browser:
    """Somebody is signed in."""
    return home.signed_in()
