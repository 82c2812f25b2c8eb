"""Generations: which content of the database a request was let in to, so that no answer mixes two.

A restore puts another content in place. What a request was told of the former one is worth nothing then,
and it is refused like everything else during maintenance (contract 15.3).
"""

from actors.address import Paused
from actors.board import Board


class Generation:
    """The content that there was when a request came in."""

    __slots__ = ("_board", "value")

    def __init__(self, board: Board) -> None:
        """Remember it."""
        self._board = board
        self.value = board.generation

    def hold(self) -> None:
        """Let an answer out only if it is of that content.

        Raises:
            Paused: it may be of another one. During maintenance nobody can tell.
        """
        if self._board.maintenance != "running" or self._board.generation != self.value:
            raise Paused
