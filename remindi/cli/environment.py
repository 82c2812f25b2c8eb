"""The environment: what a start is configured with, out of the process environment, an env file and assets.

The process environment wins over the file, as it does with Compose and systemd.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from remindi import config
from remindi.cli import trust
from remindi.cli.envfile import read_env_file
from remindi.config import Fault, Loaded, Rejected
from web.assets import ASSET_VARIABLES, find_asset_faults

_STAND_IN: Final = {
    "REMINDI_OWNER_ID": "stand-in",
    "REMINDI_MCP_TOKEN": "stand-in-of-sixteen",
    "REMINDI_WEBUI_ENABLE": "false",
}
"""Enough for the rest of a configuration to be read."""
_OF_OPERATOR: Final = ("REMINDI_DB_PATH", "REMINDI_BACKUP_DIR", "REMINDI_OWNER_ID", "REMINDI_MCP_TOKEN")


def merged(env_file: Path | None) -> Mapping[str, str]:
    """The variables of a start.

    Raises:
        EnvFileError: the file cannot be used.
    """
    return {**({} if env_file is None else read_env_file(env_file)), **os.environ}


def load(env_file: Path | None) -> Loaded | Rejected:
    """Read and check everything that step 1 of contract 17.1 asks for; all faults at once.

    What the file says of trusted authorities is in the process environment afterwards.

    Raises:
        EnvFileError: the file cannot be used.
    """
    environ = merged(env_file)
    trust.hand_on(environ)
    loaded = config.load(environ)
    if isinstance(loaded, Rejected):
        return Rejected((*loaded.faults, *_asset_faults_beside(environ)))
    faults = find_asset_faults(loaded.config)
    if faults:
        return Rejected(faults)
    return loaded._replace(warnings=(*loaded.warnings, *trust.find_warnings()))


def load_for_operator(env_file: Path | None) -> Loaded | Rejected:
    """Read what leads to the data and nothing else: no command needs the password of the WebUI.

    What the file says of trusted authorities is in the process environment afterwards.

    Raises:
        EnvFileError: the file cannot be used.
    """
    environ = merged(env_file)
    trust.hand_on(environ)
    needed = {name: environ[name] for name in _OF_OPERATOR if name in environ}
    return config.load({**needed, "REMINDI_WEBUI_ENABLE": "false"})


def _asset_faults_beside(environ: Mapping[str, str]) -> tuple[Fault, ...]:
    """What is wrong with custom assets whose variables are sound, while others are not."""
    named = {name: environ[name] for name in ASSET_VARIABLES if name in environ}
    sound = {
        name: path
        for name, path in named.items()
        if isinstance(config.load(_STAND_IN | {name: path}), Loaded)
    }
    loaded = config.load(_STAND_IN | sound)
    assert isinstance(loaded, Loaded)
    return find_asset_faults(loaded.config)
