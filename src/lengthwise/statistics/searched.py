"""Rules on the trials of a search, and how their settings and values are read off its tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Literal

import numpy as np
import polars as pl
from pydantic import Field

from lengthwise.statistics.effects import Effect, mean_effect, slope_effect
from lengthwise.statistics.verdicts import Decision, Frozen, Part, Verdict, all_of

KEYS = ("trial", "block", "structure", "failed_at")
"""Columns of the table of trials beside their settings."""


@dataclass(frozen=True)
class Trials:
    """The trials of a search: a row for each with its settings, and a curve of values by weights, metric and length.

    >>> settings = pl.DataFrame({"trial": [0, 1], "block": [0, 0], "structure": [0, 0], "failed_at": [None, 7],
    ...                          "rate": [0.1, 0.2]})
    >>> curve = pl.DataFrame({"trial": [0], "weights": ["raw"], "metric": ["tv"], "length": [3], "value": [0.5]})
    >>> trials = Trials(settings, curve)
    >>> trials.values("raw", "tv", 3).tolist(), trials.numbers("rate").tolist(), trials.fields
    ([0.5, nan], [0.1, 0.2], ['rate'])
    """

    settings: pl.DataFrame
    curve: pl.DataFrame
    _kept: dict[tuple[str, str, int], np.ndarray] = field(default_factory=dict, repr=False, compare=False)

    @property
    def fields(self) -> list[str]:
        """The settings that were searched."""
        return [name for name in self.settings.columns if name not in KEYS]

    @property
    def blocks(self) -> np.ndarray:
        """The block of each trial."""
        return self.settings["block"].to_numpy()

    @property
    def structures(self) -> np.ndarray:
        """The structure of each trial: which trials could train together."""
        return self.settings["structure"].to_numpy()

    @property
    def failed(self) -> np.ndarray:
        """Whether each trial's loss stopped being finite."""
        return self.settings["failed_at"].is_not_null().to_numpy()

    def values(self, weights: str, metric: str, length: int) -> np.ndarray:
        """A metric of each trial, NaN where it failed or was not measured."""
        key = (weights, metric, length)
        if key not in self._kept:
            mine = self.curve.filter(weights=weights, metric=metric, length=length).select("trial", "value")
            joined = self.settings.select("trial").join(mine, on="trial", how="left", maintain_order="left")
            self._kept[key] = joined["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return self._kept[key]

    def numbers(self, name: str) -> np.ndarray:
        """A setting that is a number, NaN where a trial does not have it."""
        return self.settings[name].cast(pl.Float64).fill_null(np.nan).to_numpy()


class PairedInSearch(Frozen):
    """Holds if, at every length, `better` weights are better than `than` within trials.

    The 95% interval of the mean paired difference over all trials must exclude 0 in the claimed direction. All parts
    must hold, so no correction is needed.
    """

    kind: Literal["paired-in-search"] = "paired-in-search"
    metric: str
    lengths: tuple[int, ...] = Field(min_length=1)
    better: str
    than: str = "raw"
    direction: Literal["less", "greater"] = "less"

    @property
    def says(self) -> str:
        """The rule as a sentence."""
        side = "below" if self.direction == "less" else "above"
        return (
            f"holds if the 95% interval of the mean of [{self.better}] minus [{self.than}] within trials of the search,"
            f" in {self.metric} at length {', '.join(map(str, self.lengths))}, lies {side} 0 at each;"
            " fails if one lies wholly on the other side"
        )

    def decide(self, trials: Trials) -> Verdict:
        """The verdict on a search."""
        return _verdict([self._part(trials, length) for length in self.lengths])

    def _part(self, trials: Trials, length: int) -> Part:
        def difference(metric: str) -> Effect:
            better, than = (trials.values(w, metric, length) for w in (self.better, self.than))
            return mean_effect(better - than, trials.blocks)

        label = f"[{self.better}] minus [{self.than}], {self.metric} at {length}"
        return _part(label, difference, self.metric, self.direction, trials, np.ones(len(trials.settings), bool))


class SlopeInSearch(Frozen):
    """Holds if, for every setting and at every length, the slope of the metric on the setting has the claimed sign.

    Slopes are least squares over the trials that have the setting, within blocks: what these share is taken out. All
    parts must hold, so no correction is needed.
    """

    kind: Literal["slope-in-search"] = "slope-in-search"
    metric: str
    lengths: tuple[int, ...] = Field(min_length=1)
    settings: tuple[str, ...] = Field(min_length=1)
    weights: str = "raw"
    direction: Literal["less", "greater"] = "less"

    @property
    def says(self) -> str:
        """The rule as a sentence."""
        side = "below" if self.direction == "less" else "above"
        return (
            f"holds if the 95% interval of the slope of {self.metric} [{self.weights}] at length "
            f"{', '.join(map(str, self.lengths))} on each of {', '.join(self.settings)}, among trials that"
            f" trained together, lies {side} 0; fails if one lies wholly on the other side"
        )

    def decide(self, trials: Trials) -> Verdict:
        """The verdict on a search."""
        return _verdict([self._part(trials, s, length) for s in self.settings for length in self.lengths])

    def _part(self, trials: Trials, setting: str, length: int) -> Part:
        x = trials.numbers(setting)

        def slope(metric: str) -> Effect:
            return slope_effect(x, trials.values(self.weights, metric, length), trials.blocks, trials.blocks)

        label = f"slope of {self.metric} at {length} on {setting}, [{self.weights}]"
        return _part(label, slope, self.metric, self.direction, trials, np.isfinite(x))


SearchRule = Annotated[PairedInSearch | SlopeInSearch, Field(discriminator="kind")]


def _verdict(parts: list[Part]) -> Verdict:
    return Verdict(decision=all_of([part.decision for part in parts]), parts=tuple(parts))


def _part(
    label: str, effect: Callable[[str], Effect], metric: str, direction: str, trials: Trials, own: np.ndarray
) -> Part:
    found, matched = effect(metric), effect(f"{metric}_matched")
    failed = int((trials.failed & own).sum())
    if found.low is None or found.high is None:
        return Part(label=label, n=found.n, failed=failed, effect=found.effect, beside=f"{found.blocks} blocks")
    ends = (found.low, found.high) if direction == "less" else (-found.high, -found.low)
    decision: Decision = "holds" if ends[1] < 0 else "fails" if ends[0] > 0 else "undecided"
    beside = None if matched.low is None else (matched.effect or 0.0, matched.low, matched.high or 0.0)
    return Part(
        label=label, n=found.n, failed=failed, effect=found.effect, low=found.low, high=found.high,
        decision=decision, matched=beside, beside=f"{found.blocks} blocks",
    )  # fmt: skip
