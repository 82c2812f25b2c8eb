"""Tool calls on a running service, by MCP's stateless requests; no session, no SDK."""

import json
from typing import Any, Final

from remindi import tools
from remindi.cli import exits
from remindi.cli.display import cut, escaped
from remindi.cli.exchanges import Answer, Exchanges, Lost, json_body
from remindi.cli.exits import Refused
from remindi.cli.item_arguments import TOKEN_VARIABLE
from remindi.cli.service import Secret, Service, header_value

Json = dict[str, Any]

PROTOCOL_VERSION: Final = "2025-11-25"
PATH: Final = "/mcp"
READS: Final = (tools.CHECK, tools.LIST, tools.HISTORY)
"""Tools that may be called again without a thought."""
_GATEWAY_LOST: Final = (502, 504)
_MAX_TOLD_CHARACTERS: Final = 200


class Mcp:
    """The tools of one service."""

    def __init__(self, service: Service, token: Secret) -> None:
        """Speak to nobody yet.

        Raises:
            Refused: the token cannot stand in a header.
        """
        self._exchanges = Exchanges(service)
        self._service = service
        self._token = token
        self._headers = {
            "Authorization": f"Bearer {header_value(token)}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": PROTOCOL_VERSION,
        }

    def call(self, tool: str, arguments: Json) -> Json:
        """The envelope of contract 1.1 that a tool answers.

        It is asked a second time, with the very same arguments and so the same idempotency key, when its
        answer was lost or the outcome is unknown.

        Raises:
            Refused: there is no such answer; the line says why.
        """
        try:
            envelope = self._once(tool, arguments)
        except Lost:
            envelope = None
        if envelope is not None and not _is_busy(envelope):
            return envelope
        try:
            return self._once(tool, arguments)
        except Lost:
            code, text = exits.UNAVAILABLE, f"{self._service} took the request twice and did not answer."
        except Refused as refused:
            code, text = refused.code, str(refused)
        raise Refused(code, text if tool in READS else f"{text}\n{_doubt(arguments)}")

    def _once(self, tool: str, arguments: Json) -> Json:
        params = {"name": tool, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        answer = self._exchanges.send("POST", PATH, headers=self._headers, body=json_body(message))
        if answer.status in _GATEWAY_LOST or (answer.status == 200 and not answer.body):
            raise Lost
        if answer.status != 200:
            raise self._refused(answer)
        try:
            answered = json.loads(answer.body)
            if "error" in answered:
                told = _shown(str(answered["error"]["message"]))
                raise Refused(exits.INTERNAL, f"{self._service} refused the call itself: {told}.")
            envelope: Json = answered["result"]["structuredContent"]
            if envelope["ok"] is True and isinstance(envelope["data"], dict):
                return envelope
            if envelope["ok"] is False and isinstance(envelope["error"]["code"], str):
                return envelope
        except (ValueError, LookupError, TypeError, RecursionError):
            pass
        raise self._stranger("did not answer as one does")

    def _refused(self, answer: Answer) -> Refused:
        """What a refusal at the door means to whoever called."""
        told = _told(answer)
        match answer.status:
            case 401:
                return Refused(
                    exits.NOT_PERMITTED,
                    f"{self._service} does not take this token, which is {self._token.source}."
                    f" It must be the {TOKEN_VARIABLE} that the service was started with.",
                )
            case 403 if told:
                return Refused(exits.NOT_PERMITTED, f"{self._service} does not let this in: {told}")
            case 503 if told:
                how = " That is `remindi workloads start mcp`." if "workload" in told else ""
                return Refused(exits.UNAVAILABLE, f"{self._service} answers, but not now: {told}{how}")
            case 404 if told:
                return Refused(
                    exits.UNAVAILABLE,
                    f"{self._service} has nothing at {PATH}; it may be the address of --admin-port or of"
                    " `remindi console`. Name the one of `remindi serve --port` with --url.",
                )
            case 413 if told:
                return Refused(exits.FAILED, f"{self._service} takes no request of this size: {told}")
            case status if 300 <= status < 400:
                where = _shown(answer.headers.get("Location", ""))
                return Refused(
                    exits.UNAVAILABLE,
                    f"{self._service} sends elsewhere{f', to {where}' if where else ''}, and that is not"
                    " followed with a token. Name the address itself with --url.",
                )
            case status if told:
                return Refused(exits.FAILED, f"{self._service} answered HTTP {status}: {told}")
            case status:
                return self._stranger(f"answered HTTP {status} at {PATH}")

    def _stranger(self, what: str) -> Refused:
        return Refused(
            exits.UNAVAILABLE,
            f"{self._service} is no Remindi: it {what}. Say where the service is with --url.",
        )


def _is_busy(envelope: Json) -> bool:
    """Whether what was asked may have been done although it is refused; the same key makes sure."""
    return not envelope["ok"] and envelope["error"]["code"] == "DATABASE_BUSY"


def _doubt(arguments: Json) -> str:
    item = arguments.get("remindi_id")
    look = f"`remindi show {item}`" if item else "`remindi list` of the project"
    return f"It may have been carried out all the same: look with {look} before you repeat it."


def _told(answer: Answer) -> str:
    """The sentence of a refusal at our door, or of JSON-RPC's; empty when it is neither."""
    try:
        error = json.loads(answer.body)["error"]
        told = error["message"] if isinstance(error, dict) else error
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return _shown(told) if isinstance(told, str) else ""


def _shown(text: str) -> str:
    return cut(escaped(text), _MAX_TOLD_CHARACTERS)
