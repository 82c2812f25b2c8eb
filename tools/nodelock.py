"""Write tests/interop/node/package-lock.json: what npm resolves, without anything that names a host.

Two entries of the package.json beside it need a reason, and JSON has no comments. `node-linux-*` are Node.js
itself as plain packages: the clients need a newer one than machines have, and the package `node` would fetch
it in an install script. `vite` (wanted by the Inspector's web page, which is not used) is held below a
release that names an optional package which does not exist: `npm ci` refuses a lock without it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

NODE = Path(__file__).resolve().parent.parent / "tests" / "interop" / "node"

# Members of a lock entry that hold addresses and decide nothing.
ADDRESSES = frozenset({"funding", "resolved"})


def without_hosts(lock: dict[str, Any]) -> dict[str, Any]:
    """Return the lock without its addresses; what remains pins each package by version and hash."""
    packages = {
        path: {key: value for key, value in entry.items() if key not in ADDRESSES}
        for path, entry in lock["packages"].items()
    }
    return {**lock, "packages": packages}


def main() -> int:
    """Resolve in a temporary folder and write the lock."""
    with TemporaryDirectory() as folder:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            if (NODE / name).exists():
                shutil.copy(NODE / name, folder)
        subprocess.run(["npm", "install", "--package-lock-only"], cwd=folder, check=True)
        lock = json.loads((Path(folder) / "package-lock.json").read_text())
    (NODE / "package-lock.json").write_text(json.dumps(without_hosts(lock), indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
