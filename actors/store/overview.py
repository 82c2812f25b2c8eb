"""The overview as it is read: counters, and the nearest wake times; never a scan of items."""

from typing import Final

import apsw

from actors.store.names import Names
from remindi.items import Priority
from remindi.overview import (
    AGENDA_CHARACTERS,
    AGENDA_ENTRIES,
    AGENDA_MS,
    DAYS,
    AgendaEntry,
    Day,
    Happening,
    Overview,
    Standing,
    day_of,
    due_to_done,
)

# A scheduled condition wakes for its probes, which are no appointments; its manual check is one.
_AGENDA: Final = f"""
SELECT item.id, item.project, item.priority, page.at, page.happening,
    substr(body.message, 1, {AGENDA_CHARACTERS}), length(body.message) > {AGENDA_CHARACTERS}
FROM (
    SELECT key, wake AS at, CASE state WHEN 0 THEN {Happening.BECOMES_DUE:d} WHEN 1 THEN
        {Happening.BECOMES_OVERDUE:d} ELSE {Happening.SNOOZE_ENDS:d} END AS happening
    FROM item INDEXED BY item_wake
    WHERE owner = :owner AND wake > :after AND wake <= :until AND NOT (state = 0 AND trigger_type = 6)
    UNION ALL
    SELECT key, manual_check_at AS at, {Happening.MANUAL_CHECK:d} FROM item INDEXED BY item_manual_check
    WHERE owner = :owner AND manual_check_at > :after AND manual_check_at <= :until
        AND state = 0 AND manual_check_at IS NOT NULL
    ORDER BY at, key LIMIT {AGENDA_ENTRIES + 1}
) AS page CROSS JOIN item ON item.key = page.key CROSS JOIN body ON body.key = page.key
ORDER BY page.at, page.key
"""
_PRIORITIES: Final = tuple(Priority)
_HAPPENINGS: Final = tuple(Happening)


def overview(connection: apsw.Connection, owner: int, as_of: int, names: Names) -> Overview:
    """The overview at ``as_of``; within the caller's transaction."""
    counts = dict(connection.execute("SELECT standing, count FROM item_count WHERE owner = ?", (owner,)))
    agenda = list(connection.execute(_AGENDA, {"owner": owner, "after": as_of, "until": as_of + AGENDA_MS}))
    today = day_of(as_of)
    first = today - DAYS + 1
    days = {
        row[0]: Day._make(row)
        for row in connection.execute(
            "SELECT day, created, due, completed, cancelled FROM daily"
            " WHERE owner = ? AND day BETWEEN ? AND ?",
            (owner, first, today),
        )
    }
    histogram = list(
        connection.execute(
            "SELECT bucket, sum(count) FROM due_to_done WHERE owner = ? AND day BETWEEN ? AND ?"
            " GROUP BY bucket ORDER BY bucket",
            (owner, first, today),
        )
    )
    return Overview(
        as_of,
        tuple(counts.get(standing, 0) for standing in Standing),
        tuple(
            AgendaEntry(
                identifier,
                names.text(project),
                _PRIORITIES[priority],
                at,
                _HAPPENINGS[happening],
                message,
                bool(cut),
            )
            for identifier, project, priority, at, happening, message, cut in agenda[:AGENDA_ENTRIES]
        ),
        len(agenda) > AGENDA_ENTRIES,
        tuple(days.get(day, Day(day, 0, 0, 0, 0)) for day in range(first, today + 1)),
        due_to_done(histogram),
    )
