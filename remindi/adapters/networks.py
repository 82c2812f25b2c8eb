"""Networks: which addresses a probe may never reach (contract 7.5). Pure; data first, then one question."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, NamedTuple


class Block(NamedTuple):
    """One entry of the deny list."""

    network: IPv4Network | IPv6Network
    name: str
    """As the IANA registry calls it."""
    source: str
    """The document that sets it apart."""
    lifted: bool = False
    """Whether ``allow_private`` lifts the ban."""


def _block(network: str, name: str, source: str, *, lifted: bool = False) -> Block:
    return Block(ip_network(network), name, source, lifted)


IPV4_BLOCKS: Final = (
    _block("0.0.0.0/8", "this network", "RFC 791"),
    _block("10.0.0.0/8", "private use", "RFC 1918", lifted=True),
    _block("100.64.0.0/10", "shared address space", "RFC 6598", lifted=True),
    _block("127.0.0.0/8", "loopback", "RFC 1122", lifted=True),
    _block("169.254.0.0/16", "link local", "RFC 3927"),
    _block("172.16.0.0/12", "private use", "RFC 1918", lifted=True),
    _block("192.0.0.0/24", "IETF protocol assignments", "RFC 6890"),
    _block("192.0.2.0/24", "documentation (TEST-NET-1)", "RFC 5737"),
    _block("192.88.99.0/24", "deprecated 6to4 relay anycast", "RFC 7526"),
    _block("192.168.0.0/16", "private use", "RFC 1918", lifted=True),
    _block("198.18.0.0/15", "benchmarking", "RFC 2544"),
    _block("198.51.100.0/24", "documentation (TEST-NET-2)", "RFC 5737"),
    _block("203.0.113.0/24", "documentation (TEST-NET-3)", "RFC 5737"),
    _block("224.0.0.0/4", "multicast", "RFC 5771"),
    _block("240.0.0.0/4", "reserved, limited broadcast", "RFC 1112, RFC 8190"),
)

IPV6_BLOCKS: Final = (
    _block("::/128", "unspecified address", "RFC 4291"),
    _block("::1/128", "loopback address", "RFC 4291", lifted=True),
    _block("64:ff9b::/96", "IPv4-IPv6 translation", "RFC 6052"),
    _block("64:ff9b:1::/48", "IPv4-IPv6 translation, local use", "RFC 8215"),
    _block("100::/64", "discard only", "RFC 6666"),
    _block("100:0:0:1::/64", "dummy prefix", "RFC 9780"),
    _block("2001::/23", "IETF protocol assignments, Teredo", "RFC 2928, RFC 4380"),
    _block("2001:db8::/32", "documentation", "RFC 3849"),
    _block("2002::/16", "6to4", "RFC 3056"),
    _block("3fff::/20", "documentation", "RFC 9637"),
    _block("5f00::/16", "segment routing identifiers", "RFC 9602"),
    _block("fc00::/7", "unique local", "RFC 4193", lifted=True),
    _block("fe80::/10", "link-local unicast", "RFC 4291"),
    _block("fec0::/10", "deprecated site local", "RFC 3879"),
    _block("ff00::/8", "multicast", "RFC 4291"),
)

NEVER_LIFTED: Final = frozenset(
    ip_address(address) for address in ("169.254.169.254", "100.100.100.200", "fd00:ec2::254")
)
"""Where clouds answer with credentials; also denied where the block around them is lifted."""

_COMPATIBLE: Final = IPv6Network("::/96")
_LOOPBACK: Final = IPv6Address("::1")


def is_denied(address: IPv4Address | IPv6Address, *, allow_private: bool) -> bool:
    """Whether no probe may send a packet to this address.

    An IPv4-mapped address is what it maps; an IPv4-compatible one too, but nothing lifts its ban.

    Args:
        address: without a scope.
        allow_private: as the alias says.
    """
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_denied(address.ipv4_mapped, allow_private=allow_private)
        if address in _COMPATIBLE and address != _LOOPBACK:
            return is_denied(IPv4Address(int(address)), allow_private=False)
    if address in NEVER_LIFTED:
        return True
    blocks = IPV4_BLOCKS if isinstance(address, IPv4Address) else IPV6_BLOCKS
    return any(address in block.network and not (allow_private and block.lifted) for block in blocks)
