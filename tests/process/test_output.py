"""Standard output that is closed, full or read no further: commands end as they would have."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.service import Service

COMMANDS: Final = (
    ("version",),
    ("--help",),
    ("init", "--dir", "state"),
    ("schema", "--check"),
    ("adapters", "list"),
)
each_command = pytest.mark.parametrize(
    "command",
    [
        pytest.param(
            command, id=" ".join(command), marks=[pytest.mark.slow] if command[0] == "schema" else []
        )
        for command in COMMANDS
    ],
)
FULL: Final = "remindi: standard output cannot be written: No space left on device.\n"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that runs: a command has the least to load then."""
    with Service(tmp_path_factory.mktemp("output") / "service") as service:
        yield service


def run(
    service: Service,
    command: tuple[str, ...],
    cwd: Path,
    out: int,
    *,
    err: int = subprocess.PIPE,
    prefix: tuple[str, ...] = (),
) -> tuple[int, str]:
    """The exit code of a command with this standard output, and what it says on standard error."""
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "remindi", *command],
        env=service.env | {"PYTHONPATH": str(Path(__file__).parents[2])},
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stdout=out,
        stderr=err,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stderr or ""


def unread() -> int:
    """The end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


@each_command
def test_a_reader_who_has_gone_is_not_spoken_of(
    running: Service, tmp_path: Path, command: tuple[str, ...]
) -> None:
    out = unread()
    try:
        assert run(running, command, tmp_path, out) == (0, "")
    finally:
        os.close(out)


@each_command
def test_a_device_that_is_full_is_told_in_one_line(
    running: Service, tmp_path: Path, command: tuple[str, ...]
) -> None:
    with Path("/dev/full").open("wb") as full:
        code, told = run(running, command, tmp_path, full.fileno())
    # A check that finds nothing wrong says nothing.
    assert (code, told) == ((0, "") if command[0] == "schema" else (73, FULL))


@each_command
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_streams_that_were_closed_before_are_done_without(
    running: Service, tmp_path: Path, command: tuple[str, ...], closed: str
) -> None:
    prefix = ("sh", "-c", f'exec "$@" {closed}', "sh")
    assert run(running, command, tmp_path, subprocess.DEVNULL, prefix=prefix) == (0, "")


def test_a_refusal_that_nobody_reads_keeps_its_code(running: Service, tmp_path: Path) -> None:
    gone = unread()
    try:
        for command, code in ((("adapters", "show", "x"), 1), (("nonsense",), 2)):
            assert run(running, command, tmp_path, gone, err=gone) == (code, "")
    finally:
        os.close(gone)


def test_what_was_set_is_set_whoever_listens(running: Service, tmp_path: Path) -> None:
    file = tmp_path / "adapter.json"
    file.write_text('{"enabled": true, "configuration": {"type": "observation_window_ended"}}')
    setting = ("adapters", "set", "observation_window_ended", "--file", str(file))
    with Path("/dev/full").open("wb") as full:
        assert run(running, setting, tmp_path, full.fileno()) == (73, FULL)
    out = unread()
    try:
        assert run(running, setting, tmp_path, out) == (0, "")
    finally:
        os.close(out)
    show = [sys.executable, "-m", "remindi", "adapters", "show", "observation_window_ended"]
    shown = subprocess.run(show, env=running.env, capture_output=True, text=True, timeout=60, check=True)
    assert '"expected_version": 3' in shown.stdout
