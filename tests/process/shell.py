"""The command line as an operator uses it against a service: through a pipe, or on a terminal."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

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
    service: Service, *arguments: str, given: str = "", port: int | None = None, **env: str | None
) -> Done:
    """Run a command through pipes, in the environment of a service's owner.

    Args:
        service: whose environment, and whose port unless another is given.
        arguments: of the command.
        given: standard input.
        port: where the service is said to be.
        env: variables that differ; null removes one.
    """
    done = subprocess.run(
        [sys.executable, "-m", "remindi", *arguments],
        env=environment(service, port, env),
        cwd=service.root,
        input=given,
        capture_output=True,
        text=True,
        timeout=COMMAND_BOUND,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert TOKEN not in done.stdout + done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def on_terminal(service: Service, columns: int, *arguments: str, **env: str | None) -> list[str]:
    """Run a command on a terminal of so many columns; return the lines of its standard output."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen(
        [sys.executable, "-m", "remindi", *arguments],
        env=environment(service, None, {"TERM": "xterm", **env}),
        cwd=service.root,
        stdin=subprocess.DEVNULL,
        stdout=follower,
        stderr=subprocess.PIPE,
    )
    os.close(follower)
    written = b""
    try:
        while block := os.read(leader, 65_536):
            written += block
    except OSError:
        # The end of a terminal that nobody writes to any more.
        pass
    finally:
        os.close(leader)
    _, err = process.communicate(timeout=COMMAND_BOUND)
    assert b"Traceback" not in err, err
    return written.decode().replace("\r\n", "\n").splitlines()


def environment(service: Service, port: int | None, changes: Mapping[str, str | None]) -> dict[str, str]:
    env = {**service.env, "REMINDI_URL": f"http://{HOST}:{port or service.port}", "TZ": "UTC", **changes}
    return {name: value for name, value in env.items() if value is not None}
