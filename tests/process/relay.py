"""A relay between a command and its service, or in the service's place: it does one thing per request."""

import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Self

from tests.service import HOST, Json, Service

Act = Callable[[socket.socket, bytes], None]

UNHEARD: Final = 60.0


class Relay:
    """Listens in a service's place; carries out one act per request, the last one for all further ones."""

    def __init__(self, *acts: Act) -> None:
        self._acts = acts
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self.requests: list[bytes] = []
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone does not wake whoever accepts.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(UNHEARD)

    def _serve(self) -> None:
        while True:
            try:
                wire, _ = self._listener.accept()
            except OSError:
                return
            with wire, suppress(OSError):
                wire.settimeout(UNHEARD)
                request = read_request(wire)
                self.requests.append(request)
                self._acts[min(len(self.requests), len(self._acts)) - 1](wire, request)

    def bodies(self) -> list[Json]:
        """What was sent to the tools."""
        return [
            json.loads(request.partition(b"\r\n\r\n")[2])["params"]["arguments"] for request in self.requests
        ]


def read_request(wire: socket.socket) -> bytes:
    """One whole request."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += received(wire)
    head, _, body = read.partition(b"\r\n\r\n")
    lengths = [
        line.partition(b":")[2] for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")
    ]
    wanted = int(lengths[0]) if lengths else 0
    while len(body) < wanted:
        body += received(wire)
    return head + b"\r\n\r\n" + body


def received(wire: socket.socket) -> bytes:
    block = wire.recv(65_536)
    if not block:
        raise ConnectionResetError
    return block


def carried_to(service: Service, then: Act | None = None) -> Act:
    """Have a service carry the request out; pass its answer on, or do something else instead."""

    def act(wire: socket.socket, request: bytes) -> None:
        with service.dial() as there:
            there.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            answer = b""
            while block := there.recv(65_536):
                answer += block
        assert answer.startswith(b"HTTP/1.1 200"), answer
        if then is None:
            wire.sendall(answer)
        else:
            then(wire, request)

    return act


def silence(wire: socket.socket, _request: bytes) -> None:
    """Hang up without a word."""
    wire.shutdown(socket.SHUT_RDWR)


def answer(status: str, body: bytes = b"", *headers: str, length: int | None = None) -> Act:
    """Answer so, whatever is asked."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body) if length is None else length}", *headers]
    head = "\r\n".join([*lines, "Connection: close"])

    def act(wire: socket.socket, _request: bytes) -> None:
        wire.sendall(head.encode() + b"\r\n\r\n" + body)

    return act
