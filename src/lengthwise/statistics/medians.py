"""Rules on medians: what the typical model reaches, with an exact interval and nothing assumed of the spread."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from pydantic import Field, model_validator

from lengthwise.statistics.intervals import median_interval
from lengthwise.statistics.verdicts import Arm, Decision, Frozen, Part, Verdict, all_of, replicate_values


class Median(Frozen):
    """Holds if every arm's median reaches `at_least` and its 95% interval lies inside `inside`.

    Fails if the interval of an arm lies wholly outside, or its upper end below `at_least`. The mean, and the share of
    models that reach `share_above`, stand beside the verdict and do not decide it.

    >>> rows = {"variant": ["a"] * 6, "weights": ["raw"] * 6, "metric": ["accuracy"] * 6, "length": [9] * 6,
    ...         "step": [1] * 6, "replicate": range(6), "split": ["random"] * 6, "value": [1, 1, 1, 0.97, 1, 1]}
    >>> rule = Median(metric="accuracy", length=9, arms=(Arm(variant="a"),), at_least=0.99, inside=(0.95, 1))
    >>> verdict = rule.decide(pl.DataFrame(rows, strict=False))
    >>> verdict.decision, verdict.parts[0].beside
    ('holds', 'mean 0.995; 5 of 6 at 0.99 or above')
    """

    kind: Literal["median"] = "median"
    metric: str
    length: int
    arms: tuple[Arm, ...] = Field(min_length=1)
    at_least: float | None = None
    inside: tuple[float, float]
    share_above: float = 0.99

    @model_validator(mode="after")
    def _ascends(self) -> Median:
        if not self.inside[0] < self.inside[1]:
            raise ValueError(f"inside {self.inside}: expected the lower end first")
        return self

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length that the rule looks at."""
        return (self.length,)

    @property
    def says(self) -> str:
        """The rule as a sentence."""
        low, high = self.inside
        arms = " and ".join(f"[{arm}]" for arm in self.arms)
        reaches = f" is at least {self.at_least:g} and" if self.at_least is not None else ""
        below = f" or wholly below {self.at_least:g}" if self.at_least is not None else ""
        return (
            f"holds if the median {self.metric} at length {self.length:,} of {arms}{reaches} has a 95% interval inside"
            f" [{low:g}, {high:g}]; fails if that lies wholly outside{below}"
        )

    def decide(self, curve: pl.DataFrame) -> Verdict:
        """The verdict on a curve's last measured step."""
        parts = tuple(self._part(curve, arm) for arm in self.arms)
        return Verdict(decision=all_of([part.decision for part in parts]), parts=parts)

    def _part(self, curve: pl.DataFrame, arm: Arm) -> Part:
        values = replicate_values(curve, arm, self.metric, [self.length])[:, 0]
        kept = values[np.isfinite(values)]
        label, failed = f"median {self.metric} at {self.length:,}, [{arm}]", len(values) - len(kept)
        if not len(kept):
            return Part(label=label, n=0, failed=failed)
        share = int((kept >= self.share_above).sum())
        beside = f"mean {kept.mean():.3g}; {share} of {len(kept)} at {self.share_above:g} or above"
        found = median_interval(kept)
        if found is None:
            return Part(label=label, n=len(kept), failed=failed, effect=float(np.median(kept)), beside=beside)
        return Part(
            label=label, n=found.n, failed=failed, effect=found.effect, low=found.low, high=found.high,
            decision=self._decision(found.effect, found.low, found.high), beside=beside,
        )  # fmt: skip

    def _decision(self, median: float, low: float, high: float) -> Decision:
        least = -np.inf if self.at_least is None else self.at_least
        if high < max(self.inside[0], least) or low > self.inside[1]:
            return "fails"
        return "holds" if median >= least and self.inside[0] <= low and high <= self.inside[1] else "undecided"
