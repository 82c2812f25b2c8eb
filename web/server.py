"""The HTTP server: an application on a bound socket, served by uvicorn on a thread of its own."""

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import uvicorn
import uvloop

from web.wire import Wire

log = logging.getLogger("remindi.http")

NAME: Final = "http"
KEEP_ALIVE_SECONDS: Final = 75
"""How long an idle connection is kept: longer than clients keep theirs, so that they close first."""
BACKLOG: Final = 1_024
_TICK_SECONDS: Final = 1.0
_GLANCE_SECONDS: Final = 0.02
_CUT_OFF_SHARE: Final = 0.8
"""The part of the grace that running requests get; the rest is for cutting off the others."""


class ServerFailed(Exception):
    """The server did not start."""


class Beside(Protocol):
    """Another way in, on the same loop."""

    async def open(self) -> None:
        """Listen; it says itself when it cannot."""
        ...

    async def close(self, grace_seconds: float) -> None:
        """Take nothing more, and end what runs within so many seconds."""
        ...


class HttpServer:
    """Serves one application until it is stopped. Start it once."""

    def __init__(
        self,
        app: Any,
        listener: socket.socket,
        *,
        on_death: Callable[[str], None] | None = None,
        beside: Sequence[Beside] = (),
    ) -> None:
        """Make a server.

        Args:
            app: an ASGI application.
            listener: a bound stream socket; the server owns it from its start on.
            on_death: told ``"http"``, on the server's thread, when the server ends unasked.
            beside: each is opened and closed with the server.
        """
        config = uvicorn.Config(
            app,
            http=Wire,
            ws="none",
            interface="asgi3",
            lifespan="off",
            log_config=None,
            log_level="warning",
            access_log=False,
            # APPSEC: uvicorn would believe forwarding headers from the loopback address.
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
        )
        self._server = uvicorn.Server(config)
        self._listener = listener
        self._on_death = on_death
        self._beside = tuple(beside)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop_asked: asyncio.Event | None = None
        self._grace_ends = 0.0
        self._stopping = False
        self._listening = threading.Event()
        self._failure: BaseException | None = None
        # A daemon: a stuck application must not keep the process from ending.
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    def start(self, timeout: float = 10.0) -> None:
        """Start serving and return once connections are accepted.

        Raises:
            ServerFailed: nothing is served.
        """
        self._thread.start()
        if not self._listening.wait(timeout) or self._failure is not None:
            raise ServerFailed from self._failure

    def stop(self, grace_seconds: float) -> bool:
        """Accept nothing more, let running requests finish, cut off the rest; at most ``grace_seconds``.

        Returns:
            Whether the server's thread has ended.
        """
        self._stopping = True
        until = time.monotonic() + grace_seconds
        self._grace_ends = time.monotonic() + grace_seconds * _CUT_OFF_SHARE
        if self._loop is not None and self._stop_asked is not None and self._thread.is_alive():
            try:
                self._loop.call_soon_threadsafe(self._stop_asked.set)
            except RuntimeError:
                log.debug("the server had ended before it was stopped")
        if self._thread.ident is not None:
            self._thread.join(max(0.0, until - time.monotonic()))
        return not self._thread.is_alive()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The loop that it serves on; there is one once it has started."""
        assert self._loop is not None
        return self._loop

    @property
    def alive(self) -> bool:
        """Whether the server's thread runs."""
        return self._thread.is_alive()

    def _run(self) -> None:
        try:
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                runner.run(self._serve())
        except BaseException as error:
            self._failure = error
            log.exception("the HTTP server broke")
        finally:
            self._listening.set()
            if not self._stopping and self._on_death is not None:
                self._on_death(NAME)

    async def _serve(self) -> None:
        server = self._server
        config = server.config
        config.load()
        server.lifespan = config.lifespan_class(config)
        self._loop = asyncio.get_running_loop()
        self._stop_asked = asyncio.Event()
        await server.startup(sockets=[self._listener])
        await server.on_tick(0)
        for other in self._beside:
            await other.open()
        self._listening.set()
        try:
            # NOTE: uvicorn's own loop wakes ten times a second and notices a stop that late.
            while not self._stop_asked.is_set():
                try:
                    async with asyncio.timeout(_TICK_SECONDS):
                        await self._stop_asked.wait()
                except TimeoutError:
                    await server.on_tick(0)
        finally:
            async with asyncio.TaskGroup() as closing:
                for other in self._beside:
                    closing.create_task(other.close(self._grace_ends - time.monotonic()))
                await self._wind_down()

    async def _wind_down(self) -> None:
        state = self._server.server_state
        for server in self._server.servers:
            server.close()
        self._listener.close()
        for connection in list(state.connections):
            connection.shutdown()
        # uvicorn keeps sets and tells nobody when they empty.
        while (state.connections or state.tasks) and time.monotonic() < self._grace_ends:  # noqa: ASYNC110
            await asyncio.sleep(_GLANCE_SECONDS)
        if state.tasks:
            log.warning("requests were cut off", extra={"requests": len(state.tasks)})
        for connection in list(state.connections):
            connection.transport.abort()
        # The connections are seen to be lost before their tasks are: then nobody tries to answer.
        await asyncio.sleep(_GLANCE_SECONDS)
        for task in list(state.tasks):
            task.cancel()
        await asyncio.sleep(_GLANCE_SECONDS)
