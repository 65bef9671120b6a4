"""Regression on marked positions of a long input: a fixed linear function of their mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
import torch
from pydantic import Field

from lengthwise.tasks.batch import Batch
from lengthwise.tasks.drawn_lengths import DrawnLengths
from lengthwise.tasks.randomness import stream
from lengthwise.tasks.task import LossName


class MarkedMean(DrawnLengths):
    """The answer is w . (mean of z over the marked positions), of `marked` positions drawn anywhere in the input.

    A position is a vector: p standard normal numbers z, then 1 where it is marked and 0 where not. The weights w are of
    length 1, so that the answer has variance 1 / marked, and fixed: drawn from `seed` once. A label is the answer plus
    normal noise; the target is the answer, which no predictor can better. (One marked position is the single-location
    regression of arXiv:2410.01537, in the setting of arXiv:2610.20337; docs/theory.md, "Attention lag".)

    >>> task = MarkedMean(features=2, marked=2)
    >>> w = task.weights.tolist()
    >>> task.oracle([[1, 0, 1], [9, 9, 0], [0, 1, 1]]) == [(w[0] + w[1]) / 2]
    True
    >>> batch = task.measure(np.random.default_rng(0), count=4, length=6)
    >>> batch.inputs.shape, batch.targets.shape
    (torch.Size([4, 6, 3]), torch.Size([4, 1]))
    """

    name: ClassVar[str] = "marked-mean"
    loss: ClassVar[LossName] = "squared-error"
    distinct: ClassVar[bool] = False

    features: int = Field(default=5, ge=1, description="numbers p of a position, beside the mark")
    marked: int = Field(default=3, ge=1, description="how many positions are marked")
    noise: float = Field(default=0, ge=0, allow_inf_nan=False, description="standard deviation of noise in labels")
    seed: int = Field(default=0, ge=0, description="which weights w")

    @property
    def shortest(self) -> int:
        return self.marked

    @property
    def sizes(self) -> dict[str, int]:
        return {"features": self.features + 1, "outputs": 1}

    @cached_property
    def weights(self) -> np.ndarray:
        """The weights w, of length 1."""
        w = stream(self.seed, 0, 0, "regression weights").standard_normal(self.features)
        return w / np.linalg.norm(w)

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` inputs of lengths drawn up to `length`, padded to the longest, with noisy labels."""
        return self._batch(rng, self.drawn_lengths(rng, count, length))

    def measure(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` inputs of exactly `length`, with noisy labels and the exact answers."""
        return self._batch(rng, self.equal_lengths(count, length), measuring=True)

    def oracle(self, inputs: Sequence[Sequence[float]]) -> list[float]:
        """The exact answer to one input, in plain Python."""
        there = [z for *z, mark in inputs if mark == 1]
        assert len(there) == self.marked
        return [math.fsum(w * x for z in there for w, x in zip(self.weights.tolist(), z)) / self.marked]

    def _batch(self, rng: np.random.Generator, lengths: np.ndarray, measuring: bool = False) -> Batch:
        count, longest = len(lengths), int(lengths.max())
        real = np.arange(longest) < lengths[:, None]
        inputs = np.zeros((count, longest, self.features + 1), dtype=np.float32)
        inputs[..., :-1] = rng.standard_normal((count, longest, self.features), dtype=np.float32) * real[..., None]
        # The largest of one uniform number a position are a uniformly drawn set of positions.
        places = np.where(real, rng.random((count, longest)), -1.0)
        places = np.argpartition(-places, self.marked - 1, axis=1)[:, : self.marked]
        np.put_along_axis(inputs[..., -1], places, 1.0, axis=1)
        there = np.take_along_axis(inputs[..., :-1], places[..., None], axis=1).astype(float)
        answers = (there @ self.weights).mean(axis=1, keepdims=True)
        labels = answers + self.noise * rng.standard_normal((count, 1))
        return Batch(
            torch.from_numpy(inputs),
            torch.from_numpy(labels.astype(np.float32)),
            "last",
            torch.from_numpy(answers) if measuring else None,
            None if real.all() else torch.from_numpy(real),
        )


class SingleLocation(MarkedMean):
    """The answer is w . z of the one marked position, which lies anywhere in the input (see `MarkedMean`).

    >>> task = SingleLocation(features=2)
    >>> task.oracle([[9, 9, 0], [1, 0, 1]]) == [task.weights[0]]
    True
    """

    name: ClassVar[str] = "single-location"

    marked: int = Field(default=1, ge=1, le=1, description="how many positions are marked")
