"""Paths: what is where, for every listener. Paths are as sent, undecoded and without the query."""

from typing import Final

MCP_PATH: Final = b"/mcp"
_API: Final = b"/api"


def is_of_api(path: bytes) -> bool:
    """Whether a path is ``/api`` or lies below it."""
    return path.startswith(_API) and path[len(_API) : len(_API) + 1] in (b"", b"/")
