"""Counts of words in float64, each with its own exponent: any length, bounded memory, and a bound on the error."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from jaxtyping import Float, Int

from lengthwise.languages.automaton import Automaton

CHUNK = 256
MEMORY = 64 * 2**20
_UNIT = 2.0**-53


class ScaledCounts:
    """The number of words of each length from each state into acceptance, as mantissa times 2 to an integer power.

    Counts grow and shrink against each other without bound (2^length beside 1), so each keeps its own exponent and none
    underflows: a count is 0 here iff it is 0. Every 256th length is kept; those between are computed again when asked
    for, so that memory stays bounded at any length. Source: `docs/theory.md`, "Star-free decision and sampling".

    >>> counts = ScaledCounts(Automaton(np.array([[0, 1], [1, 1]]), np.array([False, True])))
    >>> mantissas, exponents = counts.at(5)
    >>> np.ldexp(mantissas, exponents).tolist()
    [31.0, 32.0]
    >>> counts.relative_error(5) < 1e-14
    True
    """

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        # Letters first: sums over the leading axis are fast.
        self._targets = np.ascontiguousarray(automaton.table.T)
        self._kept = [np.frexp(automaton.accepting.astype(float))]
        size = CHUNK * automaton.states * 12
        self.chunk = lru_cache(maxsize=max(2, MEMORY // size))(self._chunk)

    def relative_error(self, length: int) -> float:
        """A bound on the relative error of every count of that length.

        A sum of k non-negative terms has a relative error below (k - 1) units in the last place plus that of its terms
        (Higham 2002, section 4.2), so length many such sums stay below this while it is small; scaling by powers of two
        is exact, and what falls below the smallest number weighs less than 2^-1000 of the sum.
        """
        return 1.01 * length * self.automaton.letters * _UNIT

    def at(self, length: int) -> tuple[Float[np.ndarray, " states"], Int[np.ndarray, " states"]]:
        """Mantissas (in [1/2, 1), or 0) and exponents of the counts of one length."""
        mantissas, exponents = self.chunk(length // CHUNK)
        return mantissas[length % CHUNK], exponents[length % CHUNK]

    def _chunk(self, index: int) -> tuple[Float[np.ndarray, "lengths states"], Int[np.ndarray, "lengths states"]]:
        """The counts of lengths 256 index .. 256 (index + 1), both included."""
        while len(self._kept) <= index:
            self._fill(len(self._kept) - 1)
        return self._fill(index)

    def _fill(self, index: int) -> tuple[Float[np.ndarray, "lengths states"], Int[np.ndarray, "lengths states"]]:
        mantissas = np.empty((CHUNK + 1, self.automaton.states))
        exponents = np.empty((CHUNK + 1, self.automaton.states), dtype=np.int32)
        mantissas[0], exponents[0] = self._kept[index]
        targets = self._targets
        for length in range(CHUNK):
            powers = exponents[length].take(targets)
            top = np.maximum.reduce(powers)
            powers -= top
            total = np.add.reduce(np.ldexp(mantissas[length].take(targets), powers))
            # Zero has exponent 0, below that of any count, so it never lifts `top`.
            _, exponents[length + 1] = np.frexp(total, mantissas[length + 1], exponents[length + 1])
            exponents[length + 1] += top
        if len(self._kept) == index + 1:
            self._kept.append((mantissas[CHUNK].copy(), exponents[CHUNK].copy()))
        return mantissas, exponents
