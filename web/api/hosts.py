"""Hosts: under which names WebUI and API are reachable (contract 11.3)."""

import ipaddress
from functools import lru_cache
from typing import Final

from remindi.config import Config

_LOCAL: Final = "localhost"


class Hosts:
    """The Host headers that are admitted."""

    def __init__(self, config: Config) -> None:
        """Take the list; without one and without authentication, only names that no foreigner can claim."""
        self._listed = config.allowed_hosts
        self._only_local = not config.allowed_hosts and not config.webui_auth

    def admit(self, authority: str) -> bool:
        """Whether a Host in normal form is admitted."""
        if self._listed:
            return authority in self._listed
        # APPSEC: where nobody signs in, a page of any name that resolves to us could act (DNS rebinding).
        return not self._only_local or _is_local(authority)


@lru_cache(maxsize=256)
def _is_local(authority: str) -> bool:
    """Whether an authority is localhost, a name below it, or an IP literal; with any port."""
    if authority.startswith("["):
        return True
    host = authority.partition(":")[0]
    labels = host.split(".")
    if labels[-1] == _LOCAL and all(labels):
        return True
    try:
        ipaddress.IPv4Address(host)
    except ValueError:
        return False
    return True
