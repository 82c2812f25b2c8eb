"""The eight tools: read the arguments, ask, render. Rules live in ``remindi``, effects in the actors."""

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from actors.address import ActorError
from actors.messages import Request
from actors.messages.readers import (
    ListEvents,
    ListItems,
)
from actors.messages.writer import (
    AddItem,
    CancelItem,
    CompleteItem,
    SnoozeItem,
    UpdateItem,
)
from remindi import inputs, tools, views
from remindi.answers import Mutated
from remindi.cursors import Cursors
from remindi.errors import ErrorCode, Refusal
from remindi.events import ActorType, Caller
from web.checks import Checks
from web.door import READER_SECONDS, WRITER_SECONDS, Door
from web.generations import Generation
from web.outcomes import refusal_of

R = TypeVar("R")
Arguments = Mapping[str, Any]
Json = dict[str, Any]

log = logging.getLogger("remindi.mcp")

CLIENT_FLAG: Final = "wait_for_previous"
"""A boolean that Gemini CLI adds to every call; dropped before validation (contract 2.3)."""
DUE_CONDITIONS_AT_ONCE: Final = 200


class Rendered(NamedTuple):
    """The envelope of one tool call as JSON text, and what it tells."""

    json: bytes
    refused: ErrorCode | None
    """Null for a success."""


class Tools:
    """The tools of the MCP door."""

    def __init__(self, door: Door) -> None:
        """Make the tools; they ask through the door's addresses."""
        self._door = door
        self._checks = Checks(door)
        self._handlers: dict[str, Callable[[Arguments, Caller], Awaitable[Json | Refusal]]] = {
            tools.ADD: self._add,
            tools.CHECK: self._check,
            tools.COMPLETE: self._complete,
            tools.SNOOZE: self._snooze,
            tools.UPDATE: self._update,
            tools.LIST: self._list,
            tools.CANCEL: self._cancel,
            tools.HISTORY: self._history,
        }
        self._reads = frozenset((tools.LIST, tools.HISTORY, tools.CHECK))

    async def call(self, name: str, arguments: Json, request_id: str) -> Rendered | None:
        """Run a tool; None when there is none of that name. It never raises.

        Args:
            name: of the tool.
            arguments: as the client sent them.
            request_id: of the exchange.
        """
        handler = self._handlers.get(name)
        if handler is None:
            return None
        if isinstance(arguments.get(CLIENT_FLAG), bool):
            arguments = {key: value for key, value in arguments.items() if key != CLIENT_FLAG}
        caller = Caller(ActorType.AGENT, self._door.actor_id, request_id)
        board = self._door.board
        board.last_calls = {**board.last_calls, name: self._door.clock.now()}
        outcome: Json | Refusal
        try:
            outcome = await handler(arguments, caller)
        except Exception as error:
            outcome = refusal_of(error, board, mutation=name not in self._reads)
            about = {"request_id": request_id, "tool": name, "code": outcome.code.value}
            if outcome.code == ErrorCode.INTERNAL_ERROR and not isinstance(error, ActorError):
                log.exception("a tool call failed", extra=about)
            else:
                log.warning("a tool call got no answer: %s", type(error).__name__, extra=about)
        if isinstance(outcome, Refusal):
            failure = views.failure(request_id, outcome, always_details=False)
            return Rendered(views.to_json(failure), outcome.code)
        return Rendered(views.to_json(views.success(request_id, outcome)), None)

    # -------------------------------------------------------------- mutations

    async def _add(self, arguments: Arguments, caller: Caller) -> Json | Refusal:
        request = inputs.read_add(arguments, self._door.clock.now())
        if isinstance(request, Refusal):
            return request
        return await self._mutate(AddItem(caller=caller, request=request))

    async def _complete(self, arguments: Arguments, caller: Caller) -> Json | Refusal:
        request = inputs.read_complete(arguments, self._door.clock.now())
        if isinstance(request, Refusal):
            return request
        return await self._mutate(CompleteItem(caller=caller, request=request))

    async def _snooze(self, arguments: Arguments, caller: Caller) -> Json | Refusal:
        request = inputs.read_snooze(arguments, self._door.clock.now())
        if isinstance(request, Refusal):
            return request
        return await self._mutate(SnoozeItem(caller=caller, request=request))

    async def _update(self, arguments: Arguments, caller: Caller) -> Json | Refusal:
        request = inputs.read_update(arguments, self._door.clock.now())
        if isinstance(request, Refusal):
            return request
        return await self._mutate(UpdateItem(caller=caller, request=request))

    async def _cancel(self, arguments: Arguments, caller: Caller) -> Json | Refusal:
        request = inputs.read_cancel(arguments, self._door.clock.now())
        if isinstance(request, Refusal):
            return request
        return await self._mutate(CancelItem(caller=caller, request=request))

    async def _mutate(self, message: Request[Mutated | Refusal]) -> Json | Refusal:
        mutated = await self._door.writer.acall(message, timeout=WRITER_SECONDS)
        return mutated if isinstance(mutated, Refusal) else views.mutation_data(mutated)

    # ------------------------------------------------------------------ reads

    async def _list(self, arguments: Arguments, caller: Caller) -> Json | Refusal:
        paged = inputs.read_list(arguments, self._door.clock.now())
        if isinstance(paged, Refusal):
            return paged
        generation, cursors = self._present()
        query = cursors.resume_list(paged)
        if isinstance(query, Refusal):
            return query
        page = await self._read(ListItems(caller=caller, query=query), generation)
        return views.list_data(page, cursors.next_list(query, page.next))

    async def _history(self, arguments: Arguments, caller: Caller) -> Json | Refusal:
        paged = inputs.read_history(arguments, self._door.clock.now())
        if isinstance(paged, Refusal):
            return paged
        generation, cursors = self._present()
        query = cursors.resume_history(paged)
        if isinstance(query, Refusal):
            return query
        page = await self._read(ListEvents(caller=caller, query=query), generation)
        if isinstance(page, Refusal):
            return page
        cursor = cursors.next_history(query, page.next_after)
        return views.history_data(page, query.remindi_id, cursor)

    async def _read(self, message: Request[R], generation: Generation) -> R:
        answer = await self._door.reader.acall(message, timeout=READER_SECONDS)
        generation.hold()
        return answer

    def _present(self) -> tuple[Generation, Cursors]:
        """The content that there is now, and its cursors."""
        generation = Generation(self._door.board)
        return generation, self._door.cursors.of(generation.value)

    # ------------------------------------------------------------------ check

    async def _check(self, arguments: Arguments, caller: Caller) -> Json | Refusal:
        now = self._door.clock.now()
        paged = inputs.read_check(arguments, now)
        if isinstance(paged, Refusal):
            return paged
        generation, cursors = self._present()
        query = cursors.resume_check(paged)
        if isinstance(query, Refusal):
            return query
        as_of = now if query.after is None else query.after.as_of
        page = await self._checks.page(query, as_of, caller)
        generation.hold()
        return views.check_data(page, cursors.next_check(query, page.next))
