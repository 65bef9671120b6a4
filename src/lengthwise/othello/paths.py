"""Perft: the number of paths of a given depth, the standard check of a move generator."""

from __future__ import annotations

import numpy as np

from lengthwise.errors import InputError
from lengthwise.othello import engine
from lengthwise.othello.position import Position

COMPILED = 8  # plies in one compiled call: short enough that Ctrl-C is heard


def perft(depth: int, board: int = 8) -> int:
    """How many paths of `depth` plies begin at the start; a pass is a ply, and a game that is over ends its path.

    Errors: InputError for a negative depth or an unknown board.

    >>> [perft(depth) for depth in range(7)], perft(6, board=6)
    ([1, 4, 12, 56, 244, 1396, 8200], 7604)
    """
    if depth < 0:
        raise InputError(f"depth {depth}: expected 0 or more plies")
    return _paths(Position.start(board), depth)


def _paths(position: Position, depth: int) -> int:
    if depth <= COMPILED:
        masks = position.board.masks
        return int(engine.perft(np.uint64(position.own), np.uint64(position.other), depth, masks))
    if position.over:
        return 1
    afters = [position.after(square) for square in position.legal()]
    # A position has passed already, so that a forced pass costs a ply here.
    return sum(1 if after.over else _paths(after, depth - 1 - after.passed) for after in afters)
