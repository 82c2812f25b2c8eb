"""Trust: the authorities that vouch for what probes ask, as the environment names them to OpenSSL.

OpenSSL reads these variables from the environment of the process alone, once.
"""

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

FILE: Final = "SSL_CERT_FILE"
FOLDERS: Final = "SSL_CERT_DIR"


def hand_on(environ: Mapping[str, str]) -> None:
    """Give OpenSSL what an env file names."""
    os.environ.update({name: environ[name] for name in (FILE, FOLDERS) if name in environ})


def find_warnings() -> tuple[str, ...]:
    """What an operator should know: authorities that are named and not there. No line holds a path."""
    file, folders = os.environ.get(FILE), os.environ.get(FOLDERS)
    found = []
    if file and not _holds_certificates(Path(file)):
        found.append(f"{FILE} names no file of certificates that can be read; http_health trusts none of it")
    if folders and not any(_is_folder(Path(folder)) for folder in folders.split(os.pathsep)):
        found.append(f"{FOLDERS} names no directory that can be read; http_health trusts none of it")
    return tuple(found)


def _holds_certificates(file: Path) -> bool:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        # Whatever else it may be could be waited for.
        if not file.is_file():
            return False
        context.load_verify_locations(file)
    except OSError:
        return False
    return context.cert_store_stats()["x509"] > 0


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False
