"""The workload controller: desired first, then acted on; one transition at a time; never waiting itself."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from actors.address import Address
from actors.board import Board
from actors.messages import Ping
from actors.messages.control import Control, WorkloadRow
from actors.messages.readers import GetControl
from actors.messages.scheduler import StartScheduler, StopScheduler
from actors.messages.workloads import (
    ActorDied,
    ActorRestarted,
    BackupsReported,
    ListWorkloads,
    PatienceEnded,
    PauseWorkloads,
    ReleaseWorkloads,
    ResumeWorkloads,
    SchedulerReported,
    TurnWorkloads,
    Workload,
    WorkloadsFailed,
    WorkloadsHeld,
)
from actors.messages.writer import SetDesired
from actors.workloads import Controller
from remindi.adapters import AdapterRegistry
from remindi.errors import ErrorCode, Refusal
from remindi.events import ActorType, Caller
from remindi.settings import DEFAULTS
from tests.fakes.scripted import Scripted, Stage, alone
from tests.fakes.timers import ManualTimer
from tests.service import eventually

BOUND = 10.0
OPERATOR = Caller(ActorType.USER, "webui:operator", "request-1")
SYSTEM = Caller(ActorType.SYSTEM, "system:workloads", None)
BOTH = ("mcp", "scheduler")


class World:
    """A controller among scripted actors; the database remembers what is desired."""

    def __init__(self, stage: Stage, timer: ManualTimer) -> None:
        self.timer = timer
        self.board = Board()
        self.desired = dict.fromkeys(BOTH, "running")
        self.versions = dict.fromkeys(BOTH, 1)
        self.actual = "stopped"
        self.order: list[str] = []
        self.addresses = {name: Address(name) for name in ("writer", "reader", "scheduler", "workloads")}
        self.writer = Scripted("writer", {SetDesired: self.set_desired})
        self.reader = Scripted("reader", {GetControl: lambda _: self.control()})
        self.scheduler = Scripted(
            "scheduler", {StartScheduler: self.start_scheduler, StopScheduler: self.stop_scheduler}
        )
        for actor in (self.writer, self.reader, self.scheduler):
            stage.put(self.addresses[actor.name], actor)
        self.me = self.addresses["workloads"]
        self.controller = Controller(
            "workloads",
            alone,
            me=self.me,
            writer=self.addresses["writer"],
            reader=self.addresses["reader"],
            scheduler=self.addresses["scheduler"],
            timer=timer,
            board=self.board,
            caller=SYSTEM,
        )
        stage.put(self.me, self.controller)

    # ------------------------------------------------------- the others' parts

    def control(self) -> Control:
        return Control(DEFAULTS, AdapterRegistry.defaults(), self.rows())

    def rows(self) -> tuple[WorkloadRow, ...]:
        return tuple(WorkloadRow(name, self.desired[name], self.versions[name]) for name in BOTH)

    def set_desired(self, message: SetDesired) -> tuple[WorkloadRow, ...]:
        for component in message.components:
            self.desired[component] = message.desired
            self.versions[component] += 1
        self.order.append(f"stored {','.join(message.components)} {message.desired} ({message.action})")
        return self.rows()

    def start_scheduler(self, _message: StartScheduler) -> None:
        self.order.append(f"start scheduler, mcp {'open' if self.board.mcp_open else 'closed'}")
        self.report("starting")
        self.report("running")

    def stop_scheduler(self, _message: StopScheduler) -> None:
        self.order.append(f"stop scheduler, mcp {'open' if self.board.mcp_open else 'closed'}")
        self.report("stopped")

    def report(self, actual: str, error: str | None = None, **measured: Any) -> None:
        values = {"last_pass_at": None, "lag_seconds": None, "backlog": None} | measured
        self.me.notify(SchedulerReported(actual=actual, last_error=error, **values))

    # ------------------------------------------------------------ what is asked

    def resume(self) -> tuple[Workload, ...] | Refusal:
        return self.me.call(ResumeWorkloads(), timeout=BOUND)

    def turn(self, action: str, *components: str) -> tuple[Workload, ...] | Refusal:
        message = TurnWorkloads(caller=OPERATOR, components=components or BOTH, action=action)
        return self.me.call(message, timeout=BOUND)

    def listed(self) -> dict[str, Workload]:
        return {row.component: row for row in self.me.call(ListWorkloads(), timeout=BOUND)}

    def states(self) -> dict[str, tuple[str, str]]:
        return {name: (row.desired, row.actual) for name, row in self.listed().items()}


@pytest.fixture
def world(stage: Stage, timer: ManualTimer) -> World:
    return World(stage, timer)


def fail(_message: object) -> None:
    raise OSError("no space left")


RUNNING = {"mcp": ("running", "running"), "scheduler": ("running", "running")}


def test_at_first_nothing_runs_and_the_door_is_closed(world: World) -> None:
    assert world.states() == {"mcp": ("running", "starting"), "scheduler": ("running", "starting")}
    assert not world.board.mcp_open


def test_what_is_desired_is_brought_about_at_startup_mcp_first(world: World) -> None:
    rows = world.resume()
    assert rows == world.board.workloads
    assert world.states() == RUNNING
    assert world.board.mcp_open
    assert world.order == ["start scheduler, mcp open"]
    assert world.writer.seen(SetDesired) == []


def test_what_is_desired_stopped_stays_stopped_at_startup(world: World) -> None:
    world.desired = dict.fromkeys(BOTH, "stopped")
    world.resume()
    assert world.states() == {"mcp": ("stopped", "stopped"), "scheduler": ("stopped", "stopped")}
    assert not world.board.mcp_open


def test_all_is_stored_in_one_step_and_acted_on_mcp_first(world: World) -> None:
    world.resume()
    world.order.clear()
    rows = world.turn("stop", "scheduler", "mcp")
    assert isinstance(rows, tuple)
    assert world.order == [
        "stored mcp,scheduler stopped (stopped)",
        "stop scheduler, mcp closed",
    ]
    assert world.states() == {"mcp": ("stopped", "stopped"), "scheduler": ("stopped", "stopped")}
    assert world.writer.seen(SetDesired)[0].caller == OPERATOR


@pytest.mark.parametrize("component", BOTH)
def test_one_component_leaves_the_other_alone(world: World, component: str) -> None:
    world.resume()
    world.turn("stop", component)
    other = "mcp" if component == "scheduler" else "scheduler"
    assert world.states() == {component: ("stopped", "stopped"), other: ("running", "running")}
    world.turn("start", component)
    assert world.states() == RUNNING


def test_start_of_a_running_and_stop_of_a_stopped_one_succeed(world: World) -> None:
    world.resume()
    assert isinstance(world.turn("start"), tuple)
    assert world.states() == RUNNING
    for _ in range(2):
        assert isinstance(world.turn("stop"), tuple)
    assert world.states() == {"mcp": ("stopped", "stopped"), "scheduler": ("stopped", "stopped")}


def test_restart_asks_for_running_and_stops_in_between(world: World) -> None:
    world.resume()
    world.turn("stop")
    world.order.clear()
    world.turn("restart")
    assert world.order == [
        "stored mcp,scheduler running (restarted)",
        "stop scheduler, mcp open",
        "start scheduler, mcp open",
    ]
    assert world.states() == RUNNING


@pytest.mark.parametrize("blocked", [SetDesired, StopScheduler])
def test_a_transition_while_another_runs_is_refused_at_once(world: World, blocked: type) -> None:
    world.resume()
    entered, gate = threading.Event(), threading.Event()
    where = world.writer if blocked is SetDesired else world.scheduler
    act: Callable[[Any], Any] = where.script[blocked]

    def block(message: Any) -> Any:
        entered.set()
        gate.wait(BOUND)
        return act(message)

    where.script[blocked] = block
    answers: list[object] = []
    first = threading.Thread(target=lambda: answers.append(world.turn("stop")), name="doors")
    first.start()
    assert entered.wait(BOUND)
    assert world.turn("start") == Refusal(ErrorCode.WORKLOAD_CONFLICT)
    assert world.listed()["scheduler"].actual in ("running", "stopping")
    gate.set()
    first.join(BOUND)
    assert isinstance(answers[0], tuple)
    assert not isinstance(answers[0], Refusal)
    assert world.states()["scheduler"] == ("stopped", "stopped")
    assert isinstance(world.turn("start"), tuple)


def test_a_desired_state_that_cannot_be_stored_changes_nothing_but_says_so(world: World) -> None:
    world.resume()
    world.writer.script[SetDesired] = fail
    assert world.turn("stop", "scheduler") == Refusal(ErrorCode.INTERNAL_ERROR)
    row = world.listed()["scheduler"]
    assert (row.desired, row.actual) == ("running", "failed")
    assert row.last_error == "An unexpected OSError; the log says more."
    assert world.scheduler.seen(StopScheduler) == []


def test_a_locked_database_is_a_failed_step_too(world: World) -> None:
    world.resume()
    world.writer.script[SetDesired] = lambda _: Refusal(ErrorCode.DATABASE_BUSY)
    assert world.turn("stop", "mcp") == Refusal(ErrorCode.INTERNAL_ERROR)
    assert world.board.mcp_open


def test_a_failed_step_leaves_what_is_desired_as_asked(world: World) -> None:
    world.resume()
    world.scheduler.script[StopScheduler] = fail
    assert world.turn("stop", "scheduler") == Refusal(ErrorCode.INTERNAL_ERROR)
    assert world.states()["scheduler"] == ("stopped", "failed")


def test_a_scheduler_that_says_it_failed_fails_its_start(world: World) -> None:
    world.scheduler.script[StartScheduler] = lambda _: world.report("failed", "The database is damaged.")
    assert world.resume() == Refusal(ErrorCode.INTERNAL_ERROR)
    row = world.listed()["scheduler"]
    assert (row.actual, row.last_error) == ("failed", "The database is damaged.")
    world.report("running")
    assert world.states()["scheduler"] == ("running", "running")


def test_patience_with_a_start_ends(world: World) -> None:
    world.scheduler.script[StartScheduler] = lambda _: world.report(
        "starting", "Another holder has the lease."
    )
    answers: list[object] = []
    asking = threading.Thread(target=lambda: answers.append(world.resume()), name="doors")
    asking.start()
    world.timer.fire(world.timer.expect(PatienceEnded, world.me))
    asking.join(BOUND)
    assert answers == [world.board.workloads]
    assert world.states()["scheduler"] == ("running", "starting")


def test_how_the_scheduler_fares_is_shown(world: World) -> None:
    world.resume()
    world.report("running", None, last_pass_at=123, lag_seconds=4, backlog=5)
    row = world.listed()["scheduler"]
    assert (row.last_pass_at, row.lag_seconds, row.backlog) == (123, 4, 5)
    world.report("failed", "é" * 400)
    row = world.listed()["scheduler"]
    assert row.actual == "failed"
    assert len((row.last_error or "").encode()) <= 512
    assert row.last_pass_at == 123
    assert world.listed()["mcp"][3:] == (None, None, None, None)
    assert world.board.workloads == tuple(world.listed().values())


def test_a_new_scheduler_is_started_without_an_operator(world: World) -> None:
    world.resume()
    world.me.notify(ActorDied(name="scheduler"))
    row = world.listed()["scheduler"]
    assert (row.actual, row.last_error) == ("failed", "The scheduler died and is being restarted.")
    world.me.notify(ActorRestarted(name="scheduler"))
    world.scheduler.expect(StartScheduler, 2)
    world.me.call(Ping(), timeout=BOUND)


def test_a_restart_seen_during_a_transition_is_made_good_after_it(world: World) -> None:
    world.resume()
    gate = threading.Event()
    stop = world.scheduler.script[StopScheduler]

    def block(message: Any) -> Any:
        gate.wait(BOUND)
        return stop(message)

    world.scheduler.script[StopScheduler] = block
    asking = threading.Thread(target=lambda: world.turn("restart", "scheduler"), name="doors")
    asking.start()
    world.scheduler.expect(StopScheduler)
    world.me.notify(ActorRestarted(name="lease"))
    world.me.call(Ping(), timeout=BOUND)
    gate.set()
    asking.join(BOUND)
    world.scheduler.expect(StartScheduler, 3)


def test_a_startup_that_cannot_read_what_is_desired_tries_again(world: World) -> None:
    world.reader.script[GetControl] = fail
    assert world.resume() == Refusal(ErrorCode.INTERNAL_ERROR)
    assert {state for _, state in world.states().values()} == {"failed"}
    world.reader.script[GetControl] = lambda _: world.control()
    world.timer.fire(world.timer.expect(ActorRestarted, world.me))
    world.scheduler.expect(StartScheduler)
    world.resume()
    assert world.states() == RUNNING


def test_a_damaged_database_holds_both_and_keeps_what_is_desired(world: World) -> None:
    world.resume()
    world.me.notify(WorkloadsHeld(reason="The database is damaged; restore a backup."))
    world.scheduler.expect(StopScheduler)
    world.addresses["scheduler"].call(Ping(), timeout=BOUND)
    while world.resume() == Refusal(ErrorCode.WORKLOAD_CONFLICT):
        pass
    assert world.states() == {"mcp": ("running", "stopped"), "scheduler": ("running", "stopped")}
    assert not world.board.mcp_open
    assert {row.last_error for row in world.listed().values()} == {
        "The database is damaged; restore a backup."
    }


PAUSE = PauseWorkloads(reason="A restore is running.")
PAUSED = {"mcp": ("running", "stopped"), "scheduler": ("running", "stopped")}


def test_a_pause_stops_both_says_why_and_leaves_what_is_desired(world: World) -> None:
    world.resume()
    assert isinstance(world.me.call(PAUSE, timeout=BOUND), tuple)
    assert world.states() == PAUSED
    assert not world.board.mcp_open
    assert {row.last_error for row in world.listed().values()} == {"A restore is running."}
    assert world.writer.seen(SetDesired) == []
    # Whoever is restarted meanwhile starts nothing.
    world.me.notify(ActorRestarted(name="scheduler"))
    world.scheduler.expect(StopScheduler, 2)
    assert world.states() == PAUSED


def test_a_release_brings_about_what_is_desired(world: World) -> None:
    world.resume()
    world.desired["mcp"] = "stopped"
    world.me.call(PAUSE, timeout=BOUND)
    assert isinstance(world.me.call(ReleaseWorkloads(), timeout=BOUND), tuple)
    assert world.states() == {"mcp": ("stopped", "stopped"), "scheduler": ("running", "running")}
    assert {row.last_error for row in world.listed().values()} == {None}


def test_a_pause_waits_for_no_other_transition_and_a_release_follows_it(world: World) -> None:
    world.resume()
    world.me.call(PAUSE, timeout=BOUND)
    entered, gate = threading.Event(), threading.Event()
    act = world.scheduler.script[StopScheduler]

    def block(message: Any) -> Any:
        entered.set()
        gate.wait(BOUND)
        return act(message)

    world.scheduler.script[StopScheduler] = block
    world.me.notify(ActorRestarted(name="probes"))
    assert entered.wait(BOUND)
    conflict = Refusal(ErrorCode.WORKLOAD_CONFLICT)
    assert world.me.call(PAUSE, timeout=BOUND) == conflict
    assert world.me.call(ReleaseWorkloads(), timeout=BOUND) == conflict
    gate.set()
    eventually(lambda: world.states() == RUNNING)


def test_a_database_that_stays_closed_fails_both_and_names_the_operation(world: World) -> None:
    world.resume()
    world.me.call(PAUSE, timeout=BOUND)
    world.me.notify(WorkloadsFailed(reason="The restore 1 failed and could not be rolled back."))
    assert world.states() == {"mcp": ("running", "failed"), "scheduler": ("running", "failed")}
    assert {row.last_error for row in world.listed().values()} == {
        "The restore 1 failed and could not be rolled back."
    }
    assert not world.board.mcp_open


def test_failing_backups_are_shown_where_nothing_else_is_wrong_with_the_scheduler(world: World) -> None:
    world.resume()
    world.me.notify(BackupsReported(failure="The last automatic backup failed: the disk is full."))
    shown = world.listed()
    assert shown["scheduler"].last_error == "The last automatic backup failed: the disk is full."
    assert shown["scheduler"].actual == "running"
    assert shown["mcp"].last_error is None
    assert world.board.workloads[1].last_error == shown["scheduler"].last_error
    world.report("running", "The database is closed or being restarted.")
    assert world.listed()["scheduler"].last_error == "The database is closed or being restarted."
    world.report("running")
    world.me.notify(BackupsReported(failure=None))
    assert world.listed()["scheduler"].last_error is None


def test_a_stop_of_the_process_closes_the_door_and_keeps_what_is_desired(world: World) -> None:
    world.resume()
    world.controller.end()
    world.controller.thread.join(BOUND)
    assert not world.board.mcp_open
    assert world.desired == dict.fromkeys(BOTH, "running")
    assert world.writer.seen(SetDesired) == []
