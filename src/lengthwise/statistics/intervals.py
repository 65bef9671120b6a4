"""Intervals for a mean over replicates, by the studentised bootstrap, and slopes on log axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.stats import binom as binomial
from scipy.stats import t as student

from lengthwise.errors import InputError

LEAST_REPLICATES = 5
"""Below so many replicates no claim is decided and no interval is drawn."""


@dataclass(frozen=True)
class Interval:
    """An estimate over n replicates with its interval.

    >>> Interval(5, -0.2, -0.3, -0.1).excludes(0.0)
    True
    """

    n: int
    effect: float
    low: float
    high: float

    def excludes(self, value: float) -> bool:
        """Whether a value lies outside the interval."""
        return not self.low <= value <= self.high


def mean_interval(
    values: Float[np.ndarray, " n"], level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """The mean of paired differences (or of any per-replicate number) with its bootstrap-t interval.

    Resampling the studentised mean keeps the level at the small n of a quick run, where the plain percentile interval
    is too short (Efron and Tibshirani 1993, section 12.5). Fewer than LEAST_REPLICATES values are too few to resample:
    they get Student's interval. Values that are all equal give an interval of width 0.

    Errors: InputError for fewer than 2 values, or one that is not finite.

    >>> interval = mean_interval(np.array([1.0, 2.0, 3.0, 2.5, 1.5, 2.0]))
    >>> interval.n, interval.effect, interval.low < 2 < interval.high
    (6, 2.0, True)
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2 or not np.isfinite(values).all():
        raise InputError(f"interval over {values.tolist()}: expected at least 2 finite values")
    mean, error = values.mean(), values.std(ddof=1) / np.sqrt(len(values))
    if error == 0:
        return Interval(len(values), float(mean), float(mean), float(mean))
    if len(values) < LEAST_REPLICATES:
        half = float(error * student.ppf((1 + level) / 2, len(values) - 1))
        return Interval(len(values), float(mean), float(mean - half), float(mean + half))
    draws = values[np.random.default_rng(seed).integers(len(values), size=(resamples, len(values)))]
    errors = draws.std(axis=1, ddof=1) / np.sqrt(len(values))
    varied = errors > 1e-12 * error
    t = (draws.mean(axis=1)[varied] - mean) / errors[varied]
    low, high = np.quantile(t, [(1 + level) / 2, (1 - level) / 2])
    return Interval(len(values), float(mean), float(mean - low * error), float(mean - high * error))


def median_interval(values: Float[np.ndarray, " n"], level: float = 0.95) -> Interval | None:
    """The median with its exact distribution-free interval, between two order statistics; None where there is none.

    The chance that fewer than k of n values lie below the median is binomial, whatever their distribution, so that the
    k-th least and k-th largest values enclose it with at least the level (Conover 1999, section 3.2). Six values are
    the fewest for 95%.

    >>> median_interval(np.arange(16.0))
    Interval(n=16, effect=7.5, low=3.0, high=12.0)
    """
    values = np.sort(np.asarray(values, dtype=float))
    n = len(values)
    tail = (1 - level) / 2
    k = sum(1 for below in range(n // 2) if binomial.cdf(below, n, 0.5) <= tail)
    if k == 0:
        return None
    return Interval(n, float(np.median(values)), float(values[k - 1]), float(values[n - k]))


def log_slope(x: Float[np.ndarray, " k"], y: Float[np.ndarray, " k"]) -> float:
    """The least-squares slope of log y on log x; NaN unless there are two points and every y is positive.

    >>> round(log_slope(np.array([1.0, 2.0, 4.0]), np.array([8.0, 4.0, 2.0])), 6)
    -1.0
    """
    if len(x) < 2 or not (np.asarray(y) > 0).all():
        return float("nan")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
