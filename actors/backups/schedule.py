"""The schedule of automatic backups, as a pure decision (contract 14.2)."""

from typing import Final

from remindi.backups import AutomaticFailure
from remindi.instants import MS_PER_SECOND

RETRY_MS: Final = 300 * MS_PER_SECOND


def next_automatic(
    born_at: int, newest_at: int | None, interval_seconds: int, failure: AutomaticFailure | None
) -> int:
    """The instant of the next automatic backup; one that has passed means now.

    Args:
        born_at: when the database was made.
        newest_at: when the newest automatic backup was made.
        interval_seconds: of the setting.
        failure: of the last try, when none has succeeded since.
    """
    if failure is not None:
        return failure.next_try_at
    return (born_at if newest_at is None else newest_at) + interval_seconds * MS_PER_SECOND
