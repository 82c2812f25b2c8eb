"""Check, offline, that the lock files still fit pyproject.toml and name no host.

Checked: every dependency is locked in a version that fits, every locked package carries a hash, the
development lock contains the runtime lock version for version, and no committed lock file holds an address.
"""

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent

# Lock files of other ecosystems are held to the same rule: what they pin is a hash, not a place.
NODE_LOCK = "tests/interop/node/package-lock.json"


def locked(text: str) -> Iterator[tuple[str, Version, bool]]:
    """Yield name, version and whether a hash follows, for each package of a requirements file."""
    lines = (line.strip() for line in text.replace("\\\n", " ").splitlines())
    for entry in lines:
        if not entry or entry.startswith("#"):
            continue
        requirement = Requirement(entry.partition(" --hash=")[0])
        pins = list(requirement.specifier)
        if len(pins) != 1 or pins[0].operator != "==":
            raise InvalidRequirement(f"{requirement.name} is not pinned to one version")
        yield canonicalize_name(requirement.name), Version(pins[0].version), "--hash=sha256:" in entry


def unfit(requirements: Iterable[str], pins: Mapping[str, set[Version]]) -> Iterator[str]:
    """Yield a sentence for each requirement that the pins do not satisfy."""
    for text in requirements:
        requirement = Requirement(text)
        versions = pins.get(canonicalize_name(requirement.name), set())
        if not versions:
            yield f"{requirement.name} is not locked"
        elif not all(requirement.specifier.contains(version, prereleases=True) for version in versions):
            yield f"{text} is locked as {', '.join(sorted(map(str, versions)))}"


def faults(root: Path) -> Iterator[str]:
    """Yield a sentence for each fault of the lock files below `root`."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    runtime = project["project"]["dependencies"]
    development = [*runtime, *project["dependency-groups"]["dev"], *project["build-system"]["requires"]]

    pins: dict[str, dict[str, set[Version]]] = {}
    for name, requirements in {"requirements.txt": runtime, "requirements-dev.txt": development}.items():
        pins[name] = {}
        for package, version, hashed in locked((root / name).read_text()):
            pins[name].setdefault(package, set()).add(version)
            if not hashed:
                yield f"{name}: {package} has no hash"
        for fault in unfit(requirements, pins[name]):
            yield f"{name}: {fault}"

    for package, versions in pins["requirements.txt"].items():
        if pins["requirements-dev.txt"].get(package) != versions:
            yield f"requirements-dev.txt: {package} differs from requirements.txt"

    for path, entry in json.loads((root / NODE_LOCK).read_text())["packages"].items():
        if path and "integrity" not in entry:
            yield f"{NODE_LOCK}: {path} has no hash"

    for name in ("requirements.txt", "requirements-dev.txt", NODE_LOCK):
        if "://" in (root / name).read_text():
            yield f"{name}: names a host"


def main() -> int:
    """Print the faults; the exit code is 1 if there are any."""
    found = list(faults(ROOT))
    for fault in found:
        print(fault, file=sys.stderr)
    if found:
        print("Run `make lock` and commit the result.", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
