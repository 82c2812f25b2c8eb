"""Links: typed pointers from an item to what it is about (contract 2.5)."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple


class LinkType(IntEnum):
    """What a link points at."""

    GOAL = 0
    MEMORY = 1
    ISSUE = 2
    URL = 3
    ARTIFACT = 4


LINK_WORDS: Final = tuple(member.name.lower() for member in LinkType)
MAX_LINKS: Final = 100


class Link(NamedTuple):
    """One link; ``(type, value)`` is unique within an item."""

    type: LinkType
    value: str


def satisfy_goal(goal_id: str, links: Sequence[Link]) -> bool:
    """Whether links hold the one goal that a ``goal_active`` trigger names, and no other goal."""
    return [link.value for link in links if link.type == LinkType.GOAL] == [goal_id]
