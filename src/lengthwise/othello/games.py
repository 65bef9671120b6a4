"""Uniformly random games: a pure function of the seed and each game's number, by any number of workers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import UInt8

from lengthwise.errors import InputError
from lengthwise.othello import engine
from lengthwise.othello.board import NONE, Board

CHUNK = 1 << 15  # games in one compiled call: a tenth of a second


@dataclass(frozen=True, eq=False)
class Games:
    """Games, one a row: the squares played in order, then 255; passes are not written. A slice of games is games.

    >>> some = games(seed=0, start=0, count=3)
    >>> some.moves.shape, len(some[1:]), some.names(0)[:4]
    ((3, 60), 2, ['c4', 'c5', 'e6', 'e3'])
    """

    moves: UInt8[np.ndarray, "n plies"]
    lengths: UInt8[np.ndarray, " n"]
    board: Board

    def __len__(self) -> int:
        return len(self.moves)

    def __getitem__(self, rows: slice | np.ndarray) -> Games:
        return Games(self.moves[rows], self.lengths[rows], self.board)

    def names(self, game: int) -> list[str]:
        """The moves of one game by their squares' names."""
        return [self.board.name(int(square)) for square in self.moves[game, : self.lengths[game]]]


def games(seed: int, start: int, count: int, board: int = 8, workers: int = 1) -> Games:
    """The random games numbered `start` to `start + count - 1`: each move uniform over the legal ones.

    A game depends on the seed, its number and the board alone; workers are threads that share the rows.

    Errors: InputError for numbers below 0 or beyond 64 bits, for no workers, for an unknown board.
    Source: `docs/othello.md`; the generator is Philox4x32-10 (Salmon et al. 2011), counted by game and ply.

    >>> bool((games(7, start=90, count=10).moves == games(7, start=0, count=100, workers=2).moves[90:]).all())
    True
    """
    _check(seed, start, count, workers)
    made = _empty(count, Board(board))

    def fill(first: int) -> None:
        part = made[first : first + CHUNK]
        engine.play_many(np.uint64(seed), np.uint64(start + first), part.moves, part.lengths, made.board.masks)

    firsts = range(0, count, CHUNK)
    if workers == 1 or len(firsts) == 1:
        for first in firsts:
            fill(first)
    else:
        with ThreadPoolExecutor(workers) as threads:
            list(threads.map(fill, firsts))
    return made


def stream(seed: int, batch: int, board: int = 8, start: int = 0) -> Iterator[Games]:
    """Batch after batch of random games without end; the k-th is `games(seed, start + k * batch, batch, board)`.

    >>> batches = stream(seed=1, batch=4, board=6)
    >>> [len(next(batches)) for _ in range(2)]
    [4, 4]
    """
    while True:
        yield games(seed, start, batch, board)
        start += batch


def joined(parts: list[Games], board: Board) -> Games:
    """Games one after another."""
    if not parts:
        return _empty(0, board)
    moves, lengths = (np.concatenate([getattr(p, kind) for p in parts]) for kind in ("moves", "lengths"))
    return Games(moves, lengths, board)


def _empty(count: int, board: Board) -> Games:
    moves = np.full((count, board.plies), NONE, dtype=np.uint8)
    return Games(moves, np.zeros(count, dtype=np.uint8), board)


def _check(seed: int, start: int, count: int, workers: int) -> None:
    for name, value in (("seed", seed), ("start", start), ("count", count), ("start + count", start + count)):
        if not 0 <= value < 2**64:
            raise InputError(f"{name} {value}: expected 0 to 2^64 - 1")
    if workers < 1:
        raise InputError(f"workers {workers}: expected 1 or more")
