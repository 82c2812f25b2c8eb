"""Outcomes: what a broken ask is to a caller, as a code of contract 3.1."""

from typing import Final

from actors.address import ActorError, OutcomeUnknown, Paused, Unavailable
from actors.board import Board
from actors.failures import DatabaseRefused
from remindi.backups import HELD_REASON
from remindi.errors import ErrorCode, Refusal

_BUSY: Final = Refusal(ErrorCode.DATABASE_BUSY)
_MAINTENANCE: Final = Refusal(ErrorCode.MAINTENANCE_ACTIVE)
_HELD: Final = Refusal(ErrorCode.MAINTENANCE_ACTIVE, reason=HELD_REASON)
_INTERNAL: Final = Refusal(ErrorCode.INTERNAL_ERROR)


def closed(board: Board) -> Refusal:
    """The refusal of whoever comes while the database is closed; it says when it stays so (contract 15.3)."""
    return _HELD if board.maintenance == "held" else _MAINTENANCE


def refusal_of(error: Exception, board: Board, *, mutation: bool) -> Refusal:
    """The refusal that a caller sees instead of an exception.

    A mutation whose outcome is unknown is retryable: its idempotency key makes the retry safe. A read has no
    such doubt; that it got no answer is our fault.
    """
    match error:
        case Paused():
            return closed(board)
        case Unavailable() if board.closed:
            return closed(board)
        case OutcomeUnknown() if not mutation:
            return _INTERNAL
        case ActorError() | DatabaseRefused():
            return _BUSY
        case _:
            return _INTERNAL
