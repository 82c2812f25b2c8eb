"""Peers for probes: listeners on loopback that answer as a script says, and count what reaches them."""

import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

Script = Callable[["Conversation"], None]
"""What a peer does with one connection; the connection is closed after it."""

PATIENCE: Final = 20.0
"""Seconds that a peer waits for whatever a test makes happen; a bound for broken code."""


class Conversation:
    """One connection as the script of a peer sees it."""

    def __init__(self, peer: "Peer", connection: socket.socket) -> None:
        self._peer = peer
        self._connection = connection

    def request(self) -> bytes:
        """Read the head of a request."""
        head = b""
        while b"\r\n\r\n" not in head:
            received = self._connection.recv(65_536)
            if not received:
                raise ConnectionError("no request came")
            self._peer.count(received)
            head += received
        return head

    def rest(self) -> bytes:
        """Whatever comes until the other side closes."""
        found = b""
        while received := self._connection.recv(65_536):
            self._peer.count(received)
            found += received
        return found

    def say(self, answer: bytes) -> None:
        """Send."""
        self._connection.sendall(answer)

    def dribble(self, piece: bytes) -> None:
        """Send the piece again and again, with a breath in between, until the other side is gone."""
        while not self._peer.closing.wait(0.02):
            self._connection.sendall(piece)

    def flood(self, piece: bytes) -> None:
        """Send the piece again and again until the other side is gone."""
        while not self._peer.closing.is_set():
            self._connection.sendall(piece)

    def keep(self) -> None:
        """Say nothing more, but stay."""
        self.rest()


class Peer:
    """A listener and what reached it."""

    def __init__(self, script: Script, context: ssl.SSLContext | None, host: str) -> None:
        self.requests: list[bytes] = []
        """Heads of requests, with ``answering``."""
        self.closing = threading.Event()
        self._script = script
        self._context = context
        self._connections = 0
        self._received = 0
        self._mine: object = None
        self._reached = threading.Event()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._listener = socket.create_server((host, 0), family=family)
        self.host = host
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def count(self, received: bytes) -> None:
        """Remember that bytes came."""
        self._received += len(received)

    def seen(self) -> tuple[int, int]:
        """Connections and bytes so far; for when whoever connected has closed again.

        A connection of our own comes last in the queue of the listener: once it is accepted, all before it
        were.
        """
        with socket.socket(self._listener.family) as mine:
            mine.bind((self.host, 0))
            self._mine = mine.getsockname()
            self._reached.clear()
            mine.connect((self.host, self.port))
            assert self._reached.wait(PATIENCE)
        for thread in self._threads[1:]:
            thread.join(PATIENCE)
        return self._connections, self._received

    def close(self) -> None:
        """Stop listening, end all conversations and wait for their threads."""
        self.closing.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._threads[0].join(PATIENCE)
        self._listener.close()
        for connection in self._open:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads[1:]:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in self._threads)

    def _accept(self) -> None:
        while not self.closing.is_set():
            try:
                connection, address = self._listener.accept()
            except OSError:
                return
            if address == self._mine:
                connection.close()
                self._reached.set()
                continue
            self._connections += 1
            self._open.append(connection)
            thread = threading.Thread(target=self._converse, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _converse(self, connection: socket.socket) -> None:
        # What the other side does to the connection is the test's business, not a failure of the peer.
        with connection, suppress(OSError):
            if self._context is None:
                self._script(Conversation(self, connection))
                return
            with self._context.wrap_socket(connection, server_side=True) as secured:
                self._open.append(secured)
                self._script(Conversation(self, secured))


@contextmanager
def peer(script: Script, context: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Iterator[Peer]:
    """Listen on a free port while the block runs."""
    listening = Peer(script, context, host)
    try:
        yield listening
    finally:
        listening.close()


def answering(*answers: bytes) -> Script:
    """Read a request, send the pieces, close. Requests are kept in ``Peer.requests``."""

    def script(conversation: Conversation) -> None:
        conversation._peer.requests.append(conversation.request())
        for answer in answers:
            conversation.say(answer)

    return script


def in_turn(*scripts: Script) -> Script:
    """The first script for the first connection, and so on."""
    left = iter(scripts)

    def script(conversation: Conversation) -> None:
        next(left)(conversation)

    return script


def ok(body: bytes = b"fine", *headers: str, status: str = "200 OK") -> bytes:
    """An answer as most servers send it."""
    return head(status, f"Content-Length: {len(body)}", *headers) + body


def head(status: str, *headers: str) -> bytes:
    """The head of an answer."""
    return "".join(f"{line}\r\n" for line in (f"HTTP/1.1 {status}", *headers, "")).encode("latin-1")


def redirect(location: str | None, status: str = "302 Found") -> bytes:
    """A redirect."""
    return ok(b"", *([] if location is None else [f"Location: {location}"]), status=status)
