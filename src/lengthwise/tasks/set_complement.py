"""Set complement: predict the uniform distribution over the tokens that are absent from the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lengthwise.errors import InputError
from lengthwise.tasks.batch import Batch
from lengthwise.tasks.task import LossName


class SetComplement(BaseModel):
    """Inputs are `length` distinct tokens of a vocabulary of v; the target is uniform over the v - length absent ones.

    Training data are random permutations read as next-token prediction, so that each label is ONE of the legal tokens:
    that is what makes updates noisy. Measuring compares with the exact uniform target. (arXiv:2510.08341;
    docs/theory.md, "Set complement".)

    >>> task = SetComplement(vocabulary=4, s_train=2)
    >>> task.oracle([2, 0])
    [0.0, 0.5, 0.0, 0.5]
    >>> batch = task.sample(np.random.default_rng(0), count=3, length=2)
    >>> batch.inputs.shape, batch.labels.shape
    (torch.Size([3, 2]), torch.Size([3, 2]))
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: ClassVar[str] = "set-complement"
    loss: ClassVar[LossName] = "cross-entropy"
    distinct: ClassVar[bool] = True

    vocabulary: int = Field(default=16, ge=2, le=100_000, description="number of tokens v")
    s_train: int = Field(default=8, ge=1, description="longest trained length, below v")

    @model_validator(mode="after")
    def _trained_below_vocabulary(self) -> SetComplement:
        if self.s_train >= self.vocabulary:
            raise ValueError(
                f"s_train {self.s_train}: expected less than vocabulary {self.vocabulary}, as some token must be absent"
            )
        return self

    @property
    def trained_length(self) -> int:
        return self.s_train

    @property
    def lengths(self) -> range:
        return range(1, self.vocabulary)

    @property
    def sizes(self) -> dict[str, int]:
        return {"vocabulary": self.vocabulary}

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` random permutations cut to `length` tokens; the label at each position is the next token."""
        tokens = self._permutations(rng, count, length)
        return Batch(tokens[:, :length], tokens[:, 1 : length + 1])

    def measure(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` inputs of exactly `length`, with the exact target at the last position."""
        tokens = self._permutations(rng, count, length)
        inputs = tokens[:, :length]
        absent = torch.ones(count, self.vocabulary, dtype=torch.float64).scatter_(1, inputs, 0.0)
        targets = absent / (self.vocabulary - length)
        return Batch(inputs, tokens[:, length], "last", targets)

    def oracle(self, inputs: Sequence[int]) -> list[float]:
        """The uniform distribution over absent tokens, in plain Python."""
        share = 1 / (self.vocabulary - len(inputs))
        return [0.0 if token in inputs else share for token in range(self.vocabulary)]

    def _permutations(self, rng: np.random.Generator, count: int, length: int) -> torch.Tensor:
        if not 1 <= length < self.vocabulary:
            raise InputError(
                f"length {length}: expected 1..{self.vocabulary - 1} for a vocabulary of {self.vocabulary}"
            )
        return torch.from_numpy(rng.random((count, self.vocabulary)).argsort(axis=1))
