"""Rules on certified values: proofs over all inputs, so that no interval is needed."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from pydantic import Field, field_validator

from lengthwise.statistics.verdicts import Arm, Decision, Frozen, Part, Verdict, all_of, replicate_values


class Check(Frozen):
    """Certified values of one arm that must lie within bounds, up to `tolerance`, at each length and replicate.

    A bound of None asks nothing.
    """

    arm: Arm
    metric: str
    lengths: tuple[int | None, ...] = Field(min_length=1)
    low: tuple[float | None, ...]
    high: tuple[float | None, ...]
    tolerance: float = 1e-9

    @field_validator("low", "high", mode="after")
    @classmethod
    def _bounds_in_json(cls, bounds: tuple[float | None, ...]) -> tuple[float | None, ...]:
        """An infinite bound asks nothing either, and JSON has no infinity."""
        return tuple(None if bound is None or np.isinf(bound) else bound for bound in bounds)

    def outside(self, curve: pl.DataFrame) -> tuple[int, float]:
        """How many certified values there are, and by how much the worst lies outside its bounds (0 if none does)."""
        values = replicate_values(curve, self.arm, self.metric, self.lengths, split="all")
        values = values[np.isfinite(values).any(1)]
        if not len(values):
            return 0, float("nan")
        low = np.array([-np.inf if bound is None else bound for bound in self.low])
        high = np.array([np.inf if bound is None else bound for bound in self.high])
        excess = np.maximum(low - values, values - high)
        return values.size, float(np.nanmax(np.where(np.isnan(values), np.inf, excess), initial=0.0))


class Exact(Frozen):
    """Holds if every check on certified values does, fails if one does not: proofs, so that no interval is needed."""

    kind: Literal["exact"] = "exact"
    summary: str
    checks: tuple[Check, ...] = Field(min_length=1)

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every arm that the rule looks at."""
        return tuple(check.arm for check in self.checks)

    @property
    def says(self) -> str:
        """The rule as a sentence."""
        return f"holds if, over ALL inputs, {self.summary}; fails if any is not so"

    def decide(self, curve: pl.DataFrame) -> Verdict:
        """The verdict on a curve's certified rows."""
        parts = []
        for check in self.checks:
            n, outside = check.outside(curve)
            decision: Decision = "undecided" if n == 0 else "holds" if outside <= check.tolerance else "fails"
            label = f"{check.metric} of [{check.arm}], outside its bounds by"
            parts.append(
                Part(
                    label=label,
                    n=n,
                    failed=0,
                    effect=None if n == 0 or not np.isfinite(outside) else max(outside, 0.0),
                    decision=decision,
                )
            )
        return Verdict(decision=all_of([part.decision for part in parts]), parts=tuple(parts))
