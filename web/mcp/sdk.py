"""The SDK behind the door: the one place that imports from ``mcp``.

``mcp.server.runner`` serves a single request of any protocol version without transport, streams or tasks. It
is importable but undocumented: the minor version is pinned in pyproject.toml and the conformance run is the
alarm.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import cached_property
from typing import Any, Final, Protocol, cast

import anyio
import mcp_types
from mcp.server.caching import CacheHint
from mcp.server.connection import Connection
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.runner import ServerRunner
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import (
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    PROTOCOL_VERSION_META_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, KNOWN_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from remindi import __version__
from remindi.schemas import INSTRUCTIONS, SERVER_NAME, SERVER_TITLE, TOOLS

__all__ = [
    "ERROR_CODE_HTTP_STATUS",
    "HANDSHAKE_PROTOCOL_VERSIONS",
    "HEADER_MISMATCH",
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "KNOWN_PROTOCOL_VERSIONS",
    "MODERN_PROTOCOL_VERSIONS",
    "PARSE_ERROR",
    "PROTOCOL_VERSION_META_KEY",
    "UNSUPPORTED_PROTOCOL_VERSION",
    "InboundLadderRejection",
    "InboundModernRoute",
    "Kernel",
    "ProtocolError",
    "classify_inbound_request",
]

Json = dict[str, Any]

ASSUMED_VERSION: Final = "2025-03-26"
"""What a client without an ``MCP-Protocol-Version`` header speaks, by the specification."""
LIST_TTL_MS: Final = 300_000
"""How long a client may keep our tool list; it changes with a new version of the service only."""
_TRANSPORT: Final = TransportContext(kind="streamable-http", can_send_request=False)
_HINT: Final = CacheHint(ttl_ms=LIST_TTL_MS, scope="private")


# Placeholders for the answer of a tool call: the door puts the rendered one in their place.
_SUCCEEDED: Final[Json] = {
    "resultType": "complete",
    "content": [{"type": "text", "text": ""}],
    "structuredContent": {},
    "isError": False,
}
_FAILED: Final[Json] = _SUCCEEDED | {"isError": True}
_SHAPED: Final[dict[tuple[str, bool], Json]] = {}
"""A placeholder's wire form by protocol version and whether it is the failure."""


class ProtocolError(Exception):
    """A JSON-RPC error instead of a result."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        """Take the fields of the error object; null data is left out."""
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


class Call(Protocol):
    """One ``tools/call`` on its way; the SDK carries it to the handler untouched."""

    async def run(self, name: str, arguments: Json) -> bool | None:
        """Run the tool and keep its answer; whether it is an error, or None for an unknown tool."""
        ...


class _NoWayBack:
    """The SDK's channel to the client: an answer in JSON has no room for anything but itself."""

    __slots__ = ()

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> Json:
        """Refuse."""
        del params, opts
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        """Drop it."""


_NOBODY: Final = _NoWayBack()


class _DispatchContext(_NoWayBack):
    """What the SDK wants to know of a message (its protocol ``DispatchContext``)."""

    __slots__ = ("_cancelled", "message_metadata", "request_id")

    transport: Final = _TRANSPORT
    can_send_request: Final = False

    def __init__(self, request_id: str | int, call: Call) -> None:
        self.request_id = request_id
        self.message_metadata = ServerMessageMetadata(request_context=call)
        self._cancelled: anyio.Event | None = None

    @property
    def cancel_requested(self) -> anyio.Event:
        if self._cancelled is None:
            self._cancelled = anyio.Event()
        return self._cancelled

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """Drop it."""


class _Server(Server[Any]):
    @cached_property
    def server_info_stamp(self) -> Json:
        """Who we are, as every modern result says. PERF: the SDK copies it each time, in vain."""
        return self.server_info.model_dump(by_alias=True, mode="json", exclude_none=True)


class Kernel:
    """The MCP server proper: version gating, validation, negotiation and shapes of results are the SDK's."""

    def __init__(self) -> None:
        """Make the server with our tools."""
        listed = mcp_types.ListToolsResult(tools=[_tool(schema) for schema in TOOLS])

        async def list_tools(
            _: ServerRequestContext[Any, Any], params: mcp_types.PaginatedRequestParams | None
        ) -> mcp_types.ListToolsResult:
            if params is not None and params.cursor is not None:
                raise MCPError(code=INVALID_PARAMS, message="Unknown cursor")
            return listed

        self._server: Server[Any] = _Server(
            SERVER_NAME,
            version=__version__,
            title=SERVER_TITLE,
            instructions=INSTRUCTIONS,
            cache_hints={"tools/list": _HINT, "server/discover": _HINT},
            # PERF: without this the SDK lists all tools before each call, to look for header annotations.
            get_tool_input_schema=lambda _: None,
            on_list_tools=list_tools,
            on_call_tool=cast("Callable[..., Awaitable[Any]]", _call_tool),
        )
        # PERF: the default middleware makes spans that nobody collects.
        self._server.middleware.clear()
        # PERF: ``serve_one`` makes a runner and a connection for each request and closes both. Ours keep
        # nothing between requests, so one for each version serves all.
        self._runners = {version: self._runner(version) for version in KNOWN_PROTOCOL_VERSIONS}

    def _runner(self, version: str) -> ServerRunner[Any]:
        connection = Connection(_NOBODY, protocol_version=version)
        connection.initialized.set()
        return _Runner(self._server, connection, None)

    async def serve(
        self,
        request_id: str | int,
        method: str,
        params: Json | None,
        route: InboundModernRoute | str,
        call: Call,
    ) -> Json:
        """The result of one request.

        Args:
            request_id: of the JSON-RPC message.
            method: of the message.
            params: of the message.
            route: a classified modern request, or the version that a handshake client speaks.
            call: given the tool call, if it is one; the result then holds a placeholder for its answer.

        Raises:
            ProtocolError: the answer is a JSON-RPC error.
        """
        version = route if isinstance(route, str) else route.protocol_version
        # NOTE: a handshake is written into its connection; nothing else of ours leaves a trace in one.
        runner = self._runner(version) if method == "initialize" else self._runners[version]
        try:
            return await runner.on_request(_DispatchContext(request_id, call), method, params)
        except MCPError as error:
            raise ProtocolError(error.error.code, error.error.message, error.error.data) from None
        except ValidationError:
            raise ProtocolError(INVALID_PARAMS, "Invalid request parameters") from None


class _Runner(ServerRunner[Any]):
    """The SDK's runner, which shapes each of our two placeholders once for each version.

    PERF: validating and dumping a result that is always the same took a tenth of an empty check.
    """

    def _serialize(self, method: str, version: str, result: Any) -> Json:
        if result is not _SUCCEEDED and result is not _FAILED:
            return super()._serialize(method, version, result)
        shaped = _SHAPED.get((version, result is _FAILED))
        if shaped is None:
            shaped = _SHAPED[version, result is _FAILED] = super()._serialize(method, version, result)
        return shaped


async def _call_tool(
    context: ServerRequestContext[Any, Any], params: mcp_types.CallToolRequestParams
) -> Json:
    call = cast(Call, context.request)
    is_error = await call.run(params.name, {} if params.arguments is None else params.arguments)
    if is_error is None:
        raise MCPError(code=INVALID_PARAMS, message="Unknown tool")
    return _FAILED if is_error else _SUCCEEDED


def _tool(schema: Any) -> mcp_types.Tool:
    return mcp_types.Tool(
        name=schema.name,
        title=schema.title,
        description=schema.description,
        input_schema=schema.input_schema,
        output_schema=schema.output_schema,
        annotations=mcp_types.ToolAnnotations.model_validate(schema.annotations),
    )
