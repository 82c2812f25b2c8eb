"""The wheel, built once, and a virtual environment that holds it and nothing of the checkout."""

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent


@dataclass(frozen=True, slots=True)
class Installed:
    """A virtual environment with the wheel, outside the checkout."""

    folder: Path

    @property
    def command(self) -> Path:
        """The console script."""
        return self.folder / "bin" / "remindi"

    def run(self, *arguments: str | Path) -> str:
        """Run a command in an empty environment, away from the checkout, and return what it prints."""
        done = subprocess.run(
            arguments,
            env={},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def python(self, code: str) -> str:
        """Run code with the environment's own Python and return what it prints."""
        return self.run(self.folder / "bin" / "python", "-c", code)


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the locked build backend, without network."""
    out = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Install the wheel into a fresh environment, without index.

    Its dependencies are those of the environment that runs the tests. They come in through a path file, which
    does not follow that environment's own path files: its editable install of the checkout stays invisible.
    """
    folder = tmp_path_factory.mktemp("installed") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "--quiet"]
    subprocess.run([*pip, "install", "--no-index", "--no-deps", str(wheel)], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return Installed(folder)
