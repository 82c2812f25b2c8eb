"""Cursors: opaque, bound to tool and filter, impossible to forge, never a reason to fail (contract 5.3)."""

import base64
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi.cursors import CURSOR_REFUSED, Cursors
from remindi.errors import ErrorCode
from remindi.events import EventType, LifecycleEvent
from remindi.inputs import Paged
from remindi.items import State
from remindi.requests import CheckContext, CheckPosition, CheckQuery, HistoryQuery, ListPosition, ListQuery
from remindi.triggers import TriggerType
from tests.unit.samples import NOW

CURSORS = Cursors("a-token-of-this-test")
CHECK = CheckQuery(
    "demo", "t", CheckContext(LifecycleEvent.CHECKPOINT, "s", "l", ("g", "h")), True, True, 50, None
)
LIST = ListQuery(
    "demo",
    "t",
    b"i" * 16,
    (State.DUE, State.OVERDUE),
    (TriggerType.INTERVAL, TriggerType.CONDITION),
    "g",
    "m",
    50,
    None,
)
HISTORY = HistoryQuery(b"i" * 16, 5, (EventType.CREATED, EventType.UPDATED), 100)
CHECK_AT = CheckPosition(as_of=NOW, change=12, ready=True, rank=3, key=9)
LIST_AT = ListPosition(newest_key=99, place=NOW, key=9)

CHECK_TEXT = CURSORS.next_check(CHECK, CHECK_AT) or ""
LIST_TEXT = CURSORS.next_list(LIST, LIST_AT) or ""
HISTORY_TEXT = CURSORS.next_history(HISTORY, 41) or ""

numbers = st.integers(-(2**63), 2**63 - 1)


class TestRoundTrip:
    @given(st.builds(CheckPosition, numbers, numbers, st.booleans(), numbers, numbers))
    def test_of_a_check_gives_the_position_back(self, position: CheckPosition) -> None:
        text = CURSORS.next_check(CHECK, position)
        assert CURSORS.resume_check(Paged(CHECK, text)) == CHECK._replace(after=position)

    @given(st.builds(ListPosition, numbers, numbers, numbers))
    def test_of_a_list_gives_the_position_back(self, position: ListPosition) -> None:
        text = CURSORS.next_list(LIST, position)
        assert CURSORS.resume_list(Paged(LIST, text)) == LIST._replace(after=position)

    @given(numbers)
    def test_of_a_history_wins_over_after_sequence(self, sequence: int) -> None:
        text = CURSORS.next_history(HISTORY, sequence)
        assert CURSORS.resume_history(Paged(HISTORY, text)) == HISTORY._replace(after_sequence=sequence)

    def test_without_a_cursor_leaves_the_query_as_it_is(self) -> None:
        assert CURSORS.resume_check(Paged(CHECK, None)) == CHECK
        assert CURSORS.resume_list(Paged(LIST, None)) == LIST
        assert CURSORS.resume_history(Paged(HISTORY, None)) == HISTORY

    def test_ends_with_the_last_page(self) -> None:
        assert CURSORS.next_check(CHECK, None) is None
        assert CURSORS.next_list(LIST, None) is None
        assert CURSORS.next_history(HISTORY, None) is None

    def test_makes_short_base64url_text(self) -> None:
        for text in (CHECK_TEXT, LIST_TEXT, HISTORY_TEXT):
            assert len(text) <= 128
            assert text.replace("-", "").replace("_", "").isalnum()
            assert text.isascii()


class TestFilter:
    @pytest.mark.parametrize(
        "query",
        [
            CHECK._replace(project_id="Demo"),
            CHECK._replace(task_id=None),
            CHECK._replace(include_scheduled=False),
            CHECK._replace(context=CHECK.context._replace(lifecycle_event=LifecycleEvent.FINAL_REVIEW)),
            CHECK._replace(context=CHECK.context._replace(session_id=None)),
            CHECK._replace(context=CHECK.context._replace(task_lineage_id="L")),
            CHECK._replace(context=CHECK.context._replace(active_goal_ids=("g",))),
        ],
    )
    def test_of_a_check_that_differs_is_refused(self, query: CheckQuery) -> None:
        assert CURSORS.resume_check(Paged(query, CHECK_TEXT)) == CURSOR_REFUSED

    @pytest.mark.parametrize(
        "query",
        [
            LIST._replace(project_id=None),
            LIST._replace(task_id=None),
            LIST._replace(remindi_id=None),
            LIST._replace(linked_goal_id=None),
            LIST._replace(linked_memory_hash=None),
            LIST._replace(states=()),
            LIST._replace(trigger_types=(TriggerType.INTERVAL,)),
            LIST._replace(linked_goal_id="m", linked_memory_hash="g"),
        ],
    )
    def test_of_a_list_that_differs_is_refused(self, query: ListQuery) -> None:
        assert CURSORS.resume_list(Paged(query, LIST_TEXT)) == CURSOR_REFUSED

    @pytest.mark.parametrize(
        "query", [HISTORY._replace(remindi_id=b"j" * 16), HISTORY._replace(event_types=())]
    )
    def test_of_a_history_that_differs_is_refused(self, query: HistoryQuery) -> None:
        assert CURSORS.resume_history(Paged(query, HISTORY_TEXT)) == CURSOR_REFUSED

    def test_may_change_its_limit_and_whether_it_probes(self) -> None:
        check = CHECK._replace(limit=7, evaluate_conditions=False)
        assert CURSORS.resume_check(Paged(check, CHECK_TEXT)) == check._replace(after=CHECK_AT)
        listed = LIST._replace(limit=7)
        assert CURSORS.resume_list(Paged(listed, LIST_TEXT)) == listed._replace(after=LIST_AT)
        history = HISTORY._replace(limit=7, after_sequence=0)
        assert CURSORS.resume_history(Paged(history, HISTORY_TEXT)) == history._replace(after_sequence=41)

    def test_may_name_its_values_in_another_order(self) -> None:
        goals = CHECK._replace(context=CHECK.context._replace(active_goal_ids=("h", "g")))
        assert CURSORS.resume_check(Paged(goals, CHECK_TEXT)) == goals._replace(after=CHECK_AT)
        listed = LIST._replace(states=LIST.states[::-1], trigger_types=LIST.trigger_types[::-1])
        assert CURSORS.resume_list(Paged(listed, LIST_TEXT)) == listed._replace(after=LIST_AT)
        history = HISTORY._replace(event_types=HISTORY.event_types[::-1])
        assert CURSORS.resume_history(Paged(history, HISTORY_TEXT)) == history._replace(after_sequence=41)


def resumed(text: str) -> set[Any]:
    return {
        CURSORS.resume_check(Paged(CHECK, text)),
        CURSORS.resume_list(Paged(LIST, text)),
        CURSORS.resume_history(Paged(HISTORY, text)),
    }


class TestForeignText:
    def test_is_refused_as_a_cursor(self) -> None:
        assert CURSOR_REFUSED.code is ErrorCode.VALIDATION_ERROR
        assert CURSOR_REFUSED.errors == (("/cursor", "cursor"),)

    @given(
        st.text() | st.text("AZaz09-_", min_size=1, max_size=200) | st.text(st.characters(categories=["Cs"]))
    )
    def test_of_any_kind_is_refused_and_never_raises(self, text: str) -> None:
        assert resumed(text) == {CURSOR_REFUSED}

    @given(st.binary(max_size=200))
    def test_of_any_bytes_is_refused(self, raw: bytes) -> None:
        assert resumed(base64.urlsafe_b64encode(raw).decode().rstrip("=")) == {CURSOR_REFUSED}

    @pytest.mark.parametrize("text", [CHECK_TEXT, LIST_TEXT, HISTORY_TEXT])
    def test_made_from_a_cursor_by_one_changed_character_is_refused(self, text: str) -> None:
        for place in range(len(text)):
            for character in "AB_":
                changed = text[:place] + character + text[place + 1 :]
                if changed != text:
                    assert resumed(changed) == {CURSOR_REFUSED}

    @pytest.mark.parametrize("text", [CHECK_TEXT, LIST_TEXT, HISTORY_TEXT])
    def test_made_from_a_cursor_by_adding_or_cutting_is_refused(self, text: str) -> None:
        for changed in (
            text + "=",
            text + "A",
            text + "\n",
            " " + text,
            text[:-1],
            text[4:],
            text + text,
            "",
        ):
            assert resumed(changed) == {CURSOR_REFUSED}

    def test_of_another_tool_is_refused(self) -> None:
        assert CURSORS.resume_check(Paged(CHECK, LIST_TEXT)) == CURSOR_REFUSED
        assert CURSORS.resume_list(Paged(LIST, HISTORY_TEXT)) == CURSOR_REFUSED
        assert CURSORS.resume_history(Paged(HISTORY, CHECK_TEXT)) == CURSOR_REFUSED

    def test_of_another_token_is_refused(self) -> None:
        other = Cursors("another-token-of-this-test")
        assert other.resume_check(Paged(CHECK, CHECK_TEXT)) == CURSOR_REFUSED

    def test_of_another_version_is_refused(self) -> None:
        raw = base64.urlsafe_b64decode(HISTORY_TEXT + "=" * (-len(HISTORY_TEXT) % 4))
        other = base64.urlsafe_b64encode(b"\x02" + raw[1:]).decode().rstrip("=")
        assert CURSORS.resume_history(Paged(HISTORY, other)) == CURSOR_REFUSED


def test_a_restart_with_the_same_token_takes_up_old_cursors() -> None:
    again = Cursors("a-token-of-this-test")
    assert again.resume_list(Paged(LIST, LIST_TEXT)) == LIST._replace(after=LIST_AT)


def test_no_object_of_cursors_shows_the_token() -> None:
    assert "a-token" not in repr(CURSORS)
    assert not hasattr(CURSORS, "__dict__")
