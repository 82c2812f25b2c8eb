"""The meter: how far the job is that runs, for the board, and the word that it shall be given up."""

import threading
import time
from typing import Any, Final, Literal

from actors.address import Address
from actors.board import Board
from actors.messages.feed import BackupsChanged
from remindi.backups import AutomaticFailure, Job, JobKind

SHOWN_SECONDS: Final = 0.25
"""How often at most a change of progress is shown."""


class Abandoned(Exception):
    """The service stops: whatever is under way is given up where it is."""


class Meter:
    """Shared by the controller, its worker and the writer, who each report what they do."""

    def __init__(self, board: Board, feed: Address) -> None:
        """Show jobs on a board, and tell the feed."""
        self._board = board
        self._feed = feed
        self._shown_at = 0.0
        self._stopping = threading.Event()
        self._lock = threading.Lock()

    def stop(self) -> None:
        """Give up what is under way, from any thread: its next report raises."""
        self._stopping.set()

    def begin(self, kind: JobKind) -> None:
        """A job begins."""
        self._show(Job(kind, "waiting", 0, 0))

    def step(self, step: Literal["copying", "verifying", "replacing", "waiting"]) -> None:
        """The job is at another of its steps.

        Raises:
            Abandoned: it shall be given up.
        """
        self.check()
        job = self._board.backups.job
        if job is not None:
            self._show(job._replace(step=step, done_bytes=0, total_bytes=0))

    def __call__(self, done: int, total: int) -> None:
        """The step has done so many bytes of so many.

        Raises:
            Abandoned: it shall be given up.
        """
        self.check()
        now = time.monotonic()
        job = self._board.backups.job
        if job is not None and (now - self._shown_at >= SHOWN_SECONDS or done == total):
            self._shown_at = now
            self._show(job._replace(done_bytes=done, total_bytes=total))

    def pause(self, seconds: float) -> None:
        """Wait before the next try.

        Raises:
            Abandoned: the job shall be given up.
        """
        if self._stopping.wait(seconds):
            raise Abandoned

    def end(self) -> None:
        """The job has ended."""
        self._show(None)

    def check(self) -> None:
        """Go on only while nobody has given the work up.

        Raises:
            Abandoned: somebody has.
        """
        if self._stopping.is_set():
            raise Abandoned

    def schedule(self, at: int, failure: AutomaticFailure | None) -> None:
        """Show when the next automatic backup is due, and what became of the last one."""
        self._change(next_automatic_at=at, failure=failure)

    def _show(self, job: Job | None) -> None:
        if not self._stopping.is_set():
            self._change(job=job)

    def _change(self, **fields: Any) -> None:
        """Replace what the board shows; several threads do."""
        with self._lock:
            before = self._board.backups
            self._board.backups = shown = before._replace(**fields)
        if shown != before and self._feed.listens:
            self._feed.notify(BackupsChanged())
