"""The worker: one thread that does the jobs of backups one after another.

It outlives the controller, so that a restore does not depend on the actor that took it in. It ends with the
life of the writer: what a restore leaves then, recovery follows up.
"""

import logging
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Final, NamedTuple

from actors.address import ActorError
from actors.backups.meter import Abandoned, Meter
from remindi.backups import JobKind

log = logging.getLogger("remindi.backups")

NAME: Final = "backups:work"
"""Of the thread; its first part is who asks, for the ask table."""
MOST_WAITING: Final = 16


Then = Callable[[], None]
"""What is left to do when a job has ended, such as to answer whoever waits for it."""


class _Job(NamedTuple):
    kind: JobKind
    work: Callable[[], Then | None]
    given_up: Callable[[], None]


class Worker:
    """Takes jobs in; each is a callable that answers whoever waits for it."""

    def __init__(self, meter: Meter, broken: Callable[[str], None]) -> None:
        """Make a worker; ``start`` sets it going.

        Args:
            meter: shows the job that runs.
            broken: told when a restore raised what no job may raise: nobody knows what it left.
        """
        self._meter = meter
        self._broken = broken
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._restores = 0
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name=NAME, daemon=True)

    def start(self) -> None:
        """Begin to work; once."""
        self._thread.start()

    def stop(self, timeout: float) -> None:
        """Give up what is under way and what waits; wait at most so many seconds for the end.

        A job that reads a large file without a word comes to its end later, and does nothing after it.
        """
        self._stopped = True
        self._meter.stop()
        with suppress(queue.Empty):
            while (job := self._jobs.get(block=False)) is not None:
                job.given_up()
        self._jobs.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout)

    @property
    def restoring(self) -> bool:
        """Whether a restore runs or waits."""
        return self._restores > 0

    def submit(self, kind: JobKind, work: Callable[[], Then | None], given_up: Callable[[], None]) -> bool:
        """Take a job in, from the controller; False when too many wait, or none is done any more.

        Args:
            kind: of the job, as it is shown.
            work: does it; what it returns is called when ``restoring`` tells that it has ended.
            given_up: told instead when it is given up before it began.
        """
        if self._stopped or self._jobs.qsize() >= MOST_WAITING:
            return False
        if kind == "restore":
            self._restores += 1
        self._jobs.put(_Job(kind, work, given_up))
        return True

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._meter.begin(job.kind)
            then = None
            try:
                then = job.work()
            except Abandoned:
                log.info("a job was given up: the service stops", extra={"job": job.kind})
            except BaseException as error:
                if self._stopped and isinstance(error, ActorError):
                    log.info("a job was given up: the service stops", extra={"job": job.kind})
                    continue
                log.critical("a job broke", exc_info=True, extra={"job": job.kind})
                if job.kind == "restore":
                    self._broken("a restore broke")
                    return
            finally:
                if job.kind == "restore":
                    self._restores -= 1
                self._meter.end()
            if then is not None:
                then()
