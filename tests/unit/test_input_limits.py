"""Each documented limit, at its bound and just over it, for each field and tool (contract 2.1, 2.3, 2.5)."""

from typing import Any

import pytest

from remindi import tools
from tests.unit.limits import (
    ARRAYS,
    INTEGERS,
    MUTATIONS,
    TEXTS,
    ArrayLimit,
    IntegerLimit,
    TextLimit,
    with_field,
)
from tests.unit.reading import failures
from tests.unit.samples import MOST, changed


def name(limit: Any) -> str:
    return f"{limit.tool}{limit.field}"


@pytest.mark.parametrize("limit", TEXTS, ids=name)
class TestText:
    @pytest.mark.parametrize("character", ["x", "é", "\U0001f514"], ids=["ascii", "latin", "astral"])
    def test_as_long_as_allowed_in_code_points_is_taken(self, limit: TextLimit, character: str) -> None:
        arguments = changed(with_field(limit.tool, limit.field), limit.field, character * limit.maximum)
        assert failures(limit.tool, arguments) == []

    def test_one_character_longer_is_refused(self, limit: TextLimit) -> None:
        arguments = changed(with_field(limit.tool, limit.field), limit.field, "x" * (limit.maximum + 1))
        assert failures(limit.tool, arguments) == [(limit.field, "too_long")]

    def test_length_counts_as_sent_before_trimming(self, limit: TextLimit) -> None:
        padded = "x" * limit.maximum + " "
        arguments = changed(with_field(limit.tool, limit.field), limit.field, padded)
        assert failures(limit.tool, arguments) == [(limit.field, "too_long")]

    def test_one_character_is_taken(self, limit: TextLimit) -> None:
        assert failures(limit.tool, changed(with_field(limit.tool, limit.field), limit.field, "x")) == []

    def test_empty_text_is_taken_only_where_it_means_something(self, limit: TextLimit) -> None:
        expected = [] if limit.empty is None else [(limit.field, limit.empty)]
        assert failures(limit.tool, changed(with_field(limit.tool, limit.field), limit.field, "")) == expected

    @pytest.mark.parametrize("value", [1, 1.5, True, ["x"], {"x": 1}], ids=repr)
    def test_what_is_no_text_is_refused(self, limit: TextLimit, value: Any) -> None:
        arguments = changed(with_field(limit.tool, limit.field), limit.field, value)
        assert failures(limit.tool, arguments) == [(limit.field, "type")]

    @pytest.mark.parametrize("character", ["\x00", "\x07", "\x0b", "\x1f", "\x7f", "\x85", "\x9f"], ids=ascii)
    def test_a_control_character_is_refused(self, limit: TextLimit, character: str) -> None:
        arguments = changed(with_field(limit.tool, limit.field), limit.field, f"a{character}b")
        assert failures(limit.tool, arguments) == [(limit.field, "control_character")]

    def test_tab_line_feed_and_carriage_return_are_taken(self, limit: TextLimit) -> None:
        arguments = changed(with_field(limit.tool, limit.field), limit.field, "a\tb\r\nc")
        assert failures(limit.tool, arguments) == []

    def test_a_lone_surrogate_is_refused(self, limit: TextLimit) -> None:
        arguments = changed(with_field(limit.tool, limit.field), limit.field, "a\ud800b")
        assert failures(limit.tool, arguments) == [(limit.field, "format")]


@pytest.mark.parametrize("limit", INTEGERS, ids=name)
class TestInteger:
    def test_both_bounds_are_taken(self, limit: IntegerLimit) -> None:
        for value in (limit.minimum, limit.maximum or 2**63 - 1):
            arguments = changed(with_field(limit.tool, limit.field), limit.field, value)
            assert failures(limit.tool, arguments) == []

    @pytest.mark.parametrize("far", [False, True], ids=["just below", "below 64 bits"])
    def test_below_the_least_is_refused(self, limit: IntegerLimit, far: bool) -> None:
        value = -(2**63) - 1 if far else limit.minimum - 1
        arguments = changed(with_field(limit.tool, limit.field), limit.field, value)
        assert failures(limit.tool, arguments) == [(limit.field, "too_small")]

    @pytest.mark.parametrize("far", [False, True], ids=["just above", "far above 64 bits"])
    def test_above_the_most_is_refused(self, limit: IntegerLimit, far: bool) -> None:
        value = 10**4_000 if far else (limit.maximum or 2**63 - 1) + 1
        arguments = changed(with_field(limit.tool, limit.field), limit.field, value)
        assert failures(limit.tool, arguments) == [(limit.field, "too_large")]

    @pytest.mark.parametrize("value", [True, 60.0, 60.5, "60", [60], float("nan"), float("inf")], ids=repr)
    def test_what_is_no_json_integer_is_refused(self, limit: IntegerLimit, value: Any) -> None:
        arguments = changed(with_field(limit.tool, limit.field), limit.field, value)
        assert failures(limit.tool, arguments) == [(limit.field, "type")]


def entries(limit: ArrayLimit, count: int) -> list[Any]:
    if limit.field == "/links":
        return [{"type": "issue", "value": str(number)} for number in range(count)]
    return [f"goal-{number}" for number in range(count)]


@pytest.mark.parametrize("limit", ARRAYS, ids=name)
class TestArray:
    def test_none_at_all_is_taken(self, limit: ArrayLimit) -> None:
        assert failures(limit.tool, changed(MOST[limit.tool], limit.field, [])) == []

    @pytest.mark.parametrize("value", ["x", {"0": "x"}, 1, True], ids=repr)
    def test_what_is_no_array_is_refused(self, limit: ArrayLimit, value: Any) -> None:
        assert failures(limit.tool, changed(MOST[limit.tool], limit.field, value)) == [(limit.field, "type")]

    def test_the_second_of_two_equal_entries_is_refused(self, limit: ArrayLimit) -> None:
        first = MOST[limit.tool][limit.field.removeprefix("/")][0]
        arguments = changed(MOST[limit.tool], limit.field, [first, first])
        assert failures(limit.tool, arguments) == [(f"{limit.field}/1", "duplicate")]

    def test_one_too_many_is_refused_whatever_the_entries_are(self, limit: ArrayLimit) -> None:
        entries: tuple[Any, ...] = ({}, [], None, "x", 0)
        for entry in entries:
            arguments = changed(MOST[limit.tool], limit.field, [entry] * (limit.maximum + 1))
            assert (limit.field, "too_many") in failures(limit.tool, arguments)

    def test_an_entry_of_a_wrong_type_is_named_by_its_index(self, limit: ArrayLimit) -> None:
        arguments = changed(MOST[limit.tool], limit.field, [MOST[limit.tool][limit.field[1:]][0], 7])
        assert failures(limit.tool, arguments) == [(f"{limit.field}/1", "type")]


@pytest.mark.parametrize("limit", [limit for limit in ARRAYS if limit.maximum >= 100], ids=name)
def test_an_array_of_the_greatest_length_is_taken(limit: ArrayLimit) -> None:
    arguments = changed(MOST[limit.tool], limit.field, entries(limit, limit.maximum))
    assert failures(limit.tool, arguments) == []
    arguments = changed(MOST[limit.tool], limit.field, entries(limit, limit.maximum + 1))
    assert failures(limit.tool, arguments) == [(limit.field, "too_many")]


@pytest.mark.parametrize("tool", MUTATIONS)
class TestIdempotencyKey:
    @pytest.mark.parametrize("key", ["k" * 8, "k" * 128, "AZaz09._:-"])
    def test_eight_to_128_characters_of_its_alphabet_are_taken(self, tool: str, key: str) -> None:
        assert failures(tool, changed(MOST[tool], "/idempotency_key", key)) == []

    @pytest.mark.parametrize(
        ("key", "reason"),
        [
            ("", "too_short"),
            ("k" * 7, "too_short"),
            ("k" * 129, "too_long"),
            ("key 0001", "format"),
            ("key/0001", "format"),
            ("kéy-0001", "format"),
            ("key-0001\n", "format"),
            ("key-0001\x00", "control_character"),
            ("key-0001\ud800", "format"),
            (12_345_678, "type"),
            (None, "null_not_allowed"),
        ],
    )
    def test_any_other_key_is_refused(self, tool: str, key: Any, reason: str) -> None:
        assert failures(tool, changed(MOST[tool], "/idempotency_key", key)) == [("/idempotency_key", reason)]


@pytest.mark.parametrize("tool", [tools.ADD, tools.UPDATE])
class TestLinkValue:
    @pytest.mark.parametrize("value", ["x", "x" * 2_048, " x "])
    def test_one_to_2048_characters_are_taken(self, tool: str, value: str) -> None:
        assert failures(tool, changed(MOST[tool], "/links", [{"type": "url", "value": value}])) == []

    @pytest.mark.parametrize(
        ("value", "reason"),
        [
            ("", "blank"),
            (" \t ", "blank"),
            ("x" * 2_049, "too_long"),
            ("a\x01", "control_character"),
            (None, "null_not_allowed"),
            (1, "type"),
        ],
    )
    def test_any_other_value_is_refused_at_its_pointer(self, tool: str, value: Any, reason: str) -> None:
        arguments = changed(
            MOST[tool], "/links", [{"type": "goal", "value": "g"}, {"type": "url", "value": value}]
        )
        assert failures(tool, arguments) == [("/links/1/value", reason)]

    def test_the_same_value_under_two_types_is_taken(self, tool: str) -> None:
        links = [{"type": kind, "value": "7"} for kind in ("goal", "memory", "issue", "url", "artifact")]
        assert failures(tool, changed(MOST[tool], "/links", links)) == []

    def test_case_tells_two_values_apart(self, tool: str) -> None:
        links = [{"type": "issue", "value": "a"}, {"type": "issue", "value": "A"}]
        assert failures(tool, changed(MOST[tool], "/links", links)) == []


class TestActiveGoal:
    @pytest.mark.parametrize(
        ("goal", "reason"),
        [("", "blank"), ("  ", "blank"), ("x" * 513, "too_long"), ("\x02", "control_character")],
    )
    def test_a_wrong_entry_is_refused_at_its_index(self, goal: str, reason: str) -> None:
        arguments = changed(MOST[tools.CHECK], "/active_goal_ids", ["goal-1", goal])
        assert failures(tools.CHECK, arguments) == [("/active_goal_ids/1", reason)]

    def test_512_characters_are_taken(self) -> None:
        assert failures(tools.CHECK, changed(MOST[tools.CHECK], "/active_goal_ids", ["x" * 512])) == []


@pytest.mark.parametrize("tool", [tools.ADD, tools.UPDATE])
class TestAdapterName:
    @pytest.mark.parametrize("adapter", ["a", "a" * 64, "a_9", "no_such_adapter"])
    def test_a_well_formed_name_is_taken_whether_or_not_it_is_known(self, tool: str, adapter: str) -> None:
        arguments = changed(with_field(tool, "/trigger/adapter"), "/trigger/adapter", adapter)
        assert failures(tool, arguments) == []

    @pytest.mark.parametrize("adapter", ["", "a" * 65, "A", "9a", "_a", "a-b", "a\n"])
    def test_any_other_name_is_refused(self, tool: str, adapter: str) -> None:
        arguments = changed(with_field(tool, "/trigger/adapter"), "/trigger/adapter", adapter)
        assert failures(tool, arguments) == [("/trigger/adapter", "format")]


@pytest.mark.parametrize("field", ["/include_scheduled", "/evaluate_conditions"])
@pytest.mark.parametrize("value", [0, 1, "true", "false", 1.0, []], ids=repr)
def test_only_true_and_false_are_booleans(field: str, value: Any) -> None:
    assert failures(tools.CHECK, changed(MOST[tools.CHECK], field, value)) == [(field, "type")]


@pytest.mark.parametrize(
    ("tool", "field"),
    [
        (tools.ADD, "/priority"),
        (tools.ADD, "/trigger/type"),
        (tools.ADD, "/recurrence/missed_policy"),
        (tools.UPDATE, "/priority"),
        (tools.UPDATE, "/occurrence_disposition"),
        (tools.CHECK, "/lifecycle_event"),
        (tools.COMPLETE, "/evidence/type"),
    ],
)
class TestWords:
    @pytest.mark.parametrize("word", ["", "nonsense", "NORMAL", " normal", "0"])
    def test_an_unlisted_word_is_refused(self, tool: str, field: str, word: str) -> None:
        assert failures(tool, changed(MOST[tool], field, word)) == [(field, "enum")]

    @pytest.mark.parametrize("word", [0, 1.0, True, [], {}], ids=repr)
    def test_what_is_no_word_is_refused(self, tool: str, field: str, word: Any) -> None:
        assert failures(tool, changed(MOST[tool], field, word)) == [(field, "type")]
