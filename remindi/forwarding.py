"""Forwarding headers: what a proxy says of client and prefix, and how far it is believed (contract 11.3)."""

import ipaddress
import re
from collections.abc import Sequence
from typing import Final

from remindi.config import Network

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

MAX_PREFIX_CHARACTERS: Final = 256
_MAPPED: Final = ipaddress.IPv6Network("::ffff:0:0/96")
_ENTRY: Final = re.compile(
    r"""
    (?P<four> [0-9.]+ ) (?: :[0-9]{1,5} )?
    | (?P<six> [0-9A-Fa-f:.]+ ) (?: %[A-Za-z0-9._~-]+ )?
    | \[ (?P<bracketed> [0-9A-Fa-f:.]+ ) (?: %[A-Za-z0-9._~-]+ )? \] (?: :[0-9]{1,5} )?
    """,
    re.VERBOSE,
)
_PREFIX: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[A-Za-z0-9._~-]+)+")


def client_address(peer: str, forwarded_for: Sequence[str], trusted: Sequence[Network]) -> str:
    """The address of the client behind a request, in normal form.

    Args:
        peer: the connecting address; one that is no IP address (a Unix socket's) is taken as it is.
        forwarded_for: the values of the ``X-Forwarded-For`` lines, in order; believed for named peers only.
        trusted: the networks that ``REMINDI_TRUSTED_PROXIES`` names.

    Returns:
        The peer, or the last entry that is not itself named. A malformed entry ends the search at the last
        good one, and so does the first entry of all.
    """
    found = _parse(peer)
    if found is None:
        return peer
    entries = ",".join(forwarded_for).split(",") if forwarded_for else []
    while entries and _is_named(found, trusted):
        entry = _parse(entries.pop().strip(" \t"))
        if entry is None:
            break
        found = entry
    return str(found)


def forwarded_prefix(values: Sequence[str]) -> str:
    """The path prefix of ``X-Forwarded-Prefix``; empty for anything but one well-formed value.

    Args:
        values: the values of its header lines, in order.
    """
    if len(values) != 1 or len(values[0]) > MAX_PREFIX_CHARACTERS or _PREFIX.fullmatch(values[0]) is None:
        return ""
    return values[0]


def _parse(entry: str) -> Address | None:
    """An address without port and zone; an IPv4 one also when it is mapped into IPv6; None when malformed."""
    found = _ENTRY.fullmatch(entry)
    if found is None:
        return None
    try:
        if found["four"] is not None:
            return ipaddress.IPv4Address(found["four"])
        address = ipaddress.IPv6Address(found["bracketed"] or found["six"])
    except ValueError:
        return None
    return address.ipv4_mapped or address


def _is_named(address: Address, trusted: Sequence[Network]) -> bool:
    if any(address in network for network in trusted):
        return True
    if isinstance(address, ipaddress.IPv6Address):
        return False
    # A list may name the mapped form, as a dual-stack socket shows it.
    mapped = ipaddress.IPv6Address(int(_MAPPED.network_address) | int(address))
    return any(
        mapped in network
        for network in trusted
        if isinstance(network, ipaddress.IPv6Network) and network.subnet_of(_MAPPED)
    )
