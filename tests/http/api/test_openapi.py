"""The published document: it has what the router has, and is true of what is taken and answered."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from falcon import inspect
from jsonschema import Draft202012Validator

from tests.fakes.api import Answered, Browser
from tests.fakes.doors import DoorStage
from tests.http.api.walks import BODIES, OPERATIONS, body_of, concrete
from web.api.app import Api, Router
from web.api.openapi import check_document, document, write_document
from web.api.routes import PREFIX

SCHEMA = Path(__file__).parents[3] / "schema"
DOCUMENT = document()
inspect.register_router(Router)(inspect.inspect_compiled_router)
Json = dict[str, Any]


def plain(path: str) -> str:
    return re.sub(r":[a-z_]+\}", "}", path)


def operation(method: str, path: str) -> Json:
    found: Json = DOCUMENT["paths"][plain(path)][method.lower()]
    return found


def conforms(schema: Json, value: object) -> None:
    """Hold a value against a schema of the document."""
    Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(value)


def answers_as_published(method: str, path: str, answered: Answered) -> None:
    responses = operation(method, path)["responses"]
    assert str(answered.status) in responses, (method, path, answered)
    response = responses[str(answered.status)]
    if "text/event-stream" in response["content"]:
        assert answered.header("Content-Type") == "text/event-stream"
        return
    conforms(response["content"]["application/json"]["schema"], answered.json())
    if answered.code is not None:
        assert answered.code in response["description"].split(", ")
    for name in response["headers"]:
        if name != "Retry-After" or answered.code in ("MAINTENANCE_ACTIVE", "LIMIT_EXCEEDED"):
            assert answered.header(name) is not None


def test_the_committed_document_is_the_one_that_the_code_makes(tmp_path: Path) -> None:
    assert check_document(SCHEMA)
    assert not check_document(tmp_path)
    write_document(tmp_path)
    assert check_document(tmp_path)
    (tmp_path / "openapi.json").write_text("{}")
    assert not check_document(tmp_path)


def test_it_has_every_route_of_the_real_router_and_no_other() -> None:
    routed = {
        plain(route.path.removeprefix(PREFIX)): {
            method.method for method in route.methods if method.function_name != "refuse"
        }
        - {"HEAD"}
        for route in inspect.inspect_routes(Api(DoorStage().door).app)
    }
    published = {
        path: {name.upper() for name in methods if name != "parameters"}
        for path, methods in DOCUMENT["paths"].items()
    }
    assert routed == published


def test_names_of_operations_are_unique_and_all_references_lead_somewhere() -> None:
    names = [
        made["operationId"]
        for methods in DOCUMENT["paths"].values()
        for name, made in methods.items()
        if name != "parameters"
    ]
    assert len(set(names)) == len(names) == len(OPERATIONS)
    for target in re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(DOCUMENT)):
        node: Any = DOCUMENT
        for step in target.split("/"):
            node = node[step]
    for schema in DOCUMENT["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize(("method", "path"), list(BODIES))
def test_a_well_formed_body_is_one_by_the_document(method: str, path: str) -> None:
    schema = operation(method, path)["requestBody"]["content"]["application/json"]["schema"]
    Draft202012Validator.check_schema(schema)
    conforms(schema, BODIES[method, path])
    assert "remindi_id" not in schema["properties"] or "{id}" not in path


def test_every_way_in_is_published_with_what_it_asks() -> None:
    assert operation("GET", "/session")["security"] == []
    assert operation("POST", "/auth/login")["security"] == [{"csrf": []}]
    assert operation("GET", "/remindi")["security"] == [{"session": []}]
    assert operation("POST", "/remindi/check")["security"] == [{"session": [], "csrf": []}]
    names = [parameter["name"] for parameter in operation("GET", "/remindi/{id}/history")["parameters"]]
    assert names == ["after_sequence", "event_types", "limit", "cursor"]
    assert (
        operation("PATCH", "/remindi/{id}")["requestBody"]["content"]["application/json"]["schema"][
            "minProperties"
        ]
        == 4
    )


def test_a_list_in_a_query_is_published_as_one_whose_entries_differ() -> None:
    """None takes a word twice."""
    lists = [
        parameter["schema"]
        for path in DOCUMENT["paths"].values()
        for method, made in path.items()
        if method != "parameters"
        for parameter in made.get("parameters", ())
        if parameter["schema"]["type"] == "array"
    ]
    assert len(lists) == 5
    assert all(schema.get("uniqueItems") for schema in lists)


def test_a_word_that_makes_no_path_is_refused_as_published(browser: Browser) -> None:
    for path in ("/workloads/nobody/stop", "/workloads/all/shake"):
        answers_as_published("POST", "/workloads/{component}/{action}", browser.request("POST", path, {}))


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, _ in OPERATIONS])
def test_what_a_route_answers_is_what_is_published(browser: Browser, method: str, path: str) -> None:
    stranger = browser.house.browser()
    whole = concrete(path)
    body = body_of(method, path)
    answers = [
        browser.request(method, whole, body),
        browser.request(method, whole, b"{" if body is not None else None),
        browser.request(method, whole + "?unknown=1", body),
        stranger.request(method, whole, body),
        browser.request("PUT", whole),
        browser.send(method, whole, browser.headers(("Content-Length", "1048577"))),
        browser.send(method, whole, browser.headers(without=["Origin"])),
        browser.send(method, whole, [("Host", "a b")]),
    ]
    browser.house.board.startup = "starting"
    answers.append(browser.request(method, whole, body))
    for answered in answers:
        answers_as_published(method, path, answered)


def test_whole_items_histories_and_checks_are_as_published(browser: Browser) -> None:
    def walk(method: str, path: str, body: Any = None) -> Any:
        answered = browser.request(method, path.replace("{id}", identifier), body)
        answers_as_published(method, path.partition("?")[0], answered)
        return answered.data

    identifier = ""
    identifier = walk("POST", "/remindi", BODIES["POST", "/remindi"])["remindi"]["id"]
    walk("POST", "/remindi/check", BODIES["POST", "/remindi/check"])
    change = {"idempotency_key": "another-key", "expected_version": 2}
    walk("POST", "/remindi/{id}/snooze", {**BODIES["POST", "/remindi/{id}/snooze"], **change})
    change["expected_version"] = 3
    walk("PATCH", "/remindi/{id}", {**BODIES["PATCH", "/remindi/{id}"], **change})
    change["expected_version"] = 4
    walk("POST", "/remindi/{id}/complete", {**BODIES["POST", "/remindi/{id}/complete"], **change})
    walk("GET", "/remindi/{id}/history")
    walk("GET", "/remindi?states=completed")
