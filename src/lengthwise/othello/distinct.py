"""Games told apart by a hash of their moves, in time linear in their number."""

from __future__ import annotations

import numba
import numpy as np
from jaxtyping import UInt8, UInt64

from lengthwise.othello.games import Games


def distinct(games: Games) -> Games:
    """The games without those that repeat an earlier one move by move; the order stays.

    >>> from lengthwise.othello.games import games, joined
    >>> some = games(seed=0, start=0, count=5)
    >>> len(distinct(joined([some, some[2:4]], some.board)))
    5
    """
    moves = np.ascontiguousarray(games.moves)
    return games[_first_of_each(moves, hashes(moves))]


def hashes(moves: UInt8[np.ndarray, "n plies"], seed: int = 0) -> UInt64[np.ndarray, " n"]:
    """64-bit hashes of rows: FNV-1a, then the finaliser of MurmurHash3, so that every bit is even.

    >>> [hex(h) for h in hashes(np.array([[19, 18], [18, 19]], dtype=np.uint8)).tolist()]
    ['0x58dd8ecbb9ad5998', '0xe512f72782fae938']
    """
    return _hashes(np.ascontiguousarray(moves), np.uint64(seed))


@numba.njit(cache=True, nogil=True)
def _hashes(moves, seed):
    found = np.empty(len(moves), dtype=np.uint64)
    shift = np.uint64(33)
    for i in range(len(moves)):
        value = np.uint64(0xCBF29CE484222325) ^ (seed * np.uint64(0x9E3779B97F4A7C15))
        for square in moves[i]:
            value = (value ^ np.uint64(square)) * np.uint64(0x100000001B3)
        value = (value ^ (value >> shift)) * np.uint64(0xFF51AFD7ED558CCD)
        value = (value ^ (value >> shift)) * np.uint64(0xC4CEB9FE1A85EC53)
        found[i] = value ^ (value >> shift)
    return found


@numba.njit(cache=True, nogil=True)
def _first_of_each(moves, values):
    """Which rows repeat no earlier one: a table of row numbers by hash, where equal hashes are compared in full."""
    slots = 2
    while slots < 2 * len(moves):
        slots *= 2
    table = np.full(slots, -1, dtype=np.int64)
    new = np.ones(len(moves), dtype=np.bool_)
    for i in range(len(moves)):
        slot = values[i] & np.uint64(slots - 1)
        while table[slot] >= 0 and new[i]:
            j = table[slot]
            new[i] = values[i] != values[j] or not np.array_equal(moves[i], moves[j])
            slot = (slot + np.uint64(1)) & np.uint64(slots - 1)
        if new[i]:
            table[slot] = i
    return new
