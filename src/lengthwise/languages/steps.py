"""Words under way, letter by letter in compiled loops: random bits against thresholds that are known within a bound."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numba
import numpy as np
from jaxtyping import Int, UInt32

from lengthwise.languages.draws import settle, threshold_error, thresholds
from lengthwise.languages.scaled import CHUNK, ScaledCounts

MEMORY = 64 * 2**20


class Steps:
    """Draws the next letters of words under way, from the exact conditional given their states.

    The thresholds between the k letters of a state, cut to the bits of a draw, lie in cells; a draw in the cells where
    a threshold may lie (`width` cells beyond the lowest) is left to `settle`. They are computed for CHUNK lengths at a
    time, so that memory is bounded at any length.

    >>> from lengthwise.languages import Language
    >>> steps = Steps(ScaledCounts(Language.from_regex("a*b(a|b)*").automaton), bits=32)
    >>> words = np.full((2, 3), -1, dtype=np.int8)
    >>> steps.walk(words, np.array([1, 3]), np.random.default_rng(0))
    >>> words.tolist()
    [[1, -1, -1], [1, 1, 0]]
    """

    def __init__(self, counts: ScaledCounts, bits: int) -> None:
        self.counts, self.bits = counts, bits
        self.table = np.ascontiguousarray(counts.automaton.table, dtype=np.int64)
        size = CHUNK * self.table.size * 4
        self.cells = lru_cache(maxsize=max(2, MEMORY // size))(self._cells)

    def walk(self, words: Int[np.ndarray, "n longest"], lengths: Int[np.ndarray, " n"], random: np.random.Generator):
        """Fill each row of `words` with a word of its length, drawn from state 0 on."""
        left = lengths.astype(np.int64)
        states = np.zeros(len(words), dtype=np.int64)
        for part in range(int(left.max(initial=0) - 1) // CHUNK, -1, -1):
            cells, width = self.cells(part)
            low = part * CHUNK
            draws = _random_bits(int(np.maximum(left - low, 0).sum()), self.bits, random)
            word = used = 0
            while True:
                word, used = _walk(words, lengths, left, states, draws, cells, width, low, self.table, word, used)
                if word == len(words):
                    break
                self._settle(words, lengths, left, states, word, int(draws[used - 1]), random)

    def _settle(self, words, lengths, left, states, word: int, draw: int, random: np.random.Generator) -> None:
        """One letter of one word, by as many more bits as it takes."""
        targets = self.table[states[word]].tolist()
        left[word] -= 1
        letter = settle(self.counts, targets, int(left[word]), draw, self.bits, random)
        words[word, lengths[word] - left[word] - 1] = letter
        states[word] = targets[letter]

    def _cells(self, part: int) -> tuple[UInt32[np.ndarray, "lengths states letters-1"], int]:
        """The cells of the thresholds with CHUNK part + 1, + 2, ... letters still to come, and how many each spans."""
        mantissas, exponents = self.counts.chunk(part)
        shares = thresholds(mantissas[:CHUNK][:, self.table], exponents[:CHUNK][:, self.table])
        error = threshold_error(self.counts, self.table.shape[1], (part + 1) * CHUNK)
        scale = 2.0**self.bits
        slack = error * scale + 2.0**-18  # the second term covers the rounding of these lines
        return np.clip(np.floor(shares * scale - slack), 0, scale - 1).astype(np.uint32), ceil(2 * slack)


@numba.njit(cache=True)
def _walk(words, lengths, left, states, draws, cells, width, low, table, word, used):
    """Draw the letters of this part of all words from `word` on; where a draw is unsure, stop at its word."""
    thresholds = cells.shape[2]
    for i in range(word, len(words)):
        state, rest, length = states[i], left[i], lengths[i]
        while rest > low:
            draw, letter, unsure = draws[used], 0, False
            used += 1
            for j in range(thresholds):
                beyond = np.int64(draw) - np.int64(cells[rest - low - 1, state, j])
                letter += beyond > 0
                unsure |= (beyond >= 0) & (beyond <= width)
            if unsure:
                states[i], left[i] = state, rest
                return i, used
            words[i, length - rest] = letter
            state = table[state, letter]
            rest -= 1
        states[i], left[i] = state, rest
    return len(words), used


def _random_bits(count: int, bits: int, random: np.random.Generator) -> UInt32[np.ndarray, " count"]:
    # Two draws from every 64 bits: much the cheapest way that every bit generator offers.
    draws = random.integers(1 << 64, size=(count + 1) // 2, dtype=np.uint64).view(np.uint32)[:count]
    return draws if bits == 32 else draws >> np.uint32(32 - bits)
