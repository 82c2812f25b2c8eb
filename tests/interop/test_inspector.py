"""The MCP Inspector's command line against the real process, its strict schema lint included."""

import json
import subprocess
from typing import Any

import anyio
import pytest

from tests.interop.conftest import Node
from tests.interop.walk import TOOLS, Json, assert_walked, walk
from tests.service import Service

# The Inspector's exit code when a server wants other credentials.
AUTH_REQUIRED = 3

eras = pytest.mark.parametrize("era", ["legacy", "modern"])


def inspect(
    door: Service, node: Node, era: str, *arguments: str, token: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run one method of the Inspector."""
    return node.command(
        "mcp-inspector",
        [
            "--cli",
            door.url,
            "--transport",
            "http",
            "--header",
            f"Authorization: Bearer {token or door.token}",
            "--protocol-era",
            era,
            "--stored-auth-only",
            "--format",
            "json",
            *arguments,
        ],
    )


def result_of(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr + done.stdout
    return json.loads(done.stdout)["result"]


@eras
def test_the_published_schemas_pass_the_strict_lint(door: Service, node: Node, era: str) -> None:
    done = inspect(door, node, era, "--method", "tools/list", "--strict")
    assert [tool["name"] for tool in result_of(done)["tools"]] == TOOLS
    # The exit code speaks of errors only; a warning is a client that loses something.
    assert "warning" not in done.stderr.lower(), done.stderr


@eras
def test_the_inspector_calls_the_tools(door: Service, node: Node, era: str) -> None:
    async def call(tool: str, arguments: Json) -> Json:
        call_tool = ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", json.dumps(arguments)]
        done = await anyio.to_thread.run_sync(lambda: inspect(door, node, era, *call_tool))
        structured: Json = json.loads(done.stdout)["result"]["structuredContent"]
        return structured

    assert_walked(anyio.run(walk, call, f"inspector-{era}"))


@eras
def test_a_wrong_token_is_shown_as_one(door: Service, node: Node, era: str) -> None:
    done = inspect(door, node, era, "--method", "tools/list", token="not-the-token-of-this-service")
    assert done.returncode == AUTH_REQUIRED, done.stderr + done.stdout
