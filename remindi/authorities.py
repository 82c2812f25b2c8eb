"""Authorities and origins: the one reading of Host, Origin and their lists (contract 10.1).

Normal forms are compared as text: the host in lower case, the port as written, IPv6 in brackets and
compressed.
"""

import ipaddress
import re
from functools import lru_cache
from typing import Final, NamedTuple

MAX_AUTHORITY_CHARACTERS: Final = 261
"""253 characters of a name, a colon and a port, with room for the brackets of IPv6."""

_NAME: Final = re.compile(r"([A-Za-z0-9._~-]+)(?::([0-9]{1,5}))?")
_IPV6: Final = re.compile(r"\[([0-9A-Fa-f:.]+)\](?::([0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"([Hh][Tt][Tt][Pp][Ss]?)://(.*)", re.DOTALL)


class Origin(NamedTuple):
    """A web origin in normal form."""

    scheme: str
    authority: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.authority}"


# PERF: one client sends the same header again and again; the bound keeps a hostile one from filling memory.
@lru_cache(maxsize=256)
def parse_authority(text: str) -> str | None:
    """The normal form of ``host`` or ``host:port``; None when it is malformed.

    Nothing but a name, an IPv4 address or a bracketed IPv6 address is taken: no user info, white space,
    percent-encoding, zone or empty port.
    """
    if len(text) > MAX_AUTHORITY_CHARACTERS:
        return None
    if (found := _NAME.fullmatch(text)) is not None:
        host = found[1].lower()
    elif (found := _IPV6.fullmatch(text)) is not None:
        try:
            host = f"[{ipaddress.IPv6Address(found[1])}]"
        except ValueError:
            return None
    else:
        return None
    port = found[2]
    if port is None:
        return host
    return f"{host}:{port}" if int(port) <= 65_535 else None


@lru_cache(maxsize=256)
def parse_origin(text: str) -> Origin | None:
    """The normal form of ``http(s)://authority``; None for anything else, ``null`` and a path included."""
    found = _ORIGIN.fullmatch(text)
    if found is None:
        return None
    authority = parse_authority(found[2])
    return None if authority is None else Origin(found[1].lower(), authority)
