"""JSON-RPC over POST in both protocol generations (contract 3.4, 10.2; mcp.md 1.3-1.5)."""

import json
from typing import Any

import pytest

from remindi import __version__
from remindi.schemas import INSTRUCTIONS, TOOLS
from tests.fakes.doors import HOST, DoorStage, call, good_headers, message
from tests.service import LEGACY, MODERN, TOKEN, Era, envelope

ERAS: list[Era] = ["legacy", "modern"]
CHECK = {"project_id": "p", "lifecycle_event": "checkpoint"}
META = "io.modelcontextprotocol/"


@pytest.fixture
def stage() -> DoorStage:
    return DoorStage()


def modern(
    method: str, params: dict[str, Any] | None = None, **headers: str | None
) -> tuple[Any, list[tuple[str, str]]]:
    """Return a modern request; a keyword replaces or drops a header (``mcp_name`` is Mcp-Name)."""
    sent, own = envelope(method, params or {}, "modern")
    named = {name.lower().replace("-", "_"): (name, value) for name, value in own}
    for key, value in headers.items():
        if value is None:
            named.pop(key, None)
        else:
            named[key] = (key.replace("_", "-"), value)
    return sent, [("Host", HOST), ("Authorization", f"Bearer {TOKEN}"), *named.values()]


# ----------------------------------------------------------------- the envelope


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":1e400}}',
        b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\ud800"}}',
        b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"jsonrpc":"2.0","id":' + b"9" * 5_000 + b',"method":"ping"}',
    ],
)
@pytest.mark.parametrize("version", [None, LEGACY, MODERN])
def test_an_undecodable_body_is_a_parse_error(stage: DoorStage, body: bytes, version: str | None) -> None:
    more = [] if version is None else [("MCP-Protocol-Version", version)]
    answered = stage.request(headers=good_headers(*more), body=body)
    assert answered.status == 400
    parsed = answered.json()
    assert (parsed["jsonrpc"], parsed["id"], parsed["error"]["code"]) == ("2.0", None, -32700)
    assert len(answered.body) < 256


@pytest.mark.parametrize(
    "sent",
    [
        [],
        [message()],
        [message(), message(message_id=2)],
        "ping",
        1,
        None,
        True,
        {},
        {"id": 1, "method": "ping"},
        {"jsonrpc": "1.0", "id": 1, "method": "ping"},
        {"jsonrpc": 2.0, "id": 1, "method": "ping"},
        {"jsonrpc": "2.0", "id": 1},
        {"jsonrpc": "2.0", "id": 1, "method": 1},
        {"jsonrpc": "2.0", "id": 1, "method": None},
        {"jsonrpc": "2.0"},
        message(message_id=None),
        message(message_id=1.5),
        message(message_id=True),
        message(message_id=[]),
        message(message_id={}),
    ],
)
@pytest.mark.parametrize("version", [None, LEGACY, MODERN])
def test_what_is_no_single_message_is_an_invalid_request(
    stage: DoorStage, sent: object, version: str | None
) -> None:
    more = [] if version is None else [("MCP-Protocol-Version", version)]
    answered = stage.post(sent, good_headers(*more))
    assert answered.status == 400
    assert (answered.json()["id"], answered.json()["error"]["code"]) == (None, -32600)
    assert len(answered.body) < 256


@pytest.mark.parametrize("message_id", [0, 1, -1, 2**63, "", "a", "ünïcode", "x" * 10_000])
@pytest.mark.parametrize("era", ERAS)
def test_an_id_comes_back_as_it_was_sent(stage: DoorStage, message_id: int | str, era: Era) -> None:
    sent, headers = envelope("tools/call", {"name": "remindi_check", "arguments": CHECK}, era, message_id)
    answered = stage.post(sent, [*good_headers(without="Content-Type")[:2], *headers])
    assert answered.status == 200
    assert answered.json()["id"] == message_id
    assert type(answered.json()["id"]) is type(message_id)


@pytest.mark.parametrize(
    "sent",
    [
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
        {"jsonrpc": "2.0", "method": "notifications/whatever", "params": []},
        {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "remindi_check", "arguments": CHECK}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "m"}},
    ],
)
@pytest.mark.parametrize("version", [None, LEGACY, MODERN])
def test_notifications_and_responses_are_taken_and_ask_nobody(
    stage: DoorStage, sent: object, version: str | None
) -> None:
    more = [] if version is None else [("MCP-Protocol-Version", version)]
    answered = stage.post(sent, good_headers(*more))
    assert (answered.status, answered.body) == (202, b"")
    assert stage.reader.asked == []


# ------------------------------------------------------------- content negotiation


@pytest.mark.parametrize(
    "accept",
    [
        ["application/json"],
        ["application/json, text/event-stream"],
        ["text/event-stream,application/json;q=0.1"],
        ["*/*"],
        ["application/*"],
        ["APPLICATION/JSON"],
        ["text/event-stream", "application/json"],
        ["text/html;q=0, application/json ; charset=utf-8"],
        ["application/json, */*;q=0"],
    ],
)
def test_whoever_takes_json_is_answered(stage: DoorStage, accept: list[str]) -> None:
    headers = good_headers(*(("Accept", value) for value in accept), without="Accept")
    assert stage.post(message(), headers).status == 200


@pytest.mark.parametrize(
    "accept",
    [
        [],
        [""],
        ["text/event-stream"],
        ["text/html"],
        ["application/xml"],
        ["application/jsonp"],
        ["application/json;q=0"],
        ["application/json;q=0.000, */*"],
    ],
)
def test_whoever_takes_no_json_is_refused(stage: DoorStage, accept: list[str]) -> None:
    headers = good_headers(*(("Accept", value) for value in accept), without="Accept")
    answered = stage.post(message(), headers)
    assert (answered.status, list(answered.json())) == (406, ["error"])


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        (["application/json"], 200),
        (["application/json; charset=utf-8"], 200),
        (["Application/JSON;charset=UTF-8"], 200),
        (['application/json; charset="utf-8"'], 200),
        (["application/json;charset=latin-1"], 415),
        (["application/json", "application/json"], 415),
        (["text/plain"], 415),
        (["application/x-www-form-urlencoded"], 415),
        (["application/json-rpc"], 415),
        ([""], 415),
        ([], 415),
    ],
)
def test_only_json_is_taken(stage: DoorStage, content_type: list[str], status: int) -> None:
    headers = good_headers(*(("Content-Type", value) for value in content_type), without="Content-Type")
    assert stage.post(message(), headers).status == status


def test_a_compressed_body_is_refused_by_name(stage: DoorStage) -> None:
    assert stage.post(message(), good_headers(("Content-Encoding", "gzip"))).status == 415
    assert stage.post(message(), good_headers(("Content-Encoding", "identity"))).status == 200


# ----------------------------------------------------------------------- versions


@pytest.mark.parametrize("version", [None, "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_every_handshake_version_is_served_without_a_handshake(stage: DoorStage, version: str | None) -> None:
    more = [] if version is None else [("MCP-Protocol-Version", version)]
    answered = stage.post(call("remindi_check", CHECK), good_headers(*more))
    result = answered.json()["result"]
    assert answered.status == 200
    assert result["isError"] is False
    assert set(result) == {"content", "structuredContent", "isError"}


@pytest.mark.parametrize(
    ("asked", "given"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        ("", "2025-11-25"),
    ],
)
def test_initialize_negotiates_a_version_it_speaks(stage: DoorStage, asked: str, given: str) -> None:
    params = {"protocolVersion": asked, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    result = stage.post(message("initialize", params=params)).json()["result"]
    assert result["protocolVersion"] == given
    assert result["capabilities"] == {"tools": {"listChanged": False}}
    assert (result["serverInfo"]["name"], result["serverInfo"]["version"]) == ("remindi", __version__)
    assert result["serverInfo"]["title"]
    assert result["instructions"] == INSTRUCTIONS


@pytest.mark.parametrize("version", ["2024-10-07", "garbage", "2027-01-01", "", "x" * 5_000])
def test_an_unknown_version_header_is_refused_with_those_it_speaks(stage: DoorStage, version: str) -> None:
    for sent in (message(), call("remindi_check", CHECK), {"jsonrpc": "2.0", "method": "notifications/x"}):
        answered = stage.post(sent, good_headers(("MCP-Protocol-Version", version)))
        assert answered.status == 400
        parsed = answered.json()
        assert parsed["error"]["code"] == -32022
        assert {LEGACY, MODERN} <= set(parsed["error"]["data"]["supported"])
        assert parsed["id"] == sent.get("id")
        assert len(answered.body) < 512


def test_a_version_unknown_in_header_and_body_is_refused_as_unsupported(stage: DoorStage) -> None:
    sent, headers = modern("tools/list", mcp_protocol_version="2030-01-01")
    sent["params"]["_meta"][META + "protocolVersion"] = "2030-01-01"
    answered = stage.post(sent, headers)
    assert (answered.status, answered.json()["error"]["code"]) == (400, -32022)
    assert answered.json()["error"]["data"] == {"supported": [MODERN], "requested": "2030-01-01"}


def test_a_modern_request_describes_itself(stage: DoorStage) -> None:
    sent, headers = modern("tools/call", {"name": "remindi_check", "arguments": CHECK})
    result = stage.post(sent, headers).json()["result"]
    assert result["resultType"] == "complete"
    assert result["_meta"][META + "serverInfo"]["name"] == "remindi"
    assert result["isError"] is False


@pytest.mark.parametrize(
    "headers",
    [
        {"mcp_method": None},
        {"mcp_method": "tools/list"},
        {"mcp_method": "TOOLS/CALL"},
        {"mcp_name": None},
        {"mcp_name": "remindi_list"},
        {"mcp_name": "=?base64?not base64?="},
    ],
)
def test_modern_headers_must_say_what_the_body_says(stage: DoorStage, headers: dict[str, str | None]) -> None:
    sent, given = modern("tools/call", {"name": "remindi_check", "arguments": CHECK}, **headers)
    answered = stage.post(sent, given)
    assert (answered.status, answered.json()["error"]["code"], answered.json()["id"]) == (400, -32020, 1)
    assert stage.reader.asked == []


def test_white_space_around_a_header_is_no_part_of_it(stage: DoorStage) -> None:
    spaced = {
        "mcp_name": " remindi_check\t",
        "mcp_method": "\ttools/call ",
        "mcp_protocol_version": f"{MODERN} ",
    }
    sent, headers = modern("tools/call", {"name": "remindi_check", "arguments": CHECK}, **spaced)
    assert stage.post(sent, headers).status == 200


@pytest.mark.parametrize("name", ["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"])
def test_a_doubled_routing_header_is_refused_even_when_both_agree(stage: DoorStage, name: str) -> None:
    sent, headers = modern("tools/call", {"name": "remindi_check", "arguments": CHECK})
    doubled = [header for header in headers if header[0] == name]
    answered = stage.post(sent, headers + doubled)
    assert (answered.status, answered.json()["error"]["code"]) == (400, -32020)


@pytest.mark.parametrize("key", ["protocolVersion", "clientCapabilities"])
def test_a_modern_request_without_its_envelope_is_malformed(stage: DoorStage, key: str) -> None:
    sent, headers = modern("tools/list")
    del sent["params"]["_meta"][META + key]
    answered = stage.post(sent, headers)
    assert (answered.status, answered.json()["error"]["code"]) == (400, -32602)


# ------------------------------------------------------------------------ methods


@pytest.mark.parametrize("era", ERAS)
def test_the_tools_are_listed_in_order_and_without_a_cursor(stage: DoorStage, era: Era) -> None:
    result = stage.rpc("tools/list", {}, era).json()["result"]
    assert "nextCursor" not in result
    assert [tool["name"] for tool in result["tools"]] == [tool.name for tool in TOOLS]
    for listed, tool in zip(result["tools"], TOOLS, strict=True):
        assert listed["inputSchema"] == tool.input_schema
        assert listed["outputSchema"] == tool.output_schema
        assert listed["annotations"] == tool.annotations
        assert (listed["title"], listed["description"]) == (tool.title, tool.description)
    if era == "modern":
        assert (result["ttlMs"], result["cacheScope"]) == (300_000, "private")


@pytest.mark.parametrize("era", ERAS)
def test_a_cursor_of_the_tool_list_is_nobodys(stage: DoorStage, era: Era) -> None:
    answered = stage.rpc("tools/list", {"cursor": "x"}, era)
    assert answered.json()["error"]["code"] == -32602
    assert answered.status == (200 if era == "legacy" else 400)


def test_discover_tells_versions_capabilities_and_instructions(stage: DoorStage) -> None:
    result = stage.rpc("server/discover", {}, "modern").json()["result"]
    assert result["supportedVersions"] == [MODERN]
    assert "tools" in result["capabilities"]
    assert result["instructions"] == INSTRUCTIONS


@pytest.mark.parametrize(
    "method",
    ["resources/list", "prompts/list", "completion/complete", "logging/setLevel", "tasks/get", "x/y", ""],
)
@pytest.mark.parametrize("era", ERAS)
def test_what_is_not_offered_is_a_method_not_found(stage: DoorStage, method: str, era: Era) -> None:
    completion = {"ref": {"type": "ref/prompt", "name": "n"}, "argument": {"name": "a", "value": "v"}}
    params: dict[str, Any] = {"completion/complete": completion, "logging/setLevel": {"level": "info"}}
    answered = stage.rpc(method, params.get(method, {}), era)
    assert answered.json()["error"]["code"] == -32601
    assert answered.status == (200 if era == "legacy" else 404)


def test_ping_lives_on_the_handshake_wire_alone(stage: DoorStage) -> None:
    assert stage.rpc("ping").json() == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert stage.rpc("ping", {}, "modern").json()["error"]["code"] == -32601


def test_a_long_method_name_is_not_sent_back_whole(stage: DoorStage) -> None:
    answered = stage.post(message("x" * 100_000))
    assert answered.json()["error"]["code"] == -32601
    assert len(answered.body) < 256


# -------------------------------------------------------------------- tool protocol


@pytest.mark.parametrize(
    "params",
    [
        {"name": "remindi_nope", "arguments": {}},
        {"name": "REMINDI_ADD", "arguments": {}},
        {"name": "", "arguments": {}},
        {"name": 1, "arguments": {}},
        {"name": None},
        {"arguments": {}},
        {},
        {"name": "remindi_check", "arguments": []},
        {"name": "remindi_check", "arguments": "x"},
        {"name": "remindi_check", "arguments": 1},
        {"name": "remindi_check", "arguments": True},
    ],
)
@pytest.mark.parametrize("era", ERAS)
def test_a_malformed_call_is_a_protocol_error(stage: DoorStage, params: dict[str, Any], era: Era) -> None:
    sent, headers = envelope("tools/call", {}, era)
    sent["params"] |= params
    if era == "modern" and isinstance(params.get("name"), str):
        headers = [*headers, ("Mcp-Name", params["name"])]
    answered = stage.post(sent, [("Host", HOST), ("Authorization", f"Bearer {TOKEN}"), *headers])
    parsed = answered.json()
    assert (parsed["id"], "result" in parsed) == (1, False)
    # A name that no header can mirror differs from its header before anything else is looked at.
    mismatch = era == "modern" and not isinstance(params.get("name"), str | None)
    assert parsed["error"]["code"] == (-32020 if mismatch else -32602)
    assert answered.status == (200 if era == "legacy" else 400)
    assert stage.reader.asked == []


@pytest.mark.parametrize("params", [[], "x", 1, True])
@pytest.mark.parametrize("era", ERAS)
def test_params_are_an_object(stage: DoorStage, params: object, era: Era) -> None:
    _, headers = envelope("tools/list", {}, era)
    sent = message("tools/list", params=params)
    answered = stage.post(sent, [("Host", HOST), ("Authorization", f"Bearer {TOKEN}"), *headers])
    assert answered.json()["error"]["code"] == -32602


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("arguments", [None, [], "x", 1])
def test_arguments_are_an_object(stage: DoorStage, arguments: object, era: Era) -> None:
    answered = stage.rpc("tools/call", {"name": "remindi_check", "arguments": arguments}, era)
    assert answered.json()["error"]["code"] == -32602


@pytest.mark.parametrize("era", ERAS)
def test_missing_arguments_are_none_given(stage: DoorStage, era: Era) -> None:
    answered = stage.rpc("tools/call", {"name": "remindi_check"}, era)
    error = answered.json()["result"]["structuredContent"]["error"]
    assert error["code"] == "VALIDATION_ERROR"
    assert {entry["field"] for entry in error["details"]["errors"]} == {"/project_id", "/lifecycle_event"}


@pytest.mark.parametrize("era", ERAS)
def test_arguments_that_break_a_rule_are_a_tool_error_with_its_envelope_twice(
    stage: DoorStage, era: Era
) -> None:
    answered = stage.rpc("tools/call", {"name": "remindi_check", "arguments": {"project_id": 1}}, era)
    result = answered.json()["result"]
    assert (answered.status, result["isError"]) == (200, True)
    assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    assert b"isError" in answered.body


def test_extra_params_of_clients_are_let_be(stage: DoorStage) -> None:
    params = {
        "name": "remindi_check",
        "arguments": CHECK,
        "task": {"ttl": 1},
        "_meta": {"progressToken": 1, "x-codex-turn-metadata": {"a": 1}},
    }
    assert stage.rpc("tools/call", params).json()["result"]["isError"] is False
