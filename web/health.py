"""Health (contract 11.4): public, under any Host, independent of workload states."""

from typing import Final

from actors.board import Board, Startup
from web.answers import NO_STORE, Answer, json_answer, refusal

LIVE_PATH: Final = b"/health/live"
READY_PATH: Final = b"/health/ready"

_LIVE: Final = json_answer(200, b'{"status":"ok"}', NO_STORE)
_READY: Final[dict[Startup, Answer]] = {
    "starting": json_answer(503, b'{"status":"starting"}', NO_STORE),
    "ready": json_answer(200, b'{"status":"ready"}', NO_STORE),
    "damaged": json_answer(503, b'{"status":"damaged"}', NO_STORE),
    "stopping": json_answer(503, b'{"status":"stopping"}', NO_STORE),
}
_METHOD: Final = refusal(405, "Only GET and HEAD are accepted here.", (b"allow", b"GET, HEAD"))


def health(path: bytes, method: str, board: Board) -> Answer:
    """The answer of a health path."""
    if method not in ("GET", "HEAD"):
        return _METHOD
    return _LIVE if path == LIVE_PATH else _READY[board.startup]
