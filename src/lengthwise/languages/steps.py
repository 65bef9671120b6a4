"""One step of many words at once: random bits against thresholds by state, searched as a binary tree."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

import numpy as np
from jaxtyping import Int, UInt32

from lengthwise.languages.draws import settle, threshold_error, thresholds
from lengthwise.languages.scaled import CHUNK, ScaledCounts

MEMORY = 64 * 2**20
_ROWS = 2**18


class Steps:
    """Draws the next `letters` letters of words under way, from the exact conditional given their states.

    The choices from a state are the k^m blocks of m letters. Their thresholds, cut to the bits of a draw, lie in a
    complete binary tree, so that a draw takes log2(k^m) comparisons, all words at once. A draw in the cells where a
    threshold may lie (`width` cells beyond the lowest) is left to `settle`.

    >>> from lengthwise.languages import Language
    >>> counts = ScaledCounts(Language.from_regex("a*b(a|b)*").automaton)
    >>> states = np.zeros(4, dtype=np.intp)
    >>> steps = Steps(counts, letters=1, bits=32)
    >>> steps.step(states, 1, np.random.default_rng(0)).tolist(), states.tolist()
    ([1, 1, 1, 1], [1, 1, 1, 1])
    """

    def __init__(self, counts: ScaledCounts, letters: int, bits: int) -> None:
        table, k = counts.automaton.table, counts.automaton.letters
        self.counts, self.letters, self.bits = counts, letters, bits
        self.words = _blocks(k, letters)
        self.packed = self.words.view(f"u{self.words.itemsize * letters}")[:, 0]
        targets = np.arange(len(table))[:, None]
        for _ in range(letters):
            targets = table[targets].reshape(len(table), -1)
        self._targets = targets
        self._levels = (len(self.words) - 1).bit_length()
        self._size = 1 << self._levels
        self._number = np.int8 if self._size <= 128 else np.int16  # small numbers are added faster
        self._next = np.zeros((len(table), self._size), dtype=np.intp)
        self._next[:, : len(self.words)] = targets
        self._order = _tree_order(self._levels)
        rows = max(1, min(CHUNK // letters, _ROWS // self._next.size))
        self._rows = 1 << (rows.bit_length() - 1)
        self._thresholds = lru_cache(maxsize=max(2, MEMORY // (4 * self._rows * self._next.size)))(self._compute)

    def step(self, states: Int[np.ndarray, " n"], left: int, random: np.random.Generator) -> Int[np.ndarray, " n"]:
        """The blocks drawn when `left` letters are still to come; the states move on in place."""
        row, width = self._row(left)
        draws = _random_bits(len(states), self.bits, random)
        places = states * self._size
        index, unsure = places, None
        blocks = np.zeros(len(states), dtype=self._number)
        for level in range(self._levels):
            pivots = row[1 << level :].take(index)
            beyond = draws - pivots  # unsigned: a draw below its pivot is far beyond it
            if np.minimum.reduce(beyond, initial=width + 1) <= width:
                unsure = beyond <= width if unsure is None else unsure | (beyond <= width)
            blocks += blocks
            blocks += draws > pivots
            index = blocks.astype(np.intp)
            index += places
        for i in () if unsure is None else np.flatnonzero(unsure):
            targets = self._targets[states[i]].tolist()
            blocks[i] = settle(self.counts, targets, left - self.letters, int(draws[i]), self.bits, random)
            index[i] = places[i] + blocks[i]
        states[:] = self._next.reshape(-1).take(index)
        return blocks

    def _row(self, left: int) -> tuple[UInt32[np.ndarray, " nodes"], int]:
        """The trees of all states when `left` letters are still to come, and how many cells each threshold spans."""
        index = (left - self.letters) // self.letters
        cells, width = self._thresholds(index // self._rows)
        return cells[index % self._rows], width

    def _compute(self, part: int) -> tuple[UInt32[np.ndarray, "rows nodes"], int]:
        first = part * self._rows * self.letters
        mantissas, exponents = self.counts.chunk(first // CHUNK)
        lengths = slice(first % CHUNK, first % CHUNK + self._rows * self.letters, self.letters)
        shares = thresholds(mantissas[lengths][:, self._targets], exponents[lengths][:, self._targets])
        # Unused leaves of the tree lie beyond a threshold of 1.
        padding = [(0, 0), (0, 0), (0, self._size - len(self.words))]
        shares = np.pad(shares, padding, constant_values=1.0)[..., self._order]
        error = threshold_error(self.counts, len(self.words), first + self._rows * self.letters)
        scale = 2.0**self.bits
        slack = error * scale + 2.0**-18  # the second term covers the rounding of these lines
        cells = np.clip(np.floor(shares * scale - slack), 0, scale - 1).astype(np.uint32)
        # Node 0 is no node; it keeps the places of nodes powers of two apart.
        nodes = np.concatenate([np.zeros_like(cells[..., :1]), cells], axis=-1)
        return nodes.reshape(len(nodes), -1), ceil(2 * slack)


def _blocks(k: int, letters: int) -> Int[np.ndarray, "blocks letters"]:
    """All blocks of letters in lexicographic order."""
    grid = np.indices((k,) * letters).reshape(letters, -1).T
    return np.ascontiguousarray(grid, dtype=np.int8 if k <= 127 else np.int16)


def _tree_order(levels: int) -> list[int]:
    """For nodes 1, 2, ... of a complete search tree, breadth first, the rank of each."""
    return [((2 * p + 1) << (levels - depth - 1)) - 1 for depth in range(levels) for p in range(1 << depth)]


def _random_bits(count: int, bits: int, random: np.random.Generator) -> UInt32[np.ndarray, " count"]:
    # Two draws from every 64 bits: much the cheapest way that every bit generator offers.
    draws = random.integers(1 << 64, size=(count + 1) // 2, dtype=np.uint64).view(np.uint32)[:count]
    return draws if bits == 32 else draws >> np.uint32(32 - bits)
