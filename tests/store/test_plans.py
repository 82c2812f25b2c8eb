"""Plans: every statement finds its rows by an index, and what an index has in order is not sorted again.

The statements are those that the store really runs, caught on its own connections while it does everything.
"""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import apsw
import pytest

from actors.messages.control import LeaseRow
from actors.store import ReadStore, WriteStore, search
from actors.store.mutations import Moment
from actors.system import system_random
from remindi import inputs
from remindi.answers import CheckPage, ListPage, Mutated
from remindi.audit import AuditOrder, AuditQuery
from remindi.errors import Refusal
from remindi.events import ActorType, Caller, EventType
from remindi.requests import (
    Cancellation,
    CheckQuery,
    Completion,
    HistoryQuery,
    ListQuery,
    NewItem,
    Snooze,
    Sort,
    Update,
)
from tests.fakes.clocks import ManualClock
from tests.fakes.core import OWNER, Json
from tests.fakes.script import PAST

AGENT: Final = Caller(ActorType.AGENT, "agent", "r")
FUTURE: Final = "2028-01-01T00:00:00Z"
CONDITION: Final = {
    "type": "condition",
    "adapter": "tcp_reachable",
    "parameters": {"target": "t"},
    "manual_check_at": FUTURE,
}
EVIDENCE: Final = {
    "type": "observation",
    "summary": "saw the job end with status 0",
    "reference_uri": "https://ci.example/1",
    "observed_at": PAST,
}
LARGE: Final = r"(item|event|body|link|evidence|name|audit|daily|due_to_done)"


class Store:
    """A store with a few hundred items that remembers what it runs."""

    def __init__(self, path: Path) -> None:
        self.clock = ManualClock()
        self.write = WriteStore(path, OWNER, self.clock, system_random())
        self.read = ReadStore(path, OWNER)
        self.seen: dict[str, tuple[apsw.Connection, Any]] = {}
        self._keys = 0
        for number in range(40):
            self.add(f"p{number % 3}", {"type": "at_time", "at": PAST if number % 2 else FUTURE})
            self.add("p0", {"type": "next_session"})
        self.write._connection.execute("ANALYZE")
        for connection in (self.write._connection, self.read._connection):
            connection.set_exec_trace(self._trace(connection))

    def _trace(self, connection: apsw.Connection) -> Any:
        def see(_cursor: apsw.Cursor, sql: str, bindings: Any) -> bool:
            self.seen.setdefault(sql, (connection, bindings))
            return True

        return see

    def key(self) -> str:
        self._keys += 1
        return f"key-{self._keys:05d}"

    def add(self, project: str, trigger: Json, **more: Any) -> Mutated:
        arguments = {"project_id": project, "message": "m", "trigger": trigger, "idempotency_key": self.key()}
        request = inputs.read_add(arguments | more, self.clock.now())
        assert isinstance(request, NewItem)
        answer = self.alone(lambda moment: self.write.mutations.add(moment, request))[0]
        assert isinstance(answer, Mutated)
        return answer

    def alone(self, act: Any) -> Any:
        """One message in a group of its own."""
        self.write.begin()
        with self.write.member():
            answer = act(self.write.moment(AGENT))
        self.write.commit()
        return answer

    def close(self) -> None:
        self.read.close()
        self.write.close()


def change(store: Store, tool: str, item: Mutated, **body: Any) -> Mutated:
    arguments = {
        "remindi_id": item.id.hex(),
        "expected_version": item.version,
        "idempotency_key": store.key(),
        **body,
    }
    request = inputs.READERS[tool](arguments, store.clock.now())
    mutations = store.write.mutations

    def act(moment: Moment) -> Any:
        match request:
            case Snooze():
                return mutations.snooze(moment, request)
            case Update():
                return mutations.update(moment, request)
            case Cancellation():
                return mutations.cancel(moment, request)
            case Completion():
                return mutations.complete(moment, request)
            case _:
                raise AssertionError(request)

    answer = store.alone(act)[0]
    assert isinstance(answer, Mutated), answer
    return answer


def do_everything(store: Store) -> None:
    """Each statement of the store at least once."""
    links = [{"type": "goal", "value": "g"}, {"type": "memory", "value": "m"}]
    item = store.add("p0", {"type": "at_time", "at": PAST}, links=links, task_id="t")
    store.add("p0", {"type": "goal_active", "goal_id": "g"}, links=links)
    store.add("p0", {"type": "next_continuation"}, task_lineage_id="l")
    store.add("p0", CONDITION)
    checks(store)
    now = store.clock.now()
    store.alone(lambda moment: store.write.evaluations.ripe(moment, now, None, 20))
    item = item._replace(version=2)
    item = change(store, "remindi_update", item, reason="r", links=links[:1], instructions="i")
    item = change(store, "remindi_snooze", item, reason="r", snooze_until="2027-02-01T00:00:00Z")
    change(store, "remindi_complete", item, evidence=EVIDENCE)
    other = store.add("p0", {"type": "at_time", "at": PAST})
    change(store, "remindi_cancel", other, reason="r")
    lists(store)
    for kinds in ((), (EventType.CREATED, EventType.SNOOZED)):
        page = store.read.history_page(HistoryQuery(item.id, 0, kinds, 2))
        assert not isinstance(page, Refusal)
    store.read.record(item.id)
    for project in (None, "p0"):
        store.read.due_conditions(now, project, None, 9)
    store.read.waiting(now, 100)
    store.read.control()
    store.read.overview(now)
    orders: tuple[AuditOrder, ...] = ("asc", "desc")
    for order in orders:
        store.read.audit_page(AuditQuery(0, None, order, (), (), 10))
        store.read.audit_page(AuditQuery(1, 9, order, ("login_failed", "logout"), ("rejected",), 10))
    store.alone(lambda moment: store.write.purge_idempotency(moment, 100))
    lease: LeaseRow = store.alone(lambda moment: store.write.acquire_lease(moment, "a"))
    store.alone(lambda moment: store.write.renew_lease(moment, lease))
    store.alone(lambda _: store.write.release_lease(lease))


def checks(store: Store) -> None:
    now = store.clock.now()
    contexts: list[Json] = [
        {},
        {"task_id": "t"},
        {"session_id": "s", "task_lineage_id": "l", "active_goal_ids": ["g"]},
        {"session_id": "s", "include_scheduled": True, "task_id": "t"},
        {"include_scheduled": True},
    ]
    for context in contexts:
        arguments = {"project_id": "p0", "lifecycle_event": "continuation", "limit": 2} | context
        paged = inputs.read_check(arguments, now)
        assert not isinstance(paged, Refusal)
        query: CheckQuery = paged.query
        for _ in range(3):
            store.read.check_page(query, now, probing=True)
            store.read.check_page(query, now, probing=False)
            page: CheckPage = store.alone(
                lambda moment, query=query: store.write.evaluations.page(moment, query, now)
            )[0]
            if page.next is None:
                break
            query = query._replace(after=page.next)
            store.read.check_page(query._replace(after=page.next._replace(ready=False)), now, probing=False)


def lists(store: Store) -> None:
    filters: list[Json] = [
        {},
        {"states": ["scheduled", "due"]},
        {"states": ["completed"]},
        {"trigger_types": ["at_time"]},
        {"project_id": "p0"},
        {"project_id": "p0", "states": ["overdue"]},
        {"project_id": "p0", "states": ["cancelled"], "trigger_types": ["at_time"]},
        {"task_id": "t"},
        {"task_id": "t", "project_id": "p0"},
        {"linked_goal_id": "g"},
        {"linked_goal_id": "g", "project_id": "p0"},
        {"linked_goal_id": "g", "task_id": "t"},
        {"linked_memory_hash": "m"},
        {"linked_memory_hash": "m", "linked_goal_id": "g", "states": ["scheduled"]},
        {"remindi_id": "0190aaaa-bbbb-7ccc-addd-eeeeffff0001"},
    ]
    for arguments in filters:
        paged = inputs.read_list(arguments | {"limit": 1}, store.clock.now())
        assert not isinstance(paged, Refusal)
        for (text, few), sort in itertools.product(((None, 0), ("m", search.FEW), ("m", 0)), Sort):
            query: ListQuery = paged.query._replace(text=text, sort=sort)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(search, "FEW", few)
                page: ListPage = store.read.list_page(query)
                if page.next is not None:
                    store.read.list_page(query._replace(after=page.next))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    made = Store(tmp_path_factory.mktemp("plans") / "remindi.db")
    do_everything(made)
    for connection in (made.write._connection, made.read._connection):
        connection.set_exec_trace(None)
    yield made
    made.close()


def plan(store: Store, sql: str) -> list[str]:
    connection, bindings = store.seen[sql]
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)]


def explainable(store: Store) -> list[str]:
    return [
        sql
        for sql in store.seen
        if re.match(r"\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b", sql) and "sqlite_" not in sql
    ]


def test_the_store_ran_all_kinds_of_statements(store: Store) -> None:
    found = " ".join(explainable(store))
    for table in (
        *("item", "body", "link", "event", "evidence", "idempotency", "name", "lease"),
        *("audit", "search", "item_count", "daily", "due_to_done"),
    ):
        assert re.search(rf"\b(FROM|INTO|UPDATE|JOIN) {table}\b", found), table
    for index in (
        "item_all",
        "item_active",
        "item_project",
        "item_project_active",
        "item_task",
        "item_ready",
        "item_ready_since",
        "item_wake",
        "item_project_wake",
        "item_context",
        "item_upcoming",
        "item_sorted",
        "item_manual_check",
        "link_value",
        "link_project",
    ):
        assert re.search(rf"INDEXED BY {index}\b", found), index


def test_no_statement_reads_a_large_table_from_end_to_end(store: Store) -> None:
    for sql in explainable(store):
        for step in plan(store, sql):
            scan = re.match(rf"SCAN {LARGE}\b(?! USING)", step)
            assert scan is None, f"{step}\n{sql}"
            assert not re.match(rf"SCAN {LARGE} USING (COVERING )?INDEX", step), f"{step}\n{sql}"
            assert "AUTOMATIC" not in step, f"{step}\n{sql}"


def test_pages_of_lists_and_histories_and_passes_are_not_sorted(store: Store) -> None:
    ordered = [
        sql
        for sql in explainable(store)
        if "ORDER BY" in sql and " AS page" not in sql and re.search(r"FROM (item|event|audit)\b", sql)
    ]
    assert len(ordered) > 10
    for sql in ordered:
        assert not [step for step in plan(store, sql) if "TEMP B-TREE" in step], sql


def test_a_check_sorts_only_what_no_index_has_in_order(store: Store) -> None:
    """Ready and upcoming items come in their order; ripe ones, context and the merge are small sorts."""
    pages = [sql for sql in explainable(store) if "AS ripe" in sql]
    assert len(pages) > 6
    for sql in pages:
        connection, bindings = store.seen[sql]
        steps = list(connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings))
        searches = [step for step in steps if "item_ready (" in step[3] or "item_upcoming (" in step[3]]
        assert searches, sql
        for found in searches:
            beside = [step[3] for step in steps if step[1] == found[1]]
            assert not [text for text in beside if "TEMP B-TREE" in text], beside


def test_each_source_of_a_check_uses_project_and_the_place_or_time_it_starts_at(store: Store) -> None:
    for sql in explainable(store):
        if "AS ripe" not in sql:
            continue
        for step in plan(store, sql):
            found = re.search(r"USING (?:COVERING )?INDEX (item_\w+) \((.*)\)", step)
            if found is None:
                continue
            index, terms = found.groups()
            assert "owner=?" in terms, step
            assert "project=?" in terms, step
            if index == "item_project_wake":
                assert "wake<" in terms, step
            if index in ("item_ready", "item_upcoming"):
                assert "ready>" in terms or "upcoming>" in terms or "(" in terms, step


def test_another_order_of_all_items_is_merged_from_ranges_and_not_sorted(store: Store) -> None:
    pages = [sql for sql in explainable(store) if "INDEXED BY item_sorted" in sql]
    assert len(pages) > 6
    for sql in pages:
        steps = plan(store, sql)
        assert not [step for step in steps if "TEMP B-TREE" in step], sql
        ranges = [step for step in steps if "item_sorted" in step]
        assert len(ranges) == sql.count("INDEXED BY item_sorted")
        for step in ranges:
            equal, place = "owner=? AND ended=?", "(rank,upcoming)>(?,?)"
            if "AS rank" not in sql:
                equal, place = "owner=? AND ended=? AND rank=?", "upcoming>?"
            terms = f"{equal} AND {place}" if ":key)" in sql else equal
            assert step == f"SEARCH item USING INDEX item_sorted ({terms})"


def test_links_find_their_items_by_key(store: Store) -> None:
    pages = [sql for sql in explainable(store) if "FROM link INDEXED BY" in sql]
    assert len(pages) > 6
    for sql in pages:
        steps = plan(store, sql)
        link = next(number for number, step in enumerate(steps) if re.search(r"INDEX link_\w+ \(", step))
        assert steps[link + 1] == "SEARCH item USING INTEGER PRIMARY KEY (rowid=?)", sql


def test_rare_words_drive_the_page_that_they_find(store: Store) -> None:
    pages = [sql for sql in explainable(store) if "carray(:found)" in sql]
    assert len(pages) > 6
    for sql in pages:
        steps = plan(store, sql)
        found = steps.index("SCAN found VIRTUAL TABLE INDEX 1:")
        assert steps[found + 1] == "SEARCH item USING INTEGER PRIMARY KEY (rowid=?)", sql
        assert not [step for step in steps if " INDEX item_" in step], sql


def test_the_set_of_frequent_words_is_made_once_a_page_that_is_walked_in_its_order(store: Store) -> None:
    pages = [sql for sql in explainable(store) if "MATCH :words" in sql]
    assert len(pages) > 6
    for sql in pages:
        steps = plan(store, sql)
        assert steps.count("SCAN search VIRTUAL TABLE INDEX 0:M2") == 1, sql
        if "AS place" not in sql:
            assert not [step for step in steps if "TEMP B-TREE" in step], sql


def test_an_overview_reads_counters_and_the_wake_times_of_a_day(store: Store) -> None:
    [agenda] = [sql for sql in explainable(store) if "AS happening" in sql]
    steps = plan(store, agenda)
    assert [step for step in steps if "item_wake" in step] == [
        "SEARCH item USING INDEX item_wake (owner=? AND wake>? AND wake<?)"
    ]
    [by_hand] = [step for step in steps if "item_manual_check" in step]
    assert by_hand.endswith("item_manual_check (owner=? AND manual_check_at>? AND manual_check_at<?)")
    for table in ("item_count", "daily", "due_to_done"):
        for sql in explainable(store):
            if f"FROM {table}" in sql:
                assert any(step.startswith(f"SEARCH {table} USING PRIMARY KEY") for step in plan(store, sql))
