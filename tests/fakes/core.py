"""The obligation core without doors: the real writer and reader on a real file, under a clock of the test.

What a door does, this does: raw arguments in, envelopes out. It starts, stops and restarts its two actors.
"""

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import apsw

from actors.actor import Actor
from actors.address import Address
from actors.messages import Ping, Request
from actors.messages.readers import GetCheckPage, ListEvents, ListItems, Unsettled
from actors.messages.writer import AddItem, CancelItem, CompleteItem, EvaluatePage, SnoozeItem, UpdateItem
from actors.readers import Reader
from actors.writer import Writer
from remindi import inputs, views
from remindi.answers import CheckPage
from remindi.cursors import Cursors
from remindi.errors import Refusal
from remindi.events import ActorType, Caller
from remindi.inputs.query_strings import read_list_parameters
from remindi.requests import Cancellation, Completion, NewItem, Snooze, Update
from tests.fakes.clocks import ManualClock

Json = dict[str, Any]
R = TypeVar("R")
OWNER: Final = "owner-under-test"
ACTOR_ID: Final = "mcp:under-test"
TOKEN: Final = "a-token-of-the-tests"
TIMEOUT: Final = 60.0
"""Seconds after which an ask is a failure; a healthy one needs milliseconds."""


class Core:
    """Writer and reader behind their addresses. Used as a context manager; leaving it stops both."""

    def __init__(
        self,
        path: Path,
        clock: ManualClock | None = None,
        *,
        seed: int = 0,
        owner: str = OWNER,
        wrap: Callable[[Writer], None] | None = None,
    ) -> None:
        """Take a database file, which may be new; ``wrap`` may change a writer before it starts."""
        self.path = path
        self.clock = ManualClock() if clock is None else clock
        self.writer = Address("writer")
        self.reader = Address("reader")
        self.deaths: list[str] = []
        self._owner = owner
        self._wrap = wrap
        self._chance = random.Random(seed)
        self._cursors = Cursors(TOKEN)
        self._actors: list[Actor] = []
        self._exchanges = 0

    def __enter__(self) -> "Core":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start writer, then reader, each with an answered ping."""
        writer = Writer(
            "writer",
            self.deaths.append,
            store_path=self.path,
            owner=self._owner,
            clock=self.clock,
            chance=self._chance,
        )
        if self._wrap is not None:
            self._wrap(writer)
        self._launch(self.writer, writer)
        self._launch(
            self.reader, Reader("reader", self.deaths.append, store_path=self.path, owner=self._owner)
        )

    def stop(self) -> None:
        """Stop both, the writer last."""
        for actor in reversed(self._actors):
            actor.end()
            actor.thread.join(TIMEOUT)
            assert not actor.thread.is_alive(), f"{actor.name} is stuck"
        self._actors.clear()
        self.writer.bind(None)
        self.reader.bind(None)

    def restart(self) -> None:
        """Stop, and start on the same file."""
        self.stop()
        self.start()

    def write(self, message: Request[R]) -> R:
        """Ask the writer."""
        return self.writer.call(message, timeout=TIMEOUT)

    def read(self, message: Request[R]) -> R:
        """Ask the reader."""
        return self.reader.call(message, timeout=TIMEOUT)

    def caller(self) -> Caller:
        """The agent, in an exchange of its own."""
        self._exchanges += 1
        return Caller(ActorType.AGENT, ACTOR_ID, f"exchange-{self._exchanges}")

    def tool(self, name: str, arguments: Json, caller: Caller | None = None) -> Json:
        """Call a tool as a door does, without probing; the envelope."""
        caller = self.caller() if caller is None else caller
        outcome = self._tool(name, arguments, caller)
        assert caller.request_id is not None
        if isinstance(outcome, Refusal):
            return views.failure(caller.request_id, outcome, always_details=False)
        return views.success(caller.request_id, outcome)

    def data(self, name: str, **arguments: Any) -> Json:
        """Call a tool that must succeed; its ``data``."""
        envelope = self.tool(name, arguments)
        assert envelope["ok"], envelope
        data: Json = envelope["data"]
        return data

    def listed(self, **parameters: str) -> Json:
        """Ask as the list's route does, with a query string that must be right; its ``data``."""
        paged = read_list_parameters(parameters.items(), self.clock.now())
        query = _unless_refused(paged, self._cursors.resume_list)
        assert not isinstance(query, Refusal), query
        page = self.read(ListItems(caller=self.caller(), query=query))
        return views.list_data(page, self._cursors.next_list(query, page.next))

    def _tool(self, name: str, arguments: Json, caller: Caller) -> Json | Refusal:
        now = self.clock.now()
        match name:
            case "remindi_check":
                return self._check(arguments, caller)
            case "remindi_list":
                listing = _unless_refused(inputs.read_list(arguments, now), self._cursors.resume_list)
                if isinstance(listing, Refusal):
                    return listing
                items = self.read(ListItems(caller=caller, query=listing))
                return views.list_data(items, self._cursors.next_list(listing, items.next))
            case "remindi_history":
                history = _unless_refused(inputs.read_history(arguments, now), self._cursors.resume_history)
                if isinstance(history, Refusal):
                    return history
                events = self.read(ListEvents(caller=caller, query=history))
                if isinstance(events, Refusal):
                    return events
                cursor = self._cursors.next_history(history, events.next_after)
                return views.history_data(events, history.remindi_id, cursor)
        request = inputs.READERS[name](arguments, now)
        if isinstance(request, Refusal):
            return request
        answer = self.write(mutation(request, caller))
        return answer if isinstance(answer, Refusal) else views.mutation_data(answer)

    def _check(self, arguments: Json, caller: Caller) -> Json | Refusal:
        now = self.clock.now()
        query = _unless_refused(inputs.read_check(arguments, now), self._cursors.resume_check)
        if isinstance(query, Refusal):
            return query
        as_of = now if query.after is None else query.after.as_of
        page = self.read(GetCheckPage(caller=caller, query=query, as_of=as_of, probing=False))
        if isinstance(page, Unsettled):
            page = self.write(EvaluatePage(caller=caller, query=query, as_of=as_of))
        assert isinstance(page, CheckPage)
        return views.check_data(page, self._cursors.next_check(query, page.next))

    def _launch(self, address: Address, actor: Actor) -> None:
        actor.launch()
        self._actors.append(actor)
        assert actor.settled.wait(TIMEOUT)
        if actor.start_error is not None:
            self._actors.remove(actor)
            raise actor.start_error
        address.bind(actor.actor_ref)
        address.call(Ping(), timeout=TIMEOUT)


def mutation(request: object, caller: Caller) -> Request[Any]:
    """The writer's message for a normalized request."""
    match request:
        case NewItem():
            return AddItem(caller=caller, request=request)
        case Completion():
            return CompleteItem(caller=caller, request=request)
        case Snooze():
            return SnoozeItem(caller=caller, request=request)
        case Update():
            return UpdateItem(caller=caller, request=request)
        case Cancellation():
            return CancelItem(caller=caller, request=request)
        case _:
            raise TypeError(type(request).__name__)


P = TypeVar("P")
Q = TypeVar("Q")


def _unless_refused(paged: P | Refusal, resume: Callable[[P], Q | Refusal]) -> Q | Refusal:
    return paged if isinstance(paged, Refusal) else resume(paged)


@contextmanager
def raw(path: Path) -> Iterator[apsw.Connection]:
    """The file behind the product's back; only while nobody else has it open for writing."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(5_000)
    try:
        yield connection
    finally:
        connection.close(True)


def enable_adapter(path: Path, name: str) -> None:
    """Enable an adapter in a stopped core's file, as an administrator will be able to."""
    with raw(path) as connection:
        connection.execute("UPDATE adapter SET enabled = 1 WHERE name = ?", (name,))


def copy_database(source: Path, target: Path) -> None:
    """Copy the file of a stopped core; much faster than migrating anew."""
    shutil.copyfile(source, target)
