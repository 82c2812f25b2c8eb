"""Lines of exports: what is written is read back, and whatever else is read is refused, never a fault."""

import copy
import json
from typing import Any, Final

from hypothesis import given
from hypothesis import strategies as st

from remindi.errors import Refusal
from remindi.events import ActorType, Caller, Event, EventType
from remindi.evidence import Evidence, EvidenceRecord, EvidenceType
from remindi.exports import EVENTS_A_LINE, MAX_LINE_BYTES, Exported, Sum, end_line, item_lines
from remindi.inputs.evidence import MAX_SUMMARY_CHARACTERS, MAX_URI_CHARACTERS
from remindi.inputs.exports import read_end, read_item, read_manifest
from remindi.inputs.mutations import (
    MAX_INSTRUCTIONS_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_REASON_CHARACTERS,
    MAX_SCOPE_CHARACTERS,
)
from remindi.inputs.triggers import MAX_LINK_CHARACTERS
from remindi.instants import EARLIEST, LATEST
from remindi.items import ConditionStatus, Content, Item, ItemRecord, Priority, State
from remindi.links import MAX_LINKS, Link, LinkType
from remindi.recurrence import MissedPolicy, Recurrence
from remindi.triggers import (
    TIME_TRIGGERS,
    AfterElapsed,
    AtTime,
    Condition,
    GoalActive,
    Interval,
    NextContinuation,
    NextSession,
    Trigger,
    trigger_type,
)

_instants: Final = st.integers(EARLIEST, LATEST)
_texts: Final = st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"]), min_size=1, max_size=20)
_ids: Final = st.binary(min_size=16, max_size=16)
_values: Final[st.SearchStrategy[Any]] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_objects: Final = st.dictionaries(_texts, _values, max_size=3).map(
    lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":"))
)
_triggers: Final[st.SearchStrategy[Trigger]] = st.one_of(
    st.builds(AtTime, _instants),
    st.builds(AfterElapsed, st.integers(1, 31_536_000)),
    st.builds(Interval, _instants, st.integers(60, 31_536_000)),
    st.just(NextSession()),
    st.just(NextContinuation()),
    st.builds(GoalActive, _texts),
    st.builds(
        Condition,
        st.just("http_health"),
        _objects,
        st.none() | st.integers(30, 86_400),
        st.none() | _instants,
    ),
)


@st.composite
def exporteds(draw: st.DrawFn) -> Exported:
    """Items as a database may hold them, whatever their histories say."""
    trigger, state = draw(_triggers), draw(st.sampled_from(State))
    kind = trigger_type(trigger)
    snoozed = state is State.SNOOZED
    sequences = sorted(draw(st.sets(st.integers(1, 1_000), max_size=5)))
    optional = st.none() | _instants
    item = Item(
        key=0,
        id=draw(_ids),
        state=state,
        priority=draw(st.sampled_from(Priority)),
        trigger_type=kind,
        next_fire_at=draw(_instants) if kind in TIME_TRIGGERS else None,
        original_next_fire_at=draw(optional),
        next_evaluation_at=draw(optional),
        manual_check_at=trigger.manual_check_at if isinstance(trigger, Condition) else None,
        poll_interval_seconds=trigger.poll_interval_seconds if isinstance(trigger, Condition) else None,
        due_since=draw(_instants),
        snooze_until=draw(_instants) if snoozed else None,
        snoozed_from_state=draw(st.sampled_from([State.DUE, State.OVERDUE])) if snoozed else None,
        last_checked_at=draw(optional),
        completed_at=draw(_instants) if state is State.COMPLETED else None,
        cancelled_at=draw(_instants) if state is State.CANCELLED else None,
        created_at=draw(_instants),
        updated_at=draw(_instants),
        overdue_after_seconds=draw(st.integers(0, 31_536_000)),
        occurrence_no=draw(st.integers(1, 2**63 - 1)),
        snooze_count=draw(st.integers(0, 2**63 - 1)),
        version=draw(st.integers(1, 2**63 - 1)),
        event_count=1_000,
        last_condition_status=draw(st.none() | st.sampled_from(ConditionStatus)),
        last_condition_detail=draw(st.none() | _texts),
    )
    recurrence = None
    if isinstance(trigger, Interval) and draw(st.booleans()):
        policy = draw(st.sampled_from(MissedPolicy))
        recurrence = Recurrence(trigger.every_seconds, policy, draw(st.none() | st.just(7)), draw(optional))
    content = Content(
        *(draw(_texts), draw(st.none() | _texts), draw(_texts), draw(st.none() | st.just("") | _texts)),
        *(draw(st.none() | _texts), draw(st.none() | _texts), trigger, recurrence),
    )
    links = draw(st.lists(st.builds(Link, st.sampled_from(LinkType), _texts), max_size=3, unique=True))
    events = tuple(
        Event(
            sequence,
            draw(_ids),
            draw(st.sampled_from(EventType)),
            Caller(draw(st.sampled_from(ActorType)), draw(_texts), draw(st.none() | _texts)),
            draw(_instants),
            draw(st.none() | st.just(1)),
            draw(st.none() | st.just(2)),
            draw(_objects),
        )
        for sequence in sequences
    )
    evidence = None
    if state is State.COMPLETED:
        proof = Evidence(
            draw(st.sampled_from(EvidenceType)),
            draw(_texts),
            "https://example.com/1",
            draw(st.none() | st.just("sha256:" + "0" * 64)),
            draw(_instants),
            draw(st.none() | _objects),
        )
        evidence = EvidenceRecord(draw(_ids), item.id, proof, draw(_instants), draw(_texts))
    return Exported(ItemRecord(item, content, tuple(links)), events, evidence)


def read_back(lines: list[bytes]) -> Exported:
    first, *more = map(json.loads, lines)
    exported = read_item(first, more)
    assert isinstance(exported, Exported), exported
    return exported


@given(exporteds())
def test_what_is_written_is_read_back_and_written_the_same(exported: Exported) -> None:
    lines = item_lines(exported)
    again = read_back(lines)
    assert item_lines(again) == lines
    assert again.record.item == exported.record.item
    assert again.record.links == exported.record.links
    assert [event[:-1] for event in again.events] == [event[:-1] for event in exported.events]


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every container of a value with each of its keys."""
    if isinstance(value, dict):
        return [(value, key) for key in value] + [each for inner in value.values() for each in places(inner)]
    if isinstance(value, list):
        return [(value, at) for at in range(len(value))] + [each for inner in value for each in places(inner)]
    return []


@given(exporteds(), st.data())
def test_a_line_with_anything_in_any_place_is_read_or_refused_and_never_a_fault(
    exported: Exported, data: st.DataObject
) -> None:
    value = copy.deepcopy(json.loads(item_lines(exported)[0]))
    for _ in range(data.draw(st.integers(1, 3))):
        container, key = data.draw(st.sampled_from(places(value)))
        if isinstance(container, dict) and data.draw(st.booleans()):
            container[data.draw(_texts)] = data.draw(_values)
        elif isinstance(container, dict) and data.draw(st.booleans()):
            del container[key]
        else:
            container[key] = data.draw(_values)
        if not places(value):
            break
    read = read_item(value)
    assert isinstance(read, Refusal | Exported)
    if isinstance(read, Exported):
        item_lines(read)


@given(_values)
def test_any_value_is_refused_as_manifest_end_and_item(value: Any) -> None:
    assert isinstance(read_manifest(value), Refusal)
    assert isinstance(read_end(value), Refusal)
    assert isinstance(read_item(value), Refusal)


def test_a_long_history_goes_on_in_lines_of_its_own() -> None:
    long = _longest("a")
    events = tuple(long.events[0]._replace(sequence=number) for number in range(1, 2 * EVENTS_A_LINE + 2))
    exported = long._replace(events=events)
    lines = item_lines(exported)
    assert len(lines) == 3
    assert read_back(lines).events == events
    read = Sum()
    read.add(exported, lines)
    end = read_end(json.loads(end_line(read)))
    assert not isinstance(end, Refusal)
    assert (end.items, end.events, end.evidence) == read.totals == (1, len(events), 1)


def test_the_longest_texts_that_an_item_may_have_fit_a_line() -> None:
    for letter in ("🦊", '"'):
        long = _longest(letter)
        events = tuple(long.events[0]._replace(sequence=number) for number in range(1, EVENTS_A_LINE + 1))
        (line,) = item_lines(long._replace(events=events))
        # Beside them parameters and metadata of a whole request find room.
        assert len(line) + 2 * 1_048_576 < MAX_LINE_BYTES


def _longest(letter: str) -> Exported:
    scope = letter * MAX_SCOPE_CHARACTERS
    item = Item._make(
        [
            *(0, bytes(16), State.COMPLETED, Priority.HIGH, trigger_type(NextSession()), None, None, None),
            *(None, None, 0, None, None, 0, 0, None, 0, 0, 0, 1, 0, 2**63 - 1, 1_000, None, letter * 4_096),
        ]
    )
    content = Content(
        scope,
        scope,
        letter * MAX_MESSAGE_CHARACTERS,
        letter * MAX_INSTRUCTIONS_CHARACTERS,
        scope,
        scope,
        NextSession(),
        None,
    )
    links = tuple(
        Link(LinkType.URL, f"{number:03}" + letter * (MAX_LINK_CHARACTERS - 3)) for number in range(MAX_LINKS)
    )
    reason = {"reason": letter * MAX_REASON_CHARACTERS}
    details = json.dumps(reason, ensure_ascii=False, separators=(",", ":"))
    caller = Caller(ActorType.AGENT, "mcp:0123456789abcdef", None)
    event = Event(1, bytes(16), EventType.UPDATED, caller, 0, 1, 2, details)
    proof = Evidence(
        EvidenceType.OBSERVATION,
        letter * MAX_SUMMARY_CHARACTERS,
        "x:" + letter * (MAX_URI_CHARACTERS - 2),
        None,
        0,
        None,
    )
    return Exported(
        ItemRecord(item, content, links), (event,), EvidenceRecord(bytes(16), bytes(16), proof, 0, "a")
    )
