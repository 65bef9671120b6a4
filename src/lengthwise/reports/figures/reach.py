"""How far each variant serves: bars on a log axis, and its median by length with every replicate behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lengthwise.reports.estimates import Line
from lengthwise.reports.figures import panels as p
from lengthwise.reports.figures.curves import HIGHLIGHT
from lengthwise.reports.figures.style import BLUE, FAINT, INK, MUTED, PAPER
from lengthwise.reports.record import Record

if TYPE_CHECKING:
    from lengthwise.reports.sections.reach import Reach


def bars(record: Record, rows: Sequence[tuple[str, Sequence[Reach]]]) -> Figure:
    """A row for each variant under the heading of its group: a bar from the shortest length to its reach."""
    bottom = sum(len(own) + bool(group) for group, own in rows)
    figure = Figure(figsize=(p.WIDTH, 0.2 * bottom + 1.0), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.2)  # type: ignore[union-attr]  # names may be set in a wider font
    axes, y, names = figure.subplots(), 0, dict[float, str]()
    shade = p.shade_trained(axes, record)
    for group, own in rows:
        if group:
            axes.text(-0.01, y, group, transform=axes.get_yaxis_transform(), ha="right", va="center", weight="bold")
            y += 1
        for one in own:
            names[y] = p.shown(one.variant, 40)
            _bar(axes, record, one, y)
            y += 1
    p.length_axis(axes, record, log=True)
    axes.set_xlim(record.lengths[0] / 1.1, record.lengths[-1] * 1.25)
    axes.set_ylim(bottom - 0.4, -0.6)
    axes.set_yticks(list(names), list(names.values()))
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(p.LENGTH_AXIS)
    told = f"serving {record.lengths[-1]:,}"
    axes.text(1.01, 1, told, transform=axes.transAxes, ha="left", va="bottom", color=MUTED, size=7.5)
    p.legend(figure, [Line2D([], [], color=BLUE, lw=3, label="lengths served by the median"), shade])
    return figure


def _bar(axes: Axes, record: Record, one: Reach, y: float) -> None:
    first, last = record.lengths[0], record.lengths[-1]
    axes.plot([first, last], [y, y], color=FAINT, lw=0.5, zorder=1)
    if one.length is None:
        axes.plot([first], [y], "o", ms=4, color=MUTED, markerfacecolor=PAPER, zorder=3)
    else:
        axes.plot([first, one.length], [y, y], color=BLUE, lw=3, solid_capstyle="butt", zorder=2)
        axes.plot([one.length], [y], ">" if one.length == last else "o", ms=5, color=BLUE, markeredgewidth=0, zorder=3)
    axes.text(1.01, y, one.share, transform=axes.get_yaxis_transform(), ha="left", va="center", color=INK, size=7.5)


def by_length(record: Record, lines: Sequence[Line], axis: str, chance: float | None) -> Figure:
    """A panel for each variant on a log axis of lengths: its median and interval over all its replicates."""
    figure, grid = p.panels(len(lines), height=1.3)
    for axes, line in zip(grid, lines):
        shade = p.shade_trained(axes, record, record.trained(line.variant))
        replicates = _replicates(axes, record, line)
        keys: list = [p.band(axes, line, HIGHLIGHT, "median and interval", alpha=0.25), replicates, shade]
        if chance is not None:
            keys.append(p.reference(axes, [record.lengths[0], record.lengths[-1]], np.full(2, chance), "chance"))
        p.title(axes, line.variant)
    p.length_axis(grid[0], record, log=True)
    values = np.concatenate([record.values(line.variant, line.weights, record.metric).ravel() for line in lines])
    if chance is not None and np.isfinite(values).any():
        low = min(float(np.nanmin(values)), chance)
        grid[0].set_ylim(low - 0.06 * (1 - low), 1 + 0.06 * (1 - low))
    else:
        p.from_zero(grid[0], lines)
    p.label(figure, p.LENGTH_AXIS, axis)
    p.legend(figure, keys)
    return figure


def _replicates(axes: Axes, record: Record, line: Line) -> Line2D:
    values = record.values(line.variant, line.weights, record.metric)
    for row in np.unique(values, axis=0):
        axes.plot(line.x, row, color=MUTED, lw=0.5, alpha=0.5, zorder=1.5)
    return Line2D([], [], color=MUTED, lw=0.5, alpha=0.7, label="each replicate")
