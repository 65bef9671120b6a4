"""The symmetries of the start position, and splits that no symmetry crosses."""

from __future__ import annotations

import numba
import numpy as np
from jaxtyping import Bool, UInt8

from lengthwise.errors import InputError
from lengthwise.othello.board import NONE, Board
from lengthwise.othello.distinct import hashes
from lengthwise.othello.games import Games

# The other four symmetries of the square swap the colours of the start, so that black would be the second to move.
SYMMETRIES = ("identity", "half turn", "diagonal", "antidiagonal")


def symmetry_tables(board: Board) -> UInt8[np.ndarray, "4 256"]:
    """Where each symmetry takes each square; padding stays padding.

    >>> [Board(8).name(t) for t in symmetry_tables(Board(8))[:, Board(8).number("f5")]]
    ['f5', 'c4', 'e6', 'd3']
    """
    row, column = np.divmod(np.arange(board.area), board.size)
    far = board.size - 1
    tables = np.full((4, 256), NONE, dtype=np.uint8)
    places = (row, column), (far - row, far - column), (column, row), (far - column, far - row)
    for table, (r, c) in zip(tables, places):
        table[: board.area] = board.size * r + c
    return tables


def image(games: Games, symmetry: str) -> Games:
    """The games as they look under one of SYMMETRIES; legal games stay legal.

    >>> from lengthwise.othello.games import games
    >>> some = games(seed=0, start=0, count=1)
    >>> some.names(0)[:3], image(some, "diagonal").names(0)[:3]
    (['c4', 'c5', 'e6'], ['d3', 'e3', 'f5'])
    """
    table = symmetry_tables(games.board)[SYMMETRIES.index(symmetry)]
    return Games(table[games.moves], games.lengths, games.board)


def canonical(games: Games) -> Games:
    """Of each game the image whose moves come first in order: the same for all four images.

    >>> from lengthwise.othello.games import games
    >>> some = games(seed=0, start=0, count=50)
    >>> bool((canonical(image(some, "half turn")).moves == canonical(some).moves).all())
    True
    """
    moves = np.ascontiguousarray(games.moves)
    return Games(_least(moves, symmetry_tables(games.board)), games.lengths, games.board)


def held_out(games: Games, share: float, seed: int = 0) -> Bool[np.ndarray, " n"]:
    """Which games belong to the test part: a function of a game's canonical form and the seed alone.

    So a test game is neither a train game nor a symmetric image of one, however the games are drawn or cut into shards.
    `share` is the expected part of all games.

    Errors: InputError for a share outside [0, 1], or a seed below 0 or beyond 64 bits.

    >>> from lengthwise.othello.games import games
    >>> int(held_out(games(seed=0, start=0, count=1000), share=0.1).sum())
    107
    """
    if not 0 <= share <= 1:
        raise InputError(f"share {share}: expected a number in [0, 1]")
    if not 0 <= seed < 2**64:
        raise InputError(f"seed {seed}: expected 0 to 2^64 - 1")
    # 53 bits, as many as a float64 holds exactly.
    return hashes(canonical(games).moves, seed) >> np.uint64(11) < share * 2**53


@numba.njit(cache=True, nogil=True)
def _least(moves, tables):
    least = np.empty_like(moves)
    for i in range(len(moves)):
        best = 0
        for candidate in range(1, len(tables)):
            for square in moves[i]:
                difference = np.int64(tables[candidate, square]) - np.int64(tables[best, square])
                if difference:
                    best = candidate if difference < 0 else best
                    break
        for t in range(moves.shape[1]):
            least[i, t] = tables[best, moves[i, t]]
    return least
