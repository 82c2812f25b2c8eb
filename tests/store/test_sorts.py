"""Orders of lists: by fire time and by priority, whatever is filtered and wherever a page ends."""

from random import Random
from typing import Any

import pytest

from actors.messages.readers import ListItems
from actors.store import search
from remindi.cursors import CURSOR_REFUSED, Cursors
from remindi.inputs import Paged
from remindi.inputs.query_strings import read_list_parameters
from tests.fakes.core import TOKEN, Json
from tests.fakes.script import PAST, Script

PRIORITIES = ["critical", "high", "normal", "low"]
FILTERS: list[dict[str, str]] = [
    {},
    {"states": "scheduled,due,overdue,snoozed"},
    {"states": "due"},
    {"states": "completed,cancelled"},
    {"states": "due,cancelled"},
    {"trigger_types": "at_time,next_session"},
    {"project_id": "p"},
    {"project_id": "p", "states": "scheduled"},
    {"project_id": "q", "states": "cancelled,due"},
    {"task_id": "t"},
    {"linked_goal_id": "g"},
    {"linked_memory_hash": "m", "project_id": "q"},
]


def fire_time(item: Json) -> tuple[Any, ...]:
    return (item["next_fire_at"] is None, item["next_fire_at"] or "", item["id"])


def priority(item: Json) -> tuple[Any, ...]:
    return (PRIORITIES.index(item["priority"]), *fire_time(item))


ORDERS = {"fire_time": fire_time, "priority": priority}


@pytest.fixture
def many(script: Script) -> Script:
    """Sixty items whose fire times, priorities and states are spread by chance, with many equal ones."""
    chance = Random(7)
    names = []
    for number in range(60):
        at = chance.choice([PAST, "1969-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"])
        at = chance.choice([at, f"2028-01-0{chance.randint(1, 9)}T00:00:00Z"])
        trigger = chance.choice([{"type": "at_time", "at": at}, {"type": "next_session"}])
        kind, value = ("goal", "g") if number % 3 else ("memory", "m")
        names.append(
            script.add(
                message=f"m{number}",
                instructions="odd" if number % 2 else "even",
                project_id=chance.choice("pq"),
                task_id=chance.choice(["t", None]),
                priority=chance.choice(PRIORITIES),
                trigger=trigger,
                links=[{"type": kind, "value": value}],
            )
        )
        if chance.random() < 0.2:
            script.core.clock.advance(chance.choice([-5, 0.001, 60]))
    script.pass_()
    for name in chance.sample(names, 20):
        script.change("remindi_cancel", name)
    return script


@pytest.mark.parametrize("sort", ORDERS)
@pytest.mark.parametrize("wanted", FILTERS, ids=str)
def test_all_pages_together_are_the_order(many: Script, sort: str, wanted: dict[str, str]) -> None:
    unsorted = many.core.listed(**wanted, limit="200")["items"]
    assert unsorted
    same_order(many, unsorted, sort, wanted)


@pytest.mark.parametrize("few", [search.FEW, 0])
@pytest.mark.parametrize("sort", ["created", *ORDERS])
@pytest.mark.parametrize("wanted", FILTERS, ids=str)
def test_all_pages_of_what_words_find_are_the_order(
    many: Script, sort: str, wanted: dict[str, str], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = many.core.listed(**wanted, limit="200")["items"]
    monkeypatch.setattr(search, "FEW", few)
    found = [item for item in everything if item["instructions"] == "odd"]
    same_order(many, found, sort, wanted | {"q": "odd"})


def same_order(many: Script, unsorted: list[Json], sort: str, wanted: dict[str, str]) -> None:
    expected = unsorted if sort == "created" else sorted(unsorted, key=ORDERS[sort])
    for limit in (1, 7, 200):
        assert walked(many, sort=sort, limit=str(limit), **wanted) == expected


def walked(script: Script, **parameters: str) -> list[Json]:
    items: list[Json] = []
    data = script.core.listed(**parameters)
    while True:
        items += data["items"]
        assert len(data["items"]) <= int(parameters["limit"])
        if data["next_cursor"] is None:
            return items
        data = script.core.listed(**parameters, cursor=data["next_cursor"])


@pytest.mark.parametrize("sort", ["created", *ORDERS])
def test_what_is_created_after_the_first_page_is_on_no_later_one(many: Script, sort: str) -> None:
    data = many.core.listed(sort=sort, limit="30")
    many.add(message="late", priority="low")
    many.add(message="late", trigger={"type": "next_session"}, priority="critical")
    rest = walked_from(many, data["next_cursor"], sort=sort, limit="30")
    assert len(rest) == 30
    assert "late" not in [item["message"] for item in rest]


def walked_from(script: Script, cursor: str, **parameters: str) -> list[Json]:
    found: list[Json] = []
    following: str | None = cursor
    while following is not None:
        data = script.core.listed(**parameters, cursor=following)
        found += data["items"]
        following = data["next_cursor"]
    return found


def test_a_cursor_belongs_to_its_order_and_its_words(many: Script) -> None:
    cursors = Cursors(TOKEN)
    texts: list[tuple[dict[str, str], str]] = []
    queries: list[dict[str, str]] = [
        {},
        {"sort": "fire_time"},
        {"sort": "priority"},
        {"q": "m1"},
        {"q": "m1", "sort": "priority"},
    ]
    for parameters in queries:
        paged = read_list_parameters([*parameters.items(), ("limit", "1")], 0)
        assert isinstance(paged, Paged)
        page = many.core.read(ListItems(query=paged.query))
        text = cursors.next_list(paged.query, page.next)
        assert text is not None
        texts.append((parameters, text))
    for parameters in queries:
        paged = read_list_parameters(parameters.items(), 0)
        assert isinstance(paged, Paged)
        for asked, text in texts:
            resumed = cursors.resume_list(Paged(paged.query, text))
            assert (resumed != CURSOR_REFUSED) == (asked == parameters)


def test_the_routes_plain_list_takes_up_the_tools_cursor(many: Script) -> None:
    page = many.core.data("remindi_list", states=["due", "scheduled"], limit=5)
    data = many.core.listed(states="scheduled,due", limit="5", cursor=page["next_cursor"])
    again = many.core.data("remindi_list", states=["due", "scheduled"], limit=5, cursor=page["next_cursor"])
    assert data == again
