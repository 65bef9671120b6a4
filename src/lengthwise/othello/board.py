"""Boards of 8 x 8 and 6 x 6 squares as numbers: masks, the start position, the names of squares."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lengthwise.errors import InputError

NONE = 255  # fills the rows of games that end early


@dataclass(frozen=True)
class Board:
    """A square board: square `size * row + column` is bit `size * row + column` of a 64-bit set, a1 the lowest.

    Errors: InputError for a size other than 6 or 8.

    >>> board = Board(8)
    >>> board.plies, board.number("f5"), board.name(37)
    (60, 37, 'f5')
    >>> [board.name(s) for s in board.squares(board.start[0])]
    ['e4', 'd5']
    """

    size: int = 8

    def __post_init__(self) -> None:
        if self.size not in (6, 8):
            raise InputError(f"board {self.size}: expected 6 or 8")

    @property
    def area(self) -> int:
        """How many squares there are."""
        return self.size**2

    @property
    def plies(self) -> int:
        """The moves of a game that fills the board."""
        return self.area - 4

    @property
    def full(self) -> int:
        """The set of all squares."""
        return (1 << self.area) - 1

    @property
    def inner(self) -> int:
        """The squares outside the first and last columns: from these, a step sideways never leaves its row."""
        row = (1 << self.size - 1) - 2
        return sum(row << self.size * r for r in range(self.size))

    @property
    def start(self) -> tuple[int, int]:
        """The discs of the player who begins (black) and of the other, diagonal pairs in the middle."""
        low, high = self.size // 2 - 1, self.size // 2
        at = lambda row, column: 1 << self.size * row + column  # noqa: E731
        return at(low, high) | at(high, low), at(low, low) | at(high, high)

    @cached_property
    def masks(self) -> np.ndarray:
        """What the compiled rules need to know: size, inner, full, and the start's two sets, as 64-bit words."""
        return np.array([self.size, self.inner, self.full, *self.start], dtype=np.uint64)

    def name(self, square: int) -> str:
        """The column's letter and the row's number."""
        return f"{chr(ord('a') + square % self.size)}{square // self.size + 1}"

    def number(self, name: str) -> int:
        """The square of a name such as f5; InputError for a name of none."""
        last = chr(ord("a") + self.size - 1)
        if not re.fullmatch(f"[a-{last}][1-{self.size}]", name):
            raise InputError(f"square {name!r}: expected a letter a-{last} and a number 1-{self.size}, such as d3")
        return self.size * (int(name[1]) - 1) + ord(name[0]) - ord("a")

    def squares(self, bits: int) -> list[int]:
        """The squares of a set, in order."""
        return [square for square in range(self.area) if bits >> square & 1]
