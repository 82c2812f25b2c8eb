"""Tally: how many items stand where and what each day brings, counted with the changes themselves.

What a group changes is summed up in memory and stored right before it commits: a handful of rows, however
many members it has. What a member did counts only once the member stands. Triggers would rewrite those rows
for each item, of which a scheduler pass has twenty thousand a second.
"""

from collections import Counter
from typing import Final

import apsw

from remindi.items import Item, State
from remindi.overview import bucket_of, day_of, standing

_STANDING: Final = (
    "INSERT INTO item_count (owner, standing, count) VALUES (?, ?, ?)"
    " ON CONFLICT DO UPDATE SET count = count + excluded.count"
)
_DAILY: Final = (
    "INSERT INTO daily (owner, day, {column}) VALUES (?, ?, ?)"
    " ON CONFLICT DO UPDATE SET {column} = {column} + excluded.{column}"
)
_CREATED, _DUE, _COMPLETED, _CANCELLED = (
    _DAILY.format(column=column) for column in ("created", "due", "completed", "cancelled")
)
_DUE_TO_DONE: Final = (
    "INSERT INTO due_to_done (owner, day, bucket, count) VALUES (?, ?, ?, ?)"
    " ON CONFLICT DO UPDATE SET count = count + excluded.count"
)
_Counts = Counter[tuple[str | int, ...]]
"""How much to add, by the statement that adds it and what follows the owner there."""


class Tally:
    """The counters of one owner on the write connection."""

    def __init__(self, connection: apsw.Connection, owner: int) -> None:
        """Count the items of ``owner``."""
        self._connection = connection
        self._owner = owner
        self._group: _Counts = Counter()
        self._member: _Counts = Counter()

    def changed(self, before: Item | None, after: Item, now: int) -> None:
        """Count what became of an item at ``now``; ``before`` is None for a new one."""
        was = None if before is None else standing(before)
        becomes = standing(after)
        if was == becomes:
            return
        counts, day = self._member, day_of(now)
        counts[_STANDING, becomes] += 1
        if before is None or was is None:
            counts[_CREATED, day] += 1
            return
        counts[_STANDING, was] -= 1
        if after.state == State.DUE and before.state == State.SCHEDULED:
            counts[_DUE, day] += 1
        elif after.completed_at is not None:
            counts[_COMPLETED, day] += 1
            if after.due_since is not None:
                counts[_DUE_TO_DONE, day, bucket_of(after.completed_at - after.due_since)] += 1
        elif after.cancelled_at is not None:
            counts[_CANCELLED, day] += 1

    def member_stands(self) -> None:
        """What was counted since the last member belongs to the group."""
        self._group.update(self._member)
        self._member.clear()

    def member_undone(self) -> None:
        """What was counted since the last member has not happened."""
        self._member.clear()

    def store(self) -> None:
        """Add what the group counted, in its transaction."""
        self.member_stands()
        for (statement, *place), count in self._group.items():
            if count:
                self._connection.execute(str(statement), (self._owner, *place, count))
        self._group.clear()

    def rolled_back(self) -> None:
        """Nothing of the group has happened."""
        self._member.clear()
        self._group.clear()
