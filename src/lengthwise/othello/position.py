"""One position: who may move where, what a move turns over, whose turn comes next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from lengthwise.errors import InputError
from lengthwise.othello import engine
from lengthwise.othello.board import Board


@dataclass(frozen=True)
class Position:
    """The discs of the player to move (`own`) and of the other as sets; a player without a move has passed already.

    >>> position = Position.start().after("f5").after("d6")
    >>> position.black_to_move, position.discs, [position.board.name(s) for s in position.legal()]
    (True, (3, 3), ['c3', 'c4', 'c5', 'c6', 'c7'])
    """

    own: int
    other: int
    board: Board
    black_to_move: bool = True
    passed: bool = False

    @staticmethod
    def start(board: int = 8) -> Position:
        """The start: black to move."""
        return Position(*Board(board).start, Board(board))

    def legal(self) -> list[int]:
        """The squares where the player to move may, in order; none once the game is over."""
        return self.board.squares(self._legal(self.own, self.other))

    @property
    def over(self) -> bool:
        """Neither player can move."""
        return not self.legal()

    @property
    def discs(self) -> tuple[int, int]:
        """Black's discs and white's."""
        black, white = (self.own, self.other) if self.black_to_move else (self.other, self.own)
        return black.bit_count(), white.bit_count()

    def after(self, move: str | int) -> Position:
        """The position after a move, and after the pass that it may force; InputError for an illegal move."""
        square = self.board.number(move) if isinstance(move, str) else move
        if square not in self.legal():
            raise InputError(f"{self._name(square)} is not legal there: {self._expected()}")
        bits = np.uint64(1 << square), np.uint64(self.own), np.uint64(self.other)
        turned = int(engine.flips(*bits, self.board.masks))
        own, other = self.other ^ turned, self.own | 1 << square | turned
        passed = not self._legal(own, other) and bool(self._legal(other, own))
        return Position(*((other, own) if passed else (own, other)), self.board, self.black_to_move == passed, passed)

    def _legal(self, own: int, other: int) -> int:
        return int(engine.legal(np.uint64(own), np.uint64(other), self.board.masks))

    def _name(self, square: int) -> str:
        return self.board.name(square) if 0 <= square < self.board.area else f"square {square}"

    def _expected(self) -> str:
        squares = " ".join(map(self.board.name, self.legal()))
        player = "black" if self.black_to_move else "white"
        return f"expected {player} on one of {squares}" if squares else "the game is over, expected no move"


def position_after(moves: Iterable[str], board: int = 8) -> Position:
    """The position after moves from the start; InputError names the first that is illegal and its number.

    >>> position_after(["f5", "d6", "a1"])
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: move 3, a1 is not legal there: expected black on one of c3 c4 c5 c6 c7
    """
    position = Position.start(board)
    for number, move in enumerate(moves, 1):
        try:
            position = position.after(move)
        except InputError as error:
            raise InputError(f"move {number}, {error}") from None
    return position
