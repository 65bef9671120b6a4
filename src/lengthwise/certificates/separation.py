"""Which token sets a linear readout can rank below the rest: floats search, exact arithmetic decides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import lcm

import numpy as np
from scipy.optimize import linprog

from lengthwise.certificates.radon import Column, Radon, affine_dependencies, partition_of

NEGLIGIBLE = 1e-9
RANDOM_BASES = 300


class Columns:
    """The columns of a readout: exact integers (each row in a unit of its own) and well-conditioned floats.

    >>> points = Columns([[Fraction(x) for x in range(4)]])
    >>> points.rank, points.partition().inside, points.separates((0,)), points.separates((1,))
    (1, (1,), True, False)
    """

    def __init__(self, rows: Sequence[Sequence[Fraction]], bias: Sequence[Fraction] | None = None) -> None:
        """Take the rows of a readout and the tokens' bias."""
        self.whole = [_whole(row) for row in rows]
        self.bias = bias
        self.columns: list[Column] = [list(column) for column in zip(*self.whole, strict=True)]
        self.rank, self.dependencies = affine_dependencies(self.columns)
        tops = [max(abs(entry) for entry in row) or 1 for row in self.whole]
        scaled = [[entry / top for entry in row] for row, top in zip(self.whole, tops, strict=True)]
        self._floats = np.array([*scaled, [1.0] * len(self.columns)])
        self._whitened = np.linalg.svd(self._floats, full_matrices=False)[2][: self.rank + 1]
        offset = [0.0] * len(self.columns) if bias is None else [float(b) for b in bias]
        self._offset = np.array(offset) / (np.abs(offset).max() or 1.0)

    def partition(self) -> Radon:
        """The partition of smallest inside among the exact dependencies and random ones (fixed seed).

        With a bias, partitions of the columns raised by the bias are tried too: their smaller side serves.

        >>> Columns([[Fraction(x) for x in (0, 1, 1, 0)], [Fraction(x) for x in (0, 0, 1, 1)]]).partition().inside
        (1, 3)
        """
        found = [partition_of(z, self.bias) for z in self.dependencies]
        found += self._exact(self._random_support())
        if self.bias is not None:
            raised = Columns([*([Fraction(n) for n in row] for row in self.whole), self.bias])
            found += [raised.partition()] if raised.dependencies else []
        return min(found, key=lambda radon: (len(radon.inside), radon.inside))

    def separates(self, tokens: tuple[int, ...]) -> bool:
        """Whether some hidden state ranks every other token above these, verified exactly (False if not found).

        >>> Columns([[Fraction(x) for x in range(4)]]).separates((0, 1))
        True
        """
        sign = np.ones(len(self.columns))
        sign[list(tokens)] = -1.0
        coordinates = np.vstack([self._whitened, self._offset])
        bounds = [(None, None)] * (len(coordinates) - 1) + [(NEGLIGIBLE, None)]
        answer = linprog(
            np.zeros(len(coordinates)), A_ub=-(coordinates * sign).T, b_ub=-np.ones(len(sign)), bounds=bounds
        )
        return answer.status == 0 and self._ranks(answer.x, tokens)

    def _ranks(self, functional: np.ndarray, tokens: tuple[int, ...]) -> bool:
        """Whether the hidden state nearest a functional of the whitened columns ranks the tokens below the rest."""
        *_, bias_scale = functional
        hidden = np.linalg.lstsq(self._floats.T, functional[:-1] @ self._whitened, rcond=None)[0][:-1]
        tops = [max(abs(entry) for entry in row) or 1 for row in self.whole]
        exact = [Fraction(h) / top for h, top in zip(hidden.tolist(), tops, strict=True)]
        logits = [sum((h * n for h, n in zip(exact, column, strict=True)), Fraction(0)) for column in self.columns]
        if self.bias is not None:
            unit = Fraction(float(bias_scale)) / (Fraction(max(abs(b) for b in self.bias)) or 1)
            logits = [f + unit * b for f, b in zip(logits, self.bias, strict=True)]
        return max(logits[t] for t in tokens) < min(f for t, f in enumerate(logits) if t not in tokens)

    def meeting(self, tokens: tuple[int, ...]) -> Radon | None:
        """An exact partition with its inside among these tokens, None if no hulls were found to meet.

        >>> Columns([[Fraction(x) for x in range(4)]]).meeting((2,)).outside
        (1, 3)
        """
        inside = np.isin(np.arange(len(self.columns)), tokens)
        sign = np.where(inside, 1.0, -1.0)
        answer = linprog(
            -self._offset * sign,
            A_eq=np.vstack([self._whitened * sign, inside]),
            b_eq=np.array([0.0] * len(self._whitened) + [1.0]),
            method="highs-ds",
        )
        if answer.status != 0:
            return None
        found = self._exact(np.flatnonzero(answer.x > NEGLIGIBLE).tolist())
        sides = [radon for one in found for radon in (one, one.turned())]
        fitting = [radon for radon in sides if set(radon.inside) <= set(tokens)]
        return next((radon for radon in fitting if radon.holds(self.columns, self.bias)), None)

    def _exact(self, support: Iterable[int]) -> list[Radon]:
        """The partitions of exact dependencies among some columns."""
        names = list(support)
        found = affine_dependencies([self.columns[t] for t in names])[1] if names else []
        return [partition_of({names[k]: weight for k, weight in z.items()}, self.bias) for z in found]

    def _random_support(self) -> list[int]:
        """The columns of the random dependency whose unservable side is smallest, by floats."""
        v, size = len(self.columns), self.rank + 1
        draw = np.random.default_rng(0)
        best: tuple[int, list[int]] = (v, [])
        for _ in range(RANDOM_BASES):
            basis, rest = np.split(draw.permutation(v), [size])
            if len(rest) == 0 or np.linalg.cond(self._whitened[:, basis]) > 1 / NEGLIGIBLE:
                continue
            z = np.zeros((len(rest), v))
            z[np.arange(len(rest)), rest] = 1.0
            z[:, basis] = -np.linalg.solve(self._whitened[:, basis], self._whitened[:, rest]).T
            z[np.abs(z) < NEGLIGIBLE * np.abs(z).max(axis=1, keepdims=True)] = 0.0
            positive, negative = (z > 0).sum(axis=1), (z < 0).sum(axis=1)
            allowed = np.where(z @ self._offset >= 0, positive, negative)
            sizes = np.minimum(positive, negative) if self.bias is None else allowed
            least = int(sizes.argmin())
            best = min(best, (int(sizes[least]), sorted(np.flatnonzero(z[least]).tolist())))
        return best[1]


def _whole(row: Sequence[Fraction]) -> list[int]:
    """A row in integers, by its common denominator."""
    unit = lcm(*(entry.denominator for entry in row))
    return [int(entry * unit) for entry in row]
