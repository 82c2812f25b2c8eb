"""Query strings: the tools' rules for text, told by the name of the parameter (contract 3.2, 11.8)."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi import tools
from remindi.audit import AuditQuery
from remindi.errors import ErrorCode, Refusal
from remindi.events import EventType
from remindi.inputs import Paged, read_list
from remindi.inputs.query_strings import (
    AuditParameters,
    ListParameters,
    read_audit_parameters,
    read_history_parameters,
    read_list_parameters,
)
from remindi.items import State
from remindi.requests import HistoryQuery, ListQuery, Sort
from remindi.schemas.arguments import input_schema
from remindi.triggers import TriggerType
from tests.unit.samples import ITEM, NOW

ID = bytes.fromhex(ITEM.replace("-", ""))
Pairs = list[tuple[str, str]]


def listing(*pairs: tuple[str, str]) -> Any:
    return read_list_parameters(pairs, NOW)


def history(*pairs: tuple[str, str]) -> Any:
    return read_history_parameters(pairs, NOW, ID)


def audit(*pairs: tuple[str, str]) -> Any:
    return read_audit_parameters(pairs, NOW)


READERS = {"list": listing, "history": history, "audit": audit}


def test_no_parameters_are_the_defaults() -> None:
    assert listing() == Paged(ListQuery(None, None, None, (), (), None, None, 50, None), None)
    assert history() == Paged(HistoryQuery(ID, 0, (), 100), None)
    assert audit() == AuditQuery(0, None, "asc", (), (), 100)


def test_all_parameters_of_a_list_are_taken_as_the_tool_takes_them() -> None:
    query, cursor = listing(
        ("project_id", " demo "),
        ("task_id", "t"),
        ("remindi_id", ITEM.upper()),
        ("states", "due,overdue"),
        ("trigger_types", "condition"),
        ("linked_goal_id", "g,h"),
        ("linked_memory_hash", " m"),
        ("limit", "7"),
        ("cursor", "abc"),
        ("q", "  two words "),
        ("sort", "priority"),
    )
    assert query == ListQuery(
        "demo",
        "t",
        ID,
        (State.DUE, State.OVERDUE),
        (TriggerType.CONDITION,),
        "g,h",
        " m",
        7,
        None,
        "two words",
        Sort.PRIORITY,
    )
    assert cursor == "abc"


def test_all_parameters_of_a_history_are_taken() -> None:
    found = history(
        ("after_sequence", "3"), ("event_types", "created,completed"), ("limit", "9"), ("cursor", "c")
    )
    assert found == Paged(HistoryQuery(ID, 3, (EventType.CREATED, EventType.COMPLETED), 9), "c")


def test_all_parameters_of_the_audit_are_taken() -> None:
    found = audit(
        ("after_sequence", "3"),
        ("before_sequence", "9"),
        ("order", "desc"),
        ("event_type", "logout,restore_failed"),
        ("outcome", "failed"),
        ("limit", "200"),
    )
    assert found == AuditQuery(3, 9, "desc", ("logout", "restore_failed"), ("failed",), 200)


@pytest.mark.parametrize(
    ("reader", "pairs", "expected"),
    [
        ("list", [("owner_id", "x")], [("/owner_id", "unknown_field")]),
        ("list", [("Limit", "1")], [("/Limit", "unknown_field")]),
        ("list", [("a/b~", "1")], [("/a~1b~0", "unknown_field")]),
        ("list", [("", "")], [("/", "unknown_field")]),
        ("list", [("after_sequence", "1")], [("/after_sequence", "unknown_field")]),
        ("list", [("limit", "5"), ("limit", "5")], [("/limit", "duplicate")]),
        ("list", [("x", "1"), ("q", "a"), ("x", "1"), ("q", "b"), ("x", "")], ["/x", "/q"]),
        ("list", [("limit", "0")], [("/limit", "too_small")]),
        ("list", [("limit", "-1")], [("/limit", "too_small")]),
        ("list", [("limit", "201")], [("/limit", "too_large")]),
        ("list", [("limit", "9" * 30)], [("/limit", "too_large")]),
        *(
            ("list", [("limit", text)], [("/limit", "type")])
            for text in ("", "ten", "1.0", "1e2", " 1", "+1", "01", "0x1", "\u0661", "1\n", "true", "9" * 99)
        ),
        ("list", [("states", "due,late")], [("/states", "enum")]),
        ("list", [("states", "late,later,due,due")], [("/states", "enum")]),
        ("list", [("states", "due,due,overdue,overdue")], [("/states", "duplicate")]),
        ("list", [("states", "due,")], [("/states", "enum")]),
        ("list", [("states", ",")], [("/states", "enum")]),
        ("list", [("states", "due, overdue")], [("/states", "enum")]),
        ("list", [("states", "DUE")], [("/states", "enum")]),
        ("list", [("states", "due," * 7 + "due")], [("/states", "too_many")]),
        (
            "list",
            [("trigger_types", "x"), ("states", "y")],
            [("/states", "enum"), ("/trigger_types", "enum")],
        ),
        ("list", [("remindi_id", "nobody")], [("/remindi_id", "format")]),
        ("list", [("project_id", " ")], [("/project_id", "blank")]),
        ("list", [("project_id", "x" * 513)], [("/project_id", "too_long")]),
        ("list", [("cursor", "")], [("/cursor", "too_short")]),
        ("list", [("q", "")], [("/q", "blank")]),
        ("list", [("q", " \t")], [("/q", "blank")]),
        ("list", [("q", "x" * 257)], [("/q", "too_long")]),
        ("list", [("q", "a\0b")], [("/q", "control_character")]),
        ("list", [("q", "\ud800")], [("/q", "format")]),
        ("list", [("sort", "")], [("/sort", "enum")]),
        ("list", [("sort", "created_at")], [("/sort", "enum")]),
        ("history", [("remindi_id", ITEM)], [("/remindi_id", "unknown_field")]),
        ("history", [("after_sequence", "-1")], [("/after_sequence", "too_small")]),
        ("history", [("after_sequence", str(2**63))], [("/after_sequence", "too_large")]),
        ("history", [("event_types", "created,gone")], [("/event_types", "enum")]),
        ("history", [("event_types", "created,created")], [("/event_types", "duplicate")]),
        ("history", [("limit", "5"), ("limit", "6")], [("/limit", "duplicate")]),
        ("audit", [("cursor", "x")], [("/cursor", "unknown_field")]),
        ("audit", [("order", "up")], [("/order", "enum")]),
        ("audit", [("order", "DESC")], [("/order", "enum")]),
        ("audit", [("event_type", "login")], [("/event_type", "enum")]),
        ("audit", [("event_type", "logout,logout")], [("/event_type", "duplicate")]),
        ("audit", [("outcome", "succeeded,")], [("/outcome", "enum")]),
        ("audit", [("before_sequence", "-1")], [("/before_sequence", "too_small")]),
        ("audit", [("limit", "201"), ("after_sequence", "x")], [("/after_sequence", "type")]),
        ("audit", [("limit", "201"), ("before_sequence", "-1")], ["/before_sequence", "/limit"]),
        ("audit", [("order", "asc"), ("order", "asc")], [("/order", "duplicate")]),
    ],
    ids=repr,
)
def test_a_fault_is_told_by_name_and_reason(reader: str, pairs: Pairs, expected: list[Any]) -> None:
    refusal = READERS[reader](*pairs)
    assert isinstance(refusal, Refusal)
    assert refusal.code is ErrorCode.VALIDATION_ERROR
    if isinstance(expected[0], str):
        assert [error.field for error in refusal.errors] == expected
    else:
        assert list(refusal.errors) == expected


@pytest.mark.parametrize("name", ["states", "trigger_types"])
def test_an_empty_list_is_no_filter(name: str) -> None:
    assert listing((name, "")) == listing()


def test_many_faults_are_told_up_to_the_bound() -> None:
    refusal = listing(*[(f"p{number}", "x") for number in range(1_000)])
    assert len(refusal.errors) == 20
    refusal = listing(*[(f"p{number}", "x") for number in range(1_000)] * 2)
    assert len(refusal.errors) == 20


names = st.sampled_from(
    [*ListParameters.model_fields, *AuditParameters.model_fields, "event_types", "other", ""]
)
values = st.text(max_size=20) | st.sampled_from(
    ["1", "-1", "due", "due,overdue", "asc", ",", "1.0", "null", "\ud800"]
)


@pytest.mark.parametrize("reader", READERS)
@given(pairs=st.lists(st.tuples(names, values), max_size=6))
def test_no_query_string_makes_a_reader_raise(reader: str, pairs: Pairs) -> None:
    found = READERS[reader](*pairs)
    if isinstance(found, Refusal):
        assert 1 <= len(found.errors) <= 20
        assert len(set(found.errors)) == len(found.errors)
        assert all(field.count("/") == 1 for field, _ in found.errors)


def test_the_tool_knows_nothing_of_words_and_orders() -> None:
    for name in ("q", "sort"):
        refusal = read_list({name: "created"}, NOW)
        assert isinstance(refusal, Refusal)
        assert list(refusal.errors) == [(f"/{name}", "unknown_field")]
        assert name not in input_schema(tools.LIST)["properties"]
