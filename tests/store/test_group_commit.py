"""Groups: what waits together commits together, answers follow the commit, a failing member fails alone."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actors.messages.readers import ListItems
from actors.messages.writer import AddItem, PurgeIdempotency
from actors.store import Busy, StorageFailed, WriteStore
from actors.writer import MAX_GROUP, Writer
from remindi import inputs
from remindi.answers import Mutated
from remindi.errors import ErrorCode, Refusal
from remindi.requests import ListQuery, NewItem
from tests.fakes.core import TIMEOUT, Core, raw

EVERYTHING = ListQuery(None, None, None, (), (), None, None, 200, None)


class Gate:
    """Holds a writer's thread at the door of its store, so that messages gather behind the first one."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.opened = threading.Event()

    def wait(self) -> None:
        self.entered.set()
        assert self.opened.wait(TIMEOUT)


class Instrumented:
    """A core whose store counts its commits and does what a test says at begin, member and commit."""

    def __init__(self, path: Path) -> None:
        self.commits = 0
        self.at_commit: Callable[[], None] | None = None
        self.at_insert: Callable[[NewItem], None] | None = None
        self.gate: Gate | None = None
        self.core = Core(path, wrap=self._wrap)

    def _wrap(self, writer: Writer) -> None:
        opened = writer._open

        def open_instrumented() -> WriteStore:
            store = opened()
            commit, begin, add = store.commit, store.begin, store.mutations.add

            def counting_commit() -> bool:
                self.commits += 1
                if self.at_commit is not None:
                    self.at_commit()
                return commit()

            def gated_begin() -> None:
                gate, self.gate = self.gate, None
                if gate is not None:
                    gate.wait()
                begin()

            def watched_add(moment: Any, new: NewItem) -> Any:
                outcome = add(moment, new)
                if self.at_insert is not None:
                    self.at_insert(new)
                return outcome

            store.commit = counting_commit  # type: ignore[method-assign]
            store.begin = gated_begin  # type: ignore[method-assign]
            store.mutations.add = watched_add  # type: ignore[method-assign]
            return store

        writer._open = open_instrumented

    def together(self, messages: list[Any]) -> list[Any]:
        """Ask for all of them in one group; answers or exceptions, in order."""
        self.gate = gate = Gate()
        outcomes: list[Any] = [None] * len(messages)

        def ask(place: int) -> None:
            try:
                outcomes[place] = self.core.write(messages[place])
            except Exception as error:
                outcomes[place] = error

        threads = [threading.Thread(target=ask, args=(place,)) for place in range(len(messages))]
        threads[0].start()
        assert gate.entered.wait(TIMEOUT)
        assert self.core.writer._ref is not None
        inbox: Any = self.core.writer._ref.actor_inbox
        for waiting, thread in enumerate(threads[1:], start=1):
            thread.start()
            while inbox.qsize() < waiting:
                thread.join(0.001)
        gate.opened.set()
        for thread in threads:
            thread.join(TIMEOUT)
            assert not thread.is_alive()
        return outcomes

    def messages(self) -> list[str]:
        """The messages of all items, as a reader sees them."""
        page = self.core.read(ListItems(query=EVERYTHING))
        return [record.content.message for record in page.items]


@pytest.fixture
def group(path: Path) -> Iterator[Instrumented]:
    made = Instrumented(path)
    with made.core:
        yield made


def add(message: str, project: str = "p", key: str | None = None) -> AddItem:
    arguments = {
        "project_id": project,
        "message": message,
        "trigger": {"type": "next_session"},
        "idempotency_key": key or f"key-of-{message}",
    }
    request = inputs.read_add(arguments, 0)
    assert isinstance(request, NewItem)
    return AddItem(request=request)


@contextmanager
def failing(group: Instrumented, error: Exception) -> Iterator[None]:
    def fail() -> None:
        raise error

    group.at_commit = fail
    yield
    group.at_commit = None


def test_messages_that_wait_together_share_one_commit(group: Instrumented) -> None:
    outcomes = group.together([add(f"m{number}") for number in range(8)])
    assert all(isinstance(outcome, Mutated) for outcome in outcomes)
    assert group.commits == 1
    assert len(group.messages()) == 8


def test_a_group_ends_at_its_bound(group: Instrumented) -> None:
    outcomes = group.together([PurgeIdempotency(limit=1) for _ in range(MAX_GROUP + 3)])
    assert outcomes == [0] * (MAX_GROUP + 3)
    assert group.commits == 2


def test_a_lone_message_waits_for_nobody(group: Instrumented) -> None:
    for number in range(3):
        group.core.write(add(f"m{number}"))
    assert group.commits == 3


def test_no_answer_goes_out_before_the_commit(group: Instrumented) -> None:
    seen: list[list[str]] = []
    answered = threading.Event()
    gate = Gate()
    group.at_commit = gate.wait

    def ask() -> None:
        group.core.write(add("m"))
        seen.append(group.messages())
        answered.set()

    thread = threading.Thread(target=ask)
    thread.start()
    assert gate.entered.wait(TIMEOUT)
    assert not answered.is_set()
    assert group.messages() == []
    gate.opened.set()
    thread.join(TIMEOUT)
    assert seen == [["m"]], "what was answered is what a reader sees"


def test_a_failing_member_leaves_the_others_and_nothing_of_itself(group: Instrumented) -> None:
    def refuse(new: NewItem) -> None:
        if new.content.message == "bad":
            raise ValueError("a bug")

    group.at_insert = refuse
    outcomes = group.together([add("a"), add("bad", project="a project nobody else names"), add("b")])
    assert isinstance(outcomes[0], Mutated)
    assert isinstance(outcomes[1], ValueError)
    assert isinstance(outcomes[2], Mutated)
    assert sorted(group.messages()) == ["a", "b"]
    with raw(group.core.path) as connection:
        counts = [
            next(iter(connection.execute(f"SELECT count(*) FROM {table}")))[0]
            for table in ("item", "body", "event", "idempotency")
        ]
    assert counts == [2, 2, 2, 2]
    group.at_insert = None
    assert isinstance(group.core.write(add("bad", project="a project nobody else names")), Mutated)


def test_a_failing_first_member_leaves_nothing(group: Instrumented) -> None:
    def refuse(_: NewItem) -> None:
        raise ValueError("a bug")

    group.at_insert = refuse
    with pytest.raises(ValueError, match="a bug"):
        group.core.write(add("bad"))
    group.at_insert = None
    assert isinstance(group.core.write(add("good")), Mutated)
    assert group.messages() == ["good"]
    assert group.core.deaths == []


def test_a_failing_commit_fails_the_whole_group_and_stores_nothing(group: Instrumented) -> None:
    error = StorageFailed("the disk is full")
    with failing(group, error):
        outcomes = group.together([add(f"m{number}", project=f"new {number}") for number in range(4)])
    assert outcomes == [error] * 4
    assert group.messages() == []
    again = [group.core.write(add(f"m{number}", project=f"new {number}")) for number in range(4)]
    assert all(isinstance(outcome, Mutated) for outcome in again)
    assert sorted(group.messages()) == ["m0", "m1", "m2", "m3"]
    projects = {record.content.project_id for record in group.core.read(ListItems(query=EVERYTHING)).items}
    assert projects == {"new 0", "new 1", "new 2", "new 3"}


def test_a_database_that_stays_locked_is_an_answer_and_no_failure(group: Instrumented) -> None:
    with failing(group, Busy("locked")):
        outcomes = group.together([add("a"), add("b")])
    assert [outcome.code for outcome in outcomes if isinstance(outcome, Refusal)] == [
        ErrorCode.DATABASE_BUSY
    ] * 2
    assert group.messages() == []


def test_names_of_a_member_that_failed_are_not_remembered(group: Instrumented) -> None:
    """The number that the failed member's name got goes to another name; the cache must not mix them up."""

    def refuse(new: NewItem) -> None:
        if new.content.message == "bad":
            raise ValueError("a bug")

    group.at_insert = refuse
    group.together([add("a", project="A"), add("bad", project="B"), add("c", project="C")])
    group.at_insert = None
    group.core.write(add("b", project="B"))
    found = {
        record.content.message: record.content.project_id
        for record in group.core.read(ListItems(query=EVERYTHING)).items
    }
    assert found == {"a": "A", "c": "C", "b": "B"}
    for project in "ABC":
        page = group.core.read(ListItems(query=EVERYTHING._replace(project_id=project)))
        assert [record.content.project_id for record in page.items] == [project]


def test_row_keys_and_identifiers_of_a_failed_member_are_used_once(group: Instrumented) -> None:
    def refuse(new: NewItem) -> None:
        if new.content.message == "bad":
            raise ValueError("a bug")

    group.at_insert = refuse
    outcomes = group.together([add("a"), add("bad"), add("b"), add("c")])
    stored = [outcome.id for outcome in outcomes if isinstance(outcome, Mutated)]
    assert stored == sorted(set(stored))
    with raw(group.core.path) as connection:
        keys = [row[0] for row in connection.execute("SELECT key FROM item ORDER BY id")]
    assert keys == [1, 2, 3]
