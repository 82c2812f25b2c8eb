"""Bad input inside a message, through the real door and in both generations of the protocol.

Each row ends in a clear refusal or in exact storage; never in a server error, never in a half.
"""

import json
from typing import Any, Final, NamedTuple

import pytest

from tests.process.acts import (
    ERAS,
    LONG_AHEAD,
    all_items,
    completion,
    fresh,
    head,
    history,
    new_item,
    tool_request,
)
from tests.service import Answer, Connection, Era, Json, Service, chunked

UNDECODABLE: Final = "undecodable"
"""HTTP 400 with the JSON-RPC code of a parse error."""
EXACT: Final = "exact"
"""Stored, and read back as it was sent."""

MAX_BODY: Final = 1_048_576


class Row(NamedTuple):
    """One field of an add as raw JSON text, and what must become of it."""

    name: str
    field: str
    raw: bytes
    outcome: str
    """UNDECODABLE, EXACT, or the reason of the refusal."""


def deep(levels: int) -> bytes:
    """Objects inside each other."""
    return b'{"a":' * levels + b"1" + b"}" * levels


ROWS: Final = (
    Row("not a number", "overdue_after_seconds", b"NaN", UNDECODABLE),
    Row("infinity", "overdue_after_seconds", b"Infinity", UNDECODABLE),
    Row("minus infinity", "overdue_after_seconds", b"-Infinity", UNDECODABLE),
    Row("a number beyond floats", "overdue_after_seconds", b"1e400", UNDECODABLE),
    Row("a number beyond floats, deeper", "trigger", b'{"type":"at_time","at":[1e400]}', UNDECODABLE),
    Row("more digits than an integer may have", "overdue_after_seconds", b"9" * 5_000, UNDECODABLE),
    Row("a high surrogate alone", "message", b'"\\ud800"', UNDECODABLE),
    Row("a low surrogate alone", "message", b'"a\\uDFFFb"', UNDECODABLE),
    Row("surrogates in the wrong order", "message", b'"\\udc00\\ud800"', UNDECODABLE),
    Row("a lone surrogate in a key", "links", b'[{"\\ud800":1}]', UNDECODABLE),
    Row("a surrogate as bytes", "message", b'"\xed\xa0\x80"', UNDECODABLE),
    Row("bytes that are no UTF-8", "message", b'"\xff\xfe"', UNDECODABLE),
    Row("an overlong form", "message", b'"\xc0\xaf"', UNDECODABLE),
    Row("a key twice", "trigger", b'{"type":"at_time","at":"x","at":"y"}', UNDECODABLE),
    Row("a raw line feed in a string", "message", b'"a\nb"', UNDECODABLE),
    Row("a raw NUL in a string", "message", b'"a\x00b"', UNDECODABLE),
    Row("a raw NUL outside of strings", "priority", b'"high"\x00', UNDECODABLE),
    Row("a comma too many", "links", b"[],", UNDECODABLE),
    Row("a comment", "priority", b'"high"/**/', UNDECODABLE),
    Row("single quotes", "priority", b"'high'", UNDECODABLE),
    Row("a leading zero", "overdue_after_seconds", b"01", UNDECODABLE),
    Row("a leading plus", "overdue_after_seconds", b"+1", UNDECODABLE),
    Row("a hexadecimal number", "overdue_after_seconds", b"0x10", UNDECODABLE),
    Row("100,000 open brackets", "links", b"[" * 100_000, UNDECODABLE),
    Row("100,000 brackets that close", "links", b"[" * 100_000 + b"]" * 100_000, UNDECODABLE),
    Row("100,000 objects inside each other", "trigger", deep(100_000), UNDECODABLE),
    Row("a boolean as an integer", "overdue_after_seconds", b"true", "type"),
    Row("a float that is whole", "overdue_after_seconds", b"1.0", "type"),
    Row("an exponent that is whole", "overdue_after_seconds", b"1e2", "type"),
    Row("minus zero as a float", "overdue_after_seconds", b"-0.0", "type"),
    Row("digits in a string", "overdue_after_seconds", b'"1"', "type"),
    Row("below the bound", "overdue_after_seconds", b"-1", "too_small"),
    Row("above the bound", "overdue_after_seconds", b"31536001", "too_large"),
    Row("one above 64 bits", "overdue_after_seconds", b"9223372036854775808", "too_large"),
    Row("4,000 digits", "overdue_after_seconds", b"9" * 4_000, "too_large"),
    Row("minus 4,000 digits", "overdue_after_seconds", b"-" + b"9" * 4_000, "too_small"),
    Row("null where a default is", "priority", b"null", "null_not_allowed"),
    Row("an array for a text", "message", b'["a"]', "type"),
    Row("an object for a text", "message", b'{"a":1}', "type"),
    Row("a number for a text", "message", b"7", "type"),
    Row("a text for an object", "trigger", b'"at_time"', "type"),
    Row("an escaped NUL", "message", b'"a\\u0000b"', "control_character"),
    Row("an escape character", "message", b'"a\\u001b[31mb"', "control_character"),
    Row("a C1 control", "message", b'"a\\u0085b"', "control_character"),
    Row("delete", "message", b'"a\\u007fb"', "control_character"),
    Row("a control character in a project", "project_id", b'"a\\u0007b"', "control_character"),
    Row("a NUL in a link", "links", b'[{"type":"url","value":"a\\u0000"}]', "control_character"),
    Row("blank", "message", b'" \\t\\u2003\\u3000"', "blank"),
    Row("8,193 characters", "message", b'"' + b"x" * 8_193 + b'"', "too_long"),
    Row("8,193 emoji", "message", b'"' + "\U0001f600".encode() * 8_193 + b'"', "too_long"),
    Row("101 links", "links", b"[" + b",".join(b'{"type":"url","value":"%d"}' % i for i in range(101)) + b"]",
        "too_many"),
    Row("100,000 links", "links", b"[" + b",".join([b"1"] * 100_000) + b"]", "too_many"),
    Row("a link twice", "links", b'[{"type":"url","value":"a"},{"value":"a","type":"url"}]', "duplicate"),
    Row("an unknown field", "owner_id", b'"somebody"', "unknown_field"),
    Row("a prototype field", "__proto__", b"{}", "unknown_field"),
    Row("a field with a control character", "a\\u0000b", b"1", "unknown_field"),
    Row("year 10000", "trigger", b'{"type":"at_time","at":"+10000-01-01T00:00:00Z"}', "format"),
    Row("the last instant, moved beyond by its offset", "trigger",
        b'{"type":"at_time","at":"9999-12-31T23:59:59-00:01"}', "format"),
    Row("the first instant, moved before by its offset", "trigger",
        b'{"type":"at_time","at":"0001-01-01T00:00:00+00:01"}', "format"),
    Row("other digits", "trigger", b'{"type":"at_time","at":"\\uff12026-01-01T00:00Z"}', "format"),
    Row("a short key", "idempotency_key", b'"1234567"', "too_short"),
    Row("a key with a line feed at its end", "idempotency_key", b'"12345678\\n"', "*"),
    Row("a key of other digits", "idempotency_key", b'"\\uff112345678"', "*"),
    Row("8,192 emoji", "message", b'"' + "\U0001f600".encode() * 8_192 + b'"', EXACT),
    Row("8,192 escaped emoji", "message", b'"' + b"\\ud83d\\ude00" * 8_192 + b'"', EXACT),
    Row("combining marks, unnormalized", "message", '"e\u0301 \u00e9 \ufb01"'.encode(), EXACT),
    Row("a byte order mark inside", "message", '"a\ufeffb"'.encode(), EXACT),
    Row("noncharacters", "message", '"a\uffff\U0010ffffb"'.encode(), EXACT),
    Row("bidirectional overrides", "message", '"a\u202eb\u2066c"'.encode(), EXACT),
    Row("what looks like SQL", "message", b"\"'; DROP TABLE item; --\"", EXACT),
    Row("what looks like JSON", "message", b'"{\\"ok\\":false}\\\\"', EXACT),
    Row("32,768 line feeds", "instructions", b'"' + b"\\n" * 32_768 + b'"', EXACT),
    Row("white space around", "instructions", b'"  \\t x \\r\\n "', EXACT),
    Row("the last millisecond", "trigger", b'{"type":"at_time","at":"9999-12-31T23:59:59.999Z"}', EXACT),
    Row("the first millisecond", "trigger", b'{"type":"at_time","at":"0001-01-01T00:00:00.000Z"}', EXACT),
)  # fmt: skip


def raw_add(project: str, field: str, raw: bytes) -> bytes:
    """The arguments of an add with one field replaced by raw text."""
    fields = {name: json.dumps(value).encode() for name, value in new_item(project).items()}
    fields[field] = raw
    return b"{" + b",".join(b'"%b":%b' % (name.encode(), value) for name, value in fields.items()) + b"}"


def send(service: Service, body: bytes, headers: Any) -> Answer:
    with service.connection() as connection:
        return connection.request("POST", "/mcp", headers=headers, body=body, authorize=True)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_field_is_refused_clearly_or_stored_exactly(shared_service: Service, row: Row, era: Era) -> None:
    project = fresh("field")
    body, headers = tool_request("remindi_add", raw_add(project, row.field, row.raw), era)
    answer = send(shared_service, body, headers)
    with shared_service.connection() as connection:
        stored = all_items(connection, project)
    if row.outcome == UNDECODABLE:
        assert answer.status == 400, answer
        assert answer.json()["error"]["code"] == -32700
        assert stored == []
        return
    assert answer.status == 200, answer
    result = answer.json()["result"]["structuredContent"]
    if row.outcome == EXACT:
        assert result["ok"], result
        (item,) = stored
        assert item[row.field] == json.loads(row.raw)
        return
    assert result["error"]["code"] == "VALIDATION_ERROR", result
    assert stored == []
    reasons = {entry["reason"] for entry in result["error"]["details"]["errors"]}
    assert reasons == {row.outcome} or row.outcome == "*", result
    # No refusal repeats what was sent.
    assert row.raw.strip(b'"')[:64].decode("utf-8", "replace") not in json.dumps(result) or len(row.raw) < 12


METADATA: Final = (
    b'{"a":1.0,"b":1,"c":-0.0,"d":1e300,"e":0.1,"f":123456789012345678901234567890}',
    b'{"":"","\\u0000":"\\u0000\\u001f","a b":["\\ud83d\\ude00",null,true,[],{}]}',
    b'{"completed_at":[2024,1,0,0,0,0,0,0,0],"occurred_at":"yesterday"}',
    b'{"b":1,"a":2,"__proto__":3,"constructor":4}',
    b'{"n":' + b"9" * 4_000 + b"}",
    deep(64),
)


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("raw", METADATA, ids=lambda raw: raw[:40].decode())
def test_metadata_come_back_value_for_value(shared_service: Service, raw: bytes, era: Era) -> None:
    with shared_service.connection() as connection:
        added = connection.call("remindi_add", new_item(fresh("metadata")))["data"]["remindi"]
        arguments = completion(added["id"], 1)
        arguments["evidence"]["metadata"] = "@"
        body, headers = tool_request(
            "remindi_complete", json.dumps(arguments).encode().replace(b'"@"', raw), era
        )
        answer = connection.request("POST", "/mcp", headers=headers, body=body, authorize=True)
        assert answer.json()["result"]["structuredContent"]["ok"], answer
        (evidence,) = history(connection, added["id"])["evidence"]
    # Spelled again, so that 1 and 1.0, -0.0 and 0.0 are told apart.
    assert json.dumps(evidence["metadata"]) == json.dumps(json.loads(raw))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(
    "raw", [deep(65), b'{"a":NaN}', b'{"a":1,"a":1}', b'{"a":1e999}', b"[]", b"1", b'"{}"']
)
def test_metadata_that_are_no_strict_object_complete_nothing(
    shared_service: Service, raw: bytes, era: Era
) -> None:
    with shared_service.connection() as connection:
        added = connection.call("remindi_add", new_item(fresh("metadata")))["data"]["remindi"]
        arguments = completion(added["id"], 1)
        arguments["evidence"]["metadata"] = "@"
        body, headers = tool_request(
            "remindi_complete", json.dumps(arguments).encode().replace(b'"@"', raw), era
        )
        answer = connection.request("POST", "/mcp", headers=headers, body=body, authorize=True)
        assert answer.status == 400 or not answer.json()["result"]["structuredContent"]["ok"], answer
        told = history(connection, added["id"])
    assert [event["event_type"] for event in told["events"]] == ["created"]
    assert told["evidence"] == []


MESSAGES: Final = {
    "nothing": (b"", 400),
    "white space": (b"  \n ", 400),
    "null": (b"null", 400),
    "a number": (b"7", 400),
    "a text": (b'"tools/call"', 400),
    "an empty object": (b"{}", 400),
    "an empty batch": (b"[]", 400),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400),
    "a byte order mark": (b'\xef\xbb\xbf{"jsonrpc":"2.0","id":1,"method":"ping"}', 400),
    "UTF-16": ('{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16"), 400),
    "two messages": (b'{"jsonrpc":"2.0","id":1,"method":"ping"}{"id":2}', 400),
    "a method twice": (b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}', 400),
    "another version": (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400),
    "a method that is no text": (b'{"jsonrpc":"2.0","id":1,"method":7}', 400),
    "an id that is a boolean": (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400),
    "an id that is a float": (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400),
    "an id that is null": (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', 400),
    "an id that is an object": (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', 400),
    "params that are an array": (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[]}', 200),
    "arguments that are an array": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remindi_add","arguments":7}}', 200),
    "a tool name that is no text": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7,"arguments":{}}}', 200),
    "an unknown tool": (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"remindi_drop"}}', 200),
    "an unknown method": (b'{"jsonrpc":"2.0","id":1,"method":"tools/destroy","params":{}}', 200),
    "a method of 10,000 characters": (
        b'{"jsonrpc":"2.0","id":1,"method":"' + b"m" * 10_000 + b'","params":{}}', 200),
}  # fmt: skip


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_that_is_none_is_an_error_of_the_protocol(shared_service: Service, name: str) -> None:
    body, status = MESSAGES[name]
    answer = shared_service.raw(
        "POST", "/mcp", head(shared_service, [("Content-Length", str(len(body)))]), body
    )
    assert answer.status == status, answer
    assert "result" not in answer.json()
    assert answer.json()["error"]["code"] in (-32700, -32600, -32601, -32602)
    assert len(answer.body) < 1_024


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("number", [10**19, -(10**19), 10**400, "x" * 100_000, ""])
def test_an_absurd_id_comes_back_or_is_refused(shared_service: Service, number: Any, era: Era) -> None:
    body, headers = tool_request("remindi_list", b"{}", era)
    message = json.loads(body)
    message["id"] = number
    answer = send(shared_service, json.dumps(message).encode(), headers)
    assert answer.status in (200, 400), answer
    if answer.status == 200:
        assert answer.json()["id"] == number


def padded(project: str, size: int, era: Era) -> tuple[bytes, Any]:
    """An add whose whole body has exactly this many bytes; the padding is white space."""
    body, headers = tool_request("remindi_add", json.dumps(new_item(project)).encode(), era)
    return body[:-1] + b" " * (size - len(body)) + body[-1:], headers


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("coding", ["declared", "chunked"])
@pytest.mark.parametrize("over", [0, 1, 1_000_000])
def test_exactly_a_mebibyte_is_processed_and_a_byte_more_is_refused(
    shared_service: Service, over: int, coding: str, era: Era
) -> None:
    project = fresh("size")
    body, headers = padded(project, MAX_BODY + over, era)
    own = [*head(shared_service, without=["Content-Type", "Accept"]), *headers]
    if coding == "declared":
        answer = shared_service.raw("POST", "/mcp", own, body)
    else:
        answer = shared_service.raw("POST", "/mcp", [*own, ("Transfer-Encoding", "chunked")], chunked(body))
    with shared_service.connection() as connection:
        stored = all_items(connection, project)
    if over:
        assert answer.status == 413, answer
        assert len(answer.body) < 256
        assert stored == []
    else:
        assert answer.status == 200, answer
        assert answer.json()["result"]["structuredContent"]["ok"], answer
        assert len(stored) == 1


def test_twenty_faults_at_most_are_told(shared_service: Service) -> None:
    arguments = new_item(fresh("many"), links=[{"type": "nothing", "value": ""} for _ in range(100)])
    answer = shared_service.call("remindi_add", {**arguments, **{f"x{i}": 1 for i in range(100)}})
    assert answer["error"]["code"] == "VALIDATION_ERROR"
    assert len(answer["error"]["details"]["errors"]) == 20


def test_ten_thousand_unknown_fields_with_long_names_are_refused_shortly(shared_service: Service) -> None:
    answer = shared_service.call("remindi_list", {f"{'x' * 60}{i}": 1 for i in range(10_000)})
    assert answer["error"]["code"] == "VALIDATION_ERROR"
    assert len(json.dumps(answer)) < 8_192
    assert all(len(entry["field"]) <= 128 for entry in answer["error"]["details"]["errors"])


def _probe(connection: Connection, **arguments: Any) -> Json:
    return connection.call("remindi_check", {"project_id": "p", "lifecycle_event": "checkpoint", **arguments})


@pytest.mark.parametrize(
    "cursor",
    ["A" * 2_048, "=", "a b", "\u00e9" * 20, "../../etc/passwd", "eyJ9", "\U0001f600", "0" * 100],
)
def test_a_forged_cursor_is_refused(shared_service: Service, cursor: str) -> None:
    with shared_service.connection() as connection:
        for answer in (
            _probe(connection, cursor=cursor),
            connection.call("remindi_list", {"cursor": cursor}),
        ):
            assert answer["error"]["details"]["errors"] == [{"field": "/cursor", "reason": "cursor"}]


@pytest.mark.parametrize("at", [LONG_AHEAD, "9999-12-31T23:59:59.999Z"])
def test_a_snooze_to_the_end_of_time_is_refused(shared_service: Service, at: str) -> None:
    with shared_service.connection() as connection:
        added = connection.call("remindi_add", new_item(fresh("snooze")))["data"]["remindi"]
        answer = connection.call(
            "remindi_snooze",
            {
                "remindi_id": added["id"],
                "expected_version": 1,
                "snooze_until": at,
                "reason": "much later",
                "idempotency_key": fresh("snooze"),
            },
        )
    assert answer["error"]["code"] == "VALIDATION_ERROR"
