"""The operator's page of backups: its commands run as they stand there, its messages are the code's."""

import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.conftest import MakeService
from tests.process.shell import remindi
from tests.service import Service

ROOT: Final = Path(__file__).parents[2]
PAGE: Final = (ROOT / "docs" / "backup-and-restore.md").read_text()
README: Final = (ROOT / "README.md").read_text()
RSYNC: Final = """#!/bin/sh
# In place of rsync, which not every machine has: what the page's filters let through is copied.
for last; do from="$to"; to="$last"; done
mkdir -p "$to" && cp -p "$from"remindi-*.sqlite3 "$from"remindi-*.sqlite3.json "$to"
"""


class Block(NamedTuple):
    """Commands of the page, and how the service is before them."""

    state: str
    text: str


def blocks() -> list[Block]:
    found = re.findall(r"(?:<!-- run: (\w+) -->\n)?```sh\n(.*?)```", PAGE, re.DOTALL)
    return [Block(state or "running", text) for state, text in found]


def bring_to(service: Service, state: str) -> None:
    if state == "running":
        if not service.alive():
            service.start()
        return
    if service.alive():
        assert service.stop() == 0
    if state == "broken":
        with service.database.open("r+b") as file:
            file.seek(4_096)
            file.write(b"\xff" * 65_536)


@pytest.fixture
def service(make_service: MakeService) -> Service:
    """A service as `make serve` leaves one: its env file and directories are in `.remindi`."""
    made = make_service()
    home = made.root / ".remindi"
    home.mkdir()
    (home / "remindi.env").write_text(
        "".join(f"{name}={value}\n" for name, value in made.env.items() if name.startswith("REMINDI_"))
    )
    (home / "backups").symlink_to(made.backups)
    programs = made.root / "bin"
    programs.mkdir()
    for name, text in (("remindi", f'#!/bin/sh\nexec {sys.executable} -m remindi "$@"\n'), ("rsync", RSYNC)):
        (programs / name).write_text(text)
        (programs / name).chmod(stat.S_IRWXU)
    return made


def run(service: Service, text: str) -> str:
    elsewhere = service.root / "elsewhere"
    text = text.replace("/mnt/elsewhere", str(elsewhere)).replace(
        "127.0.0.1:8000", f"127.0.0.1:{service.port}"
    )
    done = subprocess.run(
        ["sh", "-eu", "-c", text],
        env={
            "PATH": f"{service.root / 'bin'}:{os.defpath}",
            "PYTHONPATH": str(ROOT),
            "HOME": str(service.root),
            "TMPDIR": str(service.root / "tmp"),
            "REMINDI_URL": f"http://127.0.0.1:{service.port}",
            "LANG": "C.UTF-8",
        },
        cwd=service.root,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, (text, done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    return done.stdout


def test_every_command_of_the_page_works_in_its_order(service: Service) -> None:
    (walk,) = re.findall(r"```sh\n(API=.*?)```", README, re.DOTALL)
    sign_in = walk.partition('call "$API/remindi?')[0]
    service.start()
    assert remindi(service, "add", "kept", "--project", "page", "--at", "2999-01-01 00:00").code == 0
    said = []
    for block in blocks():
        bring_to(service, block.state)
        said.append(run(service, sign_in + block.text if "$API" in block.text else block.text))
    text = "\n".join(said)
    assert "The backup is live now." in text
    assert "What was there is kept:" in text
    assert '"outcome":"succeeded"' in text.replace(" ", "")
    assert "1 item written" in text
    assert "0 items stored; 1 are there already" in text
    bring_to(service, "running")
    assert "kept" in remindi(service, "list", "--project", "page").out
    assert service.stop() == 0


@pytest.mark.docs
def test_every_message_of_the_page_is_one_of_the_code() -> None:
    sources = "".join(
        path.read_text()
        for folder in ("actors", "remindi", "web")
        for path in sorted((ROOT / folder).rglob("*.py"))
    )
    joined = re.sub(r'"\s*\n\s*f?"', "", sources).replace("\\'", "'")
    rows = re.findall(r"^\| (`[^|]*`) \| [^|]* \|$", PAGE.partition("## What each failure")[2], re.MULTILINE)
    assert len(rows) > 10
    for row in rows:
        for message in re.findall(r"`([^`]*)`", row):
            for part in message.split("…"):
                assert part.strip() in joined, message


@pytest.mark.docs
def test_the_page_is_linked_and_links_to_what_is_there() -> None:
    assert "](docs/backup-and-restore.md)" in README
    links = re.findall(r"\]\((?![a-z]+:|#)([^)#\s]+)", PAGE)
    assert [link for link in links if not (ROOT / "docs" / link).exists()] == []
