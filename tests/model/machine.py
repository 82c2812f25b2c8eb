"""The machine that drives the real core and the model of the contract side by side, and compares them."""

import math
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Final
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from actors.messages.control import LeaseRow
from actors.messages.readers import DueCondition, GetOverview, ListDueConditions
from actors.messages.writer import (
    AcquireLease,
    ApplyProbes,
    EvaluateRipe,
    LeaseLost,
    ProbeResult,
    PurgeIdempotency,
    ReleaseLease,
    RenewLease,
    RipeBatch,
    UpdateSetting,
)
from remindi import views
from remindi.errors import Refusal
from remindi.events import ActorType, Caller, LifecycleEvent
from remindi.items import STATUS_WORDS, ConditionStatus
from remindi.lifecycle import Probe
from tests.fakes.core import ACTOR_ID, Core, copy_database
from tests.model import requests
from tests.model.contract import BOUNDS, DAY, Contract, Item, Json, Refused, Who, check_view, item_view, stamp
from tests.model.overview import expected_overview
from tests.model.spelling import spell
from tests.store.recount import counted, recounted

SCHEDULER_ID: Final = "scheduler:process-0"
SCHEDULER: Final = Caller(ActorType.SCHEDULER, SCHEDULER_ID, None)
SCHEDULER_WHO: Final = Who("scheduler", SCHEDULER_ID, None)
AGAIN: Final = ("same", "same", "other", "broken")
MOVES: Final = ("on", "on", "back", "to", "to", "to")
CHORES: Final = ("restart", "setting", "setting", "purge", "lease")
ADAPTER: Final = "observation_window_ended"
BESIDE: Final = ("agenda_cut", "due_to_done", "workloads", "last_calls", "maintenance", "backups")
"""What the overview shows beside the items, or is compared elsewhere."""
# One seed a step: the whole of what a step sends would be too much for Hypothesis to spread evenly.
chances = st.randoms(use_true_random=True)


@dataclass
class Walk:
    """A check whose pages are still being read."""

    query: Json
    as_of: int
    cursor: str
    order: list[str]
    """The ready items at its start, in their order."""
    rest: list[str]
    """What ``include_scheduled`` appends, at its start."""
    returned: list[str]
    quiet: bool = True
    """Whether nothing but the walk itself has written since its start."""
    moved: set[str] = field(default_factory=set)
    """Items that a change by a caller moved since its start; see tests/store/test_walks.py."""


@dataclass
class ListWalk:
    """A list whose pages are still being read."""

    query: Json
    cursor: str
    left: list[str]


class CoreMachine(RuleBasedStateMachine):
    """Each rule does one thing to both sides; the invariants compare the whole state."""

    template: Path
    """The file of a new database, made once."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(prefix="remindi-model-")
        path = Path(self._folder.name) / "remindi.db"
        copy_database(self.template, path)
        self.core = Core(path)
        self.clock = self.core.clock
        self.model = Contract(frozenset({ADAPTER}))
        self.sent: list[tuple[str, Json, str]] = []
        self.walks: list[Walk] = []
        self.list_walks: list[ListWalk] = []
        self.lease: LeaseRow | None = None
        self.keys = 0
        self.compared: dict[str, int] = {}
        self.sequences: dict[str, list[int]] = {}

    @initialize(chance=chances)
    def start(self, chance: Random) -> None:
        """Not from nothing: some items are there, most of them in one project and ready."""
        self.core.start()
        self.tend_the_lease("acquire", other=False)
        for _ in range(chance.randrange(3, 9)):
            self.add(chance)

    def teardown(self) -> None:
        try:
            if sys.exc_info()[0] is None:
                for walk in self.walks:
                    while walk.cursor:
                        self.page(walk)
                for item in self.model.items:
                    self.same_history(item)
                assert counted(self.core.path) == recounted(self.core.path)
        finally:
            self.core.stop()
            self._folder.cleanup()

    @rule(chance=chances)
    def live_through_something(self, chance: Random) -> None:
        """Many steps at once, chosen by weight: Hypothesis alone seldom gets deep into a life."""
        for _ in range(25):
            self.one_step(chance)
            self.all_items_are_as_the_contract_says()
            self.the_overview_counts_what_is_there()
            self.history_explains_every_version()

    def one_step(self, chance: Random) -> None:
        steps: list[tuple[int, bool, Callable[[], None]]] = [
            (2, len(self.model.items) < 14, lambda: self.add(chance)),
            (2, True, lambda: self.change(chance, chance.choice(requests.CHANGES))),
            (2, bool(self.ready()), lambda: self.change_something_ready(chance, "remindi_snooze")),
            (2, bool(self.ready()), lambda: self.change_something_ready(chance, "remindi_update")),
            (2, self.may_advance(), lambda: self.advance(chance, "acknowledged")),
            (1, bool(self.sent), lambda: self.send_again(chance, chance.choice(AGAIN))),
            (4, True, lambda: self.check(chance)),
            (4, bool(self.walks), lambda: self.read_the_next_page_of_a_check(chance, 1)),
            (1, True, lambda: self.list_with_filters(chance)),
            (1, True, lambda: self.start_a_list(chance, chance.randint(1, 3))),
            (1, bool(self.list_walks), lambda: self.read_the_next_page_of_a_list(chance, 1)),
            (1, True, lambda: self.read_a_history_in_pages(chance, chance.randint(1, 3))),
            (3, True, lambda: self.run_a_pass(chance.randint(1, 3), True)),
            (2, True, lambda: self.probe(chance)),
            (6, True, lambda: self.move_the_clock(chance, chance.choice(MOVES))),
            (1, True, lambda: self.administer(chance, chance.choice(CHORES))),
        ]
        possible = [(weight, step) for weight, can, step in steps if can]
        [step] = chance.choices([step for _, step in possible], [weight for weight, _ in possible])
        step()

    def probe(self, chance: Random) -> None:
        event = chance.choice(list(LifecycleEvent))
        self.probe_conditions(chance.choice([None, "p", "q"]), chance, chance.randint(1, 3), event)

    def may_advance(self) -> bool:
        return any(item.recurrence for item in self.ready())

    # ------------------------------------------------------------ mutations

    @precondition(lambda self: len(self.model.items) < 14)
    @rule(chance=chances)
    def add(self, chance: Random) -> None:
        request = requests.settle(requests.add(chance), self.clock.wall)
        self.call("remindi_add", request, self.new_key(), odd=requests.one_in(chance, 2))

    @precondition(lambda self: self.model.items)
    @rule(chance=chances, tool=st.sampled_from(requests.CHANGES))
    def change(self, chance: Random, tool: str) -> None:
        item = chance.choice(self.model.items)
        stale = chance.choice([0] * 9 + [-1, 1])
        name = str(UUID(int=chance.randrange(1, 99))) if requests.one_in(chance, 20) else item.id
        target = {"remindi_id": name, "expected_version": max(1, item.version + stale)}
        self.change_target(chance, tool, target)

    @precondition(lambda self: self.ready())
    @rule(chance=chances, tool=st.sampled_from(["remindi_snooze", "remindi_update", "remindi_update"]))
    def change_something_ready(self, chance: Random, tool: str) -> None:
        item = chance.choice(self.ready())
        self.change_target(chance, tool, {"remindi_id": item.id, "expected_version": item.version})

    def change_target(self, chance: Random, tool: str, target: Json) -> None:
        request = requests.settle(target | requests.change(chance, tool), self.clock.wall)
        self.call(tool, request, self.new_key(), odd=requests.one_in(chance, 2))

    @precondition(lambda self: self.may_advance())
    @rule(chance=chances, disposition=st.sampled_from(["acknowledged", "skipped"]))
    def advance(self, chance: Random, disposition: str) -> None:
        item = chance.choice([item for item in self.ready() if item.recurrence])
        request = {
            "remindi_id": item.id,
            "expected_version": item.version,
            "reason": "on to the next",
            "occurrence_disposition": disposition,
        }
        self.call("remindi_update", request, self.new_key(), odd=False)

    @precondition(lambda self: self.sent)
    @rule(chance=chances, how=st.sampled_from(AGAIN))
    def send_again(self, chance: Random, how: str) -> None:
        tool, request, key = chance.choice(self.sent)
        if how == "broken":
            plain = spell(tool, request, key, odd=False)
            raw, reason = chance.choice(requests.broken(tool, plain))
            answer = self.core.tool(tool, raw)
            assert answer["error"]["code"] == "VALIDATION_ERROR"
            assert reason in [error["reason"] for error in answer["error"]["details"]["errors"]]
            return
        if how == "other":
            name = {"remindi_add": "message", "remindi_complete": "completion_note"}.get(tool, "reason")
            request = request | {name: "something else"}
        self.call(tool, request, key, odd=requests.one_in(chance, 2))

    def call(self, tool: str, request: Json, key: str, *, odd: bool) -> None:
        caller = self.core.caller()
        who = Who("agent", ACTOR_ID, caller.request_id)
        answer = self.core.tool(tool, spell(tool, request, key, odd=odd), caller)
        new_id = answer["data"]["remindi"]["id"] if answer["ok"] else ""
        versions = {item.id: item.version for item in self.model.items}
        expected = self.model.mutate(tool, key, request, who, self.clock.wall, new_id)
        if isinstance(expected, Refused):
            assert not answer["ok"], f"{tool} was accepted: expected {expected}"
            self.same_refusal(answer["error"], expected)
            return
        assert answer["ok"], f"{tool} was refused: {answer['error']}"
        got = answer["data"]
        assert {"remindi": got["remindi"], "warnings": len(got.get("warnings", []))} == expected
        assert "warnings" not in got or got["warnings"]
        if (tool, request, key) not in self.sent:
            self.sent.append((tool, request, key))
        if versions != {item.id: item.version for item in self.model.items}:
            self.wrote()
            if tool != "remindi_add" and requests.may_move(tool, request):
                for walk in self.walks:
                    walk.moved.add(request["remindi_id"])

    def same_refusal(self, error: Json, expected: Refused) -> None:
        assert error["code"] == expected.code, f"{error} instead of {expected}"
        details = error.get("details", {})
        assert details.get("current_version") == expected.current_version
        assert {entry["reason"] for entry in details.get("errors", [])} == set(expected.reasons)

    # --------------------------------------------------------------- checks

    @rule(chance=chances)
    def check(self, chance: Random) -> None:
        query = requests.check(chance)
        ready, rest = self.model.check_order(query, self.clock.wall)
        walk = Walk(query, self.clock.wall, "", [item.id for item in ready], [item.id for item in rest], [])
        self.page(walk)
        if walk.cursor:
            self.walks.append(walk)

    @precondition(lambda self: self.walks)
    @rule(chance=chances, limit=st.integers(1, 3))
    def read_the_next_page_of_a_check(self, chance: Random, limit: int) -> None:
        walk = chance.choice(self.walks)
        walk.query = walk.query | {"limit": limit}
        self.page(walk)
        if not walk.cursor:
            self.walks.remove(walk)

    def page(self, walk: Walk) -> None:
        """Ask for one page, compare it, and let the model follow what it changed."""
        caller = self.core.caller()
        who = Who("agent", ACTOR_ID, caller.request_id)
        arguments = walk.query | ({"cursor": walk.cursor} if walk.cursor else {})
        answer = self.core.tool("remindi_check", arguments, caller)
        assert answer["ok"], answer
        data = answer["data"]
        assert data["checked_at"] == stamp(walk.as_of)
        got = [item["remindi_id"] for item in data["items"]]
        if walk.quiet:
            start = walk.order + (walk.rest if walk.query.get("include_scheduled") else [])
            left = [name for name in start if name not in walk.returned]
            assert got == left[: walk.query["limit"]]
            assert (data["next_cursor"] is None) == (len(left) <= walk.query["limit"])
        assert not set(got) & set(walk.returned) - walk.moved, "an item came twice"
        assert len(set(got)) == len(got)
        wrote = False
        for shown in data["items"]:
            wrote |= self.follow(walk, shown, who)
        if wrote:
            self.wrote(but=walk)
        walk.returned += got
        walk.cursor = data["next_cursor"] or ""
        if not walk.cursor:
            missing = set(walk.order) - set(walk.returned) - walk.moved
            assert not missing, f"ready at the start and never returned: {missing}"

    def follow(self, walk: Walk, shown: Json, who: Who) -> bool:
        """Compare one returned item, after the evaluation that the page made of it; whether it wrote."""
        item = self.model.find(shown["remindi_id"])
        assert item is not None
        assert item.active
        change = self.model.evaluation(item, walk.as_of, walk.query, None)
        upcoming = shown["readiness"] in ("scheduled", "snoozed")
        # Between pages others may have evaluated it already: then the page may show it as it stands.
        stands = not walk.quiet and shown["version"] == item.version
        wrote = change is not None and not upcoming and not stands
        if change is not None and wrote:
            event = walk.query["lifecycle_event"]
            self.model.apply(item, change, walk.as_of, self.clock.wall, event, who)
        readiness = self.model.readiness(item)
        assert shown == check_view(item, readiness)
        return wrote

    def wrote(self, but: Walk | None = None) -> None:
        for walk in self.walks:
            if walk is not but:
                walk.quiet = False

    # ------------------------------------------------------ lists, histories

    @rule(chance=chances)
    def list_with_filters(self, chance: Random) -> None:
        query = requests.listing(chance, [item.id for item in self.model.items])
        expected = [item_view(item) for item in self.model.listed(query)]
        limit = chance.randint(1, 4)
        assert self.all_pages("remindi_list", query | {"limit": limit}, "items") == expected

    @rule(chance=chances, limit=st.integers(1, 3))
    def start_a_list(self, chance: Random, limit: int) -> None:
        query = requests.scope(chance)
        expected = [item.id for item in self.model.listed(query)]
        data = self.core.data("remindi_list", **query, limit=limit)
        assert [item["id"] for item in data["items"]] == expected[:limit]
        if data["next_cursor"] is not None:
            self.list_walks.append(ListWalk(query, data["next_cursor"], expected[limit:]))
        else:
            assert len(expected) <= limit

    @precondition(lambda self: self.list_walks)
    @rule(chance=chances, limit=st.integers(1, 3))
    def read_the_next_page_of_a_list(self, chance: Random, limit: int) -> None:
        walk = chance.choice(self.list_walks)
        page = self.core.data("remindi_list", **walk.query, limit=limit, cursor=walk.cursor)
        assert [item["id"] for item in page["items"]] == walk.left[:limit]
        del walk.left[:limit]
        walk.cursor = page["next_cursor"] or ""
        assert bool(walk.cursor) == bool(walk.left)
        if not walk.cursor:
            self.list_walks.remove(walk)

    @precondition(lambda self: self.model.items)
    @rule(chance=chances, limit=st.integers(1, 3))
    def read_a_history_in_pages(self, chance: Random, limit: int) -> None:
        item, kinds = chance.choice(self.model.items), chance.choice(requests.EVENT_FILTERS)
        query = {"remindi_id": item.id, "event_types": kinds, "limit": limit}
        events = self.all_pages("remindi_history", query, "events")
        expected = [event for event in item.events if not kinds or event["event_type"] in kinds]
        assert [told(event) for event in events] == [told(event) for event in expected]
        if events:
            middle = chance.choice(events)["sequence"]
            page = self.core.data(
                "remindi_history", remindi_id=item.id, event_types=kinds, after_sequence=middle
            )
            assert page["events"] == [event for event in events if event["sequence"] > middle]

    def all_pages(self, tool: str, query: Json, key: str) -> list[Json]:
        found: list[Json] = []
        page = self.core.data(tool, **query)
        while True:
            found += page[key]
            assert len(page[key]) <= query["limit"]
            if page["next_cursor"] is None:
                return found
            assert len(page[key]) == query["limit"]
            page = self.core.data(tool, **query, cursor=page["next_cursor"])

    # -------------------------------------------------- scheduler, conditions

    @rule(limit=st.integers(1, 3), renewed=st.sampled_from([True, True, True, False]))
    def run_a_pass(self, limit: int, renewed: bool) -> None:
        as_of = self.clock.wall
        if renewed:
            self.tend_the_lease("acquire", other=False)
        position, place = None, (-math.inf, "")
        while True:
            batch = self.core.write(
                EvaluateRipe(caller=SCHEDULER, lease=SCHEDULER_ID, as_of=as_of, after=position, limit=limit)
            )
            if self.lease is None or self.lease.expires_at <= self.clock.wall:
                assert isinstance(batch, LeaseLost)
                return
            assert isinstance(batch, RipeBatch)
            assert batch.passed_over == 0
            ripe = sorted(
                (own_time, item.id)
                for item in self.model.items
                if (own_time := self.model.own_time(item)) is not None
                and own_time <= as_of
                and (own_time, item.id) > place
                and not self.awaits_its_probe(item, as_of)
                and self.model.evaluation(item, as_of, None, None) is not None
            )[:limit]
            assert batch.evaluated == len(ripe)
            for place in ripe:
                item = self.item(place[1])
                change = self.model.evaluation(item, as_of, None, None)
                assert change is not None
                self.model.apply(item, change, as_of, self.clock.wall, "checkpoint", SCHEDULER_WHO)
                self.wrote()
            position = batch.next
            if position is None:
                return

    def awaits_its_probe(self, item: Item, as_of: int) -> bool:
        """Whether a pass leaves a condition to its probe: two deadlines beyond its manual check at most."""
        if item.state != "scheduled" or item.trigger["type"] != "condition":
            return False
        manual = item.trigger.get("manual_check_at")
        patience = 2 * self.model.settings["adapters.timeout_seconds"] * 1_000
        return manual is None or as_of < manual + patience

    @rule(
        project=st.sampled_from([None, "p", "q"]),
        chance=chances,
        limit=st.integers(1, 3),
        event=st.sampled_from(LifecycleEvent),
    )
    def probe_conditions(
        self, project: str | None, chance: Random, limit: int, event: LifecycleEvent
    ) -> None:
        """As a check of a project does, or a pass of the scheduler over all of them."""
        now = self.clock.wall
        if requests.one_in(chance, 2):
            self.tend_the_lease("acquire", other=False)
        if project is None and (self.lease is None or self.lease.expires_at <= now):
            answer = self.core.write(
                ApplyProbes(
                    caller=SCHEDULER, results=(), lifecycle_event=event, as_of=now, lease=SCHEDULER_ID
                )
            )
            assert isinstance(answer, LeaseLost)
            return
        found = self.due_conditions(project, limit)
        waiting = sorted(
            (own_time, item.id)
            for item in self.model.items
            if item.state == "scheduled"
            and item.trigger["type"] == "condition"
            and project in (None, item.project_id)
            and (own_time := self.model.own_time(item)) is not None
            and own_time <= now
        )
        assert [item.id for item, _ in found] == [name for _, name in waiting]
        results: list[ProbeResult] = []
        applied = 0
        caller = SCHEDULER if project is None else self.core.caller()
        who = SCHEDULER_WHO if project is None else Who("agent", ACTOR_ID, caller.request_id)
        word = "checkpoint" if project is None else event.name.lower()
        for item, key in found:
            status = chance.choice(list(ConditionStatus))
            wait = chance.choice([27_000, 30_000, 33_000])
            manual = item.trigger.get("manual_check_at")
            following = now + wait if manual is None else min(now + wait, manual)
            detail = chance.choice(["one thing", "another thing"])
            stale = requests.one_in(chance, 5)
            probe = Probe(status, detail, following)
            results.append(ProbeResult(key=key, version=item.version + stale, probe=probe))
            if stale:
                continue
            told_probe = {
                "status": STATUS_WORDS[status],
                "detail": detail,
                "next_evaluation_at": following,
            }
            change = self.model.evaluation(item, now, None, told_probe)
            assert change is not None
            self.model.apply(item, change, now, now, word, who)
            applied += 1
            self.wrote()
        answer = self.core.write(
            ApplyProbes(
                caller=caller,
                results=tuple(results),
                lifecycle_event=LifecycleEvent.CHECKPOINT if project is None else event,
                as_of=now,
                lease=SCHEDULER_ID if project is None else None,
            )
        )
        assert answer == applied

    def due_conditions(self, project: str | None, limit: int) -> list[tuple[Item, int]]:
        found: list[tuple[Item, int]] = []
        after = None
        while True:
            batch = self.core.read(
                ListDueConditions(as_of=self.clock.wall, project_id=project, after=after, limit=limit)
            )
            for target in batch:
                item = self.model.items[target.key - 1]
                assert target.version == item.version
                found.append((item, target.key))
            if len(batch) < limit:
                return found
            after = DueCondition(batch[-1].next_evaluation_at, batch[-1].key)

    def tend_the_lease(self, act: str, *, other: bool) -> None:
        """Acquire, renew or release the lease; as somebody who does not hold it when ``other``."""
        now, length = self.clock.wall, self.model.settings["scheduler.lease_seconds"] * 1_000
        held = self.lease
        live = held is not None and held.expires_at > now
        if act == "acquire":
            holder = "scheduler:process-1" if other and live else SCHEDULER_ID
            taken = self.core.write(AcquireLease(caller=SCHEDULER, holder=holder))
            if live:
                assert taken is None
            else:
                version = 1 if held is None else held.version + 1
                assert taken == LeaseRow(SCHEDULER_ID, now, now + length, version)
                self.lease = taken
        elif held is not None and act == "renew":
            asked = held._replace(version=held.version - 1) if other else held
            renewed = self.core.write(RenewLease(caller=SCHEDULER, held=asked))
            if other or not live:
                assert renewed is None
            else:
                assert renewed is not None
                assert renewed == held._replace(expires_at=now + length, version=held.version + 1)
                self.lease = renewed
        elif held is not None:
            asked = held._replace(version=held.version + 1) if other else held
            assert self.core.write(ReleaseLease(caller=SCHEDULER, held=asked)) is not other
            if not other:
                self.lease = None

    # ------------------------------------------------------ clock and process

    @rule(chance=chances, how=st.sampled_from(MOVES))
    def move_the_clock(self, chance: Random, how: str) -> None:
        times = sorted({time for item in self.model.items if (time := self.model.own_time(item)) is not None})
        if how == "to" and times:
            self.clock.wall = chance.choice(times) + chance.choice([-1, 0, 0, 1])
        elif how == "back":
            self.clock.wall -= chance.choice([1, 1_000, 60_000, 3_600_000])
        else:
            self.clock.wall += chance.choice([1, 999, 1_000, 30_000, 60_000, 61_001, 900_000, 3_600_000, DAY])
        # NOTE: within a walk, what was written as of its instant counts as its own. A clock set back to
        # that very millisecond breaks this: a coincidence that the tests leave out.
        while self.clock.wall in {walk.as_of for walk in self.walks}:
            self.clock.wall += 1

    @rule(chance=chances, what=st.sampled_from(CHORES))
    def administer(self, chance: Random, what: str) -> None:
        match what:
            case "restart":
                self.core.restart()
                self.lease = None
            case "setting":
                self.change_a_setting(chance)
            case "purge":
                self.purge_keys(chance.randint(1, 5))
            case _:
                self.tend_the_lease(
                    chance.choice(["acquire", "renew", "release"]), other=requests.one_in(chance, 2)
                )

    def change_a_setting(self, chance: Random) -> None:
        key = chance.choice(sorted(BOUNDS))
        value = chance.choice(requests.SETTING_VALUES[key])
        version = self.model.setting_versions[key] + requests.one_in(chance, 4)
        answer = self.core.write(UpdateSetting(key=key, value=value, expected_version=version))
        expected = self.model.update_setting(key, value, version)
        if isinstance(expected, Refused):
            assert isinstance(answer, Refusal)
            assert answer.code.value == expected.code
            assert answer.current_version == expected.current_version
            assert tuple(error.reason for error in answer.errors) == expected.reasons
        else:
            assert not isinstance(answer, Refusal)
            assert (answer.value, answer.version) == (value, expected)

    def purge_keys(self, limit: int) -> None:
        retention = self.model.settings["idempotency.retention_days"] * DAY
        gone = {
            place
            for place, stored in self.model.keys.items()
            if stored.created_at + retention <= self.clock.wall
        }
        assert self.core.write(PurgeIdempotency(limit=limit)) <= limit
        # Which of them went is not told; a key that may be gone is not sent again.
        self.sent = [sent for sent in self.sent if (ACTOR_ID, sent[0], sent[2]) not in gone]

    # ----------------------------------------------------------- invariants

    @invariant()
    def nobody_died(self) -> None:
        assert self.core.deaths == []

    @invariant()
    def all_items_are_as_the_contract_says(self) -> None:
        if not self.model.items:
            return
        listed = self.core.data("remindi_list", limit=200)
        assert listed["items"] == [item_view(item) for item in self.model.listed({})]

    @invariant()
    def the_overview_counts_what_is_there(self) -> None:
        now = self.clock.wall
        shown = views.overview_data(self.core.read(GetOverview(as_of=now)))
        agenda = [
            {name: entry[name] for name in ("remindi_id", "at", "happening")} for entry in shown["agenda"]
        ]
        assert without(shown, *BESIDE) | {"agenda": agenda} == expected_overview(self.model, now)

    @invariant()
    def identifiers_rise_with_creation(self) -> None:
        names = [item.id for item in self.model.items]
        assert names == sorted(set(names))

    @invariant()
    def history_explains_every_version(self) -> None:
        for item in self.model.items:
            if self.compared.get(item.id) != item.version:
                self.same_history(item)
                self.compared[item.id] = item.version

    def same_history(self, item: Item) -> None:
        page = self.core.data("remindi_history", remindi_id=item.id, limit=200)
        events = page["events"]
        assert [told(event) for event in events] == [told(event) for event in item.events]
        sequences = [event["sequence"] for event in events]
        assert sequences == sorted(set(sequences))
        known = self.sequences.get(item.id, [])
        assert sequences[: len(known)] == known, "an event moved"
        self.sequences[item.id] = sequences
        steps = {(event["prior_version"], event["new_version"]) for event in events}
        assert steps == {(None, 1)} | {(number, number + 1) for number in range(1, item.version)}
        assert events[0]["event_type"] == "created"
        evidence = page["completion_evidence"]
        assert (item.evidence is not None) == (item.state == "completed")
        assert [without(record, "id") for record in evidence] == ([item.evidence] if item.evidence else [])
        if evidence:
            assert events[-1]["details"]["evidence_id"] == evidence[0]["id"]

    # ---------------------------------------------------------------- tools

    def new_key(self) -> str:
        self.keys += 1
        return f"key-{self.keys:04d}"

    def ready(self) -> list[Item]:
        return [item for item in self.model.items if item.state in ("due", "overdue")]

    def item(self, name: str) -> Item:
        found = self.model.find(name)
        assert found is not None
        return found


def told(event: Json) -> Json:
    """An event without what only the product can know."""
    details = without(event["details"], "evidence_id")
    return without(event, "event_id", "sequence") | {"details": details}


def without(value: Json, *names: str) -> Json:
    return {name: inner for name, inner in value.items() if name not in names}
