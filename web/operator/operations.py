"""Operations of the operator: a table from name to coroutine, behind the socket and in process alike."""

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from actors.address import ActorError
from remindi import audit, views
from remindi.errors import ErrorCode, Refusal
from remindi.events import ActorType, Caller
from remindi.identifiers import uuid_text
from remindi.inputs.failures import Arguments, read
from remindi.views import Json
from web import adapters
from web.door import Door
from web.outcomes import refusal_of

log = logging.getLogger("remindi.operator")

ACTOR_ID: Final = "operator:local"
"""Whoever may enter the data directory: its rights are the authentication."""

LIST_ADAPTERS: Final = "list_adapters"
GET_ADAPTER: Final = "get_adapter"
UPDATE_ADAPTER: Final = "update_adapter"
TRY_ALIAS: Final = "try_alias"


class _Nothing(Arguments):
    pass


class _Named(Arguments):
    adapter_name: str


class _Update(Arguments):
    adapter_name: str
    update: Any
    """Body of ``PATCH /adapters/{name}``."""


class _Alias(Arguments):
    adapter_name: str
    alias: str


class _Request(Arguments):
    operation: str
    arguments: dict[str, Any]


async def _list_adapters(door: Door, _: _Nothing, caller: Caller) -> Json:
    return {"adapters": [views.adapter_data(row) for row in await adapters.list_adapters(door, caller)]}


async def _get_adapter(door: Door, asked: _Named, caller: Caller) -> Json | Refusal:
    row = await adapters.get_adapter(door, asked.adapter_name, caller)
    return row if isinstance(row, Refusal) else {"adapter": views.adapter_data(row)}


async def _update_adapter(door: Door, asked: _Update, caller: Caller) -> Json | Refusal:
    row = await adapters.update_adapter(door, asked.adapter_name, asked.update, caller)
    return row if isinstance(row, Refusal) else {"adapter": views.adapter_data(row)}


async def _try_alias(door: Door, asked: _Alias, caller: Caller) -> Json | Refusal:
    tried = await adapters.try_alias(door, asked.adapter_name, asked.alias, caller)
    return tried if isinstance(tried, Refusal) else {"probe": views.probe_data(*tried)}


class _Operation(NamedTuple):
    arguments: type[Arguments]
    run: Callable[[Door, Any, Caller], Awaitable[Json | Refusal]]
    changes: bool


_OPERATIONS: Final = {
    LIST_ADAPTERS: _Operation(_Nothing, _list_adapters, changes=False),
    GET_ADAPTER: _Operation(_Named, _get_adapter, changes=False),
    UPDATE_ADAPTER: _Operation(_Update, _update_adapter, changes=True),
    TRY_ALIAS: _Operation(_Alias, _try_alias, changes=False),
}


class Operations:
    """Carries out what an operator asks."""

    def __init__(self, door: Door) -> None:
        """Make them; they ask through the door's addresses."""
        self._door = door

    async def answer(self, request: object) -> Json:
        """Answer one request, a decoded JSON value, with an envelope of contract 1.1. It never raises."""
        caller = Caller(ActorType.USER, ACTOR_ID, uuid_text(self._door.ids.next()))
        name, outcome = await self._outcome(request, caller)
        refused = outcome.code.value if isinstance(outcome, Refusal) else None
        about = {"request_id": caller.request_id, "operation": name, **_about_adapter(request)}
        log.info("operator", extra=about | {"code": refused or "OK"})
        return self._envelope(caller, outcome)

    def refuse(self, refusal: Refusal) -> Json:
        """The envelope for a request that did not get as far as to be read."""
        caller = Caller(ActorType.USER, ACTOR_ID, uuid_text(self._door.ids.next()))
        return self._envelope(caller, refusal)

    def _envelope(self, caller: Caller, outcome: Json | Refusal) -> Json:
        assert caller.request_id is not None
        if isinstance(outcome, Refusal):
            return views.failure(caller.request_id, outcome, always_details=True)
        return views.success(caller.request_id, outcome)

    async def _outcome(self, request: object, caller: Caller) -> tuple[str | None, Json | Refusal]:
        """The name of the operation, if there is such a one, and what came of it."""
        asked = read(_Request, request if isinstance(request, dict) else {}, 0)
        if isinstance(asked, Refusal):
            return None, asked
        operation = _OPERATIONS.get(asked.operation)
        if operation is None:
            return None, Refusal(ErrorCode.NOT_FOUND)
        arguments = read(operation.arguments, asked.arguments, 0, at="/arguments")
        if isinstance(arguments, Refusal):
            return asked.operation, arguments
        if self._closed(operation):
            return asked.operation, Refusal(ErrorCode.MAINTENANCE_ACTIVE)
        try:
            return asked.operation, await operation.run(self._door, arguments, caller)
        except Exception as error:
            refusal = refusal_of(error, self._door.board, mutation=operation.changes)
            about = {"request_id": caller.request_id, "operation": asked.operation}
            if refusal.code == ErrorCode.INTERNAL_ERROR and not isinstance(error, ActorError):
                log.exception("an operation failed", extra=about)
            else:
                log.warning("an operation got no answer: %s", type(error).__name__, extra=about)
            return asked.operation, refusal

    def _closed(self, operation: _Operation) -> bool:
        board = self._door.board
        if board.closed:
            return True
        # A damaged database is read and never written (contract section 16).
        return operation.changes and board.startup == "damaged"


def _about_adapter(request: object) -> Json:
    """What a log line may say of the adapter that is asked for; names of aliases are nobody's business."""
    match request:
        case {"arguments": {"adapter_name": str(name)}}:
            return audit.about_adapter(name)
        case _:
            return {}
