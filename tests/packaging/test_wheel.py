"""The wheel holds what the service needs and runs outside the checkout."""

import subprocess
from pathlib import Path
from zipfile import ZipFile

import pytest

from remindi import __version__
from tests.packaging.conftest import ROOT, Installed
from tests.service import Service

PACKAGES = ("remindi", "actors", "web", "static", "schema")

pytestmark = pytest.mark.slow


def committed(*folders: str) -> set[str]:
    """Return the committed files below some folders."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *folders], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(listed.stdout.split("\0")) - {""}


def test_every_committed_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        assert committed(*PACKAGES) - set(archive.namelist()) == set()


def test_nothing_else_is_in_the_wheel(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        folders = {name.partition("/")[0] for name in archive.namelist()}
    assert folders == {*PACKAGES, f"remindi-{__version__}.dist-info"}


def test_the_license_goes_with_the_wheel(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        licenses = [name for name in archive.namelist() if name.endswith("/LICENSE")]
        (text,) = (archive.read(name) for name in licenses)
    assert text == (ROOT / "LICENSE").read_bytes()


def test_the_installed_packages_are_those_of_the_wheel(installed: Installed) -> None:
    code = f"import importlib; [print(importlib.import_module(name).__file__) for name in {PACKAGES}]"
    places = installed.python(code).splitlines()
    assert len(places) == len(PACKAGES)
    assert all(Path(place).is_relative_to(installed.folder) for place in places), places


def test_the_installed_command_tells_its_version(installed: Installed) -> None:
    assert __version__ in installed.run(installed.command, "version").split()


def test_the_installed_service_starts_answers_and_stops(installed: Installed, tmp_path: Path) -> None:
    with Service(tmp_path / "service", command=[str(installed.command)]) as service:
        listed = service.rpc("tools/list")["tools"]
        assert len(listed) == 8
        added = service.call(
            "remindi_add",
            {
                "project_id": "wheel",
                "message": "Survive the restart",
                "trigger": {"type": "next_session"},
                "idempotency_key": "wheel-add",
            },
        )
        assert added["ok"]
        assert service.restart() == 0
        items = service.call("remindi_list", {"project_id": "wheel"})["data"]["items"]
        assert [item["id"] for item in items] == [added["data"]["remindi"]["id"]]
