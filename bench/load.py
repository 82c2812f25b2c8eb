"""A load generator: ready-made requests over keep-alive connections from one pinned process."""

import json
import os
import selectors
import socket
import statistics
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.service import HOST, Era, envelope


@dataclass(frozen=True, slots=True)
class Rate:
    """What one run measured; latencies in milliseconds."""

    requests: int
    seconds: float
    p50: float
    p95: float
    p99: float

    @property
    def per_second(self) -> float:
        """Answers a second."""
        return self.requests / self.seconds


def tool_request(port: int, token: str, tool: str, arguments: dict[str, Any], era: Era) -> bytes:
    """One `tools/call` as a client of that era sends it, ready for the wire."""
    message, headers = envelope("tools/call", {"name": tool, "arguments": arguments}, era)
    body = json.dumps(message, separators=(",", ":")).encode()
    lines = [
        "POST /mcp HTTP/1.1",
        f"Host: {HOST}:{port}",
        f"Authorization: Bearer {token}",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in headers),
    ]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def pin(cpu: int) -> None:
    """Keep this process on one core, away from the service's."""
    os.sched_setaffinity(0, {cpu % (os.cpu_count() or 1)})


def run(port: int, requests: Iterator[bytes], connections: int, *, mark: bytes = b'"isError":false') -> Rate:
    """Send every request, each connection its next one as soon as it has the answer to its last.

    Raises:
        RuntimeError: an answer is no HTTP 200 with the mark of a success in it.
    """
    with selectors.DefaultSelector() as selector:
        lanes = [_Lane(port, mark) for _ in range(connections)]
        latencies: deque[float] = deque()
        started = time.perf_counter()
        busy = 0
        for lane in lanes:
            selector.register(lane.socket, selectors.EVENT_READ, lane)
            busy += lane.send(requests)
        while busy:
            for key, _ in selector.select():
                lane = key.data
                took = lane.receive()
                if took is not None:
                    latencies.append(took)
                    busy -= not lane.send(requests)
        seconds = time.perf_counter() - started
        for lane in lanes:
            lane.socket.close()
    ordered = sorted(1_000 * took for took in latencies)
    return Rate(
        len(ordered),
        seconds,
        statistics.median(ordered),
        ordered[int(len(ordered) * 0.95)],
        ordered[int(len(ordered) * 0.99)],
    )


class _Lane:
    """One connection with at most one request under way."""

    def __init__(self, port: int, mark: bytes) -> None:
        self._mark = mark
        self.socket = socket.create_connection((HOST, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self._wanted = 0
        self._sent = 0.0

    def send(self, requests: Iterator[bytes]) -> bool:
        """Send the next request; False when there is none."""
        request = next(requests, None)
        if request is None:
            return False
        self._buffer, self._wanted = b"", 0
        self._sent = time.perf_counter()
        self.socket.sendall(request)
        return True

    def receive(self) -> float | None:
        """Take what has come; the seconds since the request once the answer is whole."""
        self._buffer += self.socket.recv(1 << 18)
        if not self._wanted:
            head, mark, _ = self._buffer.partition(b"\r\n\r\n")
            if not mark:
                return None
            length = next(
                int(line[15:]) for line in head.split(b"\r\n") if line[:15].lower() == b"content-length:"
            )
            self._wanted = len(head) + 4 + length
        if len(self._buffer) < self._wanted:
            return None
        took = time.perf_counter() - self._sent
        if not self._buffer.startswith(b"HTTP/1.1 200") or self._mark not in self._buffer:
            raise RuntimeError(f"refused: {self._buffer[:400]!r}")
        return took
