"""Items over REST: the tools' rules, the whole item as the answer, keys, cursors, history (contract 11.8)."""

from typing import Any

import pytest

from actors.messages.probes import ProbeAnswer, RunProbe
from remindi.callers import web_actor_id
from remindi.items import ConditionStatus
from tests.fakes.api import NAME, Browser, House
from tests.http.api.walks import BODIES, TRIGGER

EVIDENCE = BODIES["POST", "/remindi/{id}/complete"]["evidence"]
KEYS = iter(range(10_000_000, 99_999_999))
Json = dict[str, Any]


def key() -> str:
    return f"key-{next(KEYS)}"


def add(browser: Browser, **fields: Any) -> Json:
    """Add an item and return its view."""
    body = {"idempotency_key": key(), "project_id": "p", "message": "m", "trigger": TRIGGER, **fields}
    answered = browser.post("/remindi", body)
    assert answered.status == 200, answered.json()
    item: Json = answered.data["remindi"]
    return item


def act(browser: Browser, item: Json, action: str, **fields: Any) -> Json:
    """Change an item and return its view."""
    body = {"idempotency_key": key(), "expected_version": item["version"], **fields}
    path = f"/remindi/{item['id']}"
    answered = browser.patch(path, body) if action == "update" else browser.post(f"{path}/{action}", body)
    assert answered.status == 200, answered.json()
    assert set(answered.data) <= {"remindi", "warnings"}
    changed: Json = answered.data["remindi"]
    return changed


def check(browser: Browser, **fields: Any) -> Json:
    data: Json = browser.post(
        "/remindi/check", {"project_id": "p", "lifecycle_event": "checkpoint", **fields}
    ).data
    return data


def listed(browser: Browser, query: str = "") -> list[Json]:
    items: list[Json] = browser.get(f"/remindi{query}").data["items"]
    return items


def test_a_change_answers_the_whole_item_as_the_list_shows_it(browser: Browser) -> None:
    item = add(browser, task_id="t", instructions="how", links=[{"type": "url", "value": "https://a.test"}])
    assert listed(browser) == [item]
    assert browser.get(f"/remindi/{item['id']}").data == {"remindi": item}
    assert browser.house.core.data("remindi_list")["items"] == [item]
    assert "owner_id" not in item
    (ready,) = check(browser)["items"]
    assert (ready["readiness"], ready["version"]) == ("due", 2)
    due = listed(browser)[0]
    snoozed = act(browser, due, "snooze", reason="later", snooze_until="2027-01-16T00:00:00Z")
    assert (snoozed["state"], snoozed["version"], snoozed["snooze_count"]) == ("snoozed", 3, 1)
    updated = act(browser, snoozed, "update", reason="clearer", message="n")
    assert (updated["message"], updated["version"]) == ("n", 4)
    completed = act(browser, updated, "complete", evidence=EVIDENCE)
    assert (completed["state"], completed["completed_at"]) == ("completed", "2027-01-15T08:00:00.000Z")
    other = add(browser)
    assert act(browser, other, "cancel", reason="not needed")["state"] == "cancelled"
    assert {shown["id"]: shown["state"] for shown in listed(browser)} == {
        item["id"]: "completed",
        other["id"]: "cancelled",
    }


def test_history_shows_events_of_a_user_and_one_record_of_evidence(browser: Browser) -> None:
    item = add(browser)
    path = f"/remindi/{item['id']}/history"
    assert browser.get(path).data["completion_evidence"] is None
    act(browser, item, "complete", evidence=EVIDENCE, completion_note="n")
    shown = browser.get(path).data
    assert [event["event_type"] for event in shown["events"]] == ["created", "completed"]
    assert {event["actor_type"] for event in shown["events"]} == {"user"}
    assert {event["actor_id"] for event in shown["events"]} == {web_actor_id(NAME)}
    assert shown["completion_evidence"]["summary"] == EVIDENCE["summary"]
    assert shown["completion_evidence"]["recorded_by"] == web_actor_id(NAME)
    first = browser.get(f"{path}?limit=1").data
    rest = browser.get(f"{path}?limit=1&cursor={first['next_cursor']}").data
    assert [*first["events"], *rest["events"]] == shown["events"]
    only = browser.get(f"{path}?event_types=completed,cancelled").data
    assert [event["event_type"] for event in only["events"]] == ["completed"]
    assert browser.get(f"{path}?after_sequence={shown['events'][0]['sequence']}").data["events"] == [
        shown["events"][1]
    ]


def test_a_list_is_filtered_and_walked_as_by_the_tool(browser: Browser) -> None:
    made = [add(browser, project_id="a" if number % 2 else "b", message=f"m{number}") for number in range(5)]
    for number, item in enumerate(made):
        browser.house.core.clock.advance(1)
        made[number] = item
    assert {item["message"] for item in listed(browser, "?project_id=a")} == {"m1", "m3"}
    assert listed(browser, f"?remindi_id={made[2]['id']}") == [made[2]]
    assert len(listed(browser, "?states=scheduled,due&trigger_types=at_time")) == 5
    assert listed(browser, "?states=completed") == []
    page = browser.get("/remindi?limit=2&project_id=b").data
    tool = browser.house.core.data("remindi_list", project_id="b", limit=2, cursor=page["next_cursor"])
    route = browser.get(f"/remindi?limit=2&project_id=b&cursor={page['next_cursor']}").data
    assert route == tool
    assert route["next_cursor"] is None
    assert [item["message"] for item in listed(browser, "?q=m3")] == ["m3"]


@pytest.mark.parametrize(
    ("query", "errors"),
    [
        ("unknown=1", [("/unknown", "unknown_field")]),
        ("owner_id=x", [("/owner_id", "unknown_field")]),
        ("limit=0", [("/limit", "too_small")]),
        ("limit=201", [("/limit", "too_large")]),
        ("limit=ten", [("/limit", "type")]),
        ("limit=1&limit=1", [("/limit", "duplicate")]),
        ("project_id=", [("/project_id", "blank")]),
        ("project_id=a%00b", [("/project_id", "control_character")]),
        ("project_id=%ff", [("/project_id", "format")]),
        ("states=due,due", [("/states", "duplicate")]),
        ("states=other", [("/states", "enum")]),
        ("cursor=x", [("/cursor", "cursor")]),
        ("remindi_id=x", [("/remindi_id", "format")]),
        ("sort=other", [("/sort", "enum")]),
    ],
)
def test_a_bad_query_names_the_parameter(browser: Browser, query: str, errors: list[tuple[str, str]]) -> None:
    answered = browser.get(f"/remindi?{query}")
    assert (answered.status, answered.errors) == (400, errors)


@pytest.mark.parametrize("tail", ["", "/history", "/complete", "/snooze", "/cancel"])
@pytest.mark.parametrize(
    "identifier", ["x", "%00", "0190aaaabbbb7cccadddeeeeffff000", "0190aaaabbbb7cccadddeeeeffff0001%0A"]
)
def test_a_malformed_id_is_told_by_its_name(browser: Browser, tail: str, identifier: str) -> None:
    method = "GET" if tail in ("", "/history") else "POST"
    answered = browser.request(
        method,
        f"/remindi/{identifier}{tail}".replace("%00", "\0").replace("%0A", "\n"),
        None if method == "GET" else {},
    )
    assert (answered.status, answered.errors) == (400, [("/id", "format")])


def test_an_id_is_taken_in_any_spelling(browser: Browser) -> None:
    item = add(browser)
    plain = item["id"].replace("-", "")
    for spelling in (plain, plain.upper(), "{" + plain + "}", "urn:uuid:" + item["id"]):
        assert browser.get(f"/remindi/{spelling}").data["remindi"] == item


def test_the_path_alone_names_the_item(browser: Browser) -> None:
    item = add(browser)
    body = {"idempotency_key": key(), "expected_version": 1, "reason": "r", "remindi_id": item["id"]}
    answered = browser.post(f"/remindi/{item['id']}/cancel", body)
    assert answered.errors == [("/remindi_id", "unknown_field")]


def test_only_the_tools_drop_what_one_client_adds(browser: Browser) -> None:
    body = {"project_id": "p", "lifecycle_event": "checkpoint", "wait_for_previous": True}
    assert browser.post("/remindi/check", body).errors == [("/wait_for_previous", "unknown_field")]


def test_the_same_key_has_one_effect_and_the_answer_is_the_item_as_it_is_by_now(browser: Browser) -> None:
    body = {"idempotency_key": key(), "project_id": "p", "message": "m", "trigger": TRIGGER}
    first = browser.post("/remindi", body).data["remindi"]
    assert browser.post("/remindi", body).data["remindi"] == first
    changed = act(browser, first, "update", reason="r", message="n")
    assert browser.post("/remindi", body).data["remindi"] == changed
    other = browser.post("/remindi", {**body, "message": "other"})
    assert (other.status, other.code) == (409, "IDEMPOTENCY_KEY_REUSED")
    assert listed(browser) == [changed]


def test_the_doors_do_not_share_keys(browser: Browser) -> None:
    body = {"idempotency_key": key(), "project_id": "p", "message": "m", "trigger": TRIGGER}
    browser.post("/remindi", body)
    assert browser.house.core.tool("remindi_add", body)["ok"]
    assert len(listed(browser)) == 2


def test_versions_and_states_refuse_as_the_tools_do(browser: Browser) -> None:
    item = add(browser)
    path = f"/remindi/{item['id']}/cancel"
    body = {"idempotency_key": key(), "expected_version": 7, "reason": "r"}
    answered = browser.post(path, body)
    assert (answered.status, answered.code) == (409, "VERSION_CONFLICT")
    assert answered.json()["error"]["details"] == {"current_version": 1}
    assert answered.json()["error"]["retryable"] is True
    act(browser, item, "cancel", reason="r")
    answered = browser.post(path, {**body, "expected_version": 2})
    assert (answered.status, answered.code) == (409, "INVALID_STATE")
    scheduled = add(browser)
    answered = browser.post(
        f"/remindi/{scheduled['id']}/snooze",
        {
            "idempotency_key": key(),
            "expected_version": 1,
            "reason": "r",
            "snooze_until": "2027-01-16T00:00:00Z",
        },
    )
    assert answered.code == "INVALID_STATE"


def test_an_accepted_condition_brings_its_warning_and_a_replay_repeats_it(browser: Browser) -> None:
    trigger = {
        "type": "condition",
        "adapter": "tcp_reachable",
        "parameters": {"target": "x"},
        "manual_check_at": "2027-02-01T00:00:00Z",
    }
    body = {"idempotency_key": key(), "project_id": "p", "message": "m", "trigger": trigger}
    first = browser.post("/remindi", body).data
    assert len(first["warnings"]) == 2
    assert browser.post("/remindi", body).data == first
    del trigger["manual_check_at"]
    answered = browser.post("/remindi", {**body, "idempotency_key": key()})
    assert (answered.status, answered.code) == (409, "ADAPTER_DISABLED")
    trigger["adapter"] = "other"
    answered = browser.post("/remindi", {**body, "idempotency_key": key()})
    assert (answered.status, answered.code) == (404, "ADAPTER_NOT_FOUND")


def test_a_check_probes_what_is_due_and_walks_by_its_cursor(browser: Browser) -> None:
    home = browser.house
    configuration = {
        "type": "tcp_reachable",
        "aliases": {"x": {"host": "h.test", "port": 1, "allow_private": False}},
    }
    browser.patch(
        "/adapters/tcp_reachable", {"enabled": True, "expected_version": 1, "configuration": configuration}
    )
    for _ in range(2):
        add(browser, trigger={"type": "condition", "adapter": "tcp_reachable", "parameters": {"target": "x"}})
    home.probes.script[RunProbe] = lambda asked: ProbeAnswer(
        asked.target, ConditionStatus.SATISFIED, "there", home.core.clock.now(), "1", 3
    )
    page = check(browser, limit=1)
    rest = check(browser, limit=1, cursor=page["next_cursor"])
    assert [item["readiness"] for item in [*page["items"], *rest["items"]]] == ["due", "due"]
    assert rest["next_cursor"] is None
    assert page["checked_at"] == rest["checked_at"]
    assert len(home.probes.asked) == 2
    assert {asked.caller.actor_id for asked in home.probes.asked} == {web_actor_id(NAME)}


def test_nothing_of_items_enters_the_audit(browser: Browser) -> None:
    item = add(browser)
    act(browser, item, "cancel", reason="r")
    check(browser)
    assert [kind for kind, _, _ in browser.house.audit()] == ["login_succeeded"]


def test_an_item_of_another_owner_is_not_there(home: House) -> None:
    browser = home.signed_in()
    answered = browser.get("/remindi/0190aaaa-bbbb-7ccc-addd-eeeeffff0001")
    assert (answered.status, answered.code) == (404, "NOT_FOUND")
    assert browser.get("/remindi/0190aaaa-bbbb-7ccc-addd-eeeeffff0001/history").status == 404
