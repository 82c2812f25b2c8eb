"""The command line as an operator uses it against a service: through a pipe, or on a terminal.

Commands run in this process, which has loaded them already, with environment, folder and streams of their
own; what only a process of its own can show has one (``in_a_process``).
"""

import fcntl
import io
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO, cast
from unittest import mock

from remindi.__main__ import main
from tests.service import HOST, TOKEN, Service

COMMAND_BOUND: Final = 60.0
"""Seconds, for broken code."""


@dataclass(frozen=True, slots=True)
class Done:
    """What a command said."""

    code: int
    out: str
    err: str

    def json(self) -> Any:
        """The one line of JSON on standard output."""
        (line,) = self.out.splitlines()
        return json.loads(line)

    def id(self) -> str:
        """The id that the answer to a change names."""
        found = re.search(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", self.out)
        assert found is not None, self
        return found[0]


def remindi(
    service: Service,
    *arguments: str,
    given: str = "",
    port: int | None = None,
    cwd: Path | None = None,
    **env: str | None,
) -> Done:
    """Run a command through pipes, in the environment of a service's owner.

    Args:
        service: whose environment, and whose port unless another is given.
        arguments: of the command.
        given: standard input.
        port: where the service is said to be.
        cwd: another folder than that of the service.
        env: variables that differ; null removes one.
    """
    out, err = _pipe(env), _pipe({})
    given_bytes = io.TextIOWrapper(io.BytesIO(given.encode()), encoding="utf-8")
    with _as(environment(service, port, env), cwd or service.root, given_bytes, out, err):
        code = _main(arguments)
    return _checked(Done(code, _written(out), _written(err)))


def in_a_process(
    line: tuple[str, ...], env: Mapping[str, str], cwd: Path, given: str = "", prefix: tuple[str, ...] = ()
) -> Done:
    """Run a command in a process of its own, behind a prefix that becomes it by exec."""
    done = subprocess.run(
        [*prefix, sys.executable, "-m", "remindi", *line],
        env=env,
        cwd=cwd,
        input=given,
        capture_output=True,
        text=True,
        timeout=COMMAND_BOUND,
        check=False,
    )
    return _checked(Done(done.returncode, done.stdout, done.stderr))


def on_terminal(service: Service, columns: int, *arguments: str, **env: str | None) -> list[str]:
    """Run a command on a terminal of so many columns; return the lines of its standard output."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    blocks: list[bytes] = []
    reading = threading.Thread(target=lambda: blocks.extend(_blocks(leader)))
    reading.start()
    out, err = os.fdopen(follower, "w", encoding="utf-8"), _pipe({})
    given = io.TextIOWrapper(io.BytesIO())
    with out, _as(environment(service, None, {"TERM": "xterm", **env}), service.root, given, out, err):
        _main(arguments)
    reading.join(COMMAND_BOUND)
    os.close(leader)
    _checked(Done(0, "", _written(err)))
    return b"".join(blocks).decode().replace("\r\n", "\n").splitlines()


class _Left(BaseException):
    """A command that would have ended its process at once."""


def _main(arguments: tuple[str, ...]) -> int:
    try:
        return main(list(arguments))
    except _Left as left:
        return int(left.args[0])


def _leave(code: int) -> NoReturn:
    raise _Left(code)


def _blocks(leader: int) -> Iterator[bytes]:
    try:
        while block := os.read(leader, 65_536):
            yield block
    except OSError:
        # The end of a terminal that nobody writes to any more.
        pass


def _pipe(env: Mapping[str, str | None]) -> TextIO:
    encoding = env.get("PYTHONIOENCODING") or "utf-8"
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)


def _written(stream: TextIO) -> str:
    return cast(io.BytesIO, stream.buffer).getvalue().decode()


def _checked(done: Done) -> Done:
    assert "Traceback" not in done.err, done.err
    assert TOKEN not in done.out + done.err
    return done


@contextmanager
def _as(env: Mapping[str, str], folder: Path, given: TextIO, out: TextIO, err: TextIO) -> Iterator[None]:
    """What a process has of its own and a command may change, for the length of the block."""
    here, interrupt, mask = Path.cwd(), signal.getsignal(signal.SIGINT), os.umask(0o022)
    os.chdir(folder)
    try:
        with (
            mock.patch.dict(os.environ, env, clear=True),
            mock.patch.multiple(sys, stdin=given, stdout=out, stderr=err),
            mock.patch.object(os, "_exit", _leave),
        ):
            yield
    finally:
        os.chdir(here)
        signal.signal(signal.SIGINT, interrupt)
        os.umask(mask)


def environment(service: Service, port: int | None, changes: Mapping[str, str | None]) -> dict[str, str]:
    env = {**service.env, "REMINDI_URL": f"http://{HOST}:{port or service.port}", "TZ": "UTC", **changes}
    return {name: value for name, value in env.items() if value is not None}
