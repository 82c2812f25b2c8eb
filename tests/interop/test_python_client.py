"""The official Python client against the real process, in both protocol generations."""

import json
from typing import Any, cast

import anyio
import httpx2
import pytest
from mcp.client.client import Client, ConnectMode
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from remindi import __version__
from tests.interop.walk import TOOLS, Json, assert_walked, walk
from tests.service import LEGACY, MODERN, Service


def structured(result: CallToolResult) -> Json:
    """Return what the tool answered, after a look at what holds for each answer."""
    (text,) = result.content
    assert isinstance(text, TextContent)
    assert result.structured_content == json.loads(text.text)
    assert result.is_error is not result.structured_content["ok"]
    return cast(Json, result.structured_content)


async def report_of(door: Service, mode: ConnectMode, project: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {door.token}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(door.url, http_client=http), mode=mode) as client,
    ):

        async def call(tool: str, arguments: Json) -> Json:
            return structured(await client.call_tool(tool, arguments))

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
