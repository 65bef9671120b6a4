"""The float side of the exact certificate: candidates for the worst input, and what can be excluded soundly.

Nothing here is trusted for a value. A triple (last token y, legal i, other j) is dropped only if a float64 lower bound
with all its rounding errors proves that no input of the triple comes down to the incumbent ratio.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from lengthwise.certificates.rational import Exact

WIDEST_FLOAT_ROW = 600.0
"""Rows of S with a wider spread are solved rationally throughout: their weights reach down to float64 underflow."""


@dataclass(frozen=True)
class Pairs:
    """Pairs (i, j) of one last token y that share where j is: in the input (`inside`) or out of it.

    >>> [(len(pairs.i), pairs.forced) for pairs in pairs_of(4, 0, displacement=True)]
    [(3, 1), (6, 2)]
    """

    i: Int[np.ndarray, " n"]
    j: Int[np.ndarray, " n"]
    inside: bool
    forced: int

    def take(self, kept: np.ndarray) -> Pairs:
        """The pairs at the given places.

        >>> pairs_of(3, 0, displacement=True)[0].take(np.array([1])).i
        array([2])
        """
        return Pairs(self.i[kept], self.j[kept], self.inside, self.forced)


def pairs_of(vocabulary: int, last: int, displacement: bool) -> list[Pairs]:
    """All pairs for a displacement (i absent, j present), or for a spread (i and j absent), by tokens forced.

    >>> pairs_of(3, 2, displacement=False)[0].j
    array([1, 0])
    """
    others = np.array([token for token in range(vocabulary) if token != last])
    i, j = (grid.ravel() for grid in np.meshgrid(others, others, indexing="ij"))
    i, j = i[i != j], j[i != j]
    if not displacement:
        return [Pairs(i, j, inside=False, forced=1)]
    return [Pairs(others, np.full_like(others, last), True, 1), Pairs(i, j, True, 2)]


class FloatRow:
    """Float64 weights and gains of one last token, scaled so that the entries of B and D are at most one.

    Error of a term weight[c] (gain[c] - ratio), with u = 2^-53 and |entries| <= 1: the two sums B + D, their
    difference and the ratio's subtraction err by at most 2u + 2u + 4u + 8u, the weight and the product by 2u relative
    on at most 8, a sum of v terms by 8 v u relative to the weights: (32 + 8 v) u weight[c], to first order. `error`
    takes (64 + 9 v) u weight[c], and 1e-300 for what underflows.

    >>> from lengthwise.certificates.tables import Tables
    >>> row = FloatRow(Exact(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -2 * np.eye(3))), 0)
    >>> row.weight, row.gain[0]
    (array([1., 1., 1.]), array([-1.,  0.,  0.]))
    """

    def __init__(self, exact: Exact, last: int) -> None:
        """Round the exact weights, and add the scaled tables."""
        tables = exact.tables
        weights = exact.row(last).weights
        top = max(weights)
        self.last = last
        self.weight: Float[np.ndarray, " v"] = np.array([weight / top for weight in weights])
        self.gain: Float[np.ndarray, "i c"] = (tables.B[last] + tables.D).T * scale_of(exact)
        self.error = (64 + 9 * len(weights)) * 2.0**-53 * self.weight + 1e-300

    def lower_bounds(self, pairs: Pairs, length: int, ratio: float) -> tuple[np.ndarray, np.ndarray]:
        """Lower bounds of the least sum of every pair at a ratio, and the terms (free ones, the rest infinite).

        A positive bound proves that every input of the pair lies above the ratio.

        >>> from lengthwise.certificates.tables import Tables
        >>> row = FloatRow(Exact(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3))), 0)
        >>> row.lower_bounds(pairs_of(3, 0, True)[1], 2, 0.25)[0].round(9)
        array([0.5, 0.5])
        """
        terms = self.gain[pairs.i] - self.gain[pairs.j]
        terms -= ratio
        terms *= self.weight
        terms -= self.error
        rows = np.arange(len(terms))
        forced = terms[:, self.last].copy()
        if pairs.forced == 2:
            forced += terms[rows, pairs.j]
        terms[:, self.last] = terms[rows, pairs.i] = terms[rows, pairs.j] = np.inf
        ordered = np.sort(terms, axis=1)
        return forced + ordered[:, : length - pairs.forced].sum(axis=1), terms

    def likeliest(
        self, pairs: Pairs, length: int, terms: np.ndarray, sums: np.ndarray
    ) -> tuple[float, tuple[int, ...]]:
        """How far the best of the pairs' own best inputs lies below the ratio (a float guess), and that input.

        >>> from lengthwise.certificates.tables import Tables
        >>> row, pairs = FloatRow(Exact(Tables(np.zeros((3, 3)), np.eye(3), -np.eye(3))), 0), pairs_of(3, 0, True)[1]
        >>> sums, terms = row.lower_bounds(pairs, 2, 0.75)
        >>> row.likeliest(pairs, 2, terms, sums)[1]
        (2, 0)
        """
        free = np.argsort(terms, axis=1)[:, : length - pairs.forced]
        weight = self.weight[free].sum(axis=1) + self.weight[self.last]
        if pairs.forced == 2:
            weight += self.weight[pairs.j]
        best = int(np.argmin(sums / weight))
        others = free[best].tolist() + ([int(pairs.j[best])] if pairs.forced == 2 else [])
        return float(sums[best] / weight[best]), (*sorted(others), self.last)


def scale_of(exact: Exact) -> float:
    """The power of two that brings the entries of B and D to at most one.

    >>> from lengthwise.certificates.tables import Tables
    >>> scale_of(Exact(Tables(np.eye(2), np.eye(2), -6 * np.eye(2))))
    0.125
    """
    largest = max(np.abs(exact.tables.B).max(), np.abs(exact.tables.D).max())
    return float(2.0 ** min(1000.0, -np.ceil(np.log2(largest)))) if largest > 0 else 1.0
