"""Rules written before a run, and the verdicts they give on its curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict, Field

from lengthwise.statistics.intervals import Interval, log_slope, mean_interval

Decision = Literal["holds", "fails", "undecided", "not run"]
LEAST_REPLICATES = 5


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Arm(_Frozen):
    """One line of a curve: a variant and the weights that were measured.

    >>> str(Arm(variant="post-norm"))
    'post-norm'
    >>> str(Arm(variant="no norm", weights="bema"))
    'no norm, bema'
    """

    variant: str
    weights: str = "raw"

    def __str__(self) -> str:
        return self.variant if self.weights == "raw" else f"{self.variant}, {self.weights}"


class Part(_Frozen):
    """One estimate behind a verdict, as is and (where it was taken) scale-matched."""

    label: str
    n: int
    failed: int
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    decision: Decision = "undecided"
    matched: tuple[float, float, float] | None = None


class Verdict(_Frozen):
    """What a rule says of a curve: a decision, and every estimate that it rests on."""

    decision: Decision
    parts: tuple[Part, ...] = ()

    @property
    def weakest(self) -> Part | None:
        """The part that supports the claim least."""
        order = {"fails": 0, "undecided": 1, "not run": 1, "holds": 2}
        known = [part for part in self.parts if part.effect is not None]
        return min(known, key=lambda part: (order[part.decision], abs(part.effect or 0)), default=None)


class Paired(_Frozen):
    """Holds if, at every `length` and against every arm of `than`, `better` is better within replicates.

    The 95% interval of the mean paired difference `better - than` must exclude 0 in the claimed direction. All parts
    must hold, so no correction is needed: the chance that all of several true nulls are called effects is below that
    of any one. One part whose interval excludes 0 the other way makes the claim fail.
    """

    kind: Literal["paired"] = "paired"
    metric: str
    lengths: tuple[int, ...]
    better: Arm
    than: tuple[Arm, ...]
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
        return Verdict(decision=_all([part.decision for part in parts]), parts=tuple(parts))

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
        return _interval(better - than)


class Slope(_Frozen):
    """Holds if the 95% interval of the slope of log metric on log length lies inside `inside`, fails if outside."""

    kind: Literal["slope"] = "slope"
    metric: str
    lengths: tuple[int, ...]
    arm: Arm
    inside: tuple[float, float]

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


Rule = Annotated[Paired | Slope, Field(discriminator="kind")]


def replicate_values(curve: pl.DataFrame, arm: Arm, metric: str, lengths: Sequence[int]) -> np.ndarray:
    """A metric of one arm, `(replicates, lengths)` in order, NaN where a model failed or was not measured.

    >>> rows = {"variant": ["a", "a"], "weights": ["raw"] * 2, "metric": ["tv"] * 2, "length": [1, 1],
    ...         "step": [9, 9], "replicate": [1, 0], "value": [0.5, 0.25]}
    >>> replicate_values(pl.DataFrame(rows), Arm(variant="a"), "tv", [1]).tolist()
    [[0.25], [0.5]]
    """
    last = curve.filter(pl.col("step") == pl.col("step").max().over("variant"))
    replicates = sorted(curve["replicate"].unique())
    mine = last.filter(variant=arm.variant, weights=arm.weights, metric=metric)
    values = {(r, s): v for r, s, v in mine.select("replicate", "length", "value").iter_rows() if v is not None}
    return np.array([[values.get((r, s), np.nan) for s in lengths] for r in replicates])


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


def _all(decisions: Sequence[Decision]) -> Decision:
    if "fails" in decisions:
        return "fails"
    return "holds" if decisions and all(d == "holds" for d in decisions) else "undecided"
