"""The other end of a wire: every address of its namespace, and what came there.

It runs in a network namespace of its own. Each line on standard input is a question: an address whose bytes
no frame should hold. The answer is how many frames held them and how many connections came in all.
"""

import json
import socket
import ssl
import sys
import threading
from contextlib import suppress
from ipaddress import ip_address
from typing import Final

PORT: Final = 443
_ETH_P_ALL: Final = 3
_SO_RCVBUFFORCE: Final = 33


class Far:
    """A TLS server on all addresses, beside a socket that takes every frame."""

    def __init__(self, certificate: str) -> None:
        self._frames: list[bytes] = []
        self.connections = 0
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self._wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(_ETH_P_ALL))
        # What comes waits in the kernel until it is asked for.
        self._wire.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 1 << 26)
        self._wire.setblocking(False)
        self._listener = socket.create_server(
            ("::", PORT), family=socket.AF_INET6, dualstack_ipv6=True, backlog=64
        )
        threading.Thread(target=self._accept, daemon=True).start()

    def holding(self, packed: bytes) -> int:
        """How many frames so far held these bytes."""
        with suppress(BlockingIOError):
            while True:
                self._frames.append(self._wire.recv(65_536))
        return sum(packed in frame for frame in self._frames)

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            self.connections += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        """Redirect to where the path says, else be healthy."""
        with (
            connection,
            suppress(OSError),
            self._context.wrap_socket(connection, server_side=True) as secured,
        ):
            path = secured.recv(65_536).split(b" ", 2)[1]
            head = b"HTTP/1.1 200 OK\r\n"
            if path.startswith(b"/to/"):
                head = b"HTTP/1.1 302 Found\r\nLocation: " + path.removeprefix(b"/to/") + b"\r\n"
            secured.sendall(head + b"Content-Length: 0\r\n\r\n")


def main() -> None:
    far = Far(sys.argv[1])
    print(json.dumps("ready"), flush=True)  # noqa: T201 - the answer
    for line in sys.stdin:
        held = far.holding(ip_address(json.loads(line)).packed)
        print(json.dumps([held, far.connections]), flush=True)  # noqa: T201 - the answer


if __name__ == "__main__":
    main()
