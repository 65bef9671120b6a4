"""Exact arithmetic of one query row: rational attention weights, exact values, exact minima.

The certified model. S, B and D are the float64 numbers given, taken as exact rationals. exp is transcendental,
so the attention weights of row y are exp(S[y, c] - max S[y, .]) cut to whole multiples of 2^-b, with
b = 170 + (spread of the row + widest spread) / ln 2 bits: every weight has a relative error below
2^-170 exp(-widest spread), and equal scores have equal weights. All that follows is exact in this model, and
`Exact.slack` bounds what the cut can move in any displacement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import chain
from math import ceil, gcd, isqrt, log

import numpy as np

from lengthwise.certificates.tables import Tables

PRECISION = 170
MOST_KINDS = 100
"""Programmes of a row told apart before the search for equal ones is given up: it pays for symmetric tables only."""


def exponential(x: Fraction, bits: int) -> int:
    """The number exp(x) 2^bits, for x <= 0, as an integer less than one unit away.

    Halve the argument until it is tiny, sum the Taylor series of exp(|x|), invert, square back, all in integers
    cut downwards. N series terms err by less than N + 3 units, each squaring of a number below 1 at most doubles the
    error and adds a unit: the guard bits cover (N + 4) 2^halvings. (Brent, J. ACM 23, 1976.)

    >>> exponential(Fraction(-1), 20), exponential(Fraction(0), 4)
    (385749, 16)
    """
    if x == 0:
        return 1 << bits
    halvings = ceil(-x).bit_length() + isqrt(bits) // 2 + 2
    work = bits + halvings + bits.bit_length() + 8
    small = (-x.numerator << work) // (x.denominator << halvings)
    term = total = 1 << work
    order = 0
    while term:
        order += 1
        term = (term * small >> work) // order
        total += term
    value = (1 << 2 * work) // total
    for _ in range(halvings):
        value = value * value >> work
    return value >> (work - bits)


@dataclass(frozen=True)
class ExactRow:
    """One query row y: integer weights and integer products weight[c] (B[y, i] + D[c, i]), all in one unit.

    >>> row = Exact(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3))).row(0)
    >>> row.weights, row.products[0]
    ([1, 1, 1], [-1, 0, 0])
    """

    last: int
    weights: list[int]
    products: list[list[int]]
    _kinds: dict[object, int] = field(default_factory=dict, repr=False)
    _kind_of: dict[tuple[int, int, bool], int] = field(default_factory=dict, repr=False)

    def displacement(self, tokens: tuple[int, ...]) -> Fraction:
        """Least legal minus greatest illegal logit of an input, in integer units of the tables.

        >>> Exact(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3))).row(0).displacement((2, 0))
        Fraction(1, 2)
        """
        legal, illegal = self._logits(tokens)
        return Fraction(min(legal) - max(illegal), sum(self.weights[c] for c in tokens))

    def negative_spread(self, tokens: tuple[int, ...]) -> Fraction:
        """Least minus greatest legal logit of an input, in integer units of the tables.

        >>> Exact(Tables(np.zeros((3, 3)), np.eye(3), np.eye(3))).row(0).negative_spread((0,))
        Fraction(0, 1)
        """
        legal, _ = self._logits(tokens)
        return Fraction(min(legal) - max(legal), sum(self.weights[c] for c in tokens))

    def kind(self, i: int, j: int, inside: bool) -> int | None:
        """A number that triples share if their programmes are equal up to the names of the tokens; None if not known.

        >>> row = Exact(Tables(np.zeros((4, 4)), np.zeros((4, 4)), -np.eye(4))).row(0)
        >>> row.kind(1, 2, True), row.kind(3, 1, True), row.kind(1, 0, True)
        (0, 0, 1)
        """
        triple = (i, j, inside)
        if triple not in self._kind_of and len(self._kinds) < MOST_KINDS:
            self._kind_of[triple] = self._new_kind(i, j, inside)
        return self._kind_of.get(triple)

    def _new_kind(self, i: int, j: int, inside: bool) -> int:
        gains = [p - q for p, q in zip(self.products[i], self.products[j], strict=True)]
        terms = list(zip(gains, self.weights, strict=True))
        forced = {self.last, j} if inside else {self.last}
        free = set(range(len(terms))) - {i, j, self.last}
        programme = (tuple(sorted(terms[c] for c in forced)), tuple(sorted(terms[c] for c in free)))
        return self._kinds.setdefault(programme, len(self._kinds))

    def _logits(self, tokens: tuple[int, ...]) -> tuple[list[int], list[int]]:
        """Logits of the legal and of the illegal tokens, times the sum of the weights."""
        every = [sum(product[c] for c in tokens) for product in self.products]
        illegal = set(tokens)
        return [f for i, f in enumerate(every) if i not in illegal], [every[j] for j in tokens]


class Exact:
    """The exact rational form of tables: rows, the unit of their integers, and the error of the cut weights.

    >>> exact = Exact(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -0.25 * np.eye(3)))
    >>> exact.unit, exact.row(1).products[0]
    (Fraction(1, 4), [-1, 0, 0])
    """

    def __init__(self, tables: Tables) -> None:
        """Bring B and D to integers of one unit; rows are made when asked for."""
        self.tables = tables
        self.spreads = np.ptp(tables.S, axis=1)
        entries = [x.as_integer_ratio() for x in chain(tables.B.ravel().tolist(), tables.D.ravel().tolist())]
        scale = max(denominator for _, denominator in entries)
        whole = [numerator * (scale // denominator) for numerator, denominator in entries]
        common = gcd(*whole) or 1
        size, v = tables.B.size, tables.vocabulary
        self.unit = Fraction(common, scale)
        self._B = [[n // common for n in whole[k : k + v]] for k in range(0, size, v)]
        self._D = [[n // common for n in whole[k : k + v]] for k in range(size, 2 * size, v)]
        self._rows: dict[int, ExactRow] = {}

    @cached_property
    def slack(self) -> Fraction:
        """How far any displacement or spread of the true softmax can lie from that of the rational weights.

        A weighted mean of gains within +-4 m, m the largest entry of B and D, moves by at most twice the relative
        error of the weights times 8 m. No error at all where every row of S is constant.
        """
        if not self.spreads.any():
            return Fraction(0)
        largest = max(np.abs(self.tables.B).max(), np.abs(self.tables.D).max())
        return 16 * Fraction(float(largest)) / (1 << PRECISION + self._bits(self.spreads.max()))

    def row(self, last: int) -> ExactRow:
        """The exact row of inputs that end in the token `last`."""
        if last not in self._rows:
            weights = self._weights(last)
            v = len(weights)
            products = [[weights[c] * (self._B[last][i] + self._D[c][i]) for c in range(v)] for i in range(v)]
            self._rows[last] = ExactRow(last, weights, products)
        return self._rows[last]

    def _weights(self, last: int) -> list[int]:
        """Integer weights of a row, without their common factor."""
        scores = [Fraction(x) for x in self.tables.S[last].tolist()]
        top = max(scores)
        bits = PRECISION + self._bits(self.spreads[last]) + self._bits(self.spreads.max())
        values = {score: exponential(score - top, bits) for score in set(scores)}
        common = gcd(*values.values())
        return [values[score] // common for score in scores]

    @staticmethod
    def _bits(spread: float) -> int:
        """Binary digits that exp(-spread) lies below one, rounded up with one to spare."""
        return ceil(float(spread) / log(2)) + 1


@dataclass(frozen=True)
class Programme:
    """Minimise f_i - f_j over inputs of one length that end in y, contain j or not, and do not contain i.

    `lowest` decides exactly whether the minimum is below, at or above a given ratio: it returns the sum
    sum_c weight_c (gain_c - ratio), times the ratio's denominator, at its least over all such inputs, and the least
    input that attains it (other tokens sorted, last token last). The sum is negative exactly if the minimum lies
    below the ratio (Dinkelbach, Management Science 13, 1967; `docs/theory.md`, "Exact certificate").

    >>> row = Exact(Tables(np.zeros((3, 3)), np.zeros((3, 3)), -np.eye(3))).row(0)
    >>> Programme(row, Fraction(1, 2)).lowest(1, 2, True, 2)
    (0, (2, 0))
    """

    row: ExactRow
    ratio: Fraction

    @cached_property
    def _scaled(self) -> list[list[int]]:
        return [[q * self.ratio.denominator for q in product] for product in self.row.products]

    @cached_property
    def _shift(self) -> list[int]:
        return [weight * self.ratio.numerator for weight in self.row.weights]

    def lowest(self, i: int, j: int, inside: bool, length: int) -> tuple[int, tuple[int, ...]]:
        """The least sum and the least input that attains it, for legal token i and other token j."""
        last = self.row.last
        terms = [p - q - s for p, q, s in zip(self._scaled[i], self._scaled[j], self._shift, strict=True)]
        others = [j] if inside and j != last else []
        # The sort is stable: of equal terms the smaller token comes first, which makes the input the least.
        free = sorted(set(range(len(terms))) - {i, j, last}, key=terms.__getitem__)
        others += free[: length - 1 - len(others)]
        return sum([terms[c] for c in others], terms[last]), (*sorted(others), last)
