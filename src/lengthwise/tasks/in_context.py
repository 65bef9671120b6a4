"""In-context tasks: what to answer is told by examples in the input, and asked of the last position."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from lengthwise.tasks.batch import Batch
from lengthwise.tasks.drawn_lengths import DrawnLengths
from lengthwise.tasks.task import LossName

Row = Sequence[float]


class _Examples(DrawnLengths):
    """Examples (x, what belongs to x) as vectors, then a query (x, zeros); a length counts the query too."""

    distinct: ClassVar[bool] = False

    dimension: int = Field(default=4, ge=1, description="numbers of x")

    @property
    def shortest(self) -> int:
        return 2

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` inputs of lengths drawn up to `length`, padded to the longest."""
        return self._batch(rng, self.drawn_lengths(rng, count, length))

    def measure(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` inputs of exactly `length`, with the exact targets."""
        return self._batch(rng, self.equal_lengths(count, length), measuring=True)

    def _batch(self, rng: np.random.Generator, lengths: np.ndarray, measuring: bool = False) -> Batch:
        raise NotImplementedError


class MatchingExample(_Examples):
    """Look-up: the answer is the class of the one example whose x equals the query's.

    An x lies on the unit sphere, so that it agrees with no other as well as with itself; a class is one-hot. The target
    gives each class its share among the examples that equal the query (all but certainly one).

    >>> task = MatchingExample(dimension=2, classes=2)
    >>> task.oracle([[1, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0]])
    [0.0, 1.0]
    >>> task.measure(np.random.default_rng(0), count=3, length=6).inputs.shape
    torch.Size([3, 6, 4])
    """

    name: ClassVar[str] = "matching-example"
    loss: ClassVar[LossName] = "cross-entropy"

    classes: int = Field(default=4, ge=2, description="number of classes")

    @property
    def sizes(self) -> dict[str, int]:
        return {"features": self.dimension + self.classes, "outputs": self.classes}

    def oracle(self, inputs: Sequence[Row]) -> list[float]:
        """The exact answer to one input, in plain Python."""
        d = self.dimension
        *examples, query = (list(row) for row in inputs)
        matching = [row[d:] for row in examples if row[:d] == query[:d]]
        return [sum(column) / len(matching) for column in zip(*matching)]

    def _batch(self, rng: np.random.Generator, lengths: np.ndarray, measuring: bool = False) -> Batch:
        count, longest = len(lengths), int(lengths.max())
        each, asked = np.arange(count), rng.integers(0, lengths - 1)
        x = rng.standard_normal((count, longest, self.dimension))
        x = (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)
        x[each, lengths - 1] = x[each, asked]
        labels = rng.integers(0, self.classes, (count, longest))
        known = np.eye(self.classes, dtype=np.float32)[labels] * (np.arange(longest) < lengths[:, None] - 1)[..., None]
        inputs, mask = _padded(np.concatenate([x, known], axis=-1), lengths)
        targets = None
        if measuring:
            equal = (x == x[each, lengths - 1][:, None]).all(-1, keepdims=True)
            matching = (equal * known).sum(axis=1, dtype=float)
            targets = torch.from_numpy(matching / matching.sum(axis=1, keepdims=True))
        return Batch(inputs, torch.from_numpy(labels[each, asked]), "last", targets, mask)


class LinearInContext(_Examples):
    """Linear regression: y = w . x + noise in every example, with w drawn afresh for each input.

    x is standard normal and w normal of variance 1 / dimension, so that w . x has variance 1. A label is the query's y,
    noise included; the target is what no predictor can better, the mean of w . x given the examples: with X and y their
    rows, x^T (X^T X + noise^2 dimension I)^-1 X^T y. (The prompts of Zhang, Frei and Bartlett 2024, with noise.)

    >>> task = LinearInContext(dimension=1, noise=1.0)
    >>> task.oracle([[1, 3], [1, 0], [2, 0]])  # (1 + 1 + 1) w = 3
    [2.0]
    >>> task.measure(np.random.default_rng(0), count=3, length=6).inputs.shape
    torch.Size([3, 6, 2])
    """

    name: ClassVar[str] = "linear-in-context"
    loss: ClassVar[LossName] = "squared-error"

    noise: float = Field(default=0.1, gt=0, allow_inf_nan=False, description="standard deviation of the noise in y")

    @property
    def sizes(self) -> dict[str, int]:
        return {"features": self.dimension + 1, "outputs": 1}

    @property
    def penalty(self) -> float:
        """The variance of the noise over that of each number of w."""
        return self.noise**2 * self.dimension

    def oracle(self, inputs: Sequence[Row]) -> list[float]:
        """The exact answer to one input, in plain Python: Gaussian elimination on sums without rounding."""
        *examples, query = inputs
        columns = list(zip(*examples))
        rows = [[math.fsum(a * b for a, b in zip(one, other)) for other in columns] for one in columns[:-1]]
        for i, row in enumerate(rows):
            row[i] += self.penalty
        for i, pivot in enumerate(rows):  # positive definite: no pivot is 0
            for row in rows[:i] + rows[i + 1 :]:
                factor = row[i] / pivot[i]
                row[:] = [a - factor * b for a, b in zip(row, pivot)]
        return [math.fsum(x * row[-1] / row[i] for i, (x, row) in enumerate(zip(query, rows)))]

    def _batch(self, rng: np.random.Generator, lengths: np.ndarray, measuring: bool = False) -> Batch:
        count, longest, d = len(lengths), int(lengths.max()), self.dimension
        each, end = np.arange(count), lengths - 1
        x = rng.standard_normal((count, longest, d), dtype=np.float32)
        w = rng.standard_normal((count, d)) / math.sqrt(d)
        y = (x @ w[..., None])[..., 0] + self.noise * rng.standard_normal((count, longest))
        labels, told = y[each, end, None].astype(np.float32), np.where(np.arange(longest) < end[:, None], y, 0)
        rows = np.concatenate([x, told[..., None]], axis=-1, dtype=np.float32, casting="same_kind")
        inputs, mask = _padded(rows, lengths)
        targets = torch.from_numpy(self._posterior_means(rows.astype(float))) if measuring else None
        return Batch(inputs, torch.from_numpy(labels), "last", targets, mask)

    def _posterior_means(self, rows: np.ndarray) -> np.ndarray:
        """The optimal answers to inputs of one length, `(count, 1)`."""
        x, y, query = rows[:, :-1, :-1], rows[:, :-1, -1:], rows[:, -1, None, :-1]
        transposed = x.swapaxes(1, 2)
        solved = np.linalg.solve(transposed @ x + self.penalty * np.eye(self.dimension), transposed @ y)
        return (query @ solved)[..., 0]


def _padded(vectors: np.ndarray, lengths: np.ndarray) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Vectors with zeros after the end of each input, and the mask, None where all are of one length."""
    real = np.arange(vectors.shape[1]) < lengths[:, None]
    return torch.from_numpy(vectors * real[..., None]), None if real.all() else torch.from_numpy(real)
