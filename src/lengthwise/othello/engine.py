"""The rules and the random player, compiled.

All compiled code that calls other compiled code is in this file: numba's cache on disk notices a change of a function's
own file only. Sets of squares are 64-bit words; `board` is `Board.masks`.
"""

from __future__ import annotations

import numba
import numpy as np

ZERO, ONE = np.uint64(0), np.uint64(1)
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
compiled = numba.njit(cache=True, nogil=True)


@compiled
def count(bits):
    """How many squares are in a set; the compiler knows the idiom and emits one instruction."""
    bits = bits - ((bits >> ONE) & np.uint64(0x5555555555555555))
    bits = (bits & np.uint64(0x3333333333333333)) + ((bits >> np.uint64(2)) & np.uint64(0x3333333333333333))
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (bits * np.uint64(0x0101010101010101)) >> np.uint64(56)


@compiled
def _up(begin, through, step):
    """The unbroken runs in `through` that follow `begin` upwards; by doubling, up to six squares, all a board has."""
    run = through & (begin << step)
    run |= through & (run << step)
    pairs, two = through & (through << step), step + step
    run |= pairs & (run << two)
    return run | (pairs & (run << two))


@compiled
def _down(begin, through, step):
    run = through & (begin >> step)
    run |= through & (run >> step)
    pairs, two = through & (through >> step), step + step
    run |= pairs & (run >> two)
    return run | (pairs & (run >> two))


@compiled
def _ends(own, through, step):
    return (_up(own, through, step) << step) | (_down(own, through, step) >> step)


@compiled
def legal(own, other, board):
    """The squares where the player of `own` may move."""
    size, inner, full = board[0], board[1], board[2]
    inside = other & inner
    ends = _ends(own, other, size) | _ends(own, inside, ONE)
    ends |= _ends(own, inside, size - ONE) | _ends(own, inside, size + ONE)
    return ends & full & ~(own | other)


@compiled
def _held(move, own, through, step):
    up, down = _up(move, through, step), _down(move, through, step)
    return (up if (up << step) & own else ZERO) | (down if (down >> step) & own else ZERO)


@compiled
def flips(move, own, other, board):
    """The discs that a move, a set of one square, turns over."""
    size, inside = board[0], other & board[1]
    turned = _held(move, own, other, size) | _held(move, own, inside, ONE)
    return turned | _held(move, own, inside, size - ONE) | _held(move, own, inside, size + ONE)


@compiled
def perft(own, other, depth, board):
    """The paths of `depth` plies; a pass is a ply, and a game that is over ends its path."""
    if depth == 0:
        return 1
    moves = legal(own, other, board)
    if moves == ZERO:
        return perft(other, own, depth - 1, board) if legal(other, own, board) else 1
    if depth == 1:
        return np.int64(count(moves))
    paths = 0
    while moves:
        move = moves & (~moves + ONE)
        turned = flips(move, own, other, board)
        paths += perft(other ^ turned, own | move | turned, depth - 1, board)
        moves ^= move
    return paths


@compiled
def philox(a, b, c, d, key, second):
    """Four random 32-bit words of a counter and a key: Philox4x32-10 of Salmon et al. 2011."""
    for _ in range(10):
        left, right = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b = (right >> HALF) ^ b ^ key, right & LOW
        c, d = (left >> HALF) ^ d ^ second, left & LOW
        key, second = (key + np.uint64(0x9E3779B9)) & LOW, (second + np.uint64(0xBB67AE85)) & LOW
    return a, b, c, d


@compiled
def play(seed, index, row, board):
    """Write the squares of one uniformly random game; returns its moves. Exactly uniform: words that would favour some
    moves are drawn again (Lemire 2019)."""
    own, other = board[3], board[4]
    words, used, ply = (ZERO, ZERO, ZERO, ZERO), 0, 0
    while True:
        moves = legal(own, other, board)
        if moves == ZERO:
            own, other = other, own
            moves = legal(own, other, board)
            if moves == ZERO:
                return ply
        choices = count(moves)
        while True:
            if used % 4 == 0:
                words = philox(index & LOW, index >> HALF, np.uint64(used // 4), ZERO, seed & LOW, seed >> HALF)
            product = words[used % 4] * choices
            used += 1
            if (product & LOW) >= choices or (product & LOW) >= np.uint64(1 << 32) % choices:
                break
        for _ in range(product >> HALF):
            moves &= moves - ONE
        move = moves & (~moves + ONE)
        row[ply] = count(move - ONE)
        ply += 1
        turned = flips(move, own, other, board)
        own, other = other ^ turned, own | move | turned


@compiled
def play_many(seed, start, moves, lengths, board):
    """The games numbered from `start` on, one a row."""
    for i in range(len(moves)):
        lengths[i] = play(seed, start + np.uint64(i), moves[i], board)


@compiled
def replay(moves, lengths, sets, passes, faults, discs, board):
    """Of each game: the legal set before each move, its passes, its first illegal ply or -1, its last discs."""
    for i in range(len(moves)):
        own, other = board[3], board[4]
        passed, fault, ply = 0, -1, 0
        while ply < lengths[i]:
            squares = legal(own, other, board)
            if squares == ZERO:
                squares = legal(other, own, board)
                if squares != ZERO:
                    own, other = other, own
                    passed += 1
            sets[i, ply] = squares
            square = np.uint64(moves[i, ply])
            move = ONE << square if square < np.uint64(64) else ZERO
            if squares & move == ZERO:
                fault = ply
                break
            turned = flips(move, own, other, board)
            own, other = other ^ turned, own | move | turned
            ply += 1
        passes[i], faults[i] = passed, fault
        black = (ply + passed) % 2
        discs[i, black], discs[i, 1 - black] = count(own), count(other)
