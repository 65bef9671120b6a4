"""Estimates over replicates: a mean with its interval, paired differences, slopes, and a metric by length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl
from jaxtyping import Float

from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import interval
from lengthwise.reports.record import Record
from lengthwise.statistics import LEAST_REPLICATES, log_slope, mean_interval, median_interval

BAND_RESAMPLES = 1000
RULE_RESAMPLES = 10_000


@dataclass(frozen=True)
class Estimate:
    """The mean over replicates with a 95% interval, which is None below the fewest replicates that rules ask for.

    `failed` counts the replicates without a value. The interval encloses the median instead where it is `of` that.
    """

    n: int
    failed: int
    mean: float | None = None
    median: float | None = None
    low: float | None = None
    high: float | None = None

    of: Literal["mean", "median"] = "mean"

    def __str__(self) -> str:
        return interval(self.centre, self.low, self.high)

    @property
    def centre(self) -> float | None:
        """What the interval is of: the mean or the median."""
        return self.mean if self.of == "mean" else self.median

    @property
    def sign(self) -> int:
        """The side of 0 on which the whole interval lies; 0 if it holds 0 or there is none."""
        if self.low is None or self.high is None:
            return 0
        return 1 if self.low > 0 else -1 if self.high < 0 else 0


def estimate(values: Float[np.ndarray, " replicates"], resamples: int = BAND_RESAMPLES) -> Estimate:
    """The estimate over the finite values.

    >>> print(estimate(np.array([1.0, 2.0, 3.0, 2.5, 1.5, np.nan])))
    2.0 [0.9, 3.2]
    >>> print(estimate(np.array([1.0, 2.0])))  # too few for an interval
    1.5
    """
    kept = values[np.isfinite(values)]
    failed = len(values) - len(kept)
    if len(kept) == 0:
        return Estimate(0, failed)
    mean, median = float(kept.mean()), float(np.median(kept))
    if len(kept) < LEAST_REPLICATES:
        return Estimate(len(kept), failed, mean, median)
    found = mean_interval(kept, resamples=resamples)
    return Estimate(len(kept), failed, mean, median, found.low, found.high)


def median(values: Float[np.ndarray, " replicates"]) -> Estimate:
    """The median of the finite values with its exact interval, between two of them.

    >>> print(median(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.9, 1.0, np.nan])))
    1.00 [0.90, 1.00]
    """
    kept = values[np.isfinite(values)]
    failed = len(values) - len(kept)
    if len(kept) == 0:
        return Estimate(0, failed, of="median")
    mean, middle, found = float(kept.mean()), float(np.median(kept)), median_interval(kept)
    low, high = (found.low, found.high) if found else (None, None)
    return Estimate(len(kept), failed, mean, middle, low, high, of="median")


@dataclass(frozen=True)
class Line:
    """A metric of one variant's weights by length (or by step), an estimate at each."""

    variant: str
    weights: str
    x: list[int]
    estimates: list[Estimate]

    def array(self, field: str) -> Float[np.ndarray, " k"]:
        """One field (`centre`, `mean`, `low`, `high`) of every estimate, NaN for none."""
        return np.array([getattr(e, field) for e in self.estimates], dtype=float)


def line(record: Record, variant: str, weights: str, metric: str) -> Line:
    """A metric by length at the last measured step."""
    values = record.values(variant, weights, metric)
    return Line(variant, weights, record.lengths, [estimate_of(metric, column) for column in values.T])


def estimate_of(metric: str, values: Float[np.ndarray, " replicates"]) -> Estimate:
    """The mean of a metric, its interval cut to what the metric can be.

    A bootstrap-t interval of values nearly all alike can be very long, and the truth is never in its impossible part.

    >>> estimate_of("accuracy", np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.99])).high
    1
    """
    found, what = estimate(values), measure(metric)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, what.least), high=min(found.high, what.most))


def slope(record: Record, variant: str, weights: str, metric: str) -> Estimate:
    """The slope of log metric on log length, from the longest trained length on."""
    lengths = [s for s in record.lengths if s >= record.trained_length]
    if len(lengths) < 2:
        return Estimate(0, record.replicates)
    rows = record.values(variant, weights, metric, lengths)
    return estimate(np.array([log_slope(np.array(lengths), row) for row in rows]), RULE_RESAMPLES)


@dataclass(frozen=True)
class Contrast:
    """A paired difference within replicates at one length, as is and after scale matching (None where not taken)."""

    label: str
    length: int
    as_is: Estimate
    matched: Estimate | None


def contrast(
    record: Record, label: str, arm: tuple[str, str], against: tuple[str, str], length: int, metric: str
) -> Contrast:
    """`arm - against`, each a (variant, weights), within replicates."""

    def difference(name: str) -> Estimate:
        mine, other = (record.values(*x, name, [length])[:, 0] for x in (arm, against))
        return estimate(mine - other, RULE_RESAMPLES)

    matched = difference(f"{metric}_matched") if record.has(f"{metric}_matched") else None
    return Contrast(label, length, difference(metric), matched)


def table(rows: Iterable[tuple[Sequence[object], Estimate]], keys: Sequence[str]) -> pl.DataFrame:
    """Estimates with the keys that name them, one a row, as a table to be saved."""
    fields = ("n", "failed", "mean", "median", "low", "high")
    kinds = {"n": pl.Int64, "failed": pl.Int64, **dict.fromkeys(fields[2:], pl.Float64)}
    data = [(*key, *(getattr(e, f) for f in fields)) for key, e in rows]
    return pl.DataFrame(data, schema=[*keys, *fields], schema_overrides=kinds, orient="row")
