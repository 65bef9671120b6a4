"""An independent, slow Othello: a list of lists, every ray walked square by square."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

DIRECTIONS = [(r, c) for r in (-1, 0, 1) for c in (-1, 0, 1) if r or c]


@cache
def rays(size: int) -> list[list[list[list[tuple[int, int]]]]]:
    """The squares that lie in each direction from each square, nearest first."""
    inside = range(size)
    lines = lambda r, c: [[(r + k * d, c + k * e) for k in range(1, size)] for d, e in DIRECTIONS]  # noqa: E731
    kept = lambda line: [(r, c) for r, c in line if r in inside and c in inside]  # noqa: E731
    return [[[kept(line) for line in lines(r, c) if kept(line)] for c in inside] for r in inside]


class SlowOthello:
    """Squares are (row, column); colours x (begins) and o."""

    def __init__(self, size: int):
        self.size, self.turn, self.passes, self.rays = size, "x", 0, rays(size)
        self.rows = [["."] * size for _ in range(size)]
        half = size // 2
        self.rows[half - 1][half - 1] = self.rows[half][half] = "o"
        self.rows[half - 1][half] = self.rows[half][half - 1] = "x"

    def lines(self, row: int, column: int, colour: str) -> Iterator[list[tuple[int, int]]]:
        """The lines that a disc of this colour would turn over."""
        for ray in self.rays[row][column]:
            if self.rows[ray[0][0]][ray[0][1]] in (".", colour):
                continue
            for length, (r, c) in enumerate(ray):
                if self.rows[r][c] in (".", colour):
                    if self.rows[r][c] == colour:
                        yield ray[:length]
                    break

    def turned(self, row: int, column: int, colour: str) -> list[tuple[int, int]]:
        return [square for line in self.lines(row, column, colour) for square in line]

    def places(self, colour: str) -> list[int]:
        empty = [(r, c) for r in range(self.size) for c in range(self.size) if self.rows[r][c] == "."]
        return [self.size * r + c for r, c in empty if next(self.lines(r, c, colour), None)]

    def legal(self) -> list[int]:
        """The squares of the player to move, after a pass where one is forced."""
        found = self.places(self.turn)
        if not found:
            other = "o" if self.turn == "x" else "x"
            found = self.places(other)
            if found:
                self.turn, self.passes = other, self.passes + 1
        return found

    def play(self, square: int) -> None:
        row, column = divmod(square, self.size)
        for r, c in [*self.turned(row, column, self.turn), (row, column)]:
            self.rows[r][c] = self.turn
        self.turn = "o" if self.turn == "x" else "x"

    def discs(self) -> list[int]:
        return [sum(row.count(colour) for row in self.rows) for colour in "xo"]

    def paths(self, depth: int) -> int:
        """Perft: a pass is a ply, a game that is over ends its path."""
        if depth == 0:
            return 1
        other = "o" if self.turn == "x" else "x"
        places = self.places(self.turn)
        if not places:
            return self._after(None).paths(depth - 1) if self.places(other) else 1
        return sum(self._after(square).paths(depth - 1) for square in places)

    def _after(self, square: int | None) -> SlowOthello:
        copy = SlowOthello(self.size)
        copy.rows, copy.turn = [row[:] for row in self.rows], self.turn
        if square is None:
            copy.turn = "o" if copy.turn == "x" else "x"
        else:
            copy.play(square)
        return copy

    def game(self, draw: random.Random, greedy: bool) -> list[int]:
        """A game of its own: random, or always turning as many discs as possible, which makes odd positions."""
        moves = []
        while places := self.legal():
            most = lambda s: (len(self.turned(s // self.size, s % self.size, self.turn)), draw.random())  # noqa: E731
            moves.append(max(places, key=most) if greedy else draw.choice(places))
            self.play(moves[-1])
        return moves


@pytest.fixture
def slow() -> type[SlowOthello]:
    return SlowOthello


@pytest.fixture
def tournaments() -> Path:
    """Real tournament files, where they lie beside the checkout."""
    folder = Path(__file__).parents[2].parent / "shared" / "data" / "wthor"
    if not folder.is_dir():
        pytest.skip(f"no tournament files in {folder}")
    return folder
