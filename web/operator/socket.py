"""The operator's socket: one JSON line in, one JSON line out, in a directory that only its owner may enter.

Transport alone: what is asked and answered is ``web.operator.operations``. A socket's path may have 108 bytes
and a data directory any length, so both ends go through the descriptor of the directory.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from remindi import views
from remindi.errors import ErrorCode, Refusal, invalid
from web.operator.operations import Operations
from web.strict_json import JsonError, parse

log = logging.getLogger("remindi.operator")

SOCKET_NAME: Final = "remindi.sock"
SOCKET_MODE: Final = 0o600
MAX_LINE_BYTES: Final = 1_048_576
"""Of a request, with its line feed."""
LINE_SECONDS: Final = 10.0
"""Within which a request has come."""
MAX_CONNECTIONS: Final = 8
_BACKLOG: Final = 64
_NOT_JSON: Final = invalid(("", "json"))
_TOO_MUCH: Final = Refusal(ErrorCode.LIMIT_EXCEEDED)


class OperatorSocket:
    """Serves operations in a data directory whose lock this process holds; on one event loop."""

    def __init__(self, directory: Path, operations: Operations) -> None:
        """Make a door that is not open yet."""
        self._directory = directory
        self._operations = operations
        self._server: asyncio.Server | None = None
        self._talks: set[asyncio.Task[None]] = set()
        self._listening: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Listen. Where that cannot be, one warning says so and the service goes on without."""
        try:
            listener = _bound(self._directory)
        except OSError as error:
            log.warning(
                "there is no operator socket; the command line reaches this service only when it is stopped",
                extra={"error": os.strerror(error.errno) if error.errno else str(error)},
            )
            return
        self._server = await asyncio.start_unix_server(self._talk, sock=listener, limit=MAX_LINE_BYTES)

    async def close(self, grace_seconds: float) -> None:
        """Take nothing more, let running operations end, cut off the rest after ``grace_seconds``."""
        if self._server is None:
            return
        self._server.close()
        self._server = None
        with suppress(OSError), _within(self._directory) as path:
            path.unlink()
        for talk in self._listening:
            talk.cancel()
        if self._talks:
            _, running = await asyncio.wait(self._talks, timeout=max(0.0, grace_seconds))
            for talk in running:
                talk.cancel()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._talks.add(task)
        task.add_done_callback(self._talks.discard)
        try:
            envelope = await self._answer(reader)
            if envelope is not None:
                writer.write(views.to_json(envelope) + b"\n")
                async with asyncio.timeout(LINE_SECONDS):
                    await writer.drain()
        except (TimeoutError, ConnectionError):
            pass
        except asyncio.CancelledError:
            # Only `close` cancels; asyncio's streams would log a task that ends so as a fault.
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> dict[str, Any] | None:
        """The answer to the line that comes; None when nobody said anything."""
        if len(self._talks) > MAX_CONNECTIONS:
            return self._operations.refuse(_TOO_MUCH)
        try:
            line = await self._line(reader)
        except asyncio.IncompleteReadError as error:
            return self._operations.refuse(_NOT_JSON) if error.partial else None
        except asyncio.LimitOverrunError:
            return self._operations.refuse(_TOO_MUCH)
        try:
            request = parse(line)
        except JsonError:
            return self._operations.refuse(_NOT_JSON)
        return await self._operations.answer(request)

    async def _line(self, reader: asyncio.StreamReader) -> bytes:
        """The line; a stop does not wait for it."""
        task = asyncio.current_task()
        assert task is not None
        self._listening.add(task)
        try:
            async with asyncio.timeout(LINE_SECONDS):
                return await reader.readuntil(b"\n")
        finally:
            self._listening.discard(task)


def connect(directory: Path, timeout: float) -> socket.socket:
    """Connect to the service that uses a data directory.

    Args:
        directory: the data directory.
        timeout: seconds for each step on the connection.

    Raises:
        OSError: nobody listens (``FileNotFoundError``, ``ConnectionRefusedError``), or one may not ask.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(timeout)
        with _within(directory) as path:
            connection.connect(str(path))
    except BaseException:
        connection.close()
        raise
    return connection


def _bound(directory: Path) -> socket.socket:
    """A listening socket in place of whatever a killed process left there."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    try:
        with _within(directory) as path:
            path.unlink(missing_ok=True)
            listener.bind(str(path))
            path.chmod(SOCKET_MODE)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


@contextmanager
def _within(directory: Path) -> Iterator[Path]:
    """The path of the socket, short whatever the directory is called."""
    descriptor = os.open(directory, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield Path(f"/proc/self/fd/{descriptor}", SOCKET_NAME)
    finally:
        os.close(descriptor)
