"""What the interop tests share: the marker, the installed Node clients, one service for the folder."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.service import Service

HERE = Path(__file__).resolve().parent
INSTALLED = HERE.parent.parent / ".interop"

# A client that hangs is a failure, in seconds.
CLIENT_BOUND = 120


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test of this folder."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.interop)


@dataclass(frozen=True, slots=True)
class Node:
    """The Node packages of `node/package.json`, installed in `.interop/`, and the Node.js among them."""

    folder: Path
    home: Path

    def run(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Node.js with a home folder of its own; the exit code is the caller's business."""
        (executable,) = self.folder.glob("node_modules/node-linux-*/bin/node")
        return subprocess.run(
            [executable, *arguments],
            env={
                "PATH": f"{executable.parent}{os.pathsep}{os.defpath}",
                "HOME": str(self.home),
                "NO_COLOR": "1",
                **(env or {}),
            },
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=CLIENT_BOUND,
            check=False,
        )

    def command(self, name: str, arguments: Sequence[str | Path]) -> subprocess.CompletedProcess[str]:
        """Run the command that a package installed."""
        return self.run(self.folder / "node_modules" / ".bin" / name, *arguments)

    def script(self, name: str, settings: Mapping[str, Any]) -> Any:
        """Run one of our scripts and return the JSON it prints."""
        done = self.run(self.folder / name, env={"REMINDI_INTEROP": json.dumps(settings)})
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)


@pytest.fixture(scope="session")
def node(tmp_path_factory: pytest.TempPathFactory) -> Node:
    """Return the installed Node clients; their absence is a failure, so that nothing is skipped unseen."""
    if not (INSTALLED / "node_modules").is_dir():
        pytest.fail("the Node clients are not installed: run `make interop`")
    for script in HERE.glob("node/*.mjs"):
        shutil.copy(script, INSTALLED)
    return Node(INSTALLED, tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start one service for the tests of a module; each keeps to a project of its own."""
    with Service(tmp_path_factory.mktemp("interop") / "service") as running:
        yield running
