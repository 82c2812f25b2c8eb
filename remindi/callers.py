"""Callers: the actor ids under which the doors act (contract 9): they say who and betray no secret."""

import base64
import hashlib
from typing import Final

UNAUTHENTICATED_WEB_ACTOR_ID: Final = "webui:unauthenticated"


def mcp_actor_id(owner_id: str, token: str) -> str:
    """The actor of the MCP door: the same across restarts, another one after a change of owner or token."""
    owner = owner_id.encode()
    # The length keeps ("ab", "c") and ("a", "bc") apart.
    return "mcp:" + _digest(len(owner).to_bytes(8, "big") + owner + token.encode())


def web_actor_id(user_name: str) -> str:
    """The actor of a signed-in user of the WebUI and the REST API."""
    return "webui:" + _digest(user_name.encode())


def _digest(material: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(material).digest()).rstrip(b"=").decode("ascii")
