"""How long training inputs are: lengths drawn from a distribution of a given mean."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Literal

import numpy as np
from jaxtyping import Int
from pydantic import BaseModel, ConfigDict, Field, model_validator
from scipy.optimize import brentq
from scipy.special import zeta

from lengthwise.errors import InputError

LengthName = Literal["geometric", "uniform", "heavy-tailed"]


class Lengths(BaseModel):
    """A distribution of lengths 1, 2, ... with a given mean.

    - "geometric": P(L >= l) = (1 - 1/mean)^(l-1), the distribution of arXiv:2610.20337's unbounded inputs.
    - "uniform": 1..2 mean - 1; twice the mean must be a whole number.
    - "heavy-tailed": P(L >= l) = (1 + (l-1)/m)^-tail, a discrete Pareto distribution. Its mean, the sum of these over
      l, is m^tail zeta(tail, m) (Hurwitz) and sets m; it is finite as tail > 1, and the variance only if tail > 2.

    >>> lengths = Lengths(kind="geometric", mean=20)
    >>> lengths.draw(np.random.default_rng(0), 5, longest=30).tolist()
    [14, 5, 1, 1, 20]
    >>> lengths.quantile(0.5), lengths.quantile(7 / 8)
    (14, 41)
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: LengthName = "geometric"
    mean: float = Field(default=20, ge=1, allow_inf_nan=False, description="the mean length")
    tail: float = Field(default=2, gt=1, allow_inf_nan=False, description="the exponent of heavy-tailed lengths")

    @model_validator(mode="after")
    def _uniform_has_a_longest(self) -> Lengths:
        if self.kind == "uniform" and not (2 * self.mean).is_integer():
            raise ValueError(f"mean {self.mean} of uniform lengths: expected a whole number or a half")
        return self

    def draw(self, rng: np.random.Generator, count: int, longest: int, shortest: int = 1) -> Int[np.ndarray, " count"]:
        """`count` lengths, given that they lie in `shortest`..`longest`; one uniform number is drawn for each.

        Errors: InputError where no length lies there.

        >>> Lengths(kind="uniform", mean=3).draw(np.random.default_rng(0), 4, longest=9, shortest=5).tolist()
        [5, 5, 5, 5]
        """
        above, all_there = self.at_least(longest + 1), self.at_least(shortest)
        if not 1 <= shortest <= longest or above == all_there:
            raise InputError(f"{self.kind} lengths of mean {self.mean}: none lies in {shortest}..{longest}")
        # Inverting P(L >= l) between its ends is what drawing again until a length fits would give, without the wait.
        share = all_there - rng.random(count) * (all_there - above)
        return self._longest_with(share).clip(shortest, longest).astype(np.int64)

    def quantile(self, share: float) -> int:
        """The least l with P(L <= l) >= `share`.

        The middle of the longest quarter is that of 7/8; that of 0.999 is exceeded by one length in a thousand.

        Errors: InputError for a share outside [0, 1).

        >>> Lengths(kind="uniform", mean=20).quantile(0.5)
        20
        """
        if not 0 <= share < 1:
            raise InputError(f"share {share}: expected a number from 0 on, below 1")
        least, enough = 0, 1
        while self.at_least(enough + 1) > 1 - share:
            least, enough = enough, 2 * enough
        while enough - least > 1:
            middle = (least + enough) // 2
            least, enough = (middle, enough) if self.at_least(middle + 1) > 1 - share else (least, middle)
        return enough

    def at_least(self, length: int) -> float:
        """P(L >= `length`).

        >>> Lengths(kind="geometric", mean=2).at_least(3)
        0.25
        """
        before = max(length, 1) - 1
        if self.kind == "geometric":
            return (1 - 1 / self.mean) ** before
        if self.kind == "uniform":
            return max(0.0, 1 - before / (2 * self.mean - 1))
        return (1 + before / self._scale) ** -self.tail if self._scale else float(before == 0)

    def _longest_with(self, share: np.ndarray) -> np.ndarray:
        """The largest l with P(L >= l) >= share, to rounding, for shares in (0, 1]."""
        if self.mean == 1:
            return np.ones_like(share)
        if self.kind == "geometric":
            return 1 + np.floor(np.log(share) / math.log1p(-1 / self.mean))
        if self.kind == "uniform":
            return 1 + np.floor((2 * self.mean - 1) * (1 - share))
        return 1 + np.floor(self._scale * (share ** (-1 / self.tail) - 1))

    @cached_property
    def _scale(self) -> float:
        """The m of heavy-tailed lengths: their mean grows with it, from 1 at m = 0."""
        if self.mean == 1:
            return 0.0
        excess = lambda m: m**self.tail * zeta(self.tail, m) - self.mean  # noqa: E731
        return float(brentq(excess, 1e-9, self.mean * self.tail, xtol=1e-12, rtol=1e-14))  # type: ignore[arg-type]
