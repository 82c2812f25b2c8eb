"""Who the client is behind proxies, and under which prefix (contract 11.3)."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.config import Network
from remindi.forwarding import client_address, forwarded_prefix

PROXIES: tuple[Network, ...] = (
    ipaddress.ip_network("10.0.0.0/8"),
    ipaddress.ip_network("2001:db8:ffff::/48"),
)
PROXY = "10.0.0.1"


def test_without_trusted_proxies_the_header_says_nothing() -> None:
    assert client_address("203.0.113.5", ["198.51.100.1"], ()) == "203.0.113.5"


def test_a_stranger_s_header_says_nothing() -> None:
    assert client_address("203.0.113.5", ["198.51.100.1"], PROXIES) == "203.0.113.5"


@pytest.mark.parametrize(
    ("lines", "client"),
    [
        ([], PROXY),
        (["198.51.100.1"], "198.51.100.1"),
        (["192.0.2.66, 198.51.100.1"], "198.51.100.1"),
        (["198.51.100.1, 10.1.2.3, 2001:db8:ffff::7"], "198.51.100.1"),
        (["10.9.9.9, 10.1.2.3"], "10.9.9.9"),
        (["192.0.2.66", "198.51.100.1,10.1.2.3"], "198.51.100.1"),
        (["192.0.2.66", "198.51.100.1", "10.1.2.3"], "198.51.100.1"),
        (["\t198.51.100.1 \t"], "198.51.100.1"),
    ],
)
def test_the_last_entry_that_is_no_proxy_is_the_client(lines: list[str], client: str) -> None:
    assert client_address(PROXY, lines, PROXIES) == client


@pytest.mark.parametrize(
    "malformed",
    [
        "",
        "unknown",
        "_hidden",
        "localhost",
        "1.2.3",
        "1.2.3.4.5",
        "256.1.1.1",
        "01.2.3.4",
        "1.2.3.4:",
        "1.2.3.4:http",
        "1.2.3.4 5.6.7.8",
        "1.2.3.4/32",
        "٣.2.3.4",
        "fe80::1%",
        "fe80::1%eth0 x",
        "[::1",
        "::1]",
        "[::1]80",
        "[1.2.3.4]",
        ":::",
        "12345::",
        '"1.2.3.4"',
        "for=1.2.3.4",
        "1.2.3.4\n",
        "\x00",
    ],
)
def test_a_malformed_entry_ends_the_search_at_the_last_good_one(malformed: str) -> None:
    assert client_address(PROXY, [f"198.51.100.1,{malformed}"], PROXIES) == PROXY
    assert client_address(PROXY, [f"198.51.100.1,{malformed},10.1.2.3"], PROXIES) == "10.1.2.3"
    assert client_address(PROXY, [malformed, "198.51.100.1"], PROXIES) == "198.51.100.1"


@pytest.mark.parametrize(
    ("entry", "normal"),
    [
        ("198.51.100.1:4711", "198.51.100.1"),
        ("2001:DB8:0:0:0:0:0:A", "2001:db8::a"),
        ("[2001:db8::a]", "2001:db8::a"),
        ("[2001:db8::a]:4711", "2001:db8::a"),
        ("fe80::1%eth0", "fe80::1"),
        ("[fe80::1%25eth0]:1", "fe80::1"),
        ("[fe80::1%eth0]:1", "fe80::1"),
        ("::ffff:198.51.100.1", "198.51.100.1"),
        ("[::FFFF:c633:6401]:1", "198.51.100.1"),
    ],
)
def test_every_spelling_of_an_address_is_the_same_client(entry: str, normal: str) -> None:
    assert client_address(PROXY, [entry], PROXIES) == normal


@pytest.mark.parametrize("peer", ["::ffff:10.0.0.1", "10.0.0.1", "2001:db8:ffff::1", "2001:db8:ffff::1%eth0"])
def test_a_proxy_is_known_in_every_spelling(peer: str) -> None:
    assert client_address(peer, ["198.51.100.1"], PROXIES) == "198.51.100.1"


@pytest.mark.parametrize("listed", ["::ffff:10.0.0.1", "::ffff:10.0.0.0/104", "10.0.0.1"])
def test_a_proxy_may_be_listed_in_the_mapped_form(listed: str) -> None:
    trusted = (ipaddress.ip_network(listed),)
    assert client_address("10.0.0.1", ["198.51.100.1"], trusted) == "198.51.100.1"
    assert client_address("::ffff:10.0.0.1", ["198.51.100.1"], trusted) == "198.51.100.1"
    assert client_address("11.0.0.1", ["198.51.100.1"], trusted) == "11.0.0.1"


def test_all_of_ipv6_is_not_all_of_ipv4() -> None:
    trusted = (ipaddress.ip_network("::/0"),)
    assert client_address("::ffff:203.0.113.5", ["198.51.100.1"], trusted) == "203.0.113.5"
    assert client_address("2001:db8::1", ["198.51.100.1"], trusted) == "198.51.100.1"


@pytest.mark.parametrize("peer", ["", "unix:", "@remindi"])
def test_a_peer_without_an_address_is_taken_as_it_is(peer: str) -> None:
    assert client_address(peer, ["198.51.100.1"], PROXIES) == peer


strangers = st.ip_addresses().filter(
    lambda address: client_address(str(address), ["1.1.1.1"], PROXIES) != "1.1.1.1"
)
proxies = st.ip_addresses(v=4, network="10.0.0.0/8") | st.ip_addresses(v=6, network="2001:db8:ffff::/48")
forged = st.lists(st.text(max_size=20) | st.ip_addresses().map(str), max_size=5)


@given(forged, strangers, st.lists(proxies, max_size=4), proxies)
def test_nothing_that_a_client_forges_changes_who_it_is(
    sent: list[str], client: ipaddress.IPv4Address, chain: list[ipaddress.IPv4Address], peer: object
) -> None:
    appended = [str(client), *map(str, chain)]
    plain = client_address(str(client), [], PROXIES)
    assert client_address(str(peer), [*sent, ",".join(appended)], PROXIES) == plain
    assert client_address(str(peer), [", ".join([*sent, *appended])], PROXIES) == plain


@given(st.lists(st.text(max_size=30) | st.ip_addresses().map(str), max_size=5), proxies)
def test_lines_are_one_list_and_the_answer_an_address_in_normal_form(lines: list[str], peer: object) -> None:
    answer = client_address(str(peer), lines, PROXIES)
    assert answer == client_address(str(peer), [",".join(lines)] if lines else [], PROXIES)
    assert str(ipaddress.ip_address(answer)) == answer


@pytest.mark.parametrize(
    "prefix", ["/r", "/remindi", "/a/b/c", "/a.b_c~d-e", "/...", "/.a", "/a..", "/" + "x" * 255]
)
def test_a_well_formed_prefix_is_kept(prefix: str) -> None:
    assert forwarded_prefix([prefix]) == prefix


@pytest.mark.parametrize(
    "prefix",
    [
        "",
        "/",
        "//",
        "remindi",
        "/remindi/",
        "//evil.example",
        "/a//b",
        "/.",
        "/..",
        "/a/./b",
        "/a/../b",
        "/a/..",
        "/a b",
        " /a",
        "/a\n",
        "/a\r\nSet-Cookie: x",
        "/a,/b",
        "/%2e",
        "/a?b",
        "/a#b",
        "/a\\b",
        "/ä",
        "http://h/a",
        "/" + "x" * 256,
    ],
)
def test_any_other_prefix_is_ignored(prefix: str) -> None:
    assert forwarded_prefix([prefix]) == ""


def test_no_prefix_and_two_prefixes_are_none() -> None:
    assert forwarded_prefix([]) == ""
    assert forwarded_prefix(["/a", "/a"]) == ""


@given(st.text("/.ab~", max_size=12) | st.text(max_size=12))
def test_a_prefix_stays_on_this_host_and_below_its_root(text: str) -> None:
    prefix = forwarded_prefix([text])
    assert prefix in ("", text)
    assert prefix == "" or (
        text[0] == "/" and not {"", ".", ".."} & set(text[1:].split("/")) and text.isascii()
    )
