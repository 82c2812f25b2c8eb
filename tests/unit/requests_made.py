"""Strategies: valid arguments for each tool, with all that the exact rules accept (contract section 2)."""

import string
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from hypothesis import strategies as st

from remindi import tools
from remindi.events import EVENT_WORDS, LIFECYCLE_WORDS
from remindi.evidence import EVIDENCE_WORDS
from remindi.inputs.evidence import is_bare_claim
from remindi.instants import EARLIEST, LATEST, MS_PER_DAY
from remindi.items import PRIORITY_WORDS, STATE_WORDS
from remindi.links import LINK_WORDS
from remindi.recurrence import DISPOSITION_WORDS, POLICY_WORDS
from remindi.triggers import TRIGGER_WORDS
from tests.unit.samples import NOW

Fields = dict[str, st.SearchStrategy[Any]]

_CHARACTERS = st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\t\n\r \u3000")


def text(maximum: int, *, blank: bool = False) -> st.SearchStrategy[str]:
    """Text of a field, seldom as long as it may be."""
    made = st.text(_CHARACTERS, max_size=30) | st.sampled_from(
        ["x" * min(maximum, 600), "\U0001f514" * min(maximum, 600)]
    )
    return made if blank else made.filter(lambda value: value.strip() != "")


def array(entries: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    """An array whose entries differ."""
    return st.lists(
        entries,
        unique_by=lambda entry: repr(sorted(entry.items()) if isinstance(entry, dict) else entry),
        max_size=4,
    )


def _spelled(identifier: Any) -> st.SearchStrategy[str]:
    dashed = str(identifier)
    bare = dashed.replace("-", "")
    forms = [dashed, bare, f"{{{dashed}}}", f"{{{bare}}}", f"urn:uuid:{dashed}", f"URN:UUID:{bare}"]
    return st.sampled_from([*forms, *[form.upper() for form in forms]])


uuids = st.uuids().flatmap(_spelled)
keys = st.text(string.ascii_letters + string.digits + "._:-", min_size=8, max_size=128)
scopes = text(512)
contexts = text(512, blank=True)
versions = st.integers(1, 2**63 - 1)
seconds = st.integers(60, 31_536_000)
json_objects = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(max_size=5),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)


@st.composite
def stamps(draw: st.DrawFn, latest: int = LATEST - 2 * MS_PER_DAY) -> str:
    """A timestamp in one of its many forms, of an instant that no offset takes out of bounds."""
    seconds = draw(st.integers(EARLIEST // 1_000 + 2 * 86_400, latest // 1_000))
    moment = datetime.fromtimestamp(0, UTC) + timedelta(seconds=seconds)
    offset = draw(st.none() | st.integers(-23 * 60 - 59, 23 * 60 + 59))
    local = moment if offset is None else moment + timedelta(minutes=offset)
    joint = draw(st.sampled_from("Tt "))
    fraction = draw(
        st.just("") | st.text(string.digits, min_size=1, max_size=12).map(lambda digits: "." + digits)
    )
    if offset is None:
        zone = draw(st.sampled_from("Zz"))
    else:
        zone = timezone(timedelta(minutes=offset)).tzname(None).removeprefix("UTC") or "+00:00"
    return f"{local.strftime('%Y').zfill(4)}-{local:%m-%d}{joint}{local:%H:%M:%S}{fraction}{zone}"


def _past() -> st.SearchStrategy[str]:
    return stamps(latest=NOW)


def _soon() -> st.SearchStrategy[str]:
    return stamps(latest=NOW + 364 * MS_PER_DAY)


def closed(required: Fields, optional: Fields) -> st.SearchStrategy[dict[str, Any]]:
    """An object with all of the required and some of the optional fields."""
    return st.fixed_dictionaries(required, optional=optional)


_OPTIONAL_OF_CONDITION: Fields = {
    "poll_interval_seconds": st.none() | st.integers(30, 86_400),
    "manual_check_at": st.none() | stamps(),
}
triggers = st.one_of(
    closed({"type": st.just("at_time"), "at": stamps()}, {}),
    closed({"type": st.just("after_elapsed"), "after_seconds": st.integers(1, 31_536_000)}, {}),
    closed({"type": st.just("interval"), "first_at": stamps(), "every_seconds": seconds}, {}),
    closed({"type": st.just("next_session")}, {}),
    closed({"type": st.just("next_continuation")}, {}),
    closed({"type": st.just("goal_active"), "goal_id": text(512)}, {}),
    closed(
        {
            "type": st.just("condition"),
            "adapter": st.from_regex(r"[a-z][a-z0-9_]{0,63}", fullmatch=True),
            "parameters": json_objects,
        },
        _OPTIONAL_OF_CONDITION,
    ),
)
recurrences = closed(
    {"every_seconds": seconds},
    {
        "missed_policy": st.sampled_from(POLICY_WORDS),
        "max_occurrences": st.none() | st.integers(1, 1_000_000),
        "end_at": st.none() | stamps(),
    },
)
links = array(closed({"type": st.sampled_from(LINK_WORDS), "value": text(2_048)}, {}))
_uris = st.builds(
    lambda scheme, rest: f"{scheme}:{rest}",
    st.from_regex(r"[A-Za-gi-z][A-Za-z0-9+.-]{0,8}", fullmatch=True),
    st.from_regex(r"[^\s@\x00-\x20\x7f-\x9f]{1,40}", fullmatch=True),
) | st.from_regex(r"[Hh]ttps?://[a-z0-9.-]{1,20}(:[0-9]{1,5})?(/[a-z@/]{0,20})?", fullmatch=True)
_hashes = st.from_regex(r"(sha256:)?[0-9a-fA-F]{64}", fullmatch=True)
_shown: Fields = {
    "type": st.sampled_from(EVIDENCE_WORDS),
    "summary": text(4_096).filter(lambda summary: not is_bare_claim(summary)),
    "observed_at": _past(),
}
evidence = closed(
    {**_shown, "reference_uri": _uris},
    {"content_hash": st.none() | _hashes, "metadata": st.none() | json_objects},
) | closed(
    {**_shown, "content_hash": _hashes},
    {"reference_uri": st.none() | _uris, "metadata": st.none() | json_objects},
)
_of_item: Fields = {"remindi_id": uuids, "expected_version": versions, "idempotency_key": keys}
_reason = text(4_096)
_mutable: Fields = {
    "message": st.none() | text(8_192),
    "instructions": st.none() | text(32_768, blank=True),
    "priority": st.none() | st.sampled_from(PRIORITY_WORDS),
    "trigger": st.none() | triggers,
    "recurrence": st.none() | recurrences,
    "overdue_after_seconds": st.none() | st.integers(0, 31_536_000),
    "links": st.none() | links,
    "occurrence_disposition": st.none() | st.sampled_from(DISPOSITION_WORDS),
}
_page: Fields = {"limit": st.integers(1, 200), "cursor": st.none() | text(2_048)}


def _changes_something(arguments: dict[str, Any]) -> bool:
    clears = "instructions" in arguments or "recurrence" in arguments
    return clears or any(arguments.get(field) is not None for field in _mutable)


ARGUMENTS: dict[str, st.SearchStrategy[dict[str, Any]]] = {
    tools.ADD: closed(
        {"idempotency_key": keys, "project_id": scopes, "message": text(8_192), "trigger": triggers},
        {
            "task_id": st.none() | scopes,
            "instructions": st.none() | text(32_768, blank=True),
            "priority": st.sampled_from(PRIORITY_WORDS),
            "recurrence": st.none() | recurrences,
            "overdue_after_seconds": st.integers(0, 31_536_000),
            "links": links,
            "session_id": st.none() | contexts,
            "task_lineage_id": st.none() | contexts,
        },
    ),
    tools.CHECK: closed(
        {"project_id": scopes, "lifecycle_event": st.sampled_from(LIFECYCLE_WORDS)},
        {
            "task_id": st.none() | scopes,
            "session_id": st.none() | contexts,
            "task_lineage_id": st.none() | contexts,
            "active_goal_ids": array(text(512)),
            "include_scheduled": st.booleans(),
            "evaluate_conditions": st.booleans(),
            **_page,
        },
    ),
    tools.COMPLETE: closed(
        {**_of_item, "evidence": evidence}, {"completion_note": st.none() | text(4_096, blank=True)}
    ),
    tools.SNOOZE: closed({**_of_item, "snooze_until": _soon(), "reason": _reason}, {}),
    tools.UPDATE: closed({**_of_item, "reason": _reason}, _mutable).filter(_changes_something),
    tools.LIST: closed(
        {},
        {
            "project_id": st.none() | scopes,
            "task_id": st.none() | scopes,
            "remindi_id": st.none() | uuids,
            "states": array(st.sampled_from(STATE_WORDS)),
            "trigger_types": array(st.sampled_from(TRIGGER_WORDS)),
            "linked_goal_id": st.none() | text(2_048),
            "linked_memory_hash": st.none() | text(2_048),
            **_page,
        },
    ),
    tools.CANCEL: closed({**_of_item, "reason": _reason}, {}),
    tools.HISTORY: closed(
        {"remindi_id": uuids},
        {
            "after_sequence": st.none() | st.integers(0, 2**63 - 1),
            "event_types": array(st.sampled_from(EVENT_WORDS)),
            **_page,
        },
    ),
}
"""By tool name."""
