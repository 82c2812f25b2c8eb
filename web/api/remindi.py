"""Items: rules, messages and models of the tools; the answer is the whole item (contract 11.8)."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, TypeVar

from actors.messages import Request
from actors.messages.readers import GetItem, ListEvents, ListItems
from actors.messages.writer import AddItem, CancelItem, CompleteItem, SnoozeItem, UpdateItem
from remindi import inputs, views
from remindi.answers import Mutated
from remindi.errors import ErrorCode, Refusal, invalid
from remindi.identifiers import parse_uuid
from remindi.inputs.mutations import (
    AddArguments,
    CancelArguments,
    CompleteArguments,
    SnoozeArguments,
    UpdateArguments,
)
from remindi.inputs.queries import CheckArguments, HistoryArguments
from remindi.inputs.query_strings import ListParameters, read_history_parameters, read_list_parameters
from remindi.schemas import administration as schemas
from remindi.views import Json
from web.api.answering import Refused
from web.api.call import Call
from web.api.policy import Admission, Body, Database, Operation, Policy, Resource, Waits
from web.api.query import parameters
from web.checks import Checks
from web.door import Door

N = TypeVar("N")

CHECK_SECONDS: Final = 90.0
"""More than the asks of a check and its probes may take together."""

_READ: Final = Policy(Admission.SESSION, database=Database.READ)
_WRITE: Final = Policy(Admission.MUTATION, Body.JSON, Database.WRITE)
_OF_ITEM: Final = (
    ErrorCode.NOT_FOUND,
    ErrorCode.VERSION_CONFLICT,
    ErrorCode.INVALID_STATE,
    ErrorCode.IDEMPOTENCY_KEY_REUSED,
)
_OF_CONDITION: Final = (ErrorCode.ADAPTER_NOT_FOUND, ErrorCode.ADAPTER_DISABLED)


class Items(Resource):
    """``/remindi``."""

    operations: ClassVar = {
        "GET": Operation(_READ, "A page of items", schemas.LIST, query=ListParameters),
        "POST": Operation(
            _WRITE,
            "Add an item",
            schemas.STORED_ITEM,
            body=AddArguments,
            codes=(ErrorCode.IDEMPOTENCY_KEY_REUSED, *_OF_CONDITION),
        ),
    }

    def on_get(self, call: Call) -> Json | Refusal:
        """Show a page; nothing is evaluated."""
        paged = read_list_parameters(parameters(call.facts), self.door.clock.now())
        if isinstance(paged, Refusal):
            return paged
        query = call.cursors.resume_list(paged)
        if isinstance(query, Refusal):
            return query
        page = call.read(ListItems(caller=call.caller, query=query))
        return views.list_data(page, call.cursors.next_list(query, page.next))

    def on_post(self, call: Call) -> Json | Refusal:
        """Add an item."""
        request = inputs.read_add(call.arguments(), self.door.clock.now())
        if isinstance(request, Refusal):
            return request
        return _changed(call, AddItem(caller=call.caller, request=request))


class Check(Resource):
    """``/remindi/check``."""

    operations: ClassVar = {
        "POST": Operation(
            _WRITE._replace(waits=Waits.PROBES), "Ask what is ready", schemas.CHECK, body=CheckArguments
        ),
    }

    def __init__(self, door: Door) -> None:
        super().__init__(door)
        self._checks = Checks(door)

    def on_post(self, call: Call) -> Json | Refusal:
        """Evaluate, probe, and show what is ready."""
        now = self.door.clock.now()
        paged = inputs.read_check(call.arguments(), now)
        if isinstance(paged, Refusal):
            return paged
        query = call.cursors.resume_check(paged)
        if isinstance(query, Refusal):
            return query
        as_of = now if query.after is None else query.after.as_of
        page = call.run(lambda: self._checks.page(query, as_of, call.caller), CHECK_SECONDS)
        return views.check_data(page, call.cursors.next_check(query, page.next))


class Item(Resource):
    """``/remindi/{id}``."""

    operations: ClassVar = {
        "GET": Operation(_READ, "One item", schemas.CHANGED_ITEM, codes=(ErrorCode.NOT_FOUND,)),
        "PATCH": Operation(
            _WRITE,
            "Change an item, or advance its occurrence",
            schemas.STORED_ITEM,
            body=UpdateArguments,
            codes=(*_OF_ITEM, *_OF_CONDITION),
        ),
    }

    def on_get(self, call: Call, identifier: str) -> Json | Refusal:
        """Show it."""
        record = call.read(GetItem(caller=call.caller, remindi_id=_id(identifier)))
        return record if isinstance(record, Refusal) else views.item_data(record)

    def on_patch(self, call: Call, identifier: str) -> Json | Refusal:
        """Change it."""
        request = _read(self.door, call, identifier, inputs.read_update)
        if isinstance(request, Refusal):
            return request
        return _changed(call, UpdateItem(caller=call.caller, request=request))


class Completion(Resource):
    """``/remindi/{id}/complete``."""

    operations: ClassVar = {
        "POST": Operation(
            _WRITE,
            "End an item with evidence",
            schemas.CHANGED_ITEM,
            body=CompleteArguments,
            codes=_OF_ITEM,
        )
    }

    def on_post(self, call: Call, identifier: str) -> Json | Refusal:
        """Complete it."""
        request = _read(self.door, call, identifier, inputs.read_complete)
        if isinstance(request, Refusal):
            return request
        return _changed(call, CompleteItem(caller=call.caller, request=request))


class Snooze(Resource):
    """``/remindi/{id}/snooze``."""

    operations: ClassVar = {
        "POST": Operation(
            _WRITE, "Put an item off", schemas.CHANGED_ITEM, body=SnoozeArguments, codes=_OF_ITEM
        )
    }

    def on_post(self, call: Call, identifier: str) -> Json | Refusal:
        """Snooze it."""
        request = _read(self.door, call, identifier, inputs.read_snooze)
        if isinstance(request, Refusal):
            return request
        return _changed(call, SnoozeItem(caller=call.caller, request=request))


class Cancellation(Resource):
    """``/remindi/{id}/cancel``."""

    operations: ClassVar = {
        "POST": Operation(
            _WRITE, "End an item with a reason", schemas.CHANGED_ITEM, body=CancelArguments, codes=_OF_ITEM
        )
    }

    def on_post(self, call: Call, identifier: str) -> Json | Refusal:
        """Cancel it."""
        request = _read(self.door, call, identifier, inputs.read_cancel)
        if isinstance(request, Refusal):
            return request
        return _changed(call, CancelItem(caller=call.caller, request=request))


class History(Resource):
    """``/remindi/{id}/history``."""

    operations: ClassVar = {
        "GET": Operation(
            _READ,
            "What happened to an item, and the evidence of its completion",
            schemas.HISTORY,
            query=HistoryArguments,
            codes=(ErrorCode.NOT_FOUND,),
        )
    }

    def on_get(self, call: Call, identifier: str) -> Json | Refusal:
        """Show a page of events."""
        now = self.door.clock.now()
        paged = read_history_parameters(parameters(call.facts), now, _id(identifier))
        if isinstance(paged, Refusal):
            return paged
        query = call.cursors.resume_history(paged)
        if isinstance(query, Refusal):
            return query
        page = call.read(ListEvents(caller=call.caller, query=query))
        if isinstance(page, Refusal):
            return page
        cursor = call.cursors.next_history(query, page.next_after)
        return views.rest_history_data(page, query.remindi_id, cursor)


def _id(text: str) -> bytes:
    """The identifier that a path names."""
    try:
        return parse_uuid(text)
    except ValueError:
        raise Refused(invalid(("/id", "format"))) from None


def _read(
    door: Door,
    call: Call,
    identifier: str,
    reader: Callable[[Mapping[str, Any], int, bytes | None], N | Refusal],
) -> N | Refusal:
    """A request about the item that the path names."""
    return reader(call.arguments(), door.clock.now(), _id(identifier))


def _changed(call: Call, message: Request[Mutated | Refusal]) -> Json | Refusal:
    """Carry a change out and show the item.

    It is read after the commit, so it may show what others did right after; a replayed change shows the
    item as it is by now.
    """
    mutated = call.write(message)
    if isinstance(mutated, Refusal):
        return mutated
    record = call.read(GetItem(caller=call.caller, remindi_id=mutated.id))
    return record if isinstance(record, Refusal) else views.item_data(record, mutated.warnings)
