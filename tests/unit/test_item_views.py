"""Items in words: when each comes back, what of an ending is shown, what an event changed."""

from typing import Any
from zoneinfo import ZoneInfo

import pytest

from remindi.cli.clock import Clock
from remindi.cli.display import Screen
from remindi.cli.item_views import Shown
from remindi.instants import parse_instant
from remindi.triggers import TRIGGER_WORDS

SHOWN = Shown(
    Screen(None, colour=False), Clock(parse_instant("2026-11-30T10:00:00Z"), ZoneInfo("Europe/Berlin"))
)
COMING: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    ({"type": "at_time", "at": "2026-11-30T12:00:00Z"}, {}, "at 2026-11-30 13:00:00+01:00 (in 2 h)"),
    ({"type": "at_time", "at": "2020-01-01T00:00:00Z"}, {}, "at once: 2020-01-01 01:00:00+01:00 has passed"),
    ({"type": "after_elapsed", "after_seconds": 7_200}, {}, "at 2026-11-30 13:00:00+01:00 (in 2 h)"),
    (
        {"type": "interval", "first_at": "2026-12-01T10:00:00Z", "every_seconds": 60},
        {},
        "at 2026-12-01 11:00:00+01:00 (in 24 h)",
    ),
    ({"type": "next_session"}, {}, "at a check from another session"),
    (
        {"type": "next_session"},
        {"source_session_id": "s\x1b"},
        r"at a check from another session than s\x1b",
    ),
    (
        {"type": "next_continuation"},
        {"source_task_lineage_id": "l", "source_session_id": None},
        "at a continuation check of the lineage l from another session",
    ),
    ({"type": "goal_active", "goal_id": "g"}, {}, "at a check that names the goal g"),
    ({"type": "condition", "adapter": "file_exists"}, {}, "when file_exists sees that it holds"),
    (
        {"type": "condition", "adapter": "file_exists", "manual_check_at": "2026-12-01T10:00:00Z"},
        {},
        (
            "when file_exists sees that it holds,"
            " or to be looked at by hand at 2026-12-01 11:00:00+01:00 (in 24 h)"
        ),
    ),
]


@pytest.mark.parametrize(("trigger", "item", "words"), COMING)
def test_every_trigger_says_when_it_comes_back(
    trigger: dict[str, Any], item: dict[str, Any], words: str
) -> None:
    assert SHOWN.coming(trigger, item) == words


def test_no_trigger_is_left_out() -> None:
    assert {trigger["type"] for trigger, _, _ in COMING} == set(TRIGGER_WORDS)


def test_what_an_event_changed_does_not_read_like_its_value() -> None:
    event = {
        "occurred_at": "2026-11-30T09:00:00Z",
        "event_type": "updated",
        "prior_version": 1,
        "new_version": 2,
        "actor_type": "agent",
        "details": {"changed_fields": ["priority"], "reason": "it has become pressing"},
    }
    assert SHOWN.events([event])[1].endswith("  changed priority: it has become pressing")
