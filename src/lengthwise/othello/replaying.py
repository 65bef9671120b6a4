"""Games replayed: the legal set before every move, passes, and the first illegal move of each game."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int64, UInt8, UInt64

from lengthwise.errors import InputError
from lengthwise.othello import engine
from lengthwise.othello.board import Board
from lengthwise.othello.games import Games


@dataclass(frozen=True, eq=False)
class Replay:
    """What replaying found. `sets[i, t]` has bit q set where move t of game i may be on square q; 0 after the end.

    `passes` counts the passes between moves, `faults` has the first illegal ply from 0 (-1 if none), and `discs` has
    black's and white's discs at the end or before the fault.
    """

    sets: UInt64[np.ndarray, "n plies"]
    passes: Int64[np.ndarray, " n"]
    faults: Int64[np.ndarray, " n"]
    discs: UInt8[np.ndarray, "n 2"]


def replay(games: Games) -> Replay:
    """Replay games by the rules; an illegal move is reported, not raised.

    >>> from lengthwise.othello.games import games
    >>> found = replay(games(seed=0, start=0, count=100))
    >>> int(found.faults.max()), [hex(s) for s in found.sets[0, :2].tolist()]
    (-1, ['0x102004080000', '0x400140000'])
    """
    count, plies = games.moves.shape
    sets = np.zeros((count, plies), dtype=np.uint64)
    passes, faults = np.zeros(count, dtype=np.int64), np.full(count, -1, dtype=np.int64)
    discs = np.zeros((count, 2), dtype=np.uint8)
    moves, lengths = np.ascontiguousarray(games.moves), np.ascontiguousarray(games.lengths)
    engine.replay(moves, lengths, sets, passes, faults, discs, games.board.masks)
    return Replay(sets, passes, faults, discs)


def legal_sets(games: Games) -> Bool[np.ndarray, "n plies squares"]:
    """Where each move of each game might have been: the support of the exact next-move distribution of random games.

    Errors: InputError that names the first illegal move.

    >>> from lengthwise.othello.games import games
    >>> legal_sets(games(seed=0, start=0, count=1, board=6))[0, :4].sum(-1).tolist()
    [4, 3, 5, 3]
    """
    found = replay(games)
    if fault := first_illegal(games, found):
        raise InputError(str(fault))
    return unpacked(found.sets, games.board)


def unpacked(sets: UInt64[np.ndarray, "*shape"], board: Board) -> Bool[np.ndarray, "*shape squares"]:
    """Sets of squares as rows of booleans.

    >>> unpacked(np.array([6], dtype=np.uint64), Board(6))[0, :4].tolist()
    [False, True, True, False]
    """
    octets = np.ascontiguousarray(sets, dtype="<u8")[..., None].view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little")[..., : board.area].view(np.bool_)


@dataclass(frozen=True)
class Illegal:
    """The first illegal move of a game; games and moves are counted from 1."""

    game: int
    move: int
    square: str | None  # none where the number stands for no square
    expected: str

    def __str__(self) -> str:
        what = f"{self.square} is not legal there" if self.square else "no square of the board"
        return f"game {self.game}, move {self.move}: {what}, expected {self.expected}"


def first_illegal(games: Games, found: Replay) -> Illegal | None:
    """The first illegal move of the first game that has one.

    >>> from lengthwise.othello.games import games
    >>> some = games(seed=0, start=0, count=3)
    >>> some.moves[2, 1] = 0
    >>> print(first_illegal(some, replay(some)))
    game 3, move 2: a1 is not legal there, expected one of c3 e3 c5
    """
    bad = np.flatnonzero(found.faults >= 0)
    if not len(bad):
        return None
    game, board = int(bad[0]), games.board
    ply = int(found.faults[game])
    square, choices = int(games.moves[game, ply]), board.squares(int(found.sets[game, ply]))
    name = board.name(square) if square < board.area else None
    expected = f"one of {' '.join(map(board.name, choices))}" if choices else "no move, as the game is over"
    return Illegal(game + 1, ply + 1, name, expected)
