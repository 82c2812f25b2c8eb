"""The official TypeScript clients, 1.x and 2.x, against the real process."""

from typing import Any

import pytest

from remindi import __version__
from tests.interop.conftest import Node
from tests.interop.walk import TOOLS, add_arguments, assert_walked, check_arguments, complete_arguments
from tests.service import LEGACY, MODERN, Service


def settings(door: Service, project: str, mode: object) -> dict[str, Any]:
    complete = complete_arguments(project, "", 0)
    return {
        "url": door.url,
        "token": door.token,
        "mode": mode,
        "add": add_arguments(project),
        "check": check_arguments(project),
        "complete": {**complete, "idempotency_key": f"{project}-complete"},
    }


def assert_reported(report: dict[str, Any], negotiated: str) -> None:
    assert report["negotiated"] == negotiated
    assert report["server"]["name"] == "remindi"
    assert report["server"]["version"] == __version__
    assert report["tools"] == TOOLS
    assert_walked(report)


def test_the_typescript_sdk_1_lists_and_calls_the_tools(door: Service, node: Node) -> None:
    assert_reported(node.script("sdk1.mjs", settings(door, "sdk1", None)), LEGACY)


@pytest.mark.parametrize(
    ("mode", "negotiated"),
    [("legacy", LEGACY), ("auto", MODERN), ({"pin": MODERN}, MODERN)],
    ids=["legacy", "auto", "pinned"],
)
def test_the_typescript_client_2_lists_and_calls_the_tools(
    door: Service, node: Node, mode: object, negotiated: str
) -> None:
    project = f"client2-{negotiated}-{'pin' if isinstance(mode, dict) else mode}"
    assert_reported(node.script("client2.mjs", settings(door, project, mode)), negotiated)
