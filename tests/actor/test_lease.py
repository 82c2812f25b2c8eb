"""The lease keeper against a scripted writer that keeps the row by contract 8.3."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from actors.address import Address, OutcomeUnknown
from actors.lease import LeaseKeeper
from actors.messages import Ping
from actors.messages.control import LeaseRow
from actors.messages.lease import FreeLease, LeaseWanted, RenewalDue
from actors.messages.scheduler import LeaseGained, LeaseMissed, SettingsChanged
from actors.messages.writer import AcquireLease, GetLease, ReleaseLease, RenewLease
from remindi.errors import ErrorCode, Refusal
from remindi.events import ActorType, Caller
from remindi.settings import DEFAULTS, LEASE_SECONDS, Settings
from tests.fakes.clocks import ManualClock
from tests.fakes.scripted import Scripted, Stage, alone
from tests.fakes.timers import ManualTimer

CALLER = Caller(ActorType.SCHEDULER, "scheduler:process-test", None)
DEFAULT_LEASE = DEFAULTS[LEASE_SECONDS]


class Row:
    """The lease row as the writer keeps it."""

    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.row: LeaseRow | None = None
        self.broken: Callable[[], Any] | None = None

    def script(self) -> dict[type, Callable[[Any], Any]]:
        return {
            AcquireLease: self._guarded(self.acquire),
            GetLease: lambda _: self.row,
            RenewLease: self._guarded(self.renew),
            ReleaseLease: self._guarded(self.release),
        }

    def _guarded(self, act: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda message: act(message) if self.broken is None else self.broken()

    def acquire(self, message: AcquireLease) -> LeaseRow | None:
        now = self.clock.now()
        if self.row is not None and self.row.expires_at > now:
            return None
        version = 1 if self.row is None else self.row.version + 1
        self.row = LeaseRow(message.holder, now, now + DEFAULT_LEASE * 1_000, version)
        return self.row

    def renew(self, message: RenewLease) -> LeaseRow | None:
        now, held = self.clock.now(), message.held
        row = self.row
        if row is None or (row.holder, row.version) != (held.holder, held.version) or row.expires_at <= now:
            return None
        self.row = row._replace(expires_at=now + DEFAULT_LEASE * 1_000, version=row.version + 1)
        return self.row

    def release(self, message: ReleaseLease) -> bool:
        mine = self.row is not None and self.row.version == message.held.version
        self.row = None if mine else self.row
        return mine


class World:
    """A keeper between a writer and a scheduler that are scripted."""

    def __init__(
        self, stage: Stage, clock: ManualClock, timer: ManualTimer, held: LeaseRow | None = None
    ) -> None:
        self.timer = timer
        self.row = Row(clock)
        self.me, writer, scheduler = Address("lease"), Address("writer"), Address("scheduler")
        self.writer = Scripted("writer", self.row.script())
        self.scheduler = Scripted("scheduler")
        self._scheduler_address = scheduler
        stage.put(writer, self.writer)
        stage.put(scheduler, self.scheduler)
        self.keeper = LeaseKeeper(
            "lease",
            alone,
            me=self.me,
            writer=writer,
            scheduler=scheduler,
            timer=timer,
            caller=CALLER,
            settings=DEFAULTS,
            held=held,
        )
        stage.put(self.me, self.keeper)

    def settle(self) -> None:
        """Wait until all that was told so far is handled."""
        self.me.call(Ping(), timeout=10)
        self._scheduler_address.call(Ping(), timeout=10)

    def want(self) -> None:
        self.me.notify(LeaseWanted())
        self.settle()

    def tick(self) -> None:
        self.timer.fire(self.timer.expect(RenewalDue, self.me))
        self.settle()


@pytest.fixture
def world(stage: Stage, clock: ManualClock, timer: ManualTimer) -> World:
    return World(stage, clock, timer)


def test_nothing_is_acquired_before_it_is_wanted(world: World) -> None:
    world.settle()
    assert world.row.row is None
    assert world.timer.pending() == []


def test_wanted_it_is_acquired_and_the_scheduler_told(world: World) -> None:
    world.want()
    assert world.row.row is not None
    assert world.row.row.holder == CALLER.actor_id
    assert len(world.scheduler.seen(LeaseGained)) == 1
    assert all(message.caller == CALLER for message in world.writer.seen(AcquireLease))


def test_it_is_renewed_at_least_every_third_of_its_length_without_further_word(world: World) -> None:
    world.want()
    for version in (2, 3, 4):
        entry = world.timer.expect(RenewalDue, world.me)
        assert entry.seconds <= DEFAULT_LEASE / 3
        world.tick()
        assert world.row.row is not None
        assert world.row.row.version == version
    assert len(world.scheduler.seen(LeaseGained)) == 1
    assert world.scheduler.seen(LeaseMissed) == []


def test_an_acquire_whose_answer_was_lost_is_taken_up_and_renewed(world: World) -> None:
    real = world.writer.script[AcquireLease]

    def lost(message: AcquireLease) -> LeaseRow | None:
        real(message)
        raise OutcomeUnknown

    world.writer.script[AcquireLease] = lost
    world.want()
    assert world.scheduler.seen(LeaseGained) == []
    world.writer.script[AcquireLease] = real
    world.tick()
    assert len(world.scheduler.seen(LeaseGained)) == 1
    world.tick()
    assert world.row.row is not None
    assert (world.row.row.holder, world.row.row.version) == (CALLER.actor_id, 2)


def test_another_holder_s_lease_is_not_taken_for_a_lost_answer(world: World) -> None:
    def lost(_: AcquireLease) -> LeaseRow | None:
        world.row.row = LeaseRow("somebody else", 0, world.row.clock.now() + 10**6, 7)
        raise OutcomeUnknown

    real = world.writer.script[AcquireLease]
    world.writer.script[AcquireLease] = lost
    world.want()
    world.writer.script[AcquireLease] = real
    world.tick()
    assert world.scheduler.seen(LeaseGained) == []
    assert world.keeper.held is None


def test_another_length_counts_at_once(world: World) -> None:
    world.want()
    world.me.notify(SettingsChanged(settings=Settings({LEASE_SECONDS: 9})))
    world.settle()
    assert len(world.writer.seen(RenewLease)) == 1
    assert world.timer.expect(RenewalDue, world.me).seconds <= 3
    assert len(world.timer.pending()) == 1


def test_settings_that_leave_the_length_alone_change_nothing(world: World) -> None:
    world.want()
    world.me.notify(SettingsChanged(settings=DEFAULTS))
    world.settle()
    assert world.writer.seen(RenewLease) == []


def test_lost_it_is_told_and_acquired_anew(world: World, clock: ManualClock) -> None:
    world.want()
    clock.advance(DEFAULT_LEASE + 1)
    world.tick()
    assert [type(word) for word in world.scheduler.seen(object)] == [LeaseGained, LeaseMissed, LeaseGained]
    assert world.row.row is not None
    assert world.row.row.version == 2


def test_held_by_somebody_else_it_is_tried_again_until_it_expires(world: World, clock: ManualClock) -> None:
    world.row.row = LeaseRow("somebody", 0, clock.now() + 5_000, 7)
    world.want()
    assert world.scheduler.expect(LeaseMissed).reason == "Another holder has the lease."
    assert world.timer.expect(RenewalDue, world.me).seconds == 1
    clock.advance(6)
    world.tick()
    world.scheduler.expect(LeaseGained)
    assert world.row.row is not None
    assert (world.row.row.holder, world.row.row.version) == (CALLER.actor_id, 8)


def test_a_failing_database_is_waited_out_with_longer_and_longer_pauses(world: World) -> None:
    world.want()

    def broken() -> None:
        raise OSError("disk")

    world.row.broken = broken
    pauses = []
    for _ in range(6):
        world.tick()
        pauses.append(world.timer.expect(RenewalDue, world.me).seconds)
    assert pauses == [1, 2, 4, 8, 16, DEFAULT_LEASE / 4]
    assert {word.reason for word in world.scheduler.seen(LeaseMissed)} == {
        "An unexpected OSError; the log says more."
    }
    world.row.broken = None
    world.tick()
    assert len(world.scheduler.seen(LeaseGained)) == 2
    assert world.row.row is not None
    assert world.row.row.version == 2


def test_a_locked_database_is_no_lease(world: World) -> None:
    world.row.broken = lambda: Refusal(ErrorCode.DATABASE_BUSY)
    world.want()
    assert "locked" in world.scheduler.expect(LeaseMissed).reason
    assert world.keeper.held is None


def test_a_renewal_whose_answer_was_lost_is_found_again(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("actors.lease.ASK_SECONDS", 0.5)
    world.want()
    gate = threading.Event()

    def renew_but_say_nothing(message: RenewLease) -> LeaseRow | None:
        answer = world.row.renew(message)
        gate.wait(10)
        return answer

    world.writer.script[RenewLease] = renew_but_say_nothing
    world.tick()
    assert world.scheduler.expect(LeaseMissed).reason == "The database did not answer in time."
    gate.set()
    world.writer.script[RenewLease] = world.row.renew
    world.tick()
    assert len(world.scheduler.seen(LeaseGained)) == 2
    assert len(world.writer.seen(AcquireLease)) == 1


def test_doubted_it_is_proved_by_renewing(world: World) -> None:
    world.want()
    world.want()
    assert len(world.scheduler.seen(LeaseGained)) == 2
    assert len(world.writer.seen(AcquireLease)) == 1
    assert len(world.writer.seen(RenewLease)) == 1


def test_freed_it_is_deleted_and_no_tick_is_left(world: World) -> None:
    world.want()
    world.me.call(FreeLease(), timeout=10)
    assert world.row.row is None
    assert world.timer.pending() == []


def test_a_tick_of_a_former_schedule_renews_nothing(world: World) -> None:
    world.want()
    stale = world.timer.expect(RenewalDue, world.me).notice
    world.me.call(FreeLease(), timeout=10)
    world.me.notify(stale)
    world.settle()
    assert world.writer.seen(RenewLease) == []
    assert world.row.row is None


def test_a_stop_frees_it(world: World) -> None:
    world.want()
    world.keeper.end()
    world.keeper.thread.join(10)
    assert world.row.row is None


def test_a_release_that_fails_keeps_it_for_the_next_start(world: World) -> None:
    world.want()

    def broken() -> None:
        raise OSError("disk")

    world.row.broken = broken
    world.me.call(FreeLease(), timeout=10)
    world.row.broken = None
    world.want()
    assert len(world.writer.seen(AcquireLease)) == 1
    assert len(world.scheduler.seen(LeaseGained)) == 2


def test_a_successor_goes_on_with_what_its_dead_predecessor_held(
    stage: Stage, clock: ManualClock, timer: ManualTimer
) -> None:
    held = LeaseRow(CALLER.actor_id, clock.now(), clock.now() + DEFAULT_LEASE * 1_000, 3)
    world = World(stage, clock, timer, held=held)
    world.row.row = held
    world.want()
    assert world.writer.seen(AcquireLease) == []
    world.scheduler.expect(LeaseGained)
    assert world.row.row is not None
    assert world.row.row.version == 4
