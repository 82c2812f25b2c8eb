"""The worker: one thread that does the jobs of backups one after another.

It outlives the controller, so that a restore does not depend on the actor that took it in.
"""

import logging
import queue
import threading
from collections.abc import Callable
from typing import Final

from actors.backups.meter import Abandoned, Meter
from remindi.backups import JobKind

log = logging.getLogger("remindi.backups")

NAME: Final = "backups:work"
"""Of the thread; its first part is who asks, for the ask table."""
MOST_WAITING: Final = 16


class Worker:
    """Takes jobs in; each is a callable that answers whoever waits for it."""

    def __init__(self, meter: Meter, broken: Callable[[str], None]) -> None:
        """Make a worker; ``start`` sets it going.

        Args:
            meter: shows the job that runs.
            broken: told when a job raised what no job may raise, in a restore too: nobody knows what it left.
        """
        self._meter = meter
        self._broken = broken
        self._jobs: queue.SimpleQueue[tuple[JobKind, Callable[[], None]]] = queue.SimpleQueue()
        self._restores = 0
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    def start(self) -> None:
        """Begin to work; once."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Give up what is under way; what a restore leaves, the next start follows up."""
        self._meter.stop()
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def restoring(self) -> bool:
        """Whether a restore runs or waits."""
        return self._restores > 0

    def submit(self, kind: JobKind, job: Callable[[], None]) -> bool:
        """Take a job in, from the controller; False when too many wait."""
        if self._jobs.qsize() >= MOST_WAITING:
            return False
        if kind == "restore":
            self._restores += 1
        self._jobs.put((kind, job))
        return True

    def _run(self) -> None:
        while True:
            kind, job = self._jobs.get()
            self._meter.begin(kind)
            try:
                job()
            except Abandoned:
                log.info("a job was given up: the service stops", extra={"job": kind})
                return
            except BaseException:
                log.critical("a job broke", exc_info=True, extra={"job": kind})
                if kind == "restore":
                    self._broken("a restore broke")
                    return
            finally:
                if kind == "restore":
                    self._restores -= 1
                self._meter.end()
