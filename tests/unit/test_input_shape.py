"""The shape of arguments: keys, nulls, triggers, and what is told first (contract 2.3, 2.5, 3.2, 3.3)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi import tools
from remindi.errors import REASONS, Refusal
from remindi.inputs import READERS, read_cancel, read_complete, read_history, read_snooze, read_update
from remindi.inputs.failures import pointer
from remindi.inputs.mutations import MUTABLE
from remindi.requests import KEEP
from tests.unit.limits import MUTATIONS, with_field
from tests.unit.reading import failures, read
from tests.unit.samples import FEWEST, ITEM, MOST, NOW, RECURRENCE, TRIGGERS, Arguments, changed, without

OF_ITEM = (tools.COMPLETE, tools.SNOOZE, tools.UPDATE, tools.CANCEL)

NULL_MEANS_ABSENT = (
    *[
        (tools.ADD, field)
        for field in ("task_id", "instructions", "recurrence", "session_id", "task_lineage_id")
    ],
    *[(tools.CHECK, field) for field in ("task_id", "session_id", "task_lineage_id", "cursor")],
    (tools.COMPLETE, "completion_note"),
    *[(tools.COMPLETE, f"evidence/{field}") for field in ("reference_uri", "content_hash", "metadata")],
    *[
        (tools.LIST, field)
        for field in ("project_id", "task_id", "remindi_id", "linked_goal_id", "linked_memory_hash", "cursor")
    ],
    *[(tools.HISTORY, field) for field in ("after_sequence", "cursor")],
    *[
        (tool, f"trigger/{field}")
        for tool in (tools.ADD, tools.UPDATE)
        for field in ("poll_interval_seconds", "manual_check_at")
    ],
    *[
        (tool, f"recurrence/{field}")
        for tool in (tools.ADD, tools.UPDATE)
        for field in ("max_occurrences", "end_at")
    ],
    *[(tools.UPDATE, field) for field in MUTABLE],
)
NULL_REFUSED = (
    *[(tool, field) for tool, arguments in FEWEST.items() for field in arguments if field != "priority"],
    *[(tools.ADD, field) for field in ("priority", "links", "overdue_after_seconds", "trigger/type")],
    *[
        (tools.CHECK, field)
        for field in ("limit", "active_goal_ids", "include_scheduled", "evaluate_conditions")
    ],
    *[(tools.LIST, field) for field in ("limit", "states", "trigger_types")],
    *[(tools.HISTORY, field) for field in ("limit", "event_types")],
    *[
        (tool, f"recurrence/{field}")
        for tool in (tools.ADD, tools.UPDATE)
        for field in ("every_seconds", "missed_policy")
    ],
    *[(tools.COMPLETE, f"evidence/{field}") for field in ("type", "summary", "observed_at")],
    *[
        (tool, f"trigger/{field}")
        for tool in (tools.ADD, tools.UPDATE)
        for field in ("at", "after_seconds", "first_at", "every_seconds", "goal_id", "adapter", "parameters")
    ],
)


class TestNull:
    @pytest.mark.parametrize(("tool", "field"), NULL_MEANS_ABSENT)
    def test_means_absent_where_the_contract_says_so(self, tool: str, field: str) -> None:
        arguments = with_field(tool, f"/{field}")
        assert failures(tool, changed(arguments, f"/{field}", None)) == []

    @pytest.mark.parametrize(("tool", "field"), NULL_REFUSED)
    def test_is_refused_everywhere_else(self, tool: str, field: str) -> None:
        arguments = changed(with_field(tool, f"/{field}"), f"/{field}", None)
        assert failures(tool, arguments) == [(f"/{field}", "null_not_allowed")]

    def test_on_update_clears_instructions_and_recurrence_and_keeps_the_rest(self) -> None:
        nothing = dict.fromkeys(MUTABLE)
        request = read(tools.UPDATE, {**MOST[tools.UPDATE], **nothing})
        assert (request.instructions, request.recurrence) == (None, None)
        assert (request.message, request.priority, request.trigger, request.links) == (None, None, None, None)
        assert (request.overdue_after_seconds, request.occurrence_disposition) == (None, None)

    def test_and_omission_differ_on_update_for_instructions_and_recurrence(self) -> None:
        request = read(tools.UPDATE, FEWEST[tools.UPDATE])
        assert (request.instructions, request.recurrence) == (KEEP, KEEP)


class TestEmptyUpdate:
    @pytest.mark.parametrize("cleared", ["instructions", "recurrence"])
    def test_clearing_one_field_is_a_change(self, cleared: str) -> None:
        arguments = {**without(FEWEST[tools.UPDATE], "/priority"), cleared: None}
        assert failures(tools.UPDATE, arguments) == []

    def test_without_any_mutable_field_an_update_is_refused(self) -> None:
        arguments = without(FEWEST[tools.UPDATE], "/priority")
        assert failures(tools.UPDATE, arguments) == [("", "empty_update")]

    def test_nulls_that_mean_absent_change_nothing(self) -> None:
        absent = {field: None for field in MUTABLE if field not in ("instructions", "recurrence")}
        assert failures(tools.UPDATE, {**FEWEST[tools.UPDATE], **absent}) == [("", "empty_update")]

    def test_is_told_before_wrong_content_and_after_a_wrong_shape(self) -> None:
        empty = without(FEWEST[tools.UPDATE], "/priority")
        assert failures(tools.UPDATE, {**empty, "reason": " "}) == [("", "empty_update")]
        assert failures(tools.UPDATE, {**empty, "mesage": "x"}) == [("/mesage", "unknown_field")]


class TestKeys:
    @pytest.mark.parametrize(
        ("tool", "field"),
        [(tool, field) for tool, arguments in FEWEST.items() for field in arguments if field != "priority"],
    )
    def test_a_required_one_that_is_missing_is_named(self, tool: str, field: str) -> None:
        assert failures(tool, without(FEWEST[tool], f"/{field}")) == [(f"/{field}", "required")]

    @pytest.mark.parametrize("tool", tools.TOOL_NAMES)
    @pytest.mark.parametrize("key", ["owner_id", "wait_for_previous", "id", "type", "__class__", ""])
    def test_an_unknown_one_is_refused_at_the_top(self, tool: str, key: str) -> None:
        assert failures(tool, {**MOST[tool], key: True}) == [(f"/{key}", "unknown_field")]

    @pytest.mark.parametrize("kind", TRIGGERS)
    @pytest.mark.parametrize("tool", [tools.ADD, tools.UPDATE])
    def test_a_trigger_takes_exactly_the_fields_of_its_type(self, tool: str, kind: str) -> None:
        trigger = TRIGGERS[kind]
        arguments = without(changed(MOST[tool], "/trigger", trigger), "/recurrence")
        assert failures(tool, arguments) == []
        others = {name: value for other in TRIGGERS.values() for name, value in other.items()}
        for name, value in others.items():
            if name not in trigger:
                wrong = changed(arguments, "/trigger", {**trigger, name: value})
                assert failures(tool, wrong) == [(f"/trigger/{name}", "unknown_field")]
                # Of a field that does not belong here, the value is nobody's business.
                wrong = changed(arguments, "/trigger", {**trigger, name: []})
                assert failures(tool, wrong) == [(f"/trigger/{name}", "unknown_field")]
        for name in trigger:
            if name not in ("poll_interval_seconds", "manual_check_at"):
                wrong = without(arguments, f"/trigger/{name}")
                assert failures(tool, wrong) == [(f"/trigger/{name}", "required")]

    @pytest.mark.parametrize(
        ("tool", "holder"),
        [(tools.ADD, "recurrence"), (tools.UPDATE, "recurrence"), (tools.COMPLETE, "evidence")],
    )
    def test_an_unknown_one_is_refused_within_an_object(self, tool: str, holder: str) -> None:
        arguments = changed(MOST[tool], f"/{holder}/extra", 1)
        assert failures(tool, arguments) == [(f"/{holder}/extra", "unknown_field")]

    def test_an_adapter_result_cannot_be_passed_off_as_evidence(self) -> None:
        arguments = changed(MOST[tools.COMPLETE], "/evidence/adapter_result", {"status": "satisfied"})
        assert failures(tools.COMPLETE, arguments) == [("/evidence/adapter_result", "unknown_field")]

    def test_an_unknown_one_is_refused_within_a_link(self) -> None:
        arguments = changed(MOST[tools.ADD], "/links", [{"type": "goal", "value": "g", "label": "x"}])
        assert failures(tools.ADD, arguments) == [("/links/0/label", "unknown_field")]

    @pytest.mark.parametrize("value", [None, 1, "at_time", [], True], ids=repr)
    def test_objects_are_objects(self, value: Any) -> None:
        reason = "null_not_allowed" if value is None else "type"
        assert failures(tools.ADD, changed(MOST[tools.ADD], "/trigger", value)) == [("/trigger", reason)]
        assert failures(tools.COMPLETE, changed(MOST[tools.COMPLETE], "/evidence", value)) == [
            ("/evidence", reason)
        ]
        assert failures(tools.ADD, changed(MOST[tools.ADD], "/links", [value])) == [("/links/0", reason)]
        if value is not None:
            assert failures(tools.ADD, changed(MOST[tools.ADD], "/recurrence", value)) == [
                ("/recurrence", "type")
            ]

    def test_nothing_else_is_told_of_a_trigger_without_a_known_type(self) -> None:
        for kind, reason in ((None, "null_not_allowed"), (7, "type"), ("never", "enum"), ("", "enum")):
            trigger = {"type": kind, "at": 5, "what": 1}
            assert failures(tools.ADD, changed(MOST[tools.ADD], "/trigger", trigger)) == [
                ("/trigger/type", reason)
            ]
        assert failures(tools.ADD, changed(MOST[tools.ADD], "/trigger", {})) == [
            ("/trigger/type", "required")
        ]


class TestSteps:
    def test_a_wrong_shape_is_reported_alone(self) -> None:
        arguments = {**MOST[tools.ADD], "message": " ", "priority": "urgent", "extra": 1}
        assert set(failures(tools.ADD, arguments)) == {("/priority", "enum"), ("/extra", "unknown_field")}

    def test_all_of_wrong_content_is_reported_together(self) -> None:
        arguments = {
            **MOST[tools.COMPLETE],
            "completion_note": "\x00",
            "evidence": {"type": "observation", "summary": "Done.", "observed_at": "2027-01-01T00:00:00Z"},
        }
        assert set(failures(tools.COMPLETE, arguments)) == {
            ("/completion_note", "control_character"),
            ("/evidence/summary", "bare_claim"),
            ("/evidence/observed_at", "too_far_ahead"),
            ("/evidence", "needs_reference"),
        }

    def test_duplicates_are_found_beside_other_wrong_content(self) -> None:
        link = {"type": "goal", "value": "g"}
        arguments = {**MOST[tools.ADD], "message": "", "links": [link, link, {"type": "url", "value": ""}]}
        assert set(failures(tools.ADD, arguments)) == {
            ("/message", "blank"),
            ("/links/1", "duplicate"),
            ("/links/2/value", "blank"),
        }

    def test_twenty_failures_are_reported_at_most(self) -> None:
        assert len(failures(tools.LIST, {f"key{number}": 1 for number in range(50)})) == 20
        assert len(failures(tools.LIST, {f"key{number}": 1 for number in range(50_000)})) == 20
        link = {"type": "goal", "value": ""}
        assert len(failures(tools.ADD, {**FEWEST[tools.ADD], "links": [link] * 100})) == 20

    def test_known_fields_are_still_judged_among_many_unknown_ones(self) -> None:
        many = {f"key{number}": 1 for number in range(1_000)}
        found = failures(tools.CANCEL, {**many, **FEWEST[tools.CANCEL], "reason": None})
        assert found[0] == ("/reason", "null_not_allowed")
        assert {reason for _, reason in found[1:]} == {"unknown_field"}


class TestPointers:
    @pytest.mark.parametrize(
        ("key", "field"),
        [("a/b", "/a~1b"), ("a~b", "/a~0b"), ("~1", "/~01"), ("ключ", "/ключ"), ("\ud800", "")],
    )
    def test_are_escaped_by_rfc_6901(self, key: str, field: str) -> None:
        reason = "unknown_field" if field else "format"
        assert failures(tools.LIST, {key: 1}) == [(field, reason)]

    def test_are_cut_to_128_characters(self) -> None:
        ((field, reason),) = failures(tools.LIST, {"k" * 1_000: 1})
        assert (field, reason) == ("/" + "k" * 127, "unknown_field")

    @given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
    def test_read_back_as_the_path_they_were_made_of(self, path: list[str]) -> None:
        steps = pointer(path).split("/")[1:]
        assert [step.replace("~1", "/").replace("~0", "~") for step in steps] == path


class TestUuid:
    @pytest.mark.parametrize("tool", [*OF_ITEM, tools.LIST, tools.HISTORY])
    def test_is_taken_in_every_spelling(self, tool: str) -> None:
        bare = ITEM.replace("-", "")
        for text in (
            ITEM,
            ITEM.upper(),
            bare,
            bare.upper(),
            f"{{{ITEM}}}",
            f"{{{bare}}}",
            f"urn:uuid:{ITEM}",
            f"URN:UUID:{bare}",
        ):
            request = read(tool, {**MOST[tool], "remindi_id": text})
            query = request.query if tool in (tools.LIST, tools.HISTORY) else request
            assert query.remindi_id == bytes.fromhex(bare)

    @pytest.mark.parametrize("tool", [*OF_ITEM, tools.LIST, tools.HISTORY])
    @pytest.mark.parametrize(
        "text",
        [
            "",
            "x",
            ITEM[:-1],
            ITEM + "0",
            ITEM + "\n",
            f" {ITEM}",
            f"{{{ITEM}",
            f"{ITEM}}}",
            f"urn:uuid:{{{ITEM}}}",
            f"uuid:{ITEM}",
            ITEM[:9] + ITEM[10:],
        ],
    )
    def test_of_any_other_form_is_refused(self, tool: str, text: str) -> None:
        assert failures(tool, {**MOST[tool], "remindi_id": text}) == [("/remindi_id", "format")]


class TestTimestamps:
    FIELDS = (
        (tools.ADD, "/trigger/at"),
        (tools.ADD, "/trigger/first_at"),
        (tools.UPDATE, "/trigger/manual_check_at"),
        (tools.UPDATE, "/recurrence/end_at"),
        (tools.SNOOZE, "/snooze_until"),
        (tools.COMPLETE, "/evidence/observed_at"),
    )

    @pytest.mark.parametrize(("tool", "field"), FIELDS)
    @pytest.mark.parametrize(
        "text", ["", "2026-11-30", "2026-11-30T00:00:00", "2026-13-01T00:00:00Z", "tomorrow"]
    )
    def test_that_cannot_be_read_are_refused_as_shape(self, tool: str, field: str, text: str) -> None:
        assert failures(tool, changed(with_field(tool, field), field, text)) == [(field, "format")]

    @pytest.mark.parametrize(("tool", "field"), FIELDS)
    @pytest.mark.parametrize("value", [0, 1.5, True, [], {}], ids=repr)
    def test_that_are_no_text_are_refused(self, tool: str, field: str, value: Any) -> None:
        assert failures(tool, changed(with_field(tool, field), field, value)) == [(field, "type")]

    @pytest.mark.parametrize(
        ("tool", "field"), [pair for pair in FIELDS if pair[0] in (tools.ADD, tools.UPDATE)]
    )
    def test_of_a_schedule_may_lie_in_the_past(self, tool: str, field: str) -> None:
        arguments = changed(with_field(tool, field), field, "0001-01-01T00:00:00Z")
        assert failures(tool, arguments) == []


class TestParameters:
    def nested(self, levels: int) -> Arguments:
        value: Any = {}
        for _ in range(levels - 1):
            value = {"a": value}
        return value  # type: ignore[no-any-return]

    def add(self, parameters: Any) -> Arguments:
        return changed(with_field(tools.ADD, "/trigger/parameters"), "/trigger/parameters", parameters)

    def test_of_any_object_are_taken_value_for_value(self) -> None:
        parameters = {"é": [1, 2.5, 10**30, -0.0, True, None, "\x00\u2028"], "": {}, "z": 1, "a": 1}
        request = read(tools.ADD, self.add(parameters))
        assert request.content.trigger.parameters_json == (
            '{"é":[1,2.5,1000000000000000000000000000000,-0.0,true,null,"\\u0000\u2028"],"":{},"z":1,"a":1}'
        )

    def test_nested_to_64_levels_are_taken_and_deeper_ones_refused(self) -> None:
        assert failures(tools.ADD, self.add(self.nested(64))) == []
        assert failures(tools.ADD, self.add({"a": [[self.nested(61)], self.nested(62)]})) == []
        for parameters in (self.nested(65), {"a": [[self.nested(62)]]}, self.nested(10_000)):
            assert failures(tools.ADD, self.add(parameters)) == [("/trigger/parameters", "json")]

    @pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
    def test_that_json_cannot_hold_are_refused(self, number: float) -> None:
        assert failures(tools.ADD, self.add({"a": [number]})) == [("/trigger/parameters", "json")]

    @pytest.mark.parametrize("parameters", [{"a": "\ud800"}, {"\udfff": 1}])
    def test_with_a_lone_surrogate_are_refused(self, parameters: Arguments) -> None:
        assert failures(tools.ADD, self.add(parameters)) == [("/trigger/parameters", "format")]

    @pytest.mark.parametrize("parameters", [[], "{}", 1, True], ids=repr)
    def test_that_are_no_object_are_refused(self, parameters: Any) -> None:
        assert failures(tools.ADD, self.add(parameters)) == [("/trigger/parameters", "type")]


class TestKnownId:
    READ = (read_complete, read_snooze, read_update, read_cancel)

    @pytest.mark.parametrize("tool", OF_ITEM)
    def test_takes_the_place_of_the_one_in_the_body(self, tool: str) -> None:
        reader = dict(zip(OF_ITEM, self.READ, strict=True))[tool]
        body = without(MOST[tool], "/remindi_id")
        assert reader(body, NOW, bytes.fromhex(ITEM.replace("-", ""))) == read(tool, MOST[tool])

    @pytest.mark.parametrize("tool", OF_ITEM)
    def test_makes_one_in_the_body_an_unknown_field(self, tool: str) -> None:
        reader = dict(zip(OF_ITEM, self.READ, strict=True))[tool]
        found = reader(MOST[tool], NOW, b"0" * 16)
        assert isinstance(found, Refusal)
        assert found.errors == (("/remindi_id", "unknown_field"),)

    def test_serves_history_too(self) -> None:
        found = read_history({}, NOW, b"0" * 16)
        assert not isinstance(found, Refusal)
        assert found.query.remindi_id == b"0" * 16


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text(st.characters(categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=8,
)
names = sorted(
    {name for arguments in MOST.values() for name in [*arguments, *RECURRENCE, "type", "at", "summary"]}
)


@pytest.mark.parametrize("tool", tools.TOOL_NAMES)
@given(data=st.data())
def test_whatever_is_sent_a_reader_answers_with_known_reasons(tool: str, data: st.DataObject) -> None:
    objects = st.dictionaries(st.sampled_from(names), anything, max_size=6)
    changes = data.draw(st.dictionaries(st.sampled_from(names), anything | objects, max_size=4))
    found = READERS[tool]({**MOST[tool], **changes}, NOW)
    if isinstance(found, Refusal):
        assert found.errors
        for error in found.errors:
            assert error.reason in REASONS
            error.field.encode()


@pytest.mark.parametrize("tool", MUTATIONS)
def test_a_reader_leaves_its_arguments_as_they_are(tool: str) -> None:
    before = repr(MOST[tool])
    read(tool, MOST[tool])
    assert repr(MOST[tool]) == before
