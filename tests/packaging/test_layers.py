"""The import contracts hold what they promise: each breaks on the import that it forbids.

They are tried on a small tree of the same shape, since a contract that matches nothing passes in silence.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import ROOT

# A house in order: what each module of the small tree may import.
TREE = {
    "remindi/__init__.py": "",
    "remindi/__main__.py": "import actors.writer, web.asgi, remindi.cli, os",
    "remindi/cli/__init__.py": "",
    "remindi/cli/init.py": "import remindi.items, actors.store.database, os",
    "remindi/items.py": "import json",
    "actors/__init__.py": "",
    "actors/messages/__init__.py": "",
    "actors/messages/writer.py": "import remindi.items",
    "actors/writer.py": "import pykka, threading, actors.messages.writer, actors.store.database",
    "actors/store/__init__.py": "",
    "actors/store/database.py": "import apsw, remindi.items",
    "actors/probes/__init__.py": "",
    "actors/probes/pool.py": "import actors.probes.adapters",
    "actors/probes/adapters.py": "import actors.probes.http_health, actors.probes.tcp_reachable",
    "actors/probes/connecting.py": "import remindi.items",
    "actors/probes/file_exists.py": "import remindi.items",
    "actors/probes/http_health.py": "import requests, actors.probes.connecting",
    "actors/probes/observation_window_ended.py": "import remindi.items",
    "actors/probes/tcp_reachable.py": "import actors.probes.connecting",
    "web/__init__.py": "",
    "web/asgi.py": "import falcon, actors.messages.writer, remindi.items",
}

VIOLATIONS = {
    "the domain imports an actor": ("remindi/items.py", "import actors.writer"),
    "an actor imports a door": ("actors/writer.py", "import web.asgi"),
    "the domain starts a thread": ("remindi/items.py", "import threading"),
    "the domain opens a socket": ("remindi/items.py", "import socket"),
    "the domain reads the environment": ("remindi/items.py", "import os"),
    "the domain reads the clock": ("remindi/items.py", "import time"),
    "the domain knows a server": ("remindi/items.py", "import falcon"),
    "the domain knows SQLite": ("remindi/items.py", "import apsw"),
    "the command line knows SQLite": ("remindi/cli/init.py", "import apsw"),
    "an actor other than the store knows SQLite": ("actors/writer.py", "import apsw"),
    "a door knows SQLite": ("web/asgi.py", "import sqlite3"),
    "a door reaches into the store": ("web/asgi.py", "import actors.store.database"),
    "a door speaks pykka": ("web/asgi.py", "import pykka"),
    "a message imports its receiver": ("actors/messages/writer.py", "import actors.writer"),
    "a message imports a library": ("actors/messages/writer.py", "import pykka"),
    "a probe imports another": ("actors/probes/http_health.py", "import actors.probes.tcp_reachable"),
    "the pool imports a probe": ("actors/probes/pool.py", "import actors.probes.file_exists"),
    "the domain sends requests": ("remindi/items.py", "import requests"),
    "somebody imports the composition root": ("web/asgi.py", "import remindi.cli.init"),
    "the domain imports the composition root": ("remindi/items.py", "import remindi.__main__"),
}


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the contracts of the repository on the tree in a folder."""
    shutil.copy(ROOT / ".importlinter", folder)
    return subprocess.run(
        [Path(sys.executable).with_name("lint-imports"), "--no-cache"],
        env={"PYTHONPATH": str(folder), "PATH": os.defpath},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def build(folder: Path) -> None:
    """Write the small tree."""
    for name, imports in TREE.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{imports}\n")


def test_a_house_in_order_passes(tmp_path: Path) -> None:
    build(tmp_path)
    done = lint(tmp_path)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


@pytest.mark.parametrize("violation", VIOLATIONS)
def test_the_contracts_break_when(violation: str, tmp_path: Path) -> None:
    build(tmp_path)
    name, statement = VIOLATIONS[violation]
    with (tmp_path / name).open("a") as module:
        module.write(f"{statement}\n")
    done = lint(tmp_path)
    assert done.returncode == 1, done.stdout
    assert " BROKEN" in done.stdout
