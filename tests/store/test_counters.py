"""Counters: the overview says what is there, whatever was undone, migrated or belongs to somebody else."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import apsw
import pytest

from actors.messages.readers import GetOverview
from actors.messages.writer import AddItem
from actors.store import StorageFailed, WriteStore
from actors.store.connections import APPLICATION_ID
from actors.store.migrations import known_migrations
from actors.system import system_random
from remindi import inputs, views
from remindi.answers import Mutated
from remindi.events import ActorType, Caller
from remindi.instants import stamp
from remindi.requests import Update
from tests.fakes.clocks import ManualClock
from tests.fakes.core import OWNER, Core, Json, raw
from tests.fakes.script import PAST, Script
from tests.store.recount import check_index, counted, recounted
from tests.store.test_group_commit import Instrumented, add, failing

EVIDENCE = {
    "type": "observation",
    "summary": "saw the job end with status 0",
    "reference_uri": "https://ci.example/1",
    "observed_at": PAST,
}
AGENT = Caller(ActorType.AGENT, "agent", "r")
LEDGER = (
    "CREATE TABLE migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, sha256 TEXT NOT NULL,"
    " applied_at INTEGER NOT NULL) STRICT"
)
HOUR = 3_600_000
DAY = 24 * HOUR
THEN = 1_801_027_680_000
"""When the data of schema 1 was written last."""


def overview(core: Core) -> Json:
    return views.overview_data(core.read(GetOverview(as_of=core.clock.now())))


def today(core: Core) -> dict[str, int]:
    day: Json = overview(core)["daily"][-1]
    assert day.pop("date") == stamp(core.clock.now())[:10]
    return day


def complete(script: Script, name: str) -> None:
    version = script.item(name)["version"]
    target = {"remindi_id": name, "expected_version": version, "idempotency_key": script.key()}
    script.core.data("remindi_complete", **target, evidence=EVIDENCE)


def test_an_empty_database_has_nothing_to_tell(core: Core) -> None:
    data = overview(core)
    assert set(data["states"].values()) == set(data["readiness"].values()) == {0}
    assert data["agenda"] == []
    assert not data["agenda_cut"]
    assert len(data["daily"]) == 90
    assert [set(day.values()) - {day["date"]} for day in data["daily"]] == [{0}] * 90
    assert data["due_to_done"] == {"completed": 0, "median_seconds": None, "p90_seconds": None}


class TestTheLifeOfAnItem:
    def test_is_counted_where_it_stands(self, script: Script) -> None:
        name = script.add(overdue_after_seconds=3_600, trigger={"type": "after_elapsed", "after_seconds": 60})
        assert standing(script) == "scheduled"
        script.core.clock.advance(60)
        script.pass_()
        assert standing(script) == "due"
        script.core.clock.advance(3_600)
        script.pass_()
        assert standing(script) == "overdue"
        script.change("remindi_snooze", name, snooze_until=stamp(script.core.clock.now() + HOUR))
        assert standing(script) == "snoozed"
        script.core.clock.advance(3_600)
        script.pass_()
        assert standing(script) == "overdue"
        complete(script, name)
        assert standing(script) == "completed"
        assert today(script.core) == {"created": 1, "due": 1, "completed": 1, "cancelled": 0}

    def test_counts_a_due_item_to_be_verified_by_hand_as_both(self, path: Path) -> None:
        with Core(path) as core:
            script = Script(core)
            core.stop()
            with raw(path) as connection:
                connection.execute("UPDATE adapter SET enabled = 1 WHERE name = 'observation_window_ended'")
            core.start()
            trigger = {
                "type": "condition",
                "adapter": "observation_window_ended",
                "parameters": {"window_end": "2029-01-01T00:00:00Z"},
                "manual_check_at": PAST,
            }
            name = script.add(overdue_after_seconds=3_600, trigger=trigger)
            script.page()
            data = overview(core)
            assert data["states"] == zeros(data["states"]) | {"due": 1}
            assert data["readiness"] == zeros(data["readiness"]) | {"manual_verification": 1}
            script.change("remindi_update", name, trigger={"type": "at_time", "at": PAST})
            data = overview(core)
            assert data["states"]["due"] == data["readiness"]["due"] == 1
            assert data["readiness"]["manual_verification"] == 0
            assert today(core)["due"] == 1

    def test_is_due_once_although_a_snooze_ends(self, script: Script) -> None:
        name = script.add(overdue_after_seconds=31_000_000)
        script.pass_()
        for _ in range(3):
            script.change("remindi_snooze", name, snooze_until=stamp(script.core.clock.now() + 1_000))
            script.core.clock.advance(1)
            script.pass_()
            assert script.item(name)["state"] == "due"
        assert today(script.core)["due"] == 1

    def test_is_due_as_often_as_it_comes_back(self, script: Script) -> None:
        name = script.add(
            trigger={"type": "interval", "first_at": PAST, "every_seconds": 60},
            recurrence={"every_seconds": 60},
        )
        for _ in range(3):
            script.core.clock.advance(60)
            script.pass_()
            script.change("remindi_update", name, occurrence_disposition="acknowledged")
        assert today(script.core)["due"] == 3

    def test_falls_on_the_days_on_which_it_happened(self, script: Script) -> None:
        name = script.add(trigger={"type": "after_elapsed", "after_seconds": 2 * 86_400})
        other = script.add(trigger={"type": "next_session"})
        script.core.clock.advance(3 * 86_400)
        script.pass_()
        script.core.clock.advance(86_400)
        complete(script, name)
        script.change("remindi_cancel", other)
        told = [tuple(day.values())[1:] for day in overview(script.core)["daily"][-5:]]
        assert told == [(2, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 1)]

    def test_leaves_the_overview_after_ninety_days(self, script: Script) -> None:
        complete(script, script.add())
        script.core.clock.advance(89 * 86_400)
        assert overview(script.core)["daily"][0]["created"] == 1
        script.core.clock.advance(86_400)
        data = overview(script.core)
        assert {day["created"] for day in data["daily"]} == {0}
        assert data["due_to_done"]["completed"] == 0
        assert data["states"]["completed"] == 1

    def test_is_timed_from_due_to_done(self, script: Script) -> None:
        names = [script.add(trigger={"type": "after_elapsed", "after_seconds": 10}) for _ in range(10)]
        never_due = script.add(trigger={"type": "next_session"})
        script.core.clock.advance(10)
        script.pass_()
        for name in names:
            script.core.clock.advance(4)
            complete(script, name)
        complete(script, never_due)
        assert overview(script.core)["due_to_done"] == {
            "completed": 10,
            "median_seconds": 20,
            "p90_seconds": 36,
        }

    def test_is_timed_as_nothing_when_the_clock_was_set_back(self, script: Script) -> None:
        name = script.add(trigger={"type": "after_elapsed", "after_seconds": 10})
        script.core.clock.advance(10)
        script.pass_()
        script.core.clock.advance(-3_600)
        complete(script, name)
        assert overview(script.core)["due_to_done"]["median_seconds"] == 0


def standing(script: Script) -> str:
    """The one state that the one item is counted in."""
    data = overview(script.core)
    [state] = [state for state, count in data["states"].items() if count]
    assert data["states"][state] == 1
    readiness = [word for word, count in data["readiness"].items() if count]
    assert readiness == ([] if state in ("completed", "cancelled") else [state])
    found: str = state
    return found


def zeros(counts: dict[str, int]) -> dict[str, int]:
    return dict.fromkeys(counts, 0)


class TestWhatWasUndone:
    @pytest.fixture
    def group(self, path: Path) -> Iterator[Instrumented]:
        made = Instrumented(path)
        with made.core:
            yield made

    def test_a_member_that_fails_leaves_no_trace(self, group: Instrumented) -> None:
        def fail_one(new: Any) -> None:
            if new.content.message == "bad":
                raise RuntimeError("as if the code were wrong")

        group.at_insert = fail_one
        outcomes = group.together([add("first"), add("bad"), add("last")])
        assert isinstance(outcomes[1], RuntimeError)
        data = overview(group.core)
        assert (data["states"]["scheduled"], today(group.core)["created"]) == (2, 2)
        assert group.core.listed(q="bad")["items"] == []
        assert len(group.core.listed(q="last")["items"]) == 1
        group.core.stop()
        assert counted(group.core.path) == recounted(group.core.path)
        check_index(group.core.path)

    def test_a_group_that_cannot_commit_leaves_no_trace(self, group: Instrumented) -> None:
        with failing(group, StorageFailed("the disk is full")):
            outcomes = group.together([add("first"), add("second")])
        assert all(isinstance(outcome, Exception) for outcome in outcomes)
        assert overview(group.core)["states"]["scheduled"] == 0
        group.core.write(add("third"))
        assert overview(group.core)["states"]["scheduled"] == today(group.core)["created"] == 1
        assert group.core.listed(q="first")["items"] == []
        assert len(group.core.listed(q="third")["items"]) == 1
        check_index(group.core.path)

    def test_a_replay_counts_nothing(self, group: Instrumented) -> None:
        message: AddItem = add("once")
        group.together([message, message, message])
        assert overview(group.core)["states"]["scheduled"] == today(group.core)["created"] == 1


def test_an_item_that_is_added_and_reworded_in_one_group_is_indexed_once(path: Path) -> None:
    """The index gets its new items right before the commit, which is after the update of this one."""
    store = WriteStore(path, OWNER, ManualClock(), system_random())
    with closing(store):
        store.begin()
        with store.member():
            added, _ = store.mutations.add(store.moment(AGENT), add("early words", key="key-of-add").request)
            assert isinstance(added, Mutated)
        with store.member():
            request = inputs.read_update(
                {
                    "remindi_id": added.id.hex(),
                    "expected_version": 1,
                    "idempotency_key": "key-of-update",
                    "reason": "r",
                    "message": "later words",
                },
                0,
            )
            assert isinstance(request, Update)
            store.mutations.update(store.moment(AGENT), request)
        store.commit()
    check_index(path)
    with Core(path) as core:
        assert core.listed(q="early")["items"] == []
        assert [item["message"] for item in core.listed(q="words")["items"]] == ["later words"]


class TestTheAgenda:
    def test_tells_what_time_alone_will_do(self, path: Path) -> None:
        with Core(path) as core:
            script = Script(core)
            now = core.clock.now()
            trigger = {"type": "condition", "adapter": "tcp_reachable", "parameters": {"target": "t"}}
            by_hand = script.add(trigger=trigger | {"manual_check_at": stamp(now + 4 * HOUR)})
            grace = script.add(
                project_id="q",
                overdue_after_seconds=7_200,
                trigger={"type": "at_time", "at": stamp(now)},
            )
            due = script.add(trigger={"type": "at_time", "at": stamp(now + HOUR)}, priority="critical")
            snoozed = script.add(trigger={"type": "at_time", "at": stamp(now)})
            script.pass_()
            script.change("remindi_snooze", snoozed, snooze_until=stamp(now + 3 * HOUR))
            script.add(trigger={"type": "next_session"})
            assert [
                (entry["remindi_id"], entry["at"], entry["happening"]) for entry in overview(core)["agenda"]
            ] == [
                (due, stamp(now + HOUR), "becomes_due"),
                (grace, stamp(now + 2 * HOUR), "becomes_overdue"),
                (snoozed, stamp(now + 3 * HOUR), "snooze_ends"),
                (by_hand, stamp(now + 4 * HOUR), "manual_check"),
            ]
            first, second, *_ = overview(core)["agenda"]
            assert (first["priority"], first["project_id"]) == ("critical", "p")
            assert (second["priority"], second["project_id"]) == ("normal", "q")

    def test_leaves_out_what_is_reached_and_what_is_more_than_a_day_away(self, script: Script) -> None:
        now = script.core.clock.now()
        for at in (now - 1, now, now + 1, now + DAY, now + DAY + 1):
            script.add(trigger={"type": "at_time", "at": stamp(at)})
        times = [entry["at"] for entry in overview(script.core)["agenda"]]
        assert times == [stamp(now + 1), stamp(now + DAY)]

    def test_shows_the_beginning_of_a_long_message(self, script: Script) -> None:
        at = {"type": "at_time", "at": stamp(script.core.clock.now() + 1)}
        for message in ("\U0001f514" * 200, "\U0001f514" * 201):
            script.add(message=message, trigger=at)
        shown = [(entry["message"], entry["message_cut"]) for entry in overview(script.core)["agenda"]]
        assert shown == [("\U0001f514" * 200, False), ("\U0001f514" * 200, True)]

    def test_ends_with_the_fiftieth_and_says_so(self, script: Script) -> None:
        now = script.core.clock.now()
        for number in range(50):
            script.add(trigger={"type": "at_time", "at": stamp(now + 1 + number)})
        assert not overview(script.core)["agenda_cut"]
        script.add(trigger={"type": "at_time", "at": stamp(now + 1)})
        data = overview(script.core)
        assert data["agenda_cut"]
        assert [entry["at"] for entry in data["agenda"]] == [
            stamp(now + 1),
            *(stamp(now + 1 + number) for number in range(49)),
        ]


def test_another_owner_is_counted_apart(path: Path) -> None:
    with Core(path, owner="somebody else") as core:
        script = Script(core)
        script.add(trigger={"type": "at_time", "at": stamp(core.clock.now() + 1)})
        complete(script, script.add())
    with Core(path) as core:
        data = overview(core)
        assert set(data["states"].values()) == {0}
        assert data["agenda"] == []
        assert today(core) == {"created": 0, "due": 0, "completed": 0, "cancelled": 0}
        assert data["due_to_done"]["completed"] == 0


class TestADatabaseOfSchemaOne:
    @pytest.fixture
    def old(self, path: Path) -> Path:
        [script] = known_migrations()[:1]
        data = Path(__file__).with_name("schemas") / "0001.sql"
        with raw(path) as connection:
            for statements in (script.sql, LEDGER, data.read_text()):
                for _ in connection.execute(statements):
                    pass
            connection.execute("INSERT INTO migration VALUES (1, ?, ?, 0)", (script.name, script.sha256))
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        return path

    def test_is_counted_as_if_it_had_been_counted_from_the_start(self, old: Path) -> None:
        with Core(old, ManualClock(THEN)) as core:
            data = overview(core)
        assert data["states"] == {
            "scheduled": 5,
            "due": 2,
            "overdue": 3,
            "snoozed": 1,
            "completed": 9,
            "cancelled": 2,
        }
        assert data["readiness"] == {
            "overdue": 3,
            "due": 1,
            "manual_verification": 1,
            "scheduled": 5,
            "snoozed": 1,
        }
        # Two of the nineteen times that an item became due a snooze ended.
        assert [tuple(day.values()) for day in data["daily"] if any(list(day.values())[1:])] == [
            ("2027-01-15", 21, 11, 1, 1),
            ("2027-01-16", 0, 1, 4, 0),
            ("2027-01-17", 0, 2, 0, 0),
            ("2027-01-18", 0, 3, 3, 1),
            ("2027-01-27", 1, 0, 1, 0),
        ]
        assert data["due_to_done"]["completed"] == 8
        assert [entry["message"] for entry in data["agenda"]] == ["New today", "Renew certificate 9"]

    def test_is_searched_and_sorted(self, old: Path) -> None:
        with Core(old, ManualClock(THEN)) as core:
            assert len(core.listed(q="renew certi")["items"]) == 11
            assert len(core.listed(q="prufung registrar")["items"]) == 6
            assert len(core.listed(q="other words")["items"]) == 1
            assert core.listed(q="theirs")["items"] == []
            fires = [item["next_fire_at"] for item in core.listed(sort="fire_time", limit="200")["items"]]
            assert fires == sorted(fires, key=lambda at: (at is None, at))
        check_index(old)

    def test_goes_on_being_counted(self, old: Path) -> None:
        with Core(old, ManualClock(THEN)) as core:
            script = Script(core)
            core.clock.advance(6 * 3_600)
            script.pass_()
            name = core.listed(q="renew certificate 9")["items"][0]["id"]
            version = script.item(name)["version"]
            target = {"remindi_id": name, "expected_version": version, "idempotency_key": "a-new-key"}
            core.data("remindi_cancel", **target, reason="r")
            script.add(message="added later", idempotency_key="another-new-key")
            assert overview(core)["states"]["cancelled"] == 3
            assert len(core.listed(q="later")["items"]) == 1
        assert counted(old) == recounted(old)
        check_index(old)


def test_a_damaged_index_is_seen_by_that_check(path: Path) -> None:
    with Core(path) as core:
        Script(core).add(message="words")
    with raw(path) as connection:
        connection.execute("UPDATE body SET message = 'others'")
    with pytest.raises(apsw.CorruptError):
        check_index(path)
