"""Fixtures that every test folder shares. The service under test is the real process (tests/service.py)."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.service import Service

# A slow machine is no finding: no test of ours measures wall-clock time.
settings.register_profile("remindi", deadline=None)
settings.load_profile("remindi")

MakeService = Callable[..., Service]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """Start a service of its own; it must also stop cleanly at the end of the test."""
    with Service(tmp_path / "service") as running:
        yield running


@pytest.fixture
def make_service(tmp_path: Path) -> Iterator[MakeService]:
    """Make services that are not started yet; whatever still runs at the end of the test is killed."""
    with ExitStack() as cleanup:
        made: list[Service] = []

        def make(**options: Any) -> Service:
            service = Service(tmp_path / f"service-{len(made)}", **options)
            made.append(service)
            cleanup.callback(lambda: service.kill() if service.alive() else None)
            return service

        yield make


@pytest.fixture(scope="session")
def shared_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start one service for the whole session, for tests that keep to a project of their own."""
    with Service(tmp_path_factory.mktemp("shared") / "service") as running:
        yield running
