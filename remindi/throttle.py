"""The sign-in throttle of contract 11.7: who has failed too often of late. No clock: instants are given."""

from collections import deque
from typing import Final

from remindi.instants import MS_PER_SECOND

WINDOW_MS: Final = 60 * MS_PER_SECOND
"""How long a failure counts."""
CLIENT_FAILURES: Final = 5
"""So many of one client address, and it waits."""
ALL_FAILURES: Final = 60
"""So many of all addresses together, and everybody waits."""


class Throttle:
    """Wrong credentials within the window.

    Nobody fails while everybody waits, so more than ``ALL_FAILURES`` never count at a time: that many are
    kept, however many addresses come.
    """

    def __init__(self) -> None:
        """Start without a failure."""
        self._failures: deque[tuple[int, str]] = deque(maxlen=ALL_FAILURES)

    def retry_after(self, client: str, now: int) -> int | None:
        """Seconds after which the client may try again, rounded up; None when it may try now.

        Args:
            client: its address.
            now: milliseconds of a clock that never goes back.
        """
        while self._failures and now - self._failures[0][0] >= WINDOW_MS:
            self._failures.popleft()
        of_all = [at for at, _ in self._failures]
        of_client = [at for at, who in self._failures if who == client]
        oldest = [
            failures[0]
            for failures, limit in ((of_client, CLIENT_FAILURES), (of_all, ALL_FAILURES))
            if len(failures) >= limit
        ]
        if not oldest:
            return None
        return -(-(max(oldest) + WINDOW_MS - now) // MS_PER_SECOND)

    def count_failure(self, client: str, now: int) -> None:
        """Count wrong credentials; successes and refused attempts are not told (arguments as above)."""
        self._failures.append((now, client))
