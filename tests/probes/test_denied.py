"""Denied is denied: nobody sees a connection, whatever name leads there (contract 7.5, promise P19)."""

import ssl

import pytest

from actors.probes import http_health, outcomes, tcp_reachable
from tests.probes.conftest import NAME
from tests.probes.looks import Changing, Names, http, tcp
from tests.probes.peers import answering, in_turn, ok, peer, redirect

LOOPBACK = [
    "127.0.0.1",
    "localhost",
    "127.1",
    "0x7f000001",
    "2130706433",
    "0177.0.0.1",
    "127.0.1",
    "0x7f.1",
    "::ffff:127.0.0.1",
    "::ffff:7f00:1",
    "0:0:0:0:0:ffff:7f00:0001",
]
LOOPBACK_BY_ACCIDENT = ["0", "0.0.0.0", "::127.0.0.1", "::"]
"""A machine may take them for loopback; nothing lifts their ban."""
LIFTABLE = ["127.0.0.1", "127.255.255.254", "10.0.0.1", "::1", "fd00::1", "::ffff:127.0.0.1"]
NEVER = [
    "169.254.169.254",
    "100.100.100.200",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "::",
    "fd00:ec2::254",
    "fe80::1",
    "ff02::1",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::7f00:1",
    "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:80ff:fffe",
]


@pytest.mark.parametrize("host", LOOPBACK + LOOPBACK_BY_ACCIDENT)
def test_no_spelling_of_loopback_is_reached(host: str, tls: ssl.SSLContext) -> None:
    denied = outcomes.PRIVATE if host in LOOPBACK else outcomes.DENIED
    with peer(answering(ok()), tls, "0.0.0.0") as server:
        literal = f"[{host}]" if ":" in host else host
        for redirects in (False, True):
            url = f"https://{literal}:{server.port}/"
            assert http(url, private=False, redirects=redirects) == denied
        assert tcp(host, server.port, private=False) == denied
        server.host = "127.0.0.1"
        assert server.seen() == (0, 0)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433", "0177.0.0.1", "::ffff:127.0.0.1"]
)
def test_every_spelling_of_loopback_is_reached_where_it_is_allowed(host: str) -> None:
    with peer(lambda it: it.keep()) as server:
        assert tcp(host, server.port) == tcp_reachable.ACCEPTED


@pytest.mark.parametrize("host", LOOPBACK_BY_ACCIDENT)
def test_what_is_loopback_only_by_accident_stays_denied(host: str) -> None:
    with peer(lambda it: it.keep()) as server:
        assert tcp(host, server.port) == outcomes.DENIED
        assert server.seen() == (0, 0)


@pytest.mark.parametrize("address", LIFTABLE + NEVER)
def test_a_name_that_resolves_to_a_denied_address_is_denied(address: str, tls: ssl.SSLContext) -> None:
    denied = outcomes.PRIVATE if address in LIFTABLE else outcomes.DENIED
    with peer(answering(ok()), tls) as server:
        names = Names({NAME: [address]})
        assert http(f"https://{NAME}:{server.port}/", private=False, resolve=names) == denied
        assert tcp(NAME, server.port, private=False, resolve=names) == denied
        assert server.seen() == (0, 0)


@pytest.mark.parametrize(
    "addresses", [["127.0.0.1", "169.254.169.254"], ["::ffff:169.254.169.254", "127.0.0.1"]]
)
def test_one_denied_address_among_many_denies_all(addresses: list[str], tls: ssl.SSLContext) -> None:
    with peer(answering(ok()), tls) as server:
        names = Names({NAME: addresses})
        assert http(f"https://{NAME}:{server.port}/", resolve=names) == outcomes.DENIED
        assert tcp(NAME, server.port, resolve=names) == outcomes.DENIED
        assert server.seen() == (0, 0)


def test_an_address_that_no_alias_may_reach_decides_about_the_sentence() -> None:
    for addresses in (["10.0.0.1", "169.254.169.254"], ["169.254.169.254", "8.8.8.8", "10.0.0.1"]):
        names = Names({NAME: addresses})
        assert tcp(NAME, 1, private=False, resolve=names) == outcomes.DENIED
    names = Names({NAME: ["8.8.8.8", "10.0.0.1"]})
    assert tcp(NAME, 1, private=False, resolve=names) == outcomes.PRIVATE


def test_what_was_checked_is_what_is_connected_to(tls: ssl.SSLContext) -> None:
    """A second question to the resolver would lead elsewhere; nobody asks one, and nobody goes there."""
    with peer(answering(ok()), tls) as checked, peer(answering(ok()), tls, "127.0.0.2") as other:
        for _ in range(2):
            resolve = Changing(["127.0.0.1"], ["127.0.0.2"])
            assert http(f"https://{NAME}:{checked.port}/", resolve=resolve) == http_health.HEALTHY
            resolve = Changing(["127.0.0.1"], ["127.0.0.2"])
            assert tcp(NAME, checked.port, resolve=resolve) == tcp_reachable.ACCEPTED
        assert checked.seen()[0] == 4
        assert other.seen() == (0, 0)


def test_an_answer_that_becomes_a_denied_one_between_two_hops_is_denied(tls: ssl.SSLContext) -> None:
    with peer(in_turn(answering(redirect("/next")), answering(ok())), tls) as server:
        resolve = Changing(["127.0.0.1"], ["169.254.169.254"])
        url = f"https://{NAME}:{server.port}/"
        assert http(url, resolve=resolve, redirects=True) == outcomes.DENIED
        assert server.seen()[0] == 1


def test_each_hop_goes_where_its_own_answer_was_checked(tls: ssl.SSLContext) -> None:
    with peer(answering(redirect("/next")), tls) as first:
        resolve = Changing(["127.0.0.1"], ["127.0.0.3"], ["127.0.0.1"])
        url = f"https://{NAME}:{first.port}/"
        assert http(url, resolve=resolve, redirects=True) == http_health.NOT_CONNECTED
        assert first.seen()[0] == 1


@pytest.mark.parametrize(
    "location", ["https://127.0.0.1:{port}/", "https://[::1]:{port}/", "https://169.254.169.254/"]
)
def test_a_redirect_to_an_inner_address_is_refused(location: str, tls: ssl.SSLContext) -> None:
    with (
        peer(answering(ok()), tls) as inner,
        peer(answering(redirect(location.format(port=inner.port))), tls) as server,
    ):
        url = f"https://{NAME}:{server.port}/"
        names = Names({NAME: ["127.0.0.1"]})
        assert http(url, resolve=names, redirects=True) == http_health.REDIRECT_REFUSED
        assert inner.seen() == (0, 0)
        assert names.asked == [NAME]
