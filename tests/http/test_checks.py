"""Checks that probe: what the pool is asked, what is stored, and how long anybody waits (contract 5.1)."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from actors.address import OutcomeUnknown, Overloaded, Unavailable
from actors.messages.control import SettingRow
from actors.messages.probes import NotProbed, ProbeAnswer, RunProbe
from actors.messages.readers import (
    ConditionsDue,
    GetCheckPage,
    ListDueConditions,
    ListSettings,
    ProbeTarget,
)
from actors.messages.writer import ApplyProbes, ProbeResult
from actors.probing import LISTED
from remindi import inputs
from remindi.answers import CheckPage
from remindi.errors import ErrorCode, Refusal
from remindi.events import ActorType, Caller
from remindi.items import ConditionStatus
from remindi.requests import CheckQuery
from remindi.settings import ADAPTER_CONCURRENCY, ADAPTER_TIMEOUT_SECONDS
from remindi.triggers import Condition
from tests.fakes.doors import DoorStage
from tests.http.test_tools import CHECK, raises
from web.checks import Checks
from web.door import POOL_SECONDS


@pytest.fixture
def stage() -> DoorStage:
    stage = DoorStage()
    stage.reader.script[GetCheckPage] = wants_probing
    stage.probes.script[RunProbe] = answer_of
    return stage


def wants_probing(asked: GetCheckPage) -> CheckPage | ConditionsDue:
    """Answer as a reader whose project has due conditions."""
    return ConditionsDue() if asked.probing else CheckPage(asked.as_of, (), None)


def target(key: int, at: int = 1_000, **condition: Any) -> ProbeTarget:
    """Return a condition whose probe is due."""
    fields = {"poll_interval_seconds": 100, "manual_check_at": None, **condition}
    return ProbeTarget(key, 3, Condition("file_exists", '{"path_alias":"a"}', **fields), at)


def answer_of(asked: RunProbe) -> ProbeAnswer:
    return ProbeAnswer(asked.target, ConditionStatus.UNSATISFIED, "not there", 5_000, "1", 2)


def settings(**values: int) -> Callable[[Any], tuple[SettingRow, ...]]:
    """Answer as a reader of a database with these settings."""
    rows = tuple(SettingRow(key, value, 1, 0, "x") for key, value in values.items())
    return lambda _: rows


def results(stage: DoorStage) -> list[ProbeResult]:
    """What was stored, in its order."""
    return [result for asked in stage.writer.asked for result in asked.results]


def test_due_conditions_are_probed_and_stored_before_the_page_is_read(stage: DoorStage) -> None:
    now = stage.clock.wall
    due = (
        target(1, now - 5),
        target(2, now - 4, manual_check_at=now + 10),
        target(3, now, poll_interval_seconds=None),
    )
    stage.reader.script[ListDueConditions] = lambda _: due
    stage.probes.script[RunProbe] = lambda asked: answer_of(asked)._replace(observed_at=now + 7)
    envelope = stage.call("remindi_check", CHECK)
    assert envelope["ok"] is True
    caller = Caller(ActorType.AGENT, "mcp:under-test", envelope["request_id"])
    assert [(asked.target, asked.start_within, asked.caller) for asked in stage.probes.asked] == [
        (one, 5.0, caller) for one in due
    ]
    assert set(stage.probes.timeouts) == {5.0 + 5.0 + POOL_SECONDS}
    for applied in stage.writer.asked:
        assert isinstance(applied, ApplyProbes)
        assert (applied.as_of, applied.lease, applied.caller) == (now, None, caller)
        assert applied.lifecycle_event.name == "FINAL_REVIEW"
    assert [(result.key, result.version) for result in results(stage)] == [(1, 3), (2, 3), (3, 3)]
    first, second, third = (result.probe for result in results(stage) if result.probe is not None)
    assert (first.status, first.detail) == (ConditionStatus.UNSATISFIED, "not there")
    assert now + 7 + 90_000 <= first.next_evaluation_at <= now + 7 + 110_000
    assert second.next_evaluation_at == now + 10
    assert now + 7 + 27_000 <= third.next_evaluation_at <= now + 7 + 33_000
    kinds = [type(asked) for asked in stage.reader.asked]
    assert kinds == [GetCheckPage, ListSettings, ListDueConditions, GetCheckPage]


def test_all_due_conditions_of_the_project_are_probed(stage: DoorStage) -> None:
    now = stage.clock.wall
    due = [target(key, now - 10_000 + key) for key in range(LISTED + 1)]

    def batch(asked: ListDueConditions) -> tuple[ProbeTarget, ...]:
        assert (asked.project_id, asked.as_of) == ("p", now)
        after = (0, 0) if asked.after is None else tuple(asked.after)
        rest = [one for one in due if (one.next_evaluation_at, one.key) > after]
        return tuple(rest[: asked.limit])

    stage.reader.script[ListDueConditions] = batch
    stage.call("remindi_check", CHECK)
    assert sorted(result.key for result in results(stage)) == list(range(LISTED + 1))


def test_results_that_come_while_others_are_stored_go_together(stage: DoorStage) -> None:
    held = asyncio.Event()

    async def store(asked: ApplyProbes) -> int:
        if len(stage.writer.asked) == 1:
            await held.wait()
        return len(asked.results)

    def release(asked: RunProbe) -> ProbeAnswer:
        if asked.target.key == 9:
            held.set()
        return answer_of(asked)

    stage.reader.script[ListDueConditions] = lambda _: tuple(target(key) for key in range(10))
    stage.probes.script[RunProbe] = release
    stage.writer.script[ApplyProbes] = store
    stage.call("remindi_check", CHECK)
    assert [len(asked.results) for asked in stage.writer.asked] == [1, 9]


def test_no_more_are_asked_for_at_a_time_than_the_pool_takes_soon(stage: DoorStage) -> None:
    under_way = most = 0

    async def look(asked: RunProbe) -> ProbeAnswer:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return answer_of(asked)

    stage.reader.script[ListSettings] = settings(**{ADAPTER_CONCURRENCY: 3})
    stage.reader.script[ListDueConditions] = lambda _: tuple(target(key) for key in range(40))
    stage.probes.script[RunProbe] = look
    stage.call("remindi_check", CHECK)
    assert (most, len(results(stage))) == (6, 40)


@pytest.mark.parametrize("error", [Overloaded(), Unavailable(), OutcomeUnknown()])
def test_a_pool_without_an_answer_fails_no_check(stage: DoorStage, error: Exception) -> None:
    stage.reader.script[ListDueConditions] = lambda asked: (target(1, asked.as_of),)
    stage.probes.script[RunProbe] = raises(error)
    assert stage.call("remindi_check", CHECK)["ok"] is True
    assert stage.writer.asked == []


def test_what_nobody_looked_at_is_not_stored(stage: DoorStage) -> None:
    stage.reader.script[ListDueConditions] = lambda asked: (target(1, asked.as_of),)
    stage.probes.script[RunProbe] = lambda _: NotProbed()
    assert stage.call("remindi_check", CHECK)["ok"] is True
    assert stage.writer.asked == []


@pytest.mark.parametrize(
    "answer", [lambda _: Refusal(ErrorCode.DATABASE_BUSY), raises(Overloaded()), raises(OSError())]
)
def test_results_that_cannot_be_stored_fail_no_check(stage: DoorStage, answer: Callable[[Any], Any]) -> None:
    stage.reader.script[ListDueConditions] = lambda asked: (target(1, asked.as_of),)
    stage.writer.script[ApplyProbes] = answer
    assert stage.call("remindi_check", CHECK)["ok"] is True


def test_settings_that_cannot_be_read_are_an_answer(stage: DoorStage) -> None:
    stage.reader.script[ListSettings] = raises(Overloaded())
    assert stage.call("remindi_check", CHECK)["error"]["code"] == "DATABASE_BUSY"


def test_a_stop_of_the_service_does_not_wait_for_probes(stage: DoorStage) -> None:
    async def look(_: RunProbe) -> ProbeAnswer:
        stage.board.startup = "stopping"
        return await asyncio.Future()

    stage.reader.script[ListDueConditions] = lambda _: (target(1),)
    stage.probes.script[RunProbe] = look
    resumed, caller = _first_page(stage), Caller(ActorType.AGENT, "a", "the-check")

    async def check() -> None:
        page = await Checks(stage.door).page(resumed, stage.clock.wall, caller)
        assert page.checked_at == stage.clock.wall

    asyncio.run(check())
    assert stage.writer.asked == []


def _first_page(stage: DoorStage) -> CheckQuery:
    query = inputs.read_check(CHECK, 0)
    assert not isinstance(query, Refusal)
    resumed = stage.cursors.resume_check(query)
    assert isinstance(resumed, CheckQuery)
    return resumed


def test_a_probe_that_outlasts_the_check_is_stored_when_it_ends(stage: DoorStage) -> None:
    ended = asyncio.Event()
    stored = asyncio.Event()

    async def look(asked: RunProbe) -> ProbeAnswer:
        if asked.target.key == 2:
            await ended.wait()
        return answer_of(asked)

    def store(asked: ApplyProbes) -> int:
        if asked.results[0].key == 2:
            stored.set()
        return 1

    stage.reader.script[ListSettings] = settings(**{ADAPTER_TIMEOUT_SECONDS: 1})
    stage.reader.script[ListDueConditions] = lambda _: (target(1), target(2))
    stage.probes.script[RunProbe] = look
    stage.writer.script[ApplyProbes] = store
    resumed = _first_page(stage)
    as_of = stage.clock.wall
    caller = Caller(ActorType.AGENT, "a", "the-check")

    async def check() -> None:
        page = await Checks(stage.door).page(resumed, as_of, caller)
        assert page.checked_at == as_of
        assert [result.key for result in results(stage)] == [1]
        stage.clock.advance(2)
        ended.set()
        await stored.wait()

    asyncio.run(check())
    first, late = stage.writer.asked
    assert [result.key for result in late.results] == [2]
    # The check is over: what was seen late is seen now.
    assert (first.as_of, late.as_of, late.caller) == (as_of, as_of + 2_000, caller)
