"""Links, and what a goal_active trigger asks of them (contract 2.5)."""

from hypothesis import given
from hypothesis import strategies as st

from remindi.links import LINK_WORDS, Link, LinkType, satisfy_goal

goals = st.sampled_from(["g", "G", "h"])
links = st.lists(st.builds(Link, st.sampled_from(LinkType), goals), unique=True)


@given(goals, links)
def test_a_goal_is_satisfied_by_its_one_goal_link_and_by_no_second(goal: str, held: list[Link]) -> None:
    named = [link.value for link in held if link.type is LinkType.GOAL]
    assert satisfy_goal(goal, held) == (len(named) == 1 and named[0] == goal)


def test_links_of_other_types_are_free() -> None:
    held = [Link(kind, "g") for kind in LinkType]
    assert satisfy_goal("g", held)
    assert not satisfy_goal("g", [link for link in held if link.type is not LinkType.GOAL])
    assert not satisfy_goal("g", [*held, Link(LinkType.GOAL, "h")])
    assert not satisfy_goal("g", [])


def test_goals_are_compared_exactly() -> None:
    assert not satisfy_goal("g", [Link(LinkType.GOAL, "G")])
    assert not satisfy_goal("g", [Link(LinkType.GOAL, " g")])


def test_the_types_are_those_of_the_contract() -> None:
    assert LINK_WORDS == ("goal", "memory", "issue", "url", "artifact")
