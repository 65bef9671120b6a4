"""Scores and weights along training, with the phases of each variant's plan."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lengthwise.reports.estimates import Line
from lengthwise.reports.figures import panels as p
from lengthwise.reports.figures.curves import HIGHLIGHT
from lengthwise.reports.figures.style import BLUE, INK, MUTED, VERMILION, Mark, mark
from lengthwise.reports.numbers import number
from lengthwise.reports.record import Record

GROUPS = (Mark(BLUE, "-", "o"), Mark(VERMILION, (0, (4, 1.6)), "s"))


def gaps(record: Record, lines: Sequence[Line], levels: Sequence[int]) -> Figure:
    """A panel for each variant: its score gap, and the gaps that give one letter half the weight at some lengths."""
    figure, grid = p.panels(len(lines), height=1.3)
    keys: dict[str, Line2D] = {}
    for axes, line in zip(grid, lines):
        axes.axhline(0, color=MUTED, lw=0.6, zorder=1)
        for length in levels:
            axes.axhline(math.log(max(length - 1, 2)), color=INK, lw=1.0, linestyle=(0, (1, 1.6)), zorder=1)
        keys["own"] = p.band(axes, line, HIGHLIGHT, "the variant named, median and interval", alpha=0.25)
        _phases(axes, record, line.variant, keys)
        p.title(axes, line.variant, f"G = {line.estimates[-1]}")
    keys["half"] = Line2D([], [], color=INK, lw=1.0, linestyle=(0, (1, 1.6)), label=_half(levels))
    _finish(figure, grid, lines, 1.0, "Score gap G (nats)", keys)
    return figure


def norms(record: Record, lines: Mapping[str, Sequence[Line]]) -> Figure:
    """A panel for each variant with the norm of each group's weights."""
    first = next(iter(lines.values()))
    figure, grid = p.panels(len(first), height=1.2)
    keys: dict[str, Line2D] = {}
    for k, axes in enumerate(grid):
        for n, (metric, own) in enumerate(lines.items()):
            look = GROUPS[n] if n < len(GROUPS) else mark(n + 1)
            keys[metric] = p.band(axes, own[k], look, metric.removeprefix("norm_"), alpha=0.2)
        _phases(axes, record, first[k].variant, keys)
        p.title(axes, first[k].variant)
    _finish(figure, grid, [x for own in lines.values() for x in own], 0.1, "Norm of the weights", keys)
    return figure


def _half(levels: Sequence[int]) -> str:
    return f"half the weight at length {' and '.join(f'{s:,}' for s in levels)}"


def _phases(axes: Axes, record: Record, variant: str, keys: dict[str, Line2D]) -> None:
    if steps := record.boundaries(variant):
        keys["phase"] = p.boundaries(axes, steps)


def _finish(
    figure: Figure, grid: Sequence[Axes], lines: Sequence[Line], linear: float, axis: str, keys: dict[str, Line2D]
) -> None:
    values = np.concatenate([line.array(field) for line in lines for field in ("centre", "low", "high")])
    decades(grid[0], values[np.isfinite(values)], linear)
    grid[0].set_xlim(0, max((line.x[-1] for line in lines if line.x), default=1) * 1.04)
    p.count_ticks(grid[0], 4)
    p.label(figure, "Training step", axis)
    p.legend(figure, list(keys.values()))


def decades(axes: Axes, values: np.ndarray, linear: float) -> None:
    """A vertical axis that is linear up to `linear` on either side of 0 and logarithmic beyond, ticks at whole decades.

    Ticks are those that the values reach, so that no range stays empty.
    """
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    bottom, top = low * 1.3 if low < 0 else -0.08 * linear, max(high, linear) * 1.4
    sizes = [10.0**k for k in range(round(math.log10(linear)), 9)]
    ticks = [t for t in [*(-s for s in reversed(sizes)), 0.0, *sizes] if bottom <= t <= top]
    axes.set_yscale("symlog", linthresh=linear, linscale=0.6)
    axes.yaxis.set_major_locator(FixedLocator(ticks))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    axes.set_ylim(bottom, top)
