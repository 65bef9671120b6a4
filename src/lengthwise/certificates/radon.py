"""Exact affine dependencies of a readout's columns, and the Radon partitions they are.

Columns are integer vectors; a dependency sum_i z_i u_i = 0 with sum_i z_i = 0 splits tokens by the sign of z into two
sets whose convex hulls meet (Radon, Math. Ann. 83, 1921).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

Column = list[int]
PRIMES = tuple(2**exponent - 1 for exponent in (61, 89, 107, 127, 521))


@dataclass(frozen=True)
class Radon:
    """Two token sets with a common point of their hulls: no hidden state ranks all of `outside` above all of `inside`.

    `inside_weights` and `outside_weights` are positive and sum to one each; sum_j inside_weights u_j equals sum_i
    outside_weights u_i. With an output bias the inside's weighted bias is at least the outside's. So for every hidden
    state the inside's weighted logit is at least the outside's: as an input, `inside` has an illegal token at least
    as likely as a legal one, and total variation at least 1 / (2 (v - s)) (`docs/theory.md`, "Displacement and the
    theorem").

    >>> half = Fraction(1, 2)
    >>> Radon((1,), (0, 2), (Fraction(1),), (half, half)).holds([[0], [1], [2]])
    True
    """

    inside: tuple[int, ...]
    outside: tuple[int, ...]
    inside_weights: tuple[Fraction, ...]
    outside_weights: tuple[Fraction, ...]

    def holds(self, columns: Sequence[Column], bias: Sequence[Fraction] | None = None) -> bool:
        """Whether the partition is one of these columns, checked in exact arithmetic.

        >>> Radon((0,), (2,), (Fraction(1),), (Fraction(1),)).holds([[0], [1], [2]])
        False
        """
        inside = list(zip(self.inside, self.inside_weights, strict=True))
        outside = list(zip(self.outside, self.outside_weights, strict=True))
        apart = not set(self.inside) & set(self.outside)
        convex = all(min(w for _, w in side) > 0 and sum(w for _, w in side) == 1 for side in (inside, outside))
        meet = all(
            sum(w * columns[t][k] for t, w in inside) == sum(w * columns[t][k] for t, w in outside)
            for k in range(len(columns[0]))
        )
        zero = [Fraction(0)] * len(columns)
        offset = bias or zero
        return (
            apart
            and convex
            and meet
            and sum(w * offset[t] for t, w in inside) >= sum(w * offset[t] for t, w in outside)
        )

    def turned(self) -> Radon:
        """The same two sets with their roles exchanged: it holds too if there is no bias.

        >>> Radon((0,), (2,), (Fraction(1),), (Fraction(1),)).turned().inside
        (2,)
        """
        return Radon(self.outside, self.inside, self.outside_weights, self.inside_weights)


def affine_dependencies(columns: Sequence[Column]) -> tuple[int, list[dict[int, Fraction]]]:
    """The exact affine rank of integer columns, and one dependency of each column outside a basis on that basis.

    Pivots are found modulo a Mersenne prime, which can only underrate the rank; the dependencies are solved in
    integers and verified on every row, which proves it. Three points of a line have rank 1:

    >>> affine_dependencies([[0], [2], [4]])
    (1, [{2: Fraction(1, 1), 0: Fraction(1, 1), 1: Fraction(-2, 1)}])
    """
    homogeneous = [[*column, 1] for column in columns]
    for prime in PRIMES:
        rows, basis = _pivots(homogeneous, prime)
        rest = [c for c in range(len(columns)) if c not in basis]
        solved = _solve([[homogeneous[c][k] for c in basis + rest] for k in rows])
        found = [
            {c: Fraction(1)} | {b: -line[position] for b, line in zip(basis, solved, strict=True) if line[position]}
            for position, c in enumerate(rest)
        ]
        if all(_vanishes(z, homogeneous) for z in found):
            return len(basis) - 1, found
    raise ArithmeticError("no prime kept the rank of the readout")


def partition_of(dependency: dict[int, Fraction], bias: Sequence[Fraction] | None = None) -> Radon:
    """The Radon partition of a dependency whose inside no hidden state can rank below the rest: the smaller if both.

    >>> partition_of({0: Fraction(1), 1: Fraction(-2), 2: Fraction(1)}).inside
    (1,)
    """
    scale = sum(z for z in dependency.values() if z > 0)
    sides = [
        {t: z / scale for t, z in dependency.items() if z > 0},
        {t: -z / scale for t, z in dependency.items() if z < 0},
    ]
    inside, outside = sorted(sides, key=len)
    if bias and sum(w * bias[t] for t, w in inside.items()) < sum(w * bias[t] for t, w in outside.items()):
        inside, outside = outside, inside
    return Radon(
        tuple(sorted(inside)),
        tuple(sorted(outside)),
        tuple(inside[t] for t in sorted(inside)),
        tuple(outside[t] for t in sorted(outside)),
    )


def _pivots(columns: Sequence[Column], prime: int) -> tuple[list[int], list[int]]:
    """Rows and columns of an invertible block of full rank modulo a prime, by elimination on columns."""
    rows: list[int] = []
    basis: list[int] = []
    reduced: list[list[int]] = []
    for c, column in enumerate(columns):
        left = [entry % prime for entry in column]
        for row, pivot in zip(rows, reduced, strict=True):
            if left[row]:
                factor = left[row]
                left = [(a - factor * b) % prime for a, b in zip(left, pivot, strict=True)]
        row = next((k for k, entry in enumerate(left) if entry), None)
        if row is not None:
            inverse = pow(left[row], -1, prime)
            rows.append(row)
            basis.append(c)
            reduced.append([entry * inverse % prime for entry in left])
    return rows, basis


def _solve(matrix: list[list[int]]) -> list[list[Fraction]]:
    """The solutions X of A X = R for the integer matrix [A | R] with A invertible, by Bareiss elimination.

    Fraction-free: every division is exact (Bareiss, Math. Comp. 22, 1968).
    """
    size, previous = len(matrix), 1
    lines = [list(line) for line in matrix]
    for k in range(size):
        swap = next(r for r in range(k, size) if lines[r][k])
        lines[k], lines[swap] = lines[swap], lines[k]
        top, pivot = lines[k], lines[k][k]
        for r in range(size):
            if r != k:
                factor = lines[r][k]
                lines[r] = [(pivot * a - factor * b) // previous for a, b in zip(lines[r], top, strict=True)]
        previous = pivot
    return [[Fraction(entry, line[k]) for entry in line[size:]] for k, line in enumerate(lines)]


def _vanishes(dependency: dict[int, Fraction], columns: Sequence[Column]) -> bool:
    """Whether a dependency is zero on every row."""
    return all(sum(z * columns[t][k] for t, z in dependency.items()) == 0 for k in range(len(columns[0])))
