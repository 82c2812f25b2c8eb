"""One JSON-RPC message over one POST: its envelope, its protocol version, its answer (contract 10.2).

Both generations of the protocol are served: those that begin with ``initialize`` and those whose requests
describe themselves. Nothing is kept between two requests.
"""

import logging
import re
from functools import lru_cache
from typing import Any, Final

from pydantic_core import to_json

from web import answers
from web.answers import Answer, json_answer, refusal
from web.exchange import Exchange
from web.mcp import sdk
from web.mcp.sdk import InboundLadderRejection, InboundModernRoute, Kernel, ProtocolError
from web.mcp.tools import Rendered, Tools
from web.strict_json import MAX_NESTING, JsonError, parse

Json = dict[str, Any]

log = logging.getLogger("remindi.mcp")

NESTING: Final = MAX_NESTING + 4
"""Evidence metadata and condition parameters lie four objects deep, and may nest ``MAX_NESTING`` levels."""
VERSION_HEADER: Final = b"mcp-protocol-version"
MAX_ECHOED_CHARACTERS: Final = 64
_PLACEHOLDERS: Final = ("content", "structuredContent")
_ROUTING_HEADERS: Final = (b"mcp-method", b"mcp-name")
_PRECISION: Final = {"application/json": 3, "application/*": 2, "*/*": 1}
_REFUSED: Final = re.compile(r"q\s*=\s*0(?:\.0*)?")

_NOT_ACCEPTED: Final = refusal(406, "Accept must admit application/json.")
_MEDIA_TYPE: Final = refusal(415, "Content-Type must be application/json.")
_ENCODING: Final = refusal(415, "A Content-Encoding is not accepted.")
_TAKEN: Final = answers.empty(202)


def _failed(
    status: int, code: int, message: str, message_id: str | int | None = None, data: object = None
) -> Answer:
    error: Json = {"code": code, "message": message}
    if data is not None:
        error["data"] = data
    return json_answer(status, to_json({"jsonrpc": "2.0", "id": message_id, "error": error}))


_UNDECODABLE: Final = _failed(400, sdk.PARSE_ERROR, "Parse error: the body must be one strict JSON text")
_BATCH: Final = _failed(400, sdk.INVALID_REQUEST, "The body must be one message; batches are not served")
_ENVELOPE: Final = _failed(400, sdk.INVALID_REQUEST, "The body must be one JSON-RPC 2.0 message")
_MESSAGE_ID: Final = _failed(400, sdk.INVALID_REQUEST, "The id must be a string or an integer")


class _Call:
    """A tool call that the SDK hands back to us, and its answer."""

    __slots__ = ("_exchange", "_tools", "rendered")

    def __init__(self, tools: Tools, exchange: Exchange) -> None:
        self._tools = tools
        self._exchange = exchange
        self.rendered: Rendered | None = None

    async def run(self, name: str, arguments: Json) -> bool | None:
        rendered = self.rendered = await self._tools.call(name, arguments, self._exchange.request_id)
        if rendered is None:
            return None
        self._exchange.told["tool"] = name
        if rendered.refused is not None:
            self._exchange.told["code"] = rendered.refused.value
        return rendered.refused is not None


class Rpc:
    """Answers the POSTs that the gate let in."""

    def __init__(self, tools: Tools) -> None:
        """Make it on top of the tools."""
        self._kernel = Kernel()
        self._tools = tools

    async def answer(self, exchange: Exchange, body: bytes) -> Answer:
        """The answer to one message."""
        refused = _refuse_media(exchange)
        if refused is not None:
            return refused
        try:
            message = parse(body, nesting=NESTING)
        except JsonError:
            return _UNDECODABLE
        if not isinstance(message, dict):
            return _BATCH if isinstance(message, list) else _ENVELOPE
        method = message.get("method")
        if message.get("jsonrpc") != "2.0" or not isinstance(method, str):
            # A client's response: nothing was asked, so there is nobody to hand it to.
            is_response = message.get("jsonrpc") == "2.0" and "method" not in message
            return _TAKEN if is_response and ("result" in message or "error" in message) else _ENVELOPE
        if "id" in message and (not isinstance(message["id"], str | int) or isinstance(message["id"], bool)):
            return _MESSAGE_ID
        route = _route(exchange, message)
        if isinstance(route, Answer):
            return route
        if "id" not in message:
            return _TAKEN
        return await self._serve(exchange, message, route)

    async def _serve(self, exchange: Exchange, message: Json, route: InboundModernRoute | str) -> Answer:
        message_id, method, params = message["id"], message["method"], message.get("params")
        call = _Call(self._tools, exchange)
        try:
            if params is not None and not isinstance(params, dict):
                raise ProtocolError(sdk.INVALID_PARAMS, "params must be an object")
            if method == "tools/call" and params is not None and params.get("arguments", {}) is None:
                # The SDK takes null as missing; contract 3.4 does not.
                raise ProtocolError(sdk.INVALID_PARAMS, "arguments must be an object")
            result = await self._kernel.serve(message_id, method, params, route, call)
        except ProtocolError as error:
            status = 200 if isinstance(route, str) else sdk.ERROR_CODE_HTTP_STATUS.get(error.code, 200)
            return _failed(status, error.code, error.message, message_id, _bounded(error.data))
        except Exception:
            log.exception("a message failed", extra={"request_id": exchange.request_id})
            return _failed(200, sdk.INTERNAL_ERROR, "Internal error", message_id)
        if call.rendered is not None:
            return json_answer(200, _spliced(message_id, result, call.rendered.json))
        return json_answer(200, to_json({"jsonrpc": "2.0", "id": message_id, "result": result}))


def _spliced(message_id: str | int, result: Json, rendered: bytes) -> bytes:
    """The response with the rendered envelope in place of the SDK's placeholder, as value and as text.

    PERF: the envelope is written once and never read again, however large it is.
    """
    rest = to_json({key: value for key, value in result.items() if key not in _PLACEHOLDERS})
    return b"".join(
        (
            b'{"jsonrpc":"2.0","id":',
            to_json(message_id),
            b',"result":{"content":[{"type":"text","text":',
            to_json(rendered.decode("utf-8")),
            b'}],"structuredContent":',
            rendered,
            b",",
            # The rest holds isError at least, so a comma is due.
            rest[1:],
            b"}",
        )
    )


def _route(exchange: Exchange, message: Json) -> InboundModernRoute | str | Answer:
    """Which protocol version a message is served in, or why it is not (contract 10.2)."""
    message_id = message.get("id")
    if VERSION_HEADER in exchange.doubled:
        return _doubled(VERSION_HEADER, message_id)
    version = exchange.fields.get(VERSION_HEADER)
    if version is None:
        return sdk.ASSUMED_VERSION
    spoken = version.decode("latin-1")
    if spoken in sdk.HANDSHAKE_PROTOCOL_VERSIONS:
        return spoken
    known = spoken in sdk.MODERN_PROTOCOL_VERSIONS
    if "id" not in message:
        # A notification is taken and dropped, so its version matters only in being one we know.
        return spoken if known else _unknown_version(spoken, None)
    if not known and not _describes_itself(message):
        return _unknown_version(spoken, message_id)
    for name in _ROUTING_HEADERS:
        if name in exchange.doubled:
            return _doubled(name, message_id)
    headers = {VERSION_HEADER.decode(): spoken}
    for name in _ROUTING_HEADERS:
        if name in exchange.fields:
            headers[name.decode()] = exchange.fields[name].decode("latin-1")
    verdict = sdk.classify_inbound_request(message, headers=headers)
    if isinstance(verdict, InboundLadderRejection):
        status = sdk.ERROR_CODE_HTTP_STATUS.get(verdict.code, 400)
        return _failed(status, verdict.code, verdict.message, message_id, _bounded(verdict.data))
    return verdict


def _describes_itself(message: Json) -> bool:
    """Whether a request names its protocol version, as modern ones do."""
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and sdk.PROTOCOL_VERSION_META_KEY in meta


def _doubled(name: bytes, message_id: str | int | None) -> Answer:
    return _failed(
        400, sdk.HEADER_MISMATCH, f"{name.decode('ascii')} header appears more than once", message_id
    )


def _unknown_version(spoken: str, message_id: str | int | None) -> Answer:
    data = {"supported": list(sdk.KNOWN_PROTOCOL_VERSIONS), "requested": spoken[:MAX_ECHOED_CHARACTERS]}
    return _failed(400, sdk.UNSUPPORTED_PROTOCOL_VERSION, "Unsupported protocol version", message_id, data)


def _bounded(data: object) -> object:
    """Error data without long echoes of what the client sent."""
    if isinstance(data, str):
        return data[:MAX_ECHOED_CHARACTERS]
    if isinstance(data, dict):
        return {key: _bounded(value) for key, value in data.items()}
    return data


# -------------------------------------------------------------- content negotiation


def _refuse_media(exchange: Exchange) -> Answer | None:
    fields = exchange.fields
    if not _admits_json(exchange.all(b"accept")):
        return _NOT_ACCEPTED
    if not _is_json(exchange.one(b"content-type") or b""):
        return _MEDIA_TYPE
    if fields.get(b"content-encoding", b"identity").lower() != b"identity":
        return _ENCODING
    return None


# PERF: clients send one of a few values; the bound keeps a hostile one from filling memory.
@lru_cache(maxsize=64)
def _admits_json(accept: bytes) -> bool:
    """Whether an Accept header admits ``application/json`` (RFC 9110, 12.5.1); a missing one does not."""
    best, quality = 0, False
    for entry in accept.decode("latin-1").lower().split(","):
        media_range, *parameters = (part.strip() for part in entry.split(";"))
        precision = _PRECISION.get(media_range, 0)
        if precision > best:
            best, quality = precision, not any(_REFUSED.fullmatch(parameter) for parameter in parameters)
    return quality


@lru_cache(maxsize=64)
def _is_json(content_type: bytes) -> bool:
    media_type, *parameters = (part.strip() for part in content_type.decode("latin-1").lower().split(";"))
    named = (parameter.partition("=") for parameter in parameters)
    charsets = [value.strip('"') for name, _, value in named if name == "charset"]
    return media_type == "application/json" and all(charset in ("utf-8", "utf8") for charset in charsets)
