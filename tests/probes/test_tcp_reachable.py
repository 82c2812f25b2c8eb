"""``tcp_reachable`` and how every probe connects (contract 7.4, 7.5; RFC 8305)."""

import errno
import socket
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from types import SimpleNamespace
from typing import Any

import pytest

from actors.probes import connecting, outcomes, tcp_reachable
from actors.probes.adapters import FAILED, TIME_IS_UP
from actors.probes.looking import Deadline
from tests.probes.looks import SECONDS, SOON, Names, tcp
from tests.probes.peers import Conversation, peer

HERE = "here.example"


def make_sockets_by(make: Callable[..., socket.socket], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let probes make their sockets by this; peers make theirs as ever."""
    monkeypatch.setattr(
        "actors.probes.connecting.socket", SimpleNamespace(**{**vars(socket), "socket": make})
    )


def keep(conversation: Conversation) -> None:
    conversation.keep()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_a_port_that_accepts_satisfies_and_is_sent_nothing(host: str) -> None:
    ended: list[bytes] = []
    with peer(lambda it: ended.append(it.rest()), host=host) as server:
        assert tcp(host, server.port) == tcp_reachable.ACCEPTED
        assert server.seen() == (1, 0)
    # It was closed, not torn down: a reset would have been an error of the peer's.
    assert ended[0] == b""


def test_a_port_that_nobody_listens_on_does_not_satisfy(free_port: int) -> None:
    assert tcp("127.0.0.1", free_port) == tcp_reachable.NOT_ACCEPTED


def test_a_peer_that_closes_at_once_has_accepted() -> None:
    with peer(lambda _: None) as server:
        assert tcp("127.0.0.1", server.port) == tcp_reachable.ACCEPTED


def test_a_socket_that_is_connected_to_itself_has_reached_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    class Bound(socket.socket):
        """Gets the very port that it asks, as any socket may by chance."""

        def connect_ex(self, address: Any) -> int:
            self.bind(address)
            return super().connect_ex(address)

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    make_sockets_by(Bound, monkeypatch)
    assert tcp("127.0.0.1", port) == tcp_reachable.NOT_ACCEPTED


def test_the_next_address_is_tried_when_one_refuses() -> None:
    with peer(keep) as server:
        names = Names({HERE: ["127.0.0.2", "127.0.0.3", "127.0.0.1"]})
        assert tcp(HERE, server.port, resolve=names) == tcp_reachable.ACCEPTED
        assert server.seen() == (1, 0)


@pytest.fixture
def full() -> Iterator[socket.socket]:
    """A listener whose queue is full: it neither accepts nor refuses."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.2", 0))
        listener.listen(0)
        waiting = []
        for _ in range(8):
            attempt = socket.socket()
            attempt.setblocking(False)
            attempt.connect_ex(listener.getsockname())
            waiting.append(attempt)
        yield listener
        for attempt in waiting:
            attempt.close()


def test_a_peer_that_neither_accepts_nor_refuses_is_unknown(full: socket.socket) -> None:
    assert tcp("127.0.0.2", full.getsockname()[1], seconds=SOON) == TIME_IS_UP


def test_an_address_that_does_not_answer_does_not_keep_the_next_waiting(full: socket.socket) -> None:
    port = full.getsockname()[1]
    with socket.create_server(("127.0.0.1", port)):
        names = Names({HERE: ["127.0.0.2", "127.0.0.1"]})
        assert tcp(HERE, port, resolve=names) == tcp_reachable.ACCEPTED


def test_what_was_given_up_is_closed(full: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[socket.socket] = []

    class Kept(socket.socket):
        def __init__(self, *args: int) -> None:
            super().__init__(*args)
            made.append(self)

    port = full.getsockname()[1]
    with socket.create_server(("127.0.0.1", port)):
        make_sockets_by(Kept, monkeypatch)
        addresses = [ip_address("127.0.0.3"), ip_address("127.0.0.2"), ip_address("127.0.0.1")]
        with connecting.connect(addresses, port, Deadline(SECONDS)) as accepted:
            assert accepted.getpeername() == ("127.0.0.1", port)
            assert [attempt.fileno() >= 0 for attempt in made] == [False, False, True]


def test_a_machine_without_the_address_family_reaches_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def socket_without_ipv6(family: int, kind: int) -> socket.socket:
        if family == socket.AF_INET6:
            raise OSError(errno.EAFNOSUPPORT, "not here")
        return socket.socket(family, kind)

    with peer(keep) as server:
        make_sockets_by(socket_without_ipv6, monkeypatch)
        assert tcp("::1", server.port) == tcp_reachable.NOT_ACCEPTED
        names = Names({HERE: ["::1", "127.0.0.1"]})
        assert tcp(HERE, server.port, resolve=names) == tcp_reachable.ACCEPTED


def test_a_machine_without_sockets_left_says_nothing_of_the_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_socket(*_arguments: int) -> socket.socket:
        raise OSError(errno.EMFILE, "too many")

    make_sockets_by(no_socket, monkeypatch)
    assert tcp("127.0.0.1", 9) == FAILED


@pytest.mark.parametrize(
    "host", ["nobody.invalid", "[::1]", "x" * 200, "a..b", "-", "%", "127.0.0.1:80", "\xe4.invalid"]
)
def test_a_host_that_does_not_resolve_is_an_error(host: str) -> None:
    assert tcp(host, 80) == outcomes.NOT_RESOLVED
