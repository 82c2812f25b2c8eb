"""Scheduler, lease keeper, pool and controller on the real store, tick by tick (contract 7.2, 8, 13.1)."""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from actors.address import Address
from actors.board import Board
from actors.lease import LeaseKeeper
from actors.messages import Ping
from actors.messages.control import LeaseRow, SettingRow
from actors.messages.lease import RenewalDue
from actors.messages.scheduler import Ticked
from actors.messages.workloads import ListWorkloads, ResumeWorkloads, TurnWorkloads, Workload
from actors.messages.writer import AcquireLease, UpdateSetting
from actors.probes.adapters import DISABLED
from actors.probes.looking import Outside
from actors.probes.pool import Pool
from actors.scheduler import Scheduler
from actors.system import system_random
from actors.workloads import Controller
from remindi import lifecycle
from remindi.adapters import AdapterRegistry
from remindi.errors import Refusal
from remindi.events import ActorType, Caller
from remindi.identifiers import uuid_text
from remindi.instants import stamp
from remindi.items import Item
from remindi.settings import DEFAULTS, LEASE_SECONDS, POLL_INTERVAL_SECONDS
from tests.fakes.clocks import ManualClock
from tests.fakes.core import Core
from tests.fakes.scripted import Stage, alone
from tests.fakes.timers import ManualTimer
from tests.service import eventually

BOUND = 10.0
PROJECT = "work"
SCHEDULER = Caller(ActorType.SCHEDULER, "scheduler:process-test", None)
OPERATOR = Caller(ActorType.USER, "webui:operator", None)


class Background:
    """All that works without being asked, started and resumed."""

    def __init__(self, stage: Stage, core: Core, clock: ManualClock, timer: ManualTimer) -> None:
        self.core, self.clock, self.timer = core, clock, timer
        self.board = Board()
        self.scheduler, self.lease = Address("scheduler"), Address("lease")
        self.probes, self.workloads = Address("probes"), Address("workloads")
        self._added = 0
        stage.put(
            self.probes,
            Pool(
                "probes",
                alone,
                me=self.probes,
                timer=timer,
                outside=Outside(clock=clock),
                registry=AdapterRegistry.defaults(),
                settings=DEFAULTS,
            ),
        )
        self.keeper = LeaseKeeper(
            "lease",
            alone,
            me=self.lease,
            writer=core.writer,
            scheduler=self.scheduler,
            timer=timer,
            caller=SCHEDULER,
            settings=DEFAULTS,
        )
        stage.put(self.lease, self.keeper)
        stage.put(
            self.scheduler,
            Scheduler(
                "scheduler",
                alone,
                me=self.scheduler,
                lease=self.lease,
                probes=self.probes,
                writer=core.writer,
                reader=core.reader,
                workloads=self.workloads,
                timer=timer,
                clock=clock,
                chance=system_random(),
                caller=SCHEDULER,
                settings=DEFAULTS,
            ),
        )
        stage.put(
            self.workloads,
            Controller(
                "workloads",
                alone,
                me=self.workloads,
                writer=core.writer,
                reader=core.reader,
                scheduler=self.scheduler,
                timer=timer,
                board=self.board,
                caller=Caller(ActorType.SYSTEM, "system:workloads", None),
            ),
        )

    def resume(self) -> None:
        self.workloads.call(ResumeWorkloads(), timeout=BOUND)
        self.sleeps()

    def sleeps(self) -> None:
        """Wait for the end of the pass that runs."""
        self.timer.expect(Ticked, self.scheduler)
        self.scheduler.call(Ping(), timeout=BOUND)
        self.workloads.call(Ping(), timeout=BOUND)

    def run_pass(self) -> None:
        """Bring the next pass about and wait for its end."""
        self.timer.fire(self.timer.expect(Ticked, self.scheduler))
        self.sleeps()

    def row(self) -> Workload:
        return self.workloads.call(ListWorkloads(), timeout=BOUND)[1]

    def turn(self, action: str, *components: str) -> None:
        message = TurnWorkloads(caller=OPERATOR, components=components, action=action)
        assert not isinstance(self.workloads.call(message, timeout=BOUND), Refusal)

    def add(self, **trigger: Any) -> str:
        self._added += 1
        answer = self.core.data(
            "remindi_add",
            project_id=PROJECT,
            message=f"item {self._added}",
            idempotency_key=f"background-{self._added:06}",
            trigger=trigger,
        )
        remindi_id: str = answer["remindi"]["id"]
        return remindi_id

    def add_at(self, seconds: float) -> str:
        return self.add(type="at_time", at=stamp(self.clock.now() + round(seconds * 1_000)))

    def item(self, remindi_id: str) -> dict[str, Any]:
        (item,) = self.core.data("remindi_list", remindi_id=remindi_id)["items"]
        assert isinstance(item, dict)
        return item

    def shows(self, remindi_id: str, key: str, value: str) -> dict[str, Any]:
        """The item, once it shows a value: results of probes come a moment after the pass."""
        eventually(lambda: self.item(remindi_id)[key] == value)
        return self.item(remindi_id)

    def events(self, remindi_id: str) -> list[dict[str, Any]]:
        events = self.core.data("remindi_history", remindi_id=remindi_id)["events"]
        assert isinstance(events, list)
        return events

    def states(self) -> dict[str, int]:
        """How many items stand in each state."""
        counted: dict[str, int] = {}
        cursor: str | None = None
        while True:
            page = self.core.data(
                "remindi_list",
                project_id=PROJECT,
                limit=200,
                **({} if cursor is None else {"cursor": cursor}),
            )
            for item in page["items"]:
                counted[item["state"]] = counted.get(item["state"], 0) + 1
            cursor = page["next_cursor"]
            if cursor is None:
                return counted


@pytest.fixture
def core(tmp_path: Path, clock: ManualClock) -> Iterator[Core]:
    with Core(tmp_path / "remindi.db", clock) as core:
        yield core


@pytest.fixture
def background(stage: Stage, core: Core, clock: ManualClock, timer: ManualTimer) -> Background:
    return Background(stage, core, clock, timer)


@pytest.fixture
def running(background: Background) -> Background:
    background.resume()
    return background


def test_an_item_becomes_due_in_the_pass_after_its_time_and_overdue_in_the_next(running: Background) -> None:
    remindi_id = running.add_at(10)
    running.run_pass()
    assert running.item(remindi_id)["state"] == "scheduled"
    running.clock.advance(10)
    running.run_pass()
    due = running.item(remindi_id)
    assert (due["state"], due["version"]) == ("due", 2)
    running.clock.advance(30)
    running.run_pass()
    assert running.item(remindi_id)["state"] == "overdue"
    running.clock.advance(30)
    running.run_pass()
    assert running.item(remindi_id)["version"] == 3
    created, became_due, became_overdue = running.events(remindi_id)
    assert created["actor_type"] == "agent"
    for event in (became_due, became_overdue):
        assert (event["actor_type"], event["actor_id"]) == ("scheduler", SCHEDULER.actor_id)
        assert event["request_id"] is None
        assert event["details"]["lifecycle_event"] == "checkpoint"


def test_one_pass_takes_all_that_is_reached_and_nothing_else(running: Background) -> None:
    for number in range(450):
        running.add_at(number / 100)
    running.add_at(3_600)
    running.clock.advance(60)
    running.run_pass()
    assert running.states() == {"due": 450, "scheduled": 1}


def test_context_triggers_are_left_to_checks(running: Background) -> None:
    remindi_id = running.add(type="next_session")
    running.clock.advance(86_400)
    running.run_pass()
    assert running.item(remindi_id)["state"] == "scheduled"


def test_a_pass_says_how_much_waits_and_when_it_ended(running: Background) -> None:
    running.clock.advance(5)
    running.run_pass()
    row = running.row()
    assert (row.desired, row.actual, row.last_error) == ("running", "running", None)
    assert row.last_pass_at == running.clock.now()
    assert (row.lag_seconds, row.backlog) == (0, 0)


def test_a_condition_of_a_disabled_adapter_is_answered_unknown_and_fires_by_hand(running: Background) -> None:
    manual_check_at = running.clock.now() + 100_000
    remindi_id = running.add(
        type="condition",
        adapter="observation_window_ended",
        parameters={"window_end": "2020-01-01T00:00:00Z"},
        poll_interval_seconds=60,
        manual_check_at=stamp(manual_check_at),
    )
    running.run_pass()
    probed = running.shows(remindi_id, "last_condition_status", "unknown")
    assert (probed["state"], probed["version"]) == ("scheduled", 2)
    assert (probed["last_condition_status"], probed["last_condition_detail"]) == (
        "unknown",
        DISABLED.summary,
    )
    spread = millis(probed["next_evaluation_at"]) - running.clock.now()
    assert 54_000 <= spread <= 66_000

    running.clock.advance(70)
    running.run_pass()
    again = running.shows(remindi_id, "last_checked_at", stamp(running.clock.now()))
    assert (again["version"], again["next_evaluation_at"]) == (2, stamp(manual_check_at))

    running.clock.advance(30)
    running.run_pass()
    fired = running.shows(remindi_id, "state", "due")
    assert (fired["version"], fired["due_since"]) == (3, stamp(running.clock.now()))
    assert [event["event_type"] for event in running.events(remindi_id)] == [
        "created",
        "condition_evaluated",
        "condition_evaluated",
        "became_due",
    ]


def millis(text: str) -> int:
    """The instant of a stamp."""
    return round(datetime.fromisoformat(text).timestamp() * 1_000)


def test_many_conditions_are_each_probed_once_in_a_walk(running: Background) -> None:
    ids = [
        running.add(
            type="condition",
            adapter="file_exists",
            parameters={"path_alias": f"alias-{number}"},
            manual_check_at=stamp(running.clock.now() + 3_600_000),
        )
        for number in range(100)
    ]
    running.run_pass()
    eventually(lambda: all(running.item(one)["last_condition_status"] == "unknown" for one in ids))
    assert {running.item(one)["version"] for one in ids} == {2}


def test_a_stopped_scheduler_turns_nothing_and_frees_its_lease(running: Background) -> None:
    remindi_id = running.add_at(1)
    running.turn("stop", "scheduler")
    assert (running.row().desired, running.row().actual) == ("stopped", "stopped")
    assert running.core.write(AcquireLease(holder="somebody")) is not None
    running.clock.advance(60)
    assert running.timer.pending() == []
    assert running.item(remindi_id)["state"] == "scheduled"


def test_with_the_scheduler_stopped_a_check_loses_nothing(running: Background) -> None:
    remindi_id = running.add_at(1)
    running.turn("stop", "scheduler")
    running.clock.advance(60)
    (found,) = running.core.data("remindi_check", project_id=PROJECT, lifecycle_event="checkpoint")["items"]
    assert (found["remindi_id"], found["readiness"]) == (remindi_id, "due")


def test_desired_states_outlive_the_process(running: Background, stage: Stage) -> None:
    running.turn("stop", "scheduler")
    stage.clear()
    running.core.restart()
    later = Background(stage, running.core, running.clock, running.timer)
    later.workloads.call(ResumeWorkloads(), timeout=BOUND)
    assert (later.row().desired, later.row().actual) == ("stopped", "stopped")
    assert later.board.mcp_open


def test_the_lease_is_renewed_on_its_own_ticks(running: Background) -> None:
    versions = []
    for _ in range(3):
        running.clock.advance(20)
        running.timer.fire(running.timer.expect(RenewalDue, running.lease))
        running.lease.call(Ping(), timeout=BOUND)
        assert running.keeper.held is not None
        versions.append(running.keeper.held.version)
        assert running.keeper.held.expires_at == running.clock.now() + DEFAULTS[LEASE_SECONDS] * 1_000
    assert versions == [2, 3, 4]


def test_a_lease_that_ran_out_stops_the_writing_until_it_is_acquired_anew(running: Background) -> None:
    remindi_id = running.add_at(1)
    running.clock.advance(DEFAULTS[LEASE_SECONDS] + 1)
    running.run_pass()
    assert running.item(remindi_id)["state"] == "due"
    held = running.keeper.held
    assert held is not None
    assert (held.holder, held.version) == (SCHEDULER.actor_id, 2)


def test_somebody_elses_lease_keeps_it_from_writing(running: Background) -> None:
    remindi_id = running.add_at(1)
    running.clock.advance(DEFAULTS[LEASE_SECONDS] + 1)
    taken = running.core.write(AcquireLease(holder="somebody"))
    assert isinstance(taken, LeaseRow)
    running.timer.fire(running.timer.expect(Ticked, running.scheduler))
    eventually(lambda: running.row().actual == "starting")
    assert running.row().last_error == "Another holder has the lease."
    assert running.item(remindi_id)["state"] == "scheduled"


def test_a_lease_left_by_a_dead_process_is_taken_at_once(core: Core, background: Background) -> None:
    assert core.write(AcquireLease(holder="scheduler:process-dead")) is not None
    core.restart()
    background.resume()
    assert background.row().actual == "running"


def test_the_interval_of_the_database_counts_from_the_next_pass_on(running: Background) -> None:
    changed = running.core.write(
        UpdateSetting(caller=OPERATOR, key=POLL_INTERVAL_SECONDS, value=7, expected_version=1)
    )
    assert isinstance(changed, SettingRow)
    running.run_pass()
    assert running.timer.expect(Ticked, running.scheduler).seconds == 7


def test_a_clock_set_back_unfires_nothing(running: Background) -> None:
    remindi_id = running.add_at(1)
    running.clock.advance(2)
    running.run_pass()
    running.clock.wall -= 3_600_000
    running.run_pass()
    assert running.item(remindi_id)["state"] == "due"


def test_an_item_that_cannot_be_evaluated_does_not_stop_the_others(
    running: Background, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ids = [running.add_at(number) for number in range(1, 4)]
    evaluate = lifecycle.evaluate

    def stumble(item: Item, **options: Any) -> lifecycle.Change | None:
        if uuid_text(item.id) == ids[1]:
            raise ValueError("poison")
        return evaluate(item, **options)

    monkeypatch.setattr(lifecycle, "evaluate", stumble)
    running.clock.advance(10)
    running.run_pass()
    assert [running.item(one)["state"] for one in ids] == ["due", "scheduled", "due"]
    assert "an item could not be evaluated" in caplog.text
    assert running.row().actual == "running"
    monkeypatch.undo()
    running.clock.advance(30)
    running.run_pass()
    assert running.item(ids[1])["state"] == "due"
