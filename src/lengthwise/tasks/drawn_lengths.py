"""What tasks of drawn lengths share: which lengths are trained and which are measured."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Self

import numpy as np
from jaxtyping import Int
from pydantic import BaseModel, ConfigDict, Field, model_validator

from lengthwise.errors import InputError
from lengthwise.tasks.lengths import LengthName, Lengths


class DrawnLengths(BaseModel):
    """The part of a task that says which lengths are trained and measured: drawn in training, exact when measured.

    >>> task = DrawnLengths(mean_length=20)
    >>> task.trained_length, task.longest_quartile
    (135, 41)
    """

    model_config = ConfigDict(frozen=True, extra="forbid", coerce_numbers_to_str=True)  # an alphabet may be 10

    drawn: LengthName = Field(default="geometric", description="how trained lengths are distributed")
    mean_length: float = Field(default=20, ge=1, allow_inf_nan=False, description="the mean of the trained lengths")
    longest: int = Field(default=10_000, ge=1, description="the longest input")

    @model_validator(mode="after")
    def _some_length_is_there(self) -> Self:
        if not self.shortest <= self.trained_length <= self.longest:
            raise ValueError(
                f"{self.drawn} lengths of mean_length {self.mean_length} up to {self.trained_length}: expected lengths "
                f"in {self.shortest}..{self.longest}"
            )
        return self

    @property
    def shortest(self) -> int:
        """The shortest input that has an answer; trained lengths are drawn given that they reach it."""
        return 1

    @property
    def trained_length(self) -> int:
        """The length that one drawn length in a thousand exceeds: what counts as the end of the trained range."""
        return self._distribution.quantile(0.999)

    @property
    def longest_quartile(self) -> int:
        """The middle of the longest quarter of the drawn lengths."""
        return max(self.shortest, self._distribution.quantile(7 / 8))

    @property
    def lengths(self) -> Sequence[int]:
        """The lengths at which the task can be measured."""
        return range(self.shortest, self.longest + 1)

    def drawn_lengths(self, rng: np.random.Generator, count: int, length: int) -> Int[np.ndarray, " count"]:
        """`count` lengths of training inputs: those above `length` are drawn again.

        At the task's own trained length nothing is cut off but what exceeds `longest`, which bounds memory.

        Errors: InputError for a length that cannot be measured.
        """
        self.check_length(length)
        bound = self.longest if length >= self.trained_length else length
        return self._distribution.draw(rng, count, bound, self.shortest)

    def check_length(self, length: int) -> None:
        """Raise InputError for a length that cannot be measured."""
        if length not in self.lengths:
            raise InputError(f"length {length}: expected {self.shortest}..{self.longest}")

    def equal_lengths(self, count: int, length: int) -> Int[np.ndarray, " count"]:
        """`count` times the same length.

        Errors: InputError for a length that cannot be measured.
        """
        self.check_length(length)
        return np.full(count, length)

    @cached_property
    def _distribution(self) -> Lengths:
        return Lengths(kind=self.drawn, mean=self.mean_length)
