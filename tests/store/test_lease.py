"""The lease rules of contract 8.3, row for row."""

import pytest

from actors.messages.control import LeaseRow
from actors.messages.writer import (
    AcquireLease,
    ApplyProbes,
    EvaluateRipe,
    LeaseLost,
    ReleaseLease,
    RenewLease,
    RipeBatch,
    UpdateSetting,
)
from remindi.events import LifecycleEvent
from tests.fakes.core import Core
from tests.fakes.script import Script

LENGTH = 90_000


def acquire(core: Core, holder: str = "a") -> LeaseRow | None:
    return core.write(AcquireLease(holder=holder))


def held(core: Core) -> LeaseRow:
    lease = acquire(core)
    assert lease is not None
    return lease


def evaluate(core: Core, holder: str = "a") -> RipeBatch | LeaseLost:
    message = EvaluateRipe(lease=holder, as_of=core.clock.now(), after=None, limit=9)
    return core.write(message)


def test_an_absent_lease_is_taken_with_version_one(core: Core) -> None:
    now = core.clock.now()
    assert acquire(core) == LeaseRow("a", now, now + LENGTH, 1)


@pytest.mark.parametrize("holder", ["a", "b"])
def test_a_live_lease_is_refused_also_to_its_holder(core: Core, holder: str) -> None:
    held(core)
    core.clock.wall += LENGTH - 1
    assert acquire(core, holder) is None


def test_an_expired_lease_is_taken_over_with_the_next_version(core: Core) -> None:
    lease = held(core)
    core.clock.wall += LENGTH
    taken = acquire(core, "b")
    assert taken is not None
    assert (taken.holder, taken.version) == ("b", lease.version + 1)


def test_renewing_counts_from_now_and_raises_the_version(core: Core) -> None:
    lease = held(core)
    core.clock.wall += 30_000
    now = core.clock.now()
    assert core.write(RenewLease(held=lease)) == LeaseRow("a", now - 30_000, now + LENGTH, 2)


@pytest.mark.parametrize("change", [{"holder": "b"}, {"version": 2}])
def test_renewing_what_is_not_held_is_refused(core: Core, change: dict[str, object]) -> None:
    lease = held(core)._replace(**change)  # type: ignore[arg-type]
    assert core.write(RenewLease(held=lease)) is None


def test_an_expired_lease_is_not_renewed(core: Core) -> None:
    lease = held(core)
    core.clock.wall += LENGTH
    assert core.write(RenewLease(held=lease)) is None


def test_a_clock_set_back_does_not_lose_the_lease(core: Core) -> None:
    lease = held(core)
    core.clock.wall -= 3_600_000
    assert acquire(core, "b") is None
    renewed = core.write(RenewLease(held=lease))
    assert renewed is not None
    assert renewed.expires_at == core.clock.now() + LENGTH


def test_releasing_deletes_exactly_the_version_held(core: Core) -> None:
    lease = held(core)
    renewed = core.write(RenewLease(held=lease))
    assert renewed is not None
    assert core.write(ReleaseLease(held=lease)) is False
    assert core.write(ReleaseLease(held=renewed._replace(holder="b"))) is False
    assert acquire(core, "b") is None
    assert core.write(ReleaseLease(held=renewed)) is True
    assert core.write(ReleaseLease(held=renewed)) is False
    taken = acquire(core, "b")
    assert taken is not None
    assert taken.version == 1


def test_nothing_is_written_under_a_lost_lease(core: Core, script: Script) -> None:
    name = script.add()
    probes = ApplyProbes(
        results=(), lifecycle_event=LifecycleEvent.CHECKPOINT, as_of=core.clock.now(), lease="a"
    )
    assert isinstance(evaluate(core), LeaseLost)
    assert isinstance(core.write(probes), LeaseLost)
    held(core)
    core.clock.wall += LENGTH
    assert isinstance(evaluate(core), LeaseLost)
    assert isinstance(core.write(probes), LeaseLost)
    assert acquire(core, "b") is not None
    assert isinstance(evaluate(core), LeaseLost)
    assert script.item(name)["version"] == 1
    assert isinstance(evaluate(core, "b"), RipeBatch)
    assert script.item(name)["state"] == "due"


def test_the_length_follows_the_setting_at_once(core: Core) -> None:
    lease = held(core)
    core.write(UpdateSetting(key="scheduler.lease_seconds", value=61, expected_version=1))
    renewed = core.write(RenewLease(held=lease))
    assert renewed is not None
    assert renewed.expires_at == core.clock.now() + 61_000


def test_a_restart_frees_the_lease(core: Core) -> None:
    held(core)
    core.restart()
    taken = acquire(core, "b")
    assert taken is not None
    assert taken.version == 1
