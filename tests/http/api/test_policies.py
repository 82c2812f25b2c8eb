"""Deny by default: what is not stated does not start, and no responder does more than its policy says."""

from typing import Any, ClassVar

import pytest

from tests.fakes.doors import DoorStage
from tests.http.api.conftest import MakeHouse
from tests.http.api.walks import OPERATIONS
from web.api.app import Api, Router, Unstated
from web.api.policy import Admission, Body, Database, Operation, Policy, Resource, Waits
from web.api.routes import PREFIX, ROUTES

OPEN = Operation(Policy(Admission.OPEN), "For everybody", {})


def route(resource: object) -> None:
    Router(DoorStage().door).add_route("/x", resource)


class Answering(Resource):
    def on_get(self, _: Any) -> Any:
        return {}


class Stated(Answering):
    operations: ClassVar = {"GET": OPEN}


class OneIsMissing(Stated):
    def on_delete(self, _: Any) -> Any:
        return {}


class OneIsTooMany(Answering):
    operations: ClassVar = {"GET": OPEN, "POST": OPEN}


class ChangesUnasked(Resource):
    operations: ClassVar = {"POST": Operation(Policy(Admission.SESSION), "A change", {})}

    def on_post(self, _: Any) -> Any:
        return {}


class LooksLikeAChange(Answering):
    operations: ClassVar = {"GET": Operation(Policy(Admission.MUTATION), "A look", {})}


class Foreign:
    def on_get(self, _request: Any, _response: Any) -> None:
        return


def test_what_is_stated_is_routed() -> None:
    route(Stated(DoorStage().door))


@pytest.mark.parametrize("kind", [Answering, OneIsMissing, OneIsTooMany, ChangesUnasked, LooksLikeAChange])
def test_what_is_not_stated_does_not_start(kind: type[Resource]) -> None:
    with pytest.raises(Unstated):
        route(kind(DoorStage().door))


def test_a_resource_of_another_kind_does_not_start() -> None:
    with pytest.raises(Unstated):
        route(Foreign())


def test_a_route_that_is_not_stated_keeps_the_api_from_starting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ROUTES, "/x", OneIsMissing)
    with pytest.raises(Unstated):
        Api(DoorStage().door)


def test_every_change_of_the_database_needs_our_own_page() -> None:
    for method, path, operation in OPERATIONS:
        policy = operation.policy
        if policy.database is Database.WRITE or method != "GET":
            assert policy.admission in (Admission.MUTATION, Admission.SIGN_IN), path
        if policy.admission is Admission.SIGN_IN:
            assert path == "/auth/login"
        assert (policy.body in (Body.JSON, Body.DEFERRED)) is (operation.body is not None)
        assert operation.query is None or method == "GET"


def test_only_what_waits_for_the_outside_has_threads_apart() -> None:
    api = Api(DoorStage().door)
    item = "0190aaaa-bbbb-7ccc-addd-eeeeffff0001"

    def waits(method: str, path: str) -> bool:
        operation = api.operation(method, PREFIX + path)
        return operation is not None and operation.policy.waits is not Waits.NOT

    for path in ("/remindi/check", "/adapters/x/test", "/workloads/all/restart", "/backups"):
        assert waits("POST", path)
    for path in ("/remindi", f"/remindi/{item}/snooze", "/auth/login", "/nowhere"):
        assert not waits("POST", path)
    assert not waits("PUT", "/remindi/check")
    assert not waits("HEAD", "/events")


def test_a_responder_cannot_write_what_its_policy_only_reads(
    make_house: MakeHouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def writes(_: Any, call: Any) -> Any:
        return call.write(object())

    monkeypatch.setattr("web.api.settings.Settings.on_get", writes)
    monkeypatch.setattr("web.api.workloads.Workloads.on_get", lambda _, call: call.read(object()))
    browser = make_house().signed_in()
    assert browser.get("/settings").status == 500
    assert browser.get("/workloads").status == 500
