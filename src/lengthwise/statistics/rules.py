"""Rules written before a run, and the verdicts they give on its curve."""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field, field_validator

from lengthwise.statistics.exact import Exact
from lengthwise.statistics.intervals import LEAST_REPLICATES, Interval, log_slope, mean_interval
from lengthwise.statistics.medians import Median
from lengthwise.statistics.verdicts import Arm, Decision, Frozen, Part, Verdict, all_of, replicate_values


class Paired(Frozen):
    """Holds if, at every `length` and against every arm of `than`, `better` is better within replicates.

    The 95% interval of the mean paired difference `better - than` must exclude 0 in the claimed direction. All parts
    must hold, so no correction is needed: the chance that all of several true nulls are called effects is below that
    of any one. One part whose interval excludes 0 the other way makes the claim fail.
    """

    kind: Literal["paired"] = "paired"
    metric: str
    lengths: tuple[int, ...] = Field(min_length=1)
    better: Arm
    than: tuple[Arm, ...] = Field(min_length=1)
    direction: Literal["less", "greater"] = "less"

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every arm that the rule looks at."""
        return (self.better, *self.than)

    @property
    def says(self) -> str:
        """The rule as a sentence."""
        lengths = ", ".join(map(str, self.lengths))
        side = "below" if self.direction == "less" else "above"
        contrasts = " and ".join(f"[{self.better}] minus [{arm}]" for arm in self.than)
        return (
            f"holds if the 95% interval of the paired mean difference in {self.metric} at length {lengths}"
            f" lies {side} 0 for {contrasts}; fails if one lies wholly on the other side"
        )

    def decide(self, curve: pl.DataFrame) -> Verdict:
        """The verdict on a curve's last measured step."""
        parts = [self._part(curve, arm, length) for length in self.lengths for arm in self.than]
        return Verdict(decision=all_of([part.decision for part in parts]), parts=tuple(parts))

    def _part(self, curve: pl.DataFrame, arm: Arm, length: int) -> Part:
        label = f"[{self.better}] minus [{arm}], {self.metric} at {length}"
        interval, failed = self._difference(curve, arm, length, self.metric)
        if interval is None:
            return Part(label=label, n=0, failed=failed)
        matched, _ = self._difference(curve, arm, length, self.metric + "_matched")
        sign = 1 if self.direction == "greater" else -1
        return _part(
            label, interval, failed, holds=min(sign * interval.low, sign * interval.high) > 0,
            fails=max(sign * interval.low, sign * interval.high) < 0, matched=matched,
        )  # fmt: skip

    def _difference(self, curve: pl.DataFrame, arm: Arm, length: int, metric: str) -> tuple[Interval | None, int]:
        better, than = (replicate_values(curve, a, metric, [length])[:, 0] for a in (self.better, arm))
        with np.errstate(invalid="ignore"):  # infinity minus infinity is no value, and counted as such
            return _interval(better - than)


class Slope(Frozen):
    """Holds if the 95% interval of the slope of log metric on log length lies inside `inside`, fails if outside."""

    kind: Literal["slope"] = "slope"
    metric: str
    lengths: tuple[int, ...] = Field(min_length=2)
    arm: Arm
    inside: tuple[float, float]

    @field_validator("inside")
    @classmethod
    def _ascends(cls, inside: tuple[float, float]) -> tuple[float, float]:
        if not inside[0] < inside[1]:
            raise ValueError(f"inside {inside}: expected the lower end first")
        return inside

    @property
    def arms(self) -> tuple[Arm, ...]:
        """Every arm that the rule looks at."""
        return (self.arm,)

    @property
    def says(self) -> str:
        """The rule as a sentence."""
        low, high = self.inside
        return (
            f"holds if the 95% interval of the mean slope of log {self.metric} on log length, over lengths"
            f" {self.lengths[0]}..{self.lengths[-1]} and for [{self.arm}], lies inside [{low:g}, {high:g}];"
            " fails if wholly outside"
        )

    def decide(self, curve: pl.DataFrame) -> Verdict:
        """The verdict on a curve's last measured step."""
        values = replicate_values(curve, self.arm, self.metric, self.lengths)
        slopes = np.array([log_slope(np.array(self.lengths), row) for row in values])
        interval, failed = _interval(slopes)
        label = f"slope of {self.metric} on length, [{self.arm}]"
        if interval is None:
            return Verdict(decision="undecided", parts=(Part(label=label, n=0, failed=failed),))
        low, high = self.inside
        part = _part(
            label, interval, failed, holds=low <= interval.low and interval.high <= high,
            fails=interval.high < low or interval.low > high, matched=None,
        )  # fmt: skip
        return Verdict(decision=part.decision, parts=(part,))


Rule = Annotated[Paired | Slope | Median | Exact, Field(discriminator="kind")]


def _interval(values: np.ndarray) -> tuple[Interval | None, int]:
    kept = values[np.isfinite(values)]
    return (mean_interval(kept) if len(kept) > 1 else None), len(values) - len(kept)


def _part(label: str, interval: Interval, failed: int, holds: bool, fails: bool, matched: Interval | None) -> Part:
    enough = interval.n >= LEAST_REPLICATES
    decision: Decision = "holds" if holds and enough else "fails" if fails and enough else "undecided"
    if not enough:  # resampling a handful of values says nothing about their spread
        return Part(label=label, n=interval.n, failed=failed, effect=interval.effect)
    return Part(
        label=label, n=interval.n, failed=failed, effect=interval.effect, low=interval.low, high=interval.high,
        decision=decision, matched=(matched.effect, matched.low, matched.high) if matched else None,
    )  # fmt: skip
