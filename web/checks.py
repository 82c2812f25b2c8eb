"""Checks: one page of ready items, with the conditions of the project probed before (contract 5.1).

The same for every door that offers a check. It runs on the HTTP server's loop; probes that outlast the
check go on there, and what they saw is stored when they are done.
"""

import asyncio
import logging
from typing import Any, Final

from actors.failures import unrefused
from actors.messages.probes import NotProbed, RunProbe
from actors.messages.readers import (
    ConditionsDue,
    GetCheckPage,
    ListSettings,
    ProbeTarget,
)
from actors.messages.writer import ApplyProbes, EvaluatePage, ProbeResult
from actors.probing import DueList, result_of
from remindi.answers import CheckPage
from remindi.events import Caller
from remindi.requests import CheckQuery
from remindi.settings import ADAPTER_CONCURRENCY, ADAPTER_TIMEOUT_SECONDS, Settings
from web.door import POOL_SECONDS, READER_SECONDS, WRITER_SECONDS, Door
from web.generations import Generation

log = logging.getLogger("remindi.checks")

GLANCE_SECONDS: Final = 0.2
"""How soon a check that waits for probes hears of a stop."""


class Checks:
    """Checks through one door."""

    def __init__(self, door: Door) -> None:
        """Make the checks; they ask through the door's addresses."""
        self._door = door
        self._probing: set[asyncio.Task[None]] = set()

    async def page(self, query: CheckQuery, as_of: int, caller: Caller) -> CheckPage:
        """A page of a check as of ``as_of``; the first page of a walk probes, if the query wants it.

        Raises:
            ActorError: reader or writer gave no answer.
            DatabaseRefused: the database stayed locked.
            Paused: a restore has come between.
        """
        generation = Generation(self._door.board)
        page = await self._page(query, as_of, caller, generation)
        generation.hold()
        return page

    async def _page(self, query: CheckQuery, as_of: int, caller: Caller, generation: Generation) -> CheckPage:
        probing = query.evaluate_conditions and query.after is None
        page = await self._read(query, as_of, caller, probing=probing)
        if isinstance(page, ConditionsDue):
            await self._probe(query, as_of, caller, generation)
            generation.hold()
            page = await self._read(query, as_of, caller, probing=False)
        if isinstance(page, CheckPage):
            return page
        # Something on the page changes by being evaluated.
        message = EvaluatePage(caller=caller, query=query, as_of=as_of)
        return unrefused(await self._door.writer.acall(message, timeout=WRITER_SECONDS))

    async def _read(self, query: CheckQuery, as_of: int, caller: Caller, *, probing: bool) -> Any:
        question = GetCheckPage(caller=caller, query=query, as_of=as_of, probing=probing)
        return await self._door.reader.acall(question, timeout=READER_SECONDS)

    async def _probe(self, query: CheckQuery, as_of: int, caller: Caller, generation: Generation) -> None:
        """Look at the due conditions of the project, for at most ``adapters.timeout_seconds``."""
        rows = await self._door.reader.acall(ListSettings(caller=caller), timeout=READER_SECONDS)
        settings = Settings({row.key: row.value for row in rows})
        seconds = settings[ADAPTER_TIMEOUT_SECONDS]
        probing = _Probing(self._door, query, as_of, caller, seconds, generation)
        # Enough that no slot of the pool waits for this loop.
        looks = {asyncio.create_task(probing.look()) for _ in range(2 * settings[ADAPTER_CONCURRENCY])}
        # The loop itself holds tasks only weakly.
        self._probing |= looks
        for look in looks:
            look.add_done_callback(self._probing.discard)
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        # A stop of the service lets running requests end, and does not wait for a peer.
        while looks and (left := until - loop.time()) > 0 and self._door.board.startup != "stopping":
            _, looks = await asyncio.wait(looks, timeout=min(left, GLANCE_SECONDS))


class _Probing:
    """The probes of one check: several looks side by side take targets from one list."""

    def __init__(
        self,
        door: Door,
        query: CheckQuery,
        as_of: int,
        caller: Caller,
        seconds: float,
        generation: Generation,
    ) -> None:
        self._door = door
        self._query = query
        self._as_of = as_of
        self._caller = caller
        self._seconds = seconds
        self._until = door.clock.monotonic() + seconds
        self._generation = generation
        self._listing = asyncio.Lock()
        self._due = DueList()
        self._storing = asyncio.Lock()
        self._results: list[ProbeResult] = []

    async def look(self) -> None:
        """Look at targets until none is left or the time is over; what goes wrong fails no check."""
        try:
            while (target := await self._next()) is not None and await self._look_at(target):
                continue
        except Exception as error:
            log.warning(
                "conditions were not probed",
                extra={"request_id": self._caller.request_id, "error": type(error).__name__},
            )

    async def _look_at(self, target: ProbeTarget) -> bool:
        left = self._until - self._door.clock.monotonic()
        if left <= 0:
            return False
        answer = await self._door.probes.acall(
            RunProbe(caller=self._caller, target=target, start_within=left),
            timeout=left + self._seconds + POOL_SECONDS,
        )
        if isinstance(answer, NotProbed):
            return False
        self._results.append(result_of(answer, self._door.chance))
        await self._store()
        return True

    async def _next(self) -> ProbeTarget | None:
        async with self._listing:
            question = self._due.question(self._caller, self._as_of, self._query.project_id)
            if question is not None:
                self._due.extend(await self._door.reader.acall(question, timeout=READER_SECONDS))
            return self._due.pop()

    async def _store(self) -> None:
        """Store what has come; results that come while others are being stored go together."""
        async with self._storing:
            results, self._results = tuple(self._results), []
            if not results:
                return
            # What was seen for items of a former content says nothing of those that have their numbers now.
            self._generation.hold()
            late = self._door.clock.monotonic() > self._until
            message = ApplyProbes(
                caller=self._caller,
                results=results,
                lifecycle_event=self._query.context.lifecycle_event,
                as_of=self._door.clock.now() if late else self._as_of,
            )
            unrefused(await self._door.writer.acall(message, timeout=WRITER_SECONDS))
