"""The official Python client against the real process, in both protocol generations."""

import ast
import json
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from remindi import __version__
from tests.interop.walk import TOOLS, Call, Json, assert_walked, complete_arguments, walk
from tests.process.probing import check, condition, configure
from tests.service import LEGACY, MODERN, TOKEN, Service

README = Path(__file__).parents[2] / "README.md"
CLIENT_BOUND = 120
"""Seconds; a client that hangs is a failure."""


def structured(result: CallToolResult) -> Json:
    """Return what the tool answered, after a look at what holds for each answer."""
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert result.structured_content == json.loads(text.text)
    assert result.is_error is not result.structured_content["ok"]
    return cast(Json, result.structured_content)


@asynccontextmanager
async def connected(door: Service, mode: ConnectMode) -> AsyncIterator[tuple[Client, Call]]:
    """A client, and the call of a tool that returns its structured content."""
    headers = {"Authorization": f"Bearer {door.token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(door.url, http_client=http), mode=mode) as client,
    ):

        async def call(tool: str, arguments: Json) -> Json:
            return structured(await client.call_tool(tool, arguments))

        yield client, call


async def report_of(door: Service, mode: ConnectMode, project: str) -> dict[str, Any]:
    async with connected(door, mode) as (client, call):
        listed = await client.list_tools()
        return {
            "negotiated": client.protocol_version,
            "server": client.server_info,
            "tools": [tool.name for tool in listed.tools],
            **await walk(call, project),
        }


@pytest.mark.parametrize(
    ("mode", "negotiated"),
    [("legacy", LEGACY), ("auto", MODERN), (MODERN, MODERN)],
    ids=str,
)
def test_the_python_client_lists_and_calls_the_tools(
    door: Service, mode: ConnectMode, negotiated: str
) -> None:
    report = anyio.run(report_of, door, mode, f"python-{mode}")
    assert report["negotiated"] == negotiated
    assert report["tools"] == TOOLS
    assert_walked(report)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_the_python_client_learns_who_answers(door: Service, mode: ConnectMode) -> None:
    server = anyio.run(report_of, door, mode, f"python-name-{mode}")["server"]
    assert (server.name, server.version) == ("remindi", __version__)


def test_the_lines_of_the_readme_call_a_tool(door: Service) -> None:
    (lines,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", lines.replace("http://127.0.0.1:8000/mcp", door.url)],
        env={"REMINDI_MCP_TOKEN": TOKEN},
        capture_output=True,
        text=True,
        timeout=CLIENT_BOUND,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert ast.literal_eval(done.stdout)["ok"] is True


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_condition_comes_true_for_the_python_client_and_is_completed_with_evidence(
    door: Service, mode: ConnectMode, tmp_path: Path
) -> None:
    marker = tmp_path / "done"
    configure(door, "file_exists", roots=[str(tmp_path)], aliases={"marker": str(marker)})
    adding = condition("file_exists", {"path_alias": "marker"})

    async def walk_to_the_end() -> None:
        async with connected(door, mode) as (_, call):
            assert (await call("remindi_add", adding))["ok"]
            marker.touch()
            (item,) = (await call("remindi_check", check()))["data"]["items"]
            assert (item["message"], item["readiness"]) == (adding["message"], "due")
            complete = complete_arguments(f"condition-{mode}", item["remindi_id"], item["version"])
            bare = {**complete, "evidence": {**complete["evidence"], "reference_uri": None}}
            refused = await call("remindi_complete", bare)
            assert refused["error"]["details"]["errors"][0]["reason"] == "needs_reference"
            assert (await call("remindi_complete", complete))["data"]["remindi"]["state"] == "completed"

    anyio.run(walk_to_the_end)
