"""An event loop on a thread of its own, for a process that serves nothing over ASGI."""

import asyncio
import threading
from collections.abc import Sequence

from web.server import Beside

NAME = "loop"


class LoopThread:
    """Runs coroutines until it is stopped, and whatever else listens on its loop. Start it once."""

    def __init__(self, beside: Sequence[Beside] = ()) -> None:
        """Make a thread that does not run yet; ``beside`` is opened and closed with it."""
        self.loop = asyncio.new_event_loop()
        self._beside = tuple(beside)
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    def start(self, timeout: float = 10.0) -> None:
        """Start, and return once all listen."""
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self._open(), self.loop).result(timeout)

    def stop(self, grace_seconds: float) -> None:
        """Close what listens, and end."""
        closing = asyncio.run_coroutine_threadsafe(self._close(grace_seconds), self.loop)
        closing.result(grace_seconds + 1.0)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(grace_seconds + 1.0)

    async def _open(self) -> None:
        for other in self._beside:
            await other.open()

    async def _close(self, grace_seconds: float) -> None:
        for other in self._beside:
            await other.close(grace_seconds)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()
