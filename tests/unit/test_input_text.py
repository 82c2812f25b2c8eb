"""Text in arguments: what is trimmed, what is blank, what is kept as sent (contract 2.2)."""

import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from remindi import tools
from tests.unit.reading import failures, read
from tests.unit.samples import MOST, changed

WHITE_SPACE = "\t\n\r \u00a0\u1680\u2000\u2003\u200a\u2028\u2029\u202f\u205f\u3000"
"""The Unicode white space that is no refused control character."""

TRIMMED: list[tuple[str, str, Callable[[Any], Any]]] = [
    (tools.ADD, "/project_id", lambda request: request.content.project_id),
    (tools.ADD, "/task_id", lambda request: request.content.task_id),
    (tools.ADD, "/message", lambda request: request.content.message),
    (tools.CHECK, "/project_id", lambda request: request.query.project_id),
    (tools.CHECK, "/task_id", lambda request: request.query.task_id),
    (tools.LIST, "/project_id", lambda request: request.query.project_id),
    (tools.LIST, "/task_id", lambda request: request.query.task_id),
    (tools.UPDATE, "/message", lambda request: request.message),
    (tools.UPDATE, "/reason", lambda request: request.reason),
    (tools.SNOOZE, "/reason", lambda request: request.reason),
    (tools.CANCEL, "/reason", lambda request: request.reason),
    (tools.COMPLETE, "/evidence/summary", lambda request: request.evidence.summary),
]
BLANK_IS_ABSENT: list[tuple[str, str, Callable[[Any], Any]]] = [
    (tools.ADD, "/session_id", lambda request: request.content.source_session_id),
    (tools.ADD, "/task_lineage_id", lambda request: request.content.source_task_lineage_id),
    (tools.CHECK, "/session_id", lambda request: request.query.context.session_id),
    (tools.CHECK, "/task_lineage_id", lambda request: request.query.context.task_lineage_id),
]
AS_SENT: list[tuple[str, str, Callable[[Any], Any]]] = [
    (tools.ADD, "/instructions", lambda request: request.content.instructions),
    (tools.UPDATE, "/instructions", lambda request: request.instructions),
    (tools.COMPLETE, "/completion_note", lambda request: request.completion_note),
]
EXACT: list[tuple[str, str, Callable[[Any], Any]]] = [
    (tools.LIST, "/linked_goal_id", lambda request: request.query.linked_goal_id),
    (tools.LIST, "/linked_memory_hash", lambda request: request.query.linked_memory_hash),
]


@pytest.mark.parametrize(("tool", "field", "stored"), TRIMMED + BLANK_IS_ABSENT)
def test_unicode_white_space_is_taken_off_both_ends(
    tool: str, field: str, stored: Callable[[Any], Any]
) -> None:
    sent = f"{WHITE_SPACE}a {WHITE_SPACE}b{WHITE_SPACE}"
    assert stored(read(tool, changed(MOST[tool], field, sent))) == f"a {WHITE_SPACE}b"


@pytest.mark.parametrize(("tool", "field", "stored"), TRIMMED)
@pytest.mark.parametrize("blank", ["", " ", WHITE_SPACE], ids=["empty", "space", "all white space"])
def test_blank_text_is_refused_where_it_says_nothing(
    tool: str, field: str, stored: Callable[[Any], Any], blank: str
) -> None:
    del stored
    assert failures(tool, changed(MOST[tool], field, blank)) == [(field, "blank")]


@pytest.mark.parametrize(("tool", "field", "stored"), BLANK_IS_ABSENT)
@pytest.mark.parametrize("blank", [None, "", " ", WHITE_SPACE], ids=repr)
def test_a_blank_context_counts_as_absent(
    tool: str, field: str, stored: Callable[[Any], Any], blank: str | None
) -> None:
    assert stored(read(tool, changed(MOST[tool], field, blank))) is None


@pytest.mark.parametrize(("tool", "field", "stored"), AS_SENT)
@pytest.mark.parametrize("text", ["", " ", f" a{WHITE_SPACE}"], ids=repr)
def test_instructions_and_notes_stay_as_sent_blank_ones_too(
    tool: str, field: str, stored: Callable[[Any], Any], text: str
) -> None:
    assert stored(read(tool, changed(MOST[tool], field, text))) == text


@pytest.mark.parametrize(("tool", "field", "stored"), EXACT)
def test_exact_filters_are_neither_trimmed_nor_blank(
    tool: str, field: str, stored: Callable[[Any], Any]
) -> None:
    assert stored(read(tool, changed(MOST[tool], field, " A\u00a0"))) == " A\u00a0"
    assert failures(tool, changed(MOST[tool], field, WHITE_SPACE)) == [(field, "blank")]


def test_goals_and_link_values_stay_as_sent() -> None:
    links = [{"type": "goal", "value": " G "}]
    add = read(
        tools.ADD, {**MOST[tools.ADD], "links": links, "trigger": {"type": "goal_active", "goal_id": " G "}}
    )
    assert add.links[0].value == " G "
    assert add.content.trigger.goal_id == " G "
    check = read(tools.CHECK, {**MOST[tools.CHECK], "active_goal_ids": [" G ", "g"]})
    assert check.query.context.active_goal_ids == (" G ", "g")


@given(st.text(min_size=1, max_size=40))
def test_a_message_is_taken_exactly_when_its_characters_and_its_trimmed_length_allow(message: str) -> None:
    controls = any(
        unicodedata.category(character) == "Cc" and character not in "\t\n\r" for character in message
    )
    expected = []
    if controls:
        expected = [("/message", "control_character")]
    elif not message.strip():
        expected = [("/message", "blank")]
    assert failures(tools.ADD, changed(MOST[tools.ADD], "/message", message)) == expected
    if not expected:
        assert (
            read(tools.ADD, changed(MOST[tools.ADD], "/message", message)).content.message == message.strip()
        )
