"""The audit read back: a range of sequences in either direction, by type and outcome (contract 13.2)."""

from typing import Any

import pytest

from actors.messages.readers import ListAudit
from actors.messages.writer import RecordAudit, SetDesired, UpdateSetting
from remindi import views
from remindi.audit import AUDIT_OUTCOMES, AUDIT_TYPES, AuditQuery
from remindi.errors import Refusal
from remindi.inputs.query_strings import read_audit_parameters
from tests.fakes.core import ACTOR_ID, Core, Json


def rows(core: Core, **parameters: str) -> list[Json]:
    query = read_audit_parameters(parameters.items(), core.clock.now())
    assert not isinstance(query, Refusal), query
    return views.audit_data(core.read(ListAudit(query=query)))


def sequences(core: Core, **parameters: str) -> list[int]:
    return [row["sequence"] for row in rows(core, **parameters)]


@pytest.fixture
def audited(core: Core) -> Core:
    """Six rows: three settings of which one refused, two workloads, one sign-in that failed."""
    for key, value in (("adapters.max_concurrency", 4), ("adapters.timeout_seconds", 4), ("no.such", 1)):
        core.write(UpdateSetting(caller=core.caller(), key=key, value=value, expected_version=1))
    for component in ("mcp", "scheduler"):
        core.write(
            SetDesired(caller=core.caller(), components=(component,), desired="stopped", action="stopped")
        )
    core.clock.advance(1)
    details = (("kind", "login"), ("failure_code", "UNAUTHENTICATED"))
    core.write(
        RecordAudit(caller=core.caller(), event_type="login_failed", outcome="failed", details=details)
    )
    return core


def test_a_row_is_shown_with_all_it_has_and_nothing_more(audited: Core) -> None:
    first, *_, last = rows(audited)
    assert first.pop("event_id") != last["event_id"]
    assert first == {
        "sequence": 1,
        "event_type": "runtime_setting_updated",
        "actor_id": ACTOR_ID,
        "request_id": "exchange-1",
        "occurred_at": "2027-01-15T08:00:00.000Z",
        "outcome": "succeeded",
        "details": {"setting_key": "adapters.max_concurrency"},
    }
    assert last["details"] == {"kind": "login", "failure_code": "UNAUTHENTICATED"}
    assert last["occurred_at"] == "2027-01-15T08:00:01.000Z"


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, [1, 2, 3, 4, 5, 6]),
        ({"order": "asc"}, [1, 2, 3, 4, 5, 6]),
        ({"order": "desc"}, [6, 5, 4, 3, 2, 1]),
        ({"limit": "2"}, [1, 2]),
        ({"limit": "2", "order": "desc"}, [6, 5]),
        ({"after_sequence": "2"}, [3, 4, 5, 6]),
        ({"before_sequence": "3"}, [1, 2]),
        ({"after_sequence": "1", "before_sequence": "4"}, [2, 3]),
        ({"after_sequence": "1", "before_sequence": "6", "limit": "2", "order": "desc"}, [5, 4]),
        ({"after_sequence": "3", "before_sequence": "4"}, []),
        ({"after_sequence": str(2**63 - 1)}, []),
        ({"before_sequence": "0"}, []),
        ({"event_type": "runtime_setting_updated"}, [1, 2, 3]),
        ({"event_type": "workload_stopped,login_failed"}, [4, 5, 6]),
        ({"event_type": "restore_failed"}, []),
        ({"event_type": ""}, [1, 2, 3, 4, 5, 6]),
        ({"outcome": "rejected"}, [3]),
        ({"outcome": "failed,rejected", "order": "desc"}, [6, 3]),
        ({"outcome": "succeeded", "event_type": "runtime_setting_updated", "limit": "1"}, [1]),
    ],
    ids=str,
)
def test_a_query_is_a_range_with_filters(
    audited: Core, parameters: dict[str, str], expected: list[int]
) -> None:
    assert sequences(audited, **parameters) == expected


def test_pages_in_both_directions_join_without_a_gap(audited: Core) -> None:
    up: list[int] = []
    while page := sequences(audited, limit="2", after_sequence=str(max(up, default=0))):
        up += page
    down: list[int] = []
    while page := sequences(
        audited, limit="2", order="desc", before_sequence=str(min(down, default=2**63 - 1))
    ):
        down += page
    assert up == down[::-1] == [1, 2, 3, 4, 5, 6]


def test_what_is_written_is_of_the_closed_list(audited: Core) -> None:
    written = audited.read(ListAudit(query=AuditQuery(0, None, "asc", (), (), 200)))
    assert {row.type for row in written} <= set(AUDIT_TYPES)
    assert {row.outcome for row in written} == set(AUDIT_OUTCOMES)


def test_a_row_of_a_type_that_nobody_knows_is_shown_all_the_same(core: Core) -> None:
    unknown: Any = RecordAudit(event_type="from_another_version", outcome="failed", details=())
    core.write(unknown)
    assert [row["event_type"] for row in rows(core)] == ["from_another_version"]


def test_one_attempt_is_one_row_whatever_it_concerns(core: Core) -> None:
    core.write(
        SetDesired(caller=core.caller(), components=("mcp", "scheduler"), desired="stopped", action="stopped")
    )
    (row,) = rows(core)
    assert (row["event_type"], row["details"]) == ("workload_stopped", {"component": "all"})
