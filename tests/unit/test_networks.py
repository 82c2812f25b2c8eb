"""The deny list: every block of contract 7.5, its edges, and what ``allow_private`` lifts."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from remindi.adapters.networks import IPV4_BLOCKS, IPV6_BLOCKS, is_denied

Address = IPv4Address | IPv6Address

# Contract 7.5, block for block, with the first address before and after that is not denied; None where the
# neighbour is denied too, or where there is none.
BLOCKS: list[tuple[str, str | None, str | None]] = [
    ("0.0.0.0/8", None, "1.0.0.0"),
    ("10.0.0.0/8", "9.255.255.255", "11.0.0.0"),
    ("100.64.0.0/10", "100.63.255.255", "100.128.0.0"),
    ("127.0.0.0/8", "126.255.255.255", "128.0.0.0"),
    ("169.254.0.0/16", "169.253.255.255", "169.255.0.0"),
    ("172.16.0.0/12", "172.15.255.255", "172.32.0.0"),
    ("192.0.0.0/24", "191.255.255.255", "192.0.1.0"),
    ("192.0.2.0/24", "192.0.1.255", "192.0.3.0"),
    ("192.88.99.0/24", "192.88.98.255", "192.88.100.0"),
    ("192.168.0.0/16", "192.167.255.255", "192.169.0.0"),
    ("198.18.0.0/15", "198.17.255.255", "198.20.0.0"),
    ("198.51.100.0/24", "198.51.99.255", "198.51.101.0"),
    ("203.0.113.0/24", "203.0.112.255", "203.0.114.0"),
    ("224.0.0.0/4", "223.255.255.255", None),
    ("240.0.0.0/4", None, None),
    ("::/128", None, None),
    ("::1/128", None, None),
    ("64:ff9b::/96", "64:ff9a:ffff:ffff:ffff:ffff:ffff:ffff", "64:ff9b:0:0:0:1::"),
    ("64:ff9b:1::/48", "64:ff9b:0:ffff:ffff:ffff:ffff:ffff", "64:ff9b:2::"),
    ("100::/64", "ff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
    ("100:0:0:1::/64", None, "100:0:0:2::"),
    ("2001::/23", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"),
    ("2001:db8::/32", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"),
    ("2002::/16", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"),
    ("3fff::/20", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"),
    ("5f00::/16", "5eff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "5f01::"),
    ("fc00::/7", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fe00::"),
    ("fe80::/10", "fe7f:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
    ("fec0::/10", None, None),
    ("ff00::/8", None, None),
]
LIFTED = {
    ip_network(block)
    for block in (
        "10.0.0.0/8",
        "172.16.0.0/12",
        "192.168.0.0/16",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "::1/128",
        "fc00::/7",
    )
}
NEVER = ["169.254.169.254", "100.100.100.200", "fd00:ec2::254", "224.0.0.1", "239.255.255.255", "ff02::1"]


def mapped(address: IPv4Address) -> IPv6Address:
    return IPv6Address(f"::ffff:{address}")


def compatible(address: IPv4Address) -> IPv6Address:
    return IPv6Address(int(address))


def test_the_list_holds_the_blocks_of_the_contract_and_no_others() -> None:
    assert {block.network for block in IPV4_BLOCKS + IPV6_BLOCKS} == {
        ip_network(network) for network, _, _ in BLOCKS
    }
    assert {block.network for block in IPV4_BLOCKS + IPV6_BLOCKS if block.lifted} == LIFTED


@pytest.mark.parametrize(("block", "before", "after"), BLOCKS)
def test_a_block_is_denied_from_its_first_address_to_its_last(
    block: str, before: str | None, after: str | None
) -> None:
    network = ip_network(block)
    for address in (network[0], network[-1]):
        assert is_denied(address, allow_private=False)
        assert is_denied(address, allow_private=True) == (network not in LIFTED)
    for neighbour in (before, after):
        if neighbour is not None:
            assert not is_denied(ip_address(neighbour), allow_private=False)


@pytest.mark.parametrize("block", [block for block, _, _ in BLOCKS if "." in block])
def test_a_mapped_address_follows_its_ipv4_rule(block: str) -> None:
    network = IPv4Network(block)
    for address in (network[0], network[-1]):
        assert is_denied(mapped(address), allow_private=False)
        assert is_denied(mapped(address), allow_private=True) == (network not in LIFTED)


@pytest.mark.parametrize("block", [block for block, _, _ in BLOCKS if "." in block])
def test_nothing_lifts_the_ban_on_a_compatible_address(block: str) -> None:
    network = IPv4Network(block)
    for address in {network[0], network[-1]}:
        assert is_denied(compatible(address), allow_private=False)
        assert is_denied(compatible(address), allow_private=True)


@pytest.mark.parametrize(
    "embedded",
    [
        "64:ff9b::7f00:1",  # NAT64 of 127.0.0.1
        "64:ff9b::808:808",  # NAT64 of 8.8.8.8: what a translator makes of it is not ours to know
        "64:ff9b:1:7f00:0:100::",  # NAT64, local use
        "2002:7f00:1::",  # 6to4 of 127.0.0.1
        "2002:a00:1::1",  # 6to4 of 10.0.0.1
        "2002:808:808::1",  # 6to4 of 8.8.8.8
        "2001:0:4136:e378:8000:63bf:80ff:fffe",  # Teredo of 127.0.0.1
    ],
)
def test_an_address_that_embeds_another_is_denied_and_not_lifted(embedded: str) -> None:
    assert is_denied(IPv6Address(embedded), allow_private=False)
    assert is_denied(IPv6Address(embedded), allow_private=True)


@pytest.mark.parametrize("address", NEVER)
def test_some_addresses_are_never_lifted_in_any_form(address: str) -> None:
    found = ip_address(address)
    forms: list[Address] = [found]
    if isinstance(found, IPv4Address):
        forms += [mapped(found), compatible(found)]
    for form in forms:
        assert is_denied(form, allow_private=True)
        assert is_denied(form, allow_private=False)


@pytest.mark.parametrize(
    "address",
    ["8.8.8.8", "1.1.1.1", "192.0.1.1", "2606:4700::1111", "2a00:1450::1", "::ffff:8.8.8.8", "::8.8.8.8"],
)
def test_public_addresses_are_not_denied(address: str) -> None:
    assert not is_denied(ip_address(address), allow_private=False)


IPV4 = st.integers(0, (1 << 32) - 1).map(IPv4Address)
ADDRESSES = st.one_of(
    st.ip_addresses(),
    IPV4.map(mapped),
    IPV4.map(compatible),
    *[
        st.ip_addresses(network=block)
        for block in (
            "2001:db8::/32",
            "fc00::/7",
            "fe80::/9",
            "100.64.0.0/10",
            "169.254.0.0/16",
            "172.0.0.0/8",
        )
    ],
)


def expected(address: Address) -> tuple[bool, bool]:
    """What contract 7.5 says of an address: whether it is denied, and whether the ban can be lifted."""
    denied = liftable = False
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return expected(address.ipv4_mapped)
        if int(address) < 1 << 32 and int(address) != 1:
            return expected(IPv4Address(int(address)))[0], False
    for network, _, _ in BLOCKS:
        block = ip_network(network)
        if block.version == address.version and address in block:
            denied, liftable = True, block in LIFTED
    return denied, liftable and str(address) not in NEVER


@given(ADDRESSES)
@example(IPv6Address("::"))
@example(IPv6Address("::1"))
@example(IPv6Address("::2"))
@example(IPv6Address("::ffff:100.100.100.200"))
@example(IPv6Address("::ffff:169.254.169.254"))
def test_allow_private_lifts_what_the_contract_says_and_nothing_else(address: Address) -> None:
    denied, liftable = expected(address)
    assert is_denied(address, allow_private=False) == denied
    assert is_denied(address, allow_private=True) == (denied and not liftable)


@given(st.ip_addresses())
def test_what_python_calls_not_global_is_denied(address: Address) -> None:
    """A second opinion: the standard library keeps its own copy of the registries."""
    if not address.is_global:
        assert is_denied(address, allow_private=False)
