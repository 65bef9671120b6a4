"""Effects over a search: means, slopes and rank correlations over trials, with intervals that resample whole blocks.

Trials of one block share data and initial weights, so that they are no independent witnesses. What is resampled is
the whole block's part in an estimate: a wild bootstrap over blocks with six-point weights, which serves where blocks
are few and uneven (Cameron, Gelbach and Miller 2008; Webb 2023), of the estimate divided by its jackknife error over
blocks (MacKinnon, Nielsen and Webb 2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float
from scipy.stats import rankdata

LEAST_BLOCKS = 5
"""Below so many blocks no interval is drawn."""
RESAMPLES = 4000
MOST_SHARE = 0.999
"""A block that alone decides an estimate has an error as large as this makes it, and not an infinite one."""

Blocks = Sequence[int] | np.ndarray
SIX_POINTS = np.sqrt([1.5, 1.0, 0.5, 0.5, 1.0, 1.5]) * np.array([-1, -1, -1, 1, 1, 1])
"""Webb's weights: mean 0, variance 1, and enough different draws for five blocks."""


@dataclass(frozen=True)
class Linear:
    """A least-squares estimate: its value, and for each block its part in the error and its share of the spread."""

    value: float
    part: Float[np.ndarray, " blocks"]
    share: Float[np.ndarray, " blocks"]


@dataclass(frozen=True)
class Effect:
    """An estimate over n trials in so many blocks, its 95% interval and p-value; None below LEAST_BLOCKS blocks.

    The two agree: p is at most .05 exactly where the interval excludes 0.
    """

    n: int
    blocks: int
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None


def mean_effect(y: Float[np.ndarray, " n"], blocks: Blocks, resamples: int = RESAMPLES, seed: int = 0) -> Effect:
    """The mean of a number per trial, such as a paired difference; trials without a value are left out.

    >>> found = mean_effect(np.array([1.0, 3.0, 2.0, 2.5, 1.5, 2.0]), [0, 1, 2, 3, 4, 5])
    >>> found.effect, found.low < 2 < found.high
    (2.0, True)
    """
    kept = np.isfinite(y)
    at, count = _numbered(blocks, kept)
    if not count:
        return Effect(0, 0)
    size, total = _sums(at, count, np.ones(len(at)), y[kept]).T
    mean = total.sum() / size.sum()
    found = Linear(float(mean), (total - mean * size) / size.sum(), size / size.sum())
    return _studentised([found], len(at), resamples, seed)


def slope_effect(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    blocks: Blocks,
    strata: Blocks | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Effect:
    """The least-squares slope of y on x over trials; with `strata` both are first centred within each stratum.

    With x of 0 and 1 it is the difference between two kinds of trials.

    >>> x = np.linspace(0, 1, 24)
    >>> round(slope_effect(x, 3 * x + 0.1 * np.sin(40 * x), np.arange(24) // 3).effect)
    3
    """
    kept = np.isfinite(x) & np.isfinite(y)
    at, count = _numbered(blocks, kept)
    found = _slope(at, count, _centred(x, kept, strata), _centred(y, kept, strata))
    return _studentised([found], len(at), resamples, seed)


def rank_effect(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    blocks: Blocks,
    strata: Blocks | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Effect:
    """Spearman's rank correlation; y may be infinite (a trial that failed ranks last), NaN is left out.

    With `strata` ranks are taken within each, and the correlations of the strata averaged over their trials; strata of
    fewer than 3 trials are left out.

    >>> x = np.arange(30.0)
    >>> found = rank_effect(x, np.exp(x / 10), np.arange(30) // 5)
    >>> round(found.effect, 6)
    1.0
    """
    kept = np.isfinite(x) & ~np.isnan(y)
    own = np.zeros(len(x)) if strata is None else np.asarray(strata)
    ranks = np.full((2, len(x)), np.nan)
    for stratum in np.unique(own[kept]):
        members = kept & (own == stratum)
        if members.sum() >= 3:
            ranks[:, members] = [_standard_ranks(values[members]) for values in (x, y)]
    found = slope_effect(ranks[0], ranks[1], blocks, None, resamples, seed)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, -1.0), high=min(found.high, 1.0))


def interaction_effect(
    x: Float[np.ndarray, " n"],
    y: Float[np.ndarray, " n"],
    among: Bool[np.ndarray, " n"],
    against: Bool[np.ndarray, " n"],
    blocks: Blocks,
    strata: Blocks | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Effect:
    """The slope of y on x among some trials minus the slope among others, within `strata` if there are any.

    >>> x, group = np.tile(np.linspace(0, 1, 8), 8), np.repeat([False, True], 32)
    >>> round(interaction_effect(x, x * group, group, ~group, np.arange(64) // 4).effect, 6)
    1.0
    """
    finite = np.isfinite(x) & np.isfinite(y)
    first, second = among & finite, against & finite
    kept = first | second
    if not first.any() or not second.any():
        return Effect(int(kept.sum()), 0)
    at, count = _numbered(blocks, kept)
    sides = []
    for own in (first, second):
        side = np.unique(np.asarray(blocks)[kept], return_inverse=True)[1][own[kept]]
        sides.append(_slope(side, count, _centred(x, own, strata), _centred(y, own, strata)))
    return _studentised(sides, len(at), resamples, seed)


def holm(p: Float[np.ndarray, " k"]) -> Float[np.ndarray, " k"]:
    """p-values of a family, adjusted so that the chance of any false call stays below the level (Holm 1979).

    >>> holm(np.array([0.01, 0.04, 0.03])).round(4).tolist()
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p)
    scaled = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(scaled)
    adjusted[order] = np.minimum(np.maximum.accumulate(scaled), 1.0)
    return adjusted


def _standard_ranks(values: np.ndarray) -> np.ndarray:
    ranks = rankdata(values)
    return (ranks - ranks.mean()) / (ranks.std() or 1.0)


def _slope(at: np.ndarray, count: int, x: np.ndarray, y: np.ndarray) -> Linear:
    """The slope of y on x, both centred, with each block's part in it; NaN where x does not vary."""
    spread = float((x * x).sum())
    if not len(x) or spread <= 1e-12 * max(float(np.abs(x).max()) ** 2, 1e-300):
        return Linear(np.nan, np.zeros(count), np.zeros(count))
    value = float((x * y).sum()) / spread
    xx, error = _sums(at, count, x * x, x * (y - value * x)).T
    return Linear(value, error / spread, xx / spread)


def _studentised(sides: list[Linear], n: int, resamples: int, seed: int) -> Effect:
    """One estimate, or the first minus the second, with its symmetric bootstrap-t interval and p-value."""
    signs, blocks = (1.0, -1.0), len(sides[0].part)
    effect = sum(sign * side.value for sign, side in zip(signs, sides))
    if n < 2 or not np.isfinite(effect):
        return Effect(n, blocks)
    if blocks < LEAST_BLOCKS:
        return Effect(n, blocks, effect)
    # Without a block, its part in the error counts the more the larger its share is: the jackknife.
    stretch = [1 / (1 - np.minimum(side.share, MOST_SHARE)) for side in sides]
    parts = [side.part * by for side, by in zip(sides, stretch)]
    error = float(_error(np.sum([sign * part for sign, part in zip(signs, parts)], axis=0)))
    if error <= 1e-12 * max(abs(effect), 1e-300):  # every block says the same
        return Effect(n, blocks, effect, effect, effect, 1.0 if effect == 0 else 1 / (resamples + 1))
    weights = SIX_POINTS[np.random.default_rng(seed).integers(6, size=(resamples, blocks))]
    value, part = np.zeros(resamples), np.zeros((resamples, blocks))
    for sign, side, own, by in zip(signs, sides, parts, stretch):
        drawn = weights * own
        moved = drawn.sum(1)
        value += sign * moved
        part += sign * (drawn - moved[:, None] * side.share) * by
    t = np.abs(value) / np.maximum(_error(part), 1e-12 * error)
    # The same order statistic decides both: the k-th largest of |t| with k = 5% of the draws and the estimate itself.
    p = float((1 + np.sum(t >= abs(effect) / error)) / (resamples + 1))
    k = max(int(np.floor(0.05 * (resamples + 1))), 1)
    half = float(np.sort(t)[-k] * error)
    return Effect(n, blocks, effect, effect - half, effect + half, p)


def _error(part: np.ndarray) -> np.ndarray:
    blocks = part.shape[-1]
    return np.sqrt((part**2).sum(-1) * (blocks - 1) / blocks)


def _numbered(blocks: Blocks, kept: np.ndarray) -> tuple[np.ndarray, int]:
    """The blocks of the trials that are kept, from 0, and how many there are."""
    names, at = np.unique(np.asarray(blocks)[kept], return_inverse=True)
    return at, len(names)


def _sums(at: np.ndarray, count: int, *columns: np.ndarray) -> Float[np.ndarray, "blocks k"]:
    return np.stack([np.bincount(at, weights=column, minlength=count) for column in columns], axis=1)


def _centred(values: np.ndarray, kept: np.ndarray, strata: Blocks | None) -> np.ndarray:
    values = values[kept]
    if not len(values):
        return values
    if strata is None:
        return values - values.mean()
    at, count = _numbered(strata, kept)
    means = _sums(at, count, values)[:, 0] / np.bincount(at, minlength=count)
    return values - means[at]
