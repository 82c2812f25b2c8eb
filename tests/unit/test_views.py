"""What is shown, on which door (contract section 1, 11.8)."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from remindi import tools, views
from remindi.answers import CheckItem, CheckPage, HistoryPage, ListPage, Mutated
from remindi.errors import INVALID_STATE, ErrorCode, FieldError, Refusal, invalid
from remindi.events import ActorType, Caller, EventType
from remindi.items import ConditionStatus, ItemRecord, Priority, Readiness, State
from remindi.links import Link, LinkType
from remindi.recurrence import MissedPolicy, Recurrence
from remindi.schemas import TOOLS
from remindi.triggers import (
    AfterElapsed,
    AtTime,
    Condition,
    GoalActive,
    Interval,
    NextContinuation,
    NextSession,
    Trigger,
)
from tests.unit import records
from tests.unit.records import ID, ID_TEXT, content, event, evidence_record, item, record
from tests.unit.samples import NOW, NOW_STAMP

OUTPUT = {tool.name: Draft202012Validator(tool.output_schema) for tool in TOOLS}
LATER_STAMP = "2026-11-30T00:53:20.001Z"
WARNING = "The adapter is disabled."


def sent(tool: str, data: views.Json) -> Any:
    """Data as a client of a tool gets it; fails when the published schema does not admit it."""
    answer = json.loads(views.to_json(views.success("request-1", data)))
    OUTPUT[tool].validate(answer)
    return answer["data"]


class TestItemView:
    # Each row is one row of the table in contract 1.4.
    KEYS = (
        *("id", "project_id", "message"),
        *("task_id", "instructions", "source_session_id", "source_task_lineage_id"),
        *("state", "priority"),
        *("trigger", "recurrence"),
        *("next_fire_at", "original_next_fire_at", "next_evaluation_at"),
        *("due_since", "snooze_until", "last_checked_at", "completed_at", "cancelled_at"),
        "snoozed_from_state",
        *("overdue_after_seconds", "occurrence_no", "snooze_count", "version"),
        *("last_condition_status", "last_condition_detail"),
        "links",
        *("created_at", "updated_at"),
    )

    def test_has_every_key_of_the_contract_always(self) -> None:
        assert views.item_view(record(NextSession())).keys() == set(self.KEYS)

    def test_shows_an_item_with_everything(self) -> None:
        shown = views.item_view(
            ItemRecord(
                item(
                    state=State.SNOOZED,
                    priority=Priority.CRITICAL,
                    next_fire_at=NOW,
                    original_next_fire_at=NOW + 1,
                    due_since=NOW,
                    snooze_until=NOW + 1,
                    snoozed_from_state=State.OVERDUE,
                    last_checked_at=NOW,
                    overdue_after_seconds=60,
                    occurrence_no=3,
                    snooze_count=2,
                    version=9,
                    last_condition_status=ConditionStatus.UNKNOWN,
                    last_condition_detail="The deadline passed.",
                ),
                content(
                    task_id="t",
                    instructions="",
                    source_session_id="s",
                    source_task_lineage_id="l",
                    trigger=Interval(NOW, 900),
                    recurrence=Recurrence(900, MissedPolicy.SKIP, None, NOW),
                ),
                (Link(LinkType.URL, "b"), Link(LinkType.GOAL, "a")),
            )
        )
        assert shown == {
            "id": ID_TEXT,
            "project_id": "demo",
            "task_id": "t",
            "message": "Look.",
            "instructions": "",
            "state": "snoozed",
            "priority": "critical",
            "trigger": {"type": "interval", "first_at": NOW_STAMP, "every_seconds": 900},
            "recurrence": {
                "every_seconds": 900,
                "missed_policy": "skip",
                "max_occurrences": None,
                "end_at": NOW_STAMP,
            },
            "next_fire_at": NOW_STAMP,
            "original_next_fire_at": LATER_STAMP,
            "next_evaluation_at": None,
            "due_since": NOW_STAMP,
            "snooze_until": LATER_STAMP,
            "snoozed_from_state": "overdue",
            "overdue_after_seconds": 60,
            "occurrence_no": 3,
            "snooze_count": 2,
            "last_condition_status": "unknown",
            "last_condition_detail": "The deadline passed.",
            "links": [{"type": "url", "value": "b"}, {"type": "goal", "value": "a"}],
            "source_session_id": "s",
            "source_task_lineage_id": "l",
            "version": 9,
            "created_at": NOW_STAMP,
            "updated_at": NOW_STAMP,
            "last_checked_at": NOW_STAMP,
            "completed_at": None,
            "cancelled_at": None,
        }

    @pytest.mark.parametrize(
        ("trigger", "shown"),
        [
            (AtTime(NOW), {"type": "at_time", "at": NOW_STAMP}),
            (AfterElapsed(5), {"type": "after_elapsed", "after_seconds": 5}),
            (Interval(NOW, 60), {"type": "interval", "first_at": NOW_STAMP, "every_seconds": 60}),
            (NextSession(), {"type": "next_session"}),
            (NextContinuation(), {"type": "next_continuation"}),
            (GoalActive("g"), {"type": "goal_active", "goal_id": "g"}),
            (
                Condition("tcp_reachable", '{"target":"a","at":[2026,1]}', None, NOW),
                {
                    "type": "condition",
                    "adapter": "tcp_reachable",
                    "parameters": {"target": "a", "at": [2026, 1]},
                    "poll_interval_seconds": None,
                    "manual_check_at": NOW_STAMP,
                },
            ),
        ],
    )
    def test_shows_of_a_trigger_the_fields_of_its_type(self, trigger: Trigger, shown: Any) -> None:
        assert views.item_view(record(trigger))["trigger"] == shown

    @given(st.lists(records.item_records, max_size=3))
    def test_of_any_item_is_admitted_by_the_published_schema(self, found: list[ItemRecord]) -> None:
        data = sent(tools.LIST, views.list_data(ListPage(tuple(found), None), "next"))
        assert len(data["items"]) == len(found)


class TestCheck:
    def test_shows_the_keys_of_the_contract(self) -> None:
        found = CheckItem(
            ID,
            Readiness.MANUAL_VERIFICATION,
            "Look.",
            2,
            5,
            State.DUE,
            Priority.LOW,
            None,
            "How.",
            NOW,
            None,
            (),
        )
        assert views.check_data(CheckPage(NOW, (found,), None), "next") == {
            "checked_at": NOW_STAMP,
            "items": [
                {
                    "remindi_id": ID_TEXT,
                    "readiness": "manual_verification",
                    "message": "Look.",
                    "instructions": "How.",
                    "occurrence_no": 2,
                    "version": 5,
                    "state": "due",
                    "priority": "low",
                    "task_id": None,
                    "due_since": NOW_STAMP,
                    "next_fire_at": None,
                    "links": [],
                }
            ],
            "next_cursor": "next",
        }

    @given(st.lists(records.check_items, max_size=3))
    def test_of_any_items_is_admitted_by_the_published_schema(self, found: list[Any]) -> None:
        sent(tools.CHECK, views.check_data(CheckPage(NOW, tuple(found), None), None))


class TestHistory:
    def test_is_an_array_of_evidence_on_the_tool_and_an_object_or_null_on_rest(self) -> None:
        record = evidence_record(metadata_json='{"observed_at":[2026,1,0,0,0,0,0,0,0]}')
        done = HistoryPage((event(EventType.COMPLETED),), record, 7)
        open_ = HistoryPage((), None, None)
        shown = views.evidence_view(record)
        assert sent(tools.HISTORY, views.history_data(done, ID, "next"))["completion_evidence"] == [shown]
        assert sent(tools.HISTORY, views.history_data(open_, ID, None))["completion_evidence"] == []
        assert views.rest_history_data(done, ID, "next")["completion_evidence"] == shown
        assert views.rest_history_data(open_, ID, None) == {
            "events": [],
            "completion_evidence": None,
            "next_cursor": None,
        }
        assert shown == {
            "id": "76767676-7676-7676-7676-767676767676",
            "remindi_id": ID_TEXT,
            "evidence_type": "test_result",
            "summary": "All tests pass.",
            "reference_uri": "https://ci.example.org/42",
            "content_hash": None,
            "observed_at": "2026-11-30T00:53:19.999Z",
            "recorded_at": NOW_STAMP,
            "recorded_by": "mcp:x",
            "metadata": {"observed_at": [2026, 1, 0, 0, 0, 0, 0, 0, 0]},
        }

    def test_shows_who_did_what_when(self) -> None:
        scheduler = Caller(ActorType.SCHEDULER, "scheduler:process-1", None)
        shown = views.event_view(
            event(EventType.BECAME_DUE, '{"condition":null}', caller=scheduler, sequence=4), ID
        )
        assert shown == {
            "sequence": 4,
            "event_id": "65656565-6565-6565-6565-656565656565",
            "remindi_id": ID_TEXT,
            "event_type": "became_due",
            "actor_type": "scheduler",
            "actor_id": "scheduler:process-1",
            "request_id": None,
            "occurred_at": NOW_STAMP,
            "prior_version": 1,
            "new_version": 2,
            "details": {"condition": None},
        }

    @given(st.lists(records.events, max_size=3), st.none() | records.evidence_records)
    def test_of_any_events_is_admitted_by_the_published_schema(self, found: list[Any], evidence: Any) -> None:
        sent(tools.HISTORY, views.history_data(HistoryPage(tuple(found), evidence, None), ID, None))


class TestLegacyTimes:
    ARRAY = "[2026,334,0,53,20,1999999,0,0,0]"

    @pytest.mark.parametrize(
        ("kind", "key"),
        [
            (EventType.SNOOZED, "prior_next_fire_at"),
            (EventType.SNOOZED, "snooze_until"),
            (EventType.OCCURRENCE_ADVANCED, "previous_schedule"),
            (EventType.OCCURRENCE_ADVANCED, "next_schedule"),
        ],
    )
    def test_become_stamps_cut_to_milliseconds(self, kind: EventType, key: str) -> None:
        details = views.event_view(event(kind, f'{{"{key}":{self.ARRAY},"reason":"x"}}'), ID)["details"]
        assert details == {key: LATER_STAMP, "reason": "x"}

    def test_become_stamps_within_the_triggers_of_an_update(self) -> None:
        trigger = f'{{"type":"at_time","next_fire_at": {self.ARRAY},"next_evaluation_at":null}}'
        text = f'{{"before_trigger":{trigger},"after_trigger":{trigger},"changed_fields":["links"]}}'
        details = views.event_view(event(EventType.UPDATED, text), ID)["details"]
        shown = {"type": "at_time", "next_fire_at": LATER_STAMP, "next_evaluation_at": None}
        assert details == {"before_trigger": shown, "after_trigger": shown, "changed_fields": ["links"]}

    def test_count_their_offset(self) -> None:
        text = '{"snooze_until":[2026,335,0,23,20,0,-1,-30,0],"prior_next_fire_at":[2026,1,0,0,0,0,1,0,0]}'
        details = views.event_view(event(EventType.SNOOZED, text), ID)["details"]
        assert details == {
            "snooze_until": "2026-12-01T01:53:20.000Z",
            "prior_next_fire_at": "2025-12-31T23:00:00.000Z",
        }

    @pytest.mark.parametrize(
        "value",
        ["[2026,334]", "[1,2,3,4,5,6,7,8,9,10]", "[0,1,0,0,0,0,0,0,0]", '["a"]', "[2026,400,0,0,0,0,0,0,0]"],
    )
    def test_that_are_none_are_left_alone(self, value: str) -> None:
        details = views.event_view(event(EventType.SNOOZED, f'{{"snooze_until":{value}}}'), ID)["details"]
        assert details == {"snooze_until": json.loads(value)}

    def test_are_looked_for_at_the_named_keys_only(self) -> None:
        details = views.event_view(event(EventType.SNOOZED, f'{{"elsewhere":{self.ARRAY}}}'), ID)["details"]
        assert details == {"elsewhere": json.loads(self.ARRAY)}


class TestMutation:
    @pytest.mark.parametrize("tool", [tools.COMPLETE, tools.SNOOZE, tools.CANCEL, tools.ADD, tools.UPDATE])
    def test_shows_id_state_and_version(self, tool: str) -> None:
        data = sent(tool, views.mutation_data(Mutated(ID, State.DUE, 4)))
        assert data == {"remindi": {"id": ID_TEXT, "state": "due", "version": 4}}

    def test_shows_warnings_only_when_there_are_any(self) -> None:
        data = sent(tools.ADD, views.mutation_data(Mutated(ID, State.DUE, 4, (WARNING,))))
        assert data["warnings"] == [WARNING]
        found = record(NextSession())
        assert views.item_data(found) == {"remindi": views.item_view(found)}
        assert views.item_data(found, (WARNING,))["warnings"] == [WARNING]


class TestFailure:
    @pytest.mark.parametrize(
        ("refusal", "details"),
        [
            (INVALID_STATE, {}),
            (
                invalid(("/a", "type"), ("", "json")),
                {"errors": [{"field": "/a", "reason": "type"}, {"field": "", "reason": "json"}]},
            ),
            (Refusal(ErrorCode.VERSION_CONFLICT, current_version=7), {"current_version": 7}),
            (
                Refusal(ErrorCode.MAINTENANCE_ACTIVE, reason="restore_rollback_failed"),
                {"reason": "restore_rollback_failed"},
            ),
        ],
    )
    def test_has_details_always_on_rest_and_only_with_something_to_say_on_mcp(
        self, refusal: Refusal, details: Any
    ) -> None:
        code = refusal.code
        error = {"code": code.value, "message": code.message, "retryable": code.retryable}
        rest = views.failure("request-1", refusal, always_details=True)
        assert rest == {"ok": False, "request_id": "request-1", "error": {**error, "details": details}}
        mcp = views.failure("request-1", refusal, always_details=False)
        assert mcp["error"] == (error | {"details": details} if details else error)
        for validator in OUTPUT.values():
            validator.validate(mcp)
            validator.validate(rest)

    @pytest.mark.parametrize("code", ErrorCode)
    def test_of_every_code_is_admitted_by_every_published_schema(self, code: ErrorCode) -> None:
        errors = (FieldError("/x", "type"),) if code is ErrorCode.VALIDATION_ERROR else ()
        answer = views.failure("r", Refusal(code, errors), always_details=False)
        assert all(validator.is_valid(answer) for validator in OUTPUT.values())


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(10**400), 10**400)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


class TestToJson:
    @given(json_values)
    def test_keeps_every_value_as_it_is(self, value: Any) -> None:
        def same(one: Any, other: Any) -> bool:
            if isinstance(one, dict):
                return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
            if isinstance(one, list):
                return len(one) == len(other) and all(map(same, one, other))
            if isinstance(one, float):
                return (
                    type(other) is float and one == other and math.copysign(1, one) == math.copysign(1, other)
                )
            return type(one) is type(other) and one == other

        assert same(value, json.loads(views.to_json(value)))

    @given(json_values.filter(lambda value: isinstance(value, dict)))
    def test_shows_parameters_value_for_value(self, value: Any) -> None:
        text = json.dumps(value, ensure_ascii=False)
        shown = views.item_view(record(Condition("x", text, None, None)))["trigger"]["parameters"]
        assert json.dumps(shown) == json.dumps(value)

    def test_writes_utf_8_without_spaces(self) -> None:
        assert views.to_json({"é": [1, None, True]}) == '{"é":[1,null,true]}'.encode()
