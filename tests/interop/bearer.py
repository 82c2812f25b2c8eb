"""A loopback relay that adds the bearer header to each request and changes no other byte.

The conformance suite has no option for a token. The real check of the service stays on behind this relay.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.service import HOST

MAX_HEAD = 64 * 1024


def content_length(head: bytes) -> int:
    """Return the declared body length of a request head."""
    lines = head.lower().split(b"\r\n")
    assert not any(line.startswith(b"transfer-encoding:") for line in lines), (
        "the relay knows no chunked bodies"
    )
    lengths = [line.partition(b":")[2] for line in lines if line.startswith(b"content-length:")]
    return int(lengths[0]) if lengths else 0


async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Copy bytes until the source ends."""
    while block := await source.read(65_536):
        sink.write(block)
        await sink.drain()


async def relay(client: asyncio.StreamReader, answer: asyncio.StreamWriter, port: int, bearer: bytes) -> None:
    """Serve one client connection: its requests, with the header, on one connection to the service."""
    upstream, service = await asyncio.open_connection(HOST, port)
    answers = asyncio.create_task(copy(upstream, answer))
    try:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = await client.readuntil(b"\r\n\r\n")
                request_line, _, fields = head.partition(b"\r\n")
                service.write(request_line + b"\r\n" + bearer + fields)
                service.write(await client.readexactly(content_length(head)))
                await service.drain()
    finally:
        answers.cancel()
        for writer in (service, answer):
            writer.close()
        with suppress(asyncio.CancelledError, ConnectionError):
            await answers


@contextmanager
def bearer_relay(port: int, service_port: int, token: str) -> Iterator[None]:
    """Relay connections to `port` on to the service, with the token added."""
    bearer = b"Authorization: Bearer " + token.encode("ascii") + b"\r\n"
    loop = asyncio.new_event_loop()
    listening = threading.Event()
    finish = asyncio.Event()

    async def serve() -> None:
        server = await asyncio.start_server(
            lambda client, answer: relay(client, answer, service_port, bearer), HOST, port, limit=MAX_HEAD
        )
        listening.set()
        await finish.wait()
        server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for connection in connections:
            connection.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, name="bearer-relay")
    thread.start()
    try:
        assert listening.wait(10), "the relay does not listen"
        yield
    finally:
        loop.call_soon_threadsafe(finish.set)
        thread.join()
