"""A smooth curve through trials, with a band that resamples whole blocks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from lengthwise.statistics.effects import LEAST_BLOCKS, Blocks

POINTS = 30
LEAST_TRIALS = 10


@dataclass(frozen=True)
class Smooth:
    """A curve at `x` with its pointwise 95% band, which is NaN below the fewest blocks that an interval asks for."""

    x: Float[np.ndarray, " k"]
    y: Float[np.ndarray, " k"]
    low: Float[np.ndarray, " k"]
    high: Float[np.ndarray, " k"]


def smooth(
    x: Float[np.ndarray, " n"], y: Float[np.ndarray, " n"], blocks: Blocks, resamples: int = 500, seed: int = 0
) -> Smooth | None:
    """Local linear regression of y on x with a Gaussian kernel; None where there are too few trials or no spread.

    The width of the kernel is half of the normal reference rule, `1.06 min(sd, iqr / 1.34) n^(-1/5)` (Silverman 1986,
    section 3.4.2): a band knows of noise and not of bias, which is to be the smaller part. The band is the percentile
    bootstrap over blocks. The curve ends where 2% of the trials lie beyond it.

    >>> x = np.linspace(0, 1, 60)
    >>> curve = smooth(x, 2 * x, np.arange(60) // 6)
    >>> bool(np.allclose(curve.y, 2 * curve.x)), bool((curve.low <= curve.high + 1e-9).all())
    (True, True)
    """
    kept = np.isfinite(x) & np.isfinite(y)
    x, y = x[kept], y[kept]
    if len(x) < LEAST_TRIALS or not x.max() > x.min():
        return None
    at = np.unique(np.asarray(blocks)[kept], return_inverse=True)[1]
    quarter, three = np.quantile(x, [0.25, 0.75])
    spread = min(x.std(), (three - quarter) / 1.34) or x.std()
    width = 0.53 * spread * len(x) ** -0.2
    first, last = np.quantile(x, [0.02, 0.98])
    grid = np.linspace(first, last, POINTS)
    sums = np.stack([_moments(x[at == b], y[at == b], grid, width) for b in range(at.max() + 1)])
    fitted = _line(sums.sum(0, keepdims=True))[0]
    if len(sums) < LEAST_BLOCKS:
        none = np.full(POINTS, np.nan)
        return Smooth(grid, fitted, none, none)
    draws = np.random.default_rng(seed).multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=resamples)
    lines = _line(np.einsum("rb,bkg->rkg", draws, sums))
    low, high = np.nanquantile(lines, [0.025, 0.975], axis=0)
    return Smooth(grid, fitted, low, high)


def _moments(x: np.ndarray, y: np.ndarray, grid: np.ndarray, width: float) -> Float[np.ndarray, "5 k"]:
    """Kernel sums of 1, x, x x, y, x y with x counted from each point of the grid."""
    d = (x[:, None] - grid) / width
    w = np.exp(-0.5 * d * d)
    return np.stack([w.sum(0), (w * d).sum(0), (w * d * d).sum(0), y @ w, y @ (w * d)])


def _line(sums: Float[np.ndarray, "r 5 k"]) -> Float[np.ndarray, "r k"]:
    """The local lines' values at the grid; the local mean where a draw has a single place of x."""
    s0, s1, s2, t0, t1 = np.moveaxis(sums, 1, 0)
    spread = s2 * s0 - s1 * s1
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(spread > 1e-9 * s0 * s0, (s2 * t0 - s1 * t1) / spread, t0 / s0)
