"""The environment: what a start is configured with, out of the process environment, an env file and assets.

The process environment wins over the file, as it does with Compose and systemd.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from remindi import config
from remindi.cli.envfile import read_env_file
from remindi.config import Loaded, Rejected
from web.assets import find_asset_faults


def merged(env_file: Path | None) -> Mapping[str, str]:
    """The variables of a start.

    Raises:
        EnvFileError: the file cannot be used.
    """
    return {**({} if env_file is None else read_env_file(env_file)), **os.environ}


def load(env_file: Path | None) -> Loaded | Rejected:
    """Read and check everything that step 1 of contract 17.1 asks for; all faults at once.

    Raises:
        EnvFileError: the file cannot be used.
    """
    loaded = config.load(merged(env_file))
    if isinstance(loaded, Rejected):
        return loaded
    faults = find_asset_faults(loaded.config)
    return Rejected(faults) if faults else loaded
