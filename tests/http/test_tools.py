"""What the tools ask of whom, and what callers see when nobody answers (contract 5.1, 3.1)."""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from actors.address import ActorError, OutcomeUnknown, Overloaded, Paused, Unavailable
from actors.failures import DatabaseRefused
from actors.messages.readers import (
    GetCheckPage,
    ListEvents,
    ListItems,
    Unsettled,
)
from actors.messages.writer import AddItem, CancelItem, CompleteItem, EvaluatePage, SnoozeItem
from actors.messages.writer import UpdateItem as Update
from remindi.answers import CheckItem, CheckPage, HistoryPage, ListPage, Mutated
from remindi.errors import NOT_FOUND, ErrorCode, Refusal
from remindi.events import ActorType
from remindi.items import Priority, Readiness, State
from remindi.requests import CheckPosition, ListPosition
from tests.fakes.doors import ITEM, ITEM_TEXT, DoorStage
from web.door import READER_SECONDS, WRITER_SECONDS

KEY = "key-of-eight"
EDIT = {"remindi_id": ITEM_TEXT, "expected_version": 1, "idempotency_key": KEY}
EVIDENCE = {
    "type": "test_result",
    "summary": "build 17 is green",
    "reference_uri": "urn:build:17",
    "observed_at": "2027-01-15T07:59:00Z",
}
ADD = {"project_id": "p", "message": "m", "trigger": {"type": "next_session"}, "idempotency_key": KEY}
CHECK = {"project_id": "p", "lifecycle_event": "final_review"}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "remindi_add": ADD,
    "remindi_check": CHECK,
    "remindi_complete": {**EDIT, "evidence": EVIDENCE},
    "remindi_snooze": {**EDIT, "reason": "r", "snooze_until": "2027-02-01T00:00:00Z"},
    "remindi_update": {**EDIT, "reason": "r", "message": "n"},
    "remindi_list": {},
    "remindi_cancel": {**EDIT, "reason": "r"},
    "remindi_history": {"remindi_id": ITEM_TEXT},
}
MUTATIONS: dict[str, type[Any]] = {
    "remindi_add": AddItem,
    "remindi_complete": CompleteItem,
    "remindi_snooze": SnoozeItem,
    "remindi_update": Update,
    "remindi_cancel": CancelItem,
}
READS = {"remindi_list": ListItems, "remindi_history": ListEvents, "remindi_check": GetCheckPage}


@pytest.fixture
def stage() -> DoorStage:
    return DoorStage()


def raises(error: Exception) -> Callable[[Any], Any]:
    """Return an answer that is an exception."""

    def answer(_: Any) -> Any:
        raise error

    return answer


def item(version: int = 1) -> CheckItem:
    """Return an item of a check."""
    return CheckItem(
        ITEM,
        Readiness.DUE,
        "m",
        1,
        version,
        State.DUE,
        Priority.NORMAL,
        None,
        None,
        1_799_999_999_000,
        None,
        (),
    )


@pytest.mark.parametrize("tool", MUTATIONS)
def test_a_mutation_is_one_question_to_the_writer(stage: DoorStage, tool: str) -> None:
    structured = stage.call(tool, ARGUMENTS[tool])
    assert structured["data"] == {"remindi": {"id": ITEM_TEXT, "state": "scheduled", "version": 1}}
    (asked,) = stage.writer.asked
    assert isinstance(asked, MUTATIONS[tool])
    assert stage.writer.timeouts == [WRITER_SECONDS]
    assert stage.reader.asked == []
    assert asked.caller == (ActorType.AGENT, "mcp:under-test", structured["request_id"])


@pytest.mark.parametrize("tool", READS)
def test_a_read_asks_the_reader_alone(stage: DoorStage, tool: str) -> None:
    assert stage.call(tool, ARGUMENTS[tool])["ok"] is True
    assert READS[tool] in {type(asked) for asked in stage.reader.asked}
    assert set(stage.reader.timeouts) == {READER_SECONDS}
    assert stage.writer.asked == stage.probes.asked == []


@pytest.mark.parametrize("tool", ARGUMENTS)
@pytest.mark.parametrize("flag", [True, False])
def test_the_flag_that_one_client_adds_is_dropped(stage: DoorStage, tool: str, flag: bool) -> None:
    assert stage.call(tool, {**ARGUMENTS[tool], "wait_for_previous": flag})["ok"] is True


@pytest.mark.parametrize("value", ["true", 1, None, {}])
def test_the_same_name_with_another_value_is_an_unknown_field(stage: DoorStage, value: object) -> None:
    error = stage.call("remindi_list", {"wait_for_previous": value})["error"]
    assert error["details"] == {"errors": [{"field": "/wait_for_previous", "reason": "unknown_field"}]}


@pytest.mark.parametrize("tool", ARGUMENTS)
def test_what_breaks_a_rule_is_asked_of_nobody(stage: DoorStage, tool: str) -> None:
    assert stage.call(tool, {**ARGUMENTS[tool], "stray": 1})["error"]["code"] == "VALIDATION_ERROR"
    assert stage.writer.asked == stage.reader.asked == stage.probes.asked == []


def test_a_refusal_of_an_actor_is_the_answer(stage: DoorStage) -> None:
    stage.writer.script[CompleteItem] = lambda _: Refusal(ErrorCode.VERSION_CONFLICT, current_version=7)
    error = stage.call("remindi_complete", ARGUMENTS["remindi_complete"])["error"]
    assert (error["code"], error["details"], error["retryable"]) == (
        "VERSION_CONFLICT",
        {"current_version": 7},
        True,
    )
    stage.reader.script[ListEvents] = lambda _: NOT_FOUND
    error = stage.call("remindi_history", ARGUMENTS["remindi_history"])["error"]
    assert (error["code"], "details" in error) == ("NOT_FOUND", False)


def test_warnings_of_a_mutation_are_told(stage: DoorStage) -> None:
    stage.writer.script[AddItem] = lambda _: Mutated(ITEM, State.SCHEDULED, 1, ("The adapter is disabled.",))
    assert stage.call("remindi_add", ADD)["data"]["warnings"] == ["The adapter is disabled."]


# -------------------------------------------------------------- nobody answers

BUSY, GONE, LATE = Overloaded(), Unavailable(), OutcomeUnknown()


@pytest.mark.parametrize(
    ("error", "state", "read", "mutation"),
    [
        (BUSY, "ready", "DATABASE_BUSY", "DATABASE_BUSY"),
        (GONE, "ready", "DATABASE_BUSY", "DATABASE_BUSY"),
        (GONE, "damaged", "DATABASE_BUSY", "DATABASE_BUSY"),
        (LATE, "ready", "INTERNAL_ERROR", "DATABASE_BUSY"),
        (DatabaseRefused(), "ready", "DATABASE_BUSY", "DATABASE_BUSY"),
        (RuntimeError("the detail"), "ready", "INTERNAL_ERROR", "INTERNAL_ERROR"),
    ],
)
def test_an_ask_without_an_answer_is_a_code_and_one_log_line(
    stage: DoorStage,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    state: Any,
    read: str,
    mutation: str,
) -> None:
    stage.board.startup = state
    stage.reader.script[ListItems] = stage.writer.script[AddItem] = raises(error)
    for tool, code in (("remindi_list", read), ("remindi_add", mutation)):
        caplog.clear()
        structured = stage.call(tool, ARGUMENTS[tool])
        assert structured["error"]["code"] == code
        assert structured["error"]["retryable"] is (code == "DATABASE_BUSY")
        assert "detail" not in str(structured)
        lines = [record for record in caplog.records if record.levelno >= logging.WARNING]
        (line,) = lines
        assert vars(line)["request_id"] == structured["request_id"]
        assert (line.exc_info is not None) is not isinstance(error, ActorError | DatabaseRefused)


def test_an_actor_that_is_gone_in_maintenance_says_maintenance() -> None:
    stage = DoorStage()

    def close(_: Any) -> Any:
        # The gate let the call in; maintenance began while it was on its way.
        stage.board.maintenance = "paused"
        raise Unavailable

    stage.writer.script[AddItem] = close
    error = stage.call("remindi_add", ADD)["error"]
    assert (error["code"], error["retryable"]) == ("MAINTENANCE_ACTIVE", True)


def test_an_actor_that_is_gone_while_all_restart_says_the_same() -> None:
    stage = DoorStage()

    def restart(_: Any) -> Any:
        stage.board.startup = "starting"
        raise Unavailable

    stage.reader.script[ListItems] = restart
    assert stage.call("remindi_list")["error"]["code"] == "MAINTENANCE_ACTIVE"


# ------------------------------------------------------------------- the check


def test_a_check_is_as_of_the_clock_and_settles_through_the_writer(stage: DoorStage) -> None:
    stage.reader.script[GetCheckPage] = lambda _: Unsettled()
    stage.writer.script[EvaluatePage] = lambda asked: CheckPage(asked.as_of, (item(2),), None)
    data = stage.call("remindi_check", CHECK)["data"]
    assert data["checked_at"] == "2027-01-15T08:00:00.000Z"
    assert (data["items"][0]["remindi_id"], data["items"][0]["version"]) == (ITEM_TEXT, 2)
    (evaluated,) = stage.writer.asked
    read = next(asked for asked in stage.reader.asked if isinstance(asked, GetCheckPage))
    assert (evaluated.query, evaluated.as_of) == (read.query, read.as_of)
    assert evaluated.as_of == stage.clock.wall


def test_a_locked_database_is_busy_also_for_a_page(stage: DoorStage) -> None:
    stage.reader.script[GetCheckPage] = lambda _: Unsettled()
    stage.writer.script[EvaluatePage] = lambda _: Refusal(ErrorCode.DATABASE_BUSY)
    assert stage.call("remindi_check", CHECK)["error"]["code"] == "DATABASE_BUSY"


def test_later_pages_are_as_of_the_first_and_probe_nothing(stage: DoorStage) -> None:
    first = stage.clock.wall
    position = CheckPosition(as_of=first, change=3, ready=True, rank=5, key=9)
    stage.reader.script[GetCheckPage] = lambda asked: CheckPage(
        asked.as_of, (item(),), position if asked.query.after is None else None
    )
    data = stage.call("remindi_check", CHECK)["data"]
    stage.clock.advance(3_600)
    stage.reader.asked.clear()
    later = stage.call("remindi_check", {**CHECK, "cursor": data["next_cursor"], "limit": 1})["data"]
    assert later["checked_at"] == data["checked_at"]
    assert later["next_cursor"] is None
    (asked,) = stage.reader.asked
    assert (asked.as_of, asked.query.after, asked.probing) == (first, position, False)


def test_without_evaluating_conditions_none_is_looked_for(stage: DoorStage) -> None:
    stage.call("remindi_check", {**CHECK, "evaluate_conditions": False})
    (asked,) = stage.reader.asked
    assert (type(asked), asked.probing) == (GetCheckPage, False)


# -------------------------------------------------------------------- cursors


def test_cursors_of_list_and_history_go_round(stage: DoorStage) -> None:
    position = ListPosition(newest_key=9, place=8, key=7)
    stage.reader.script[ListItems] = lambda asked: ListPage((), None if asked.query.after else position)
    cursor = stage.call("remindi_list", {"states": ["due"]})["data"]["next_cursor"]
    assert stage.call("remindi_list", {"states": ["due"], "cursor": cursor})["data"]["next_cursor"] is None
    assert stage.reader.asked[-1].query.after == position

    stage.reader.script[ListEvents] = lambda asked: HistoryPage(
        (), None, None if asked.query.after_sequence else 5
    )
    arguments = ARGUMENTS["remindi_history"]
    cursor = stage.call("remindi_history", arguments)["data"]["next_cursor"]
    data = stage.call("remindi_history", {**arguments, "cursor": cursor, "after_sequence": 1})["data"]
    assert data == {"events": [], "completion_evidence": [], "next_cursor": None}
    assert stage.reader.asked[-1].query.after_sequence == 5


@pytest.mark.parametrize("tool", ["remindi_check", "remindi_list", "remindi_history"])
def test_a_cursor_of_elsewhere_is_refused(stage: DoorStage, tool: str) -> None:
    error = stage.call(tool, {**ARGUMENTS[tool], "cursor": "AAAA"})["error"]
    assert error["details"] == {"errors": [{"field": "/cursor", "reason": "cursor"}]}
    assert stage.reader.asked == []


# ------------------------------------------------------------------- restores


@pytest.mark.parametrize("tool", READS)
def test_a_cursor_of_another_content_is_refused(stage: DoorStage, tool: str) -> None:
    check = CheckPosition(as_of=stage.clock.wall, change=3, ready=True, rank=5, key=9)
    stage.reader.script[GetCheckPage] = lambda asked: CheckPage(asked.as_of, (), check)
    stage.reader.script[ListItems] = lambda _: ListPage((), ListPosition(newest_key=9, place=8, key=7))
    stage.reader.script[ListEvents] = lambda _: HistoryPage((), None, 5)
    stage.board.generation = b"one"
    cursor = stage.call(tool, ARGUMENTS[tool])["data"]["next_cursor"]
    assert stage.call(tool, {**ARGUMENTS[tool], "cursor": cursor})["ok"]
    stage.board.generation = b"two"
    error = stage.call(tool, {**ARGUMENTS[tool], "cursor": cursor})["error"]
    assert error["details"] == {"errors": [{"field": "/cursor", "reason": "cursor"}]}


@pytest.mark.parametrize("tool", READS)
@pytest.mark.parametrize("end", ["another", "draining", "held"])
def test_an_answer_that_a_restore_overtakes_is_none(stage: DoorStage, tool: str, end: str) -> None:
    kind = READS[tool]
    answer = stage.reader.script[kind]

    def overtaken(asked: Any) -> Any:
        if end == "another":
            stage.board.generation = b"another"
        elif end == "held":
            stage.board.maintenance = "held"
        else:
            stage.board.maintenance = "draining"
        return answer(asked)

    stage.reader.script[kind] = overtaken
    error = stage.call(tool, ARGUMENTS[tool])["error"]
    assert (error["code"], error["retryable"]) == ("MAINTENANCE_ACTIVE", True)
    assert error.get("details") == ({"reason": "restore_rollback_failed"} if end == "held" else None)


def test_a_check_that_a_restore_overtakes_is_none(stage: DoorStage) -> None:
    def evaluated(asked: Any) -> Any:
        stage.board.generation = b"another"
        return CheckPage(asked.as_of, (), None)

    stage.reader.script[GetCheckPage] = lambda _: Unsettled()
    stage.writer.script[EvaluatePage] = evaluated
    assert stage.call("remindi_check", CHECK)["error"]["code"] == "MAINTENANCE_ACTIVE"
    assert len(stage.writer.asked) == 1


@pytest.mark.parametrize("tool", MUTATIONS)
def test_a_change_that_the_drain_catches_says_so(stage: DoorStage, tool: str) -> None:
    stage.writer.script[MUTATIONS[tool]] = raises(Paused())
    assert stage.call(tool, ARGUMENTS[tool])["error"]["code"] == "MAINTENANCE_ACTIVE"
