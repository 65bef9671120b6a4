"""Why length hurts: displacement against the 1/s line, and attention's entropy against log s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lengthwise.reports.estimates import Estimate, Line
from lengthwise.reports.figures import panels as p
from lengthwise.reports.figures.curves import HIGHLIGHT
from lengthwise.reports.figures.style import mark
from lengthwise.reports.record import Record


def displacement(record: Record, lines: Sequence[Line], slopes: Mapping[str, Estimate], axis: str) -> Figure:
    """A panel for each variant on log-log axes, with the line that falls like 1/s from its longest trained length."""
    figure, grid = p.panels(len(lines), height=1.75)
    for axes, line in zip(grid, lines):
        shade = p.shade_trained(axes, record, record.trained(line.variant))
        others = p.context(axes, [x for x in lines if x is not line])
        theory = _inverse(axes, line, record.edge)
        own = p.band(axes, line, HIGHLIGHT, "the variant named, mean and 95% band")
        p.title(axes, line.variant, f"slope {slopes[line.variant]}")
    p.length_axis(grid[0], record, log=True)
    means = np.concatenate([line.array("mean") for line in lines])
    positive = means[np.isfinite(means) & (means > 0)]
    if len(positive):
        p.log_ticks(grid[0], "y", positive.tolist())
        grid[0].set_ylim(positive.min() / 1.3, positive.max() * 1.3)
    p.label(figure, p.LENGTH_AXIS, axis)
    p.legend(figure, [own, theory, *([others] if len(lines) > 1 else []), shade])
    return figure


def _inverse(axes: Axes, line: Line, edge: int) -> Line2D:
    x = np.array(line.x, dtype=float)
    at_edge = line.array("mean")[line.x.index(edge)]
    return p.reference(axes, x, np.where(at_edge > 0, at_edge * edge / x, np.nan), "falls like 1/s")


def entropy(record: Record, lines: Sequence[Line]) -> Figure:
    """Attention's entropy with log s, its greatest value, and how far below log s it stays."""
    figure = Figure(figsize=(p.WIDTH, 2.9 + 0.17 * -(-len(lines) // 3)), layout="constrained")
    left, right = figure.subplots(1, 2, sharex=True)
    greatest = np.log(np.array(record.lengths))
    keys = []
    for axes in (left, right):
        shade = p.shade_trained(axes, record)
        p.length_axis(axes, record, log=True)
    for k, line in enumerate(lines):
        keys.append(p.band(left, line, mark(k), line.variant, alpha=0.1))
        p.band(right, _below(line, greatest), mark(k), line.variant, alpha=0.1)
    theory = p.reference(left, record.lengths, greatest, "log s: uniform attention")
    left.set_ylabel("Attention entropy (nats)")
    right.set_ylabel("log s \N{MINUS SIGN} attention entropy (nats)")
    p.from_zero(left, lines)
    right.axhline(0, color=theory.get_color(), lw=1.0, linestyle=(0, (1, 1.6)), zorder=2)
    figure.supxlabel(p.LENGTH_AXIS, fontsize=8.5)
    p.legend(figure, [*keys, theory, shade], columns=3)
    return figure


def _below(line: Line, greatest: np.ndarray) -> Line:
    def flip(e: Estimate, top: float) -> Estimate:
        mean, low, high = (None if x is None else top - x for x in (e.mean, e.high, e.low))
        return Estimate(e.n, e.failed, mean, None, low, high)

    return Line(line.variant, line.weights, line.x, [flip(e, top) for e, top in zip(line.estimates, greatest)])
