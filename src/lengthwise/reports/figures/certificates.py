"""Certified worst cases by length, and certified lengths along training."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from lengthwise.reports.estimates import Line
from lengthwise.reports.figures import panels as p
from lengthwise.reports.figures.style import BLUE, MUTED, VERMILION, Mark, mark
from lengthwise.reports.record import Record

CERTIFIED, PREDICTED = Mark(BLUE, "-", "o"), Mark(VERMILION, (0, (4, 1.6)), "s")


def worst(record: Record, certified: Sequence[Line], predicted: Sequence[Line]) -> Figure:
    """A panel for each variant: the certified worst displacement, and what p and M predict of it."""
    figure, grid = p.panels(len(certified))
    for axes, sure, guess in zip(grid, certified, predicted):
        shade = p.shade_trained(axes, record, record.trained(sure.variant))
        axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
        keys = [p.band(axes, sure, CERTIFIED, "certified, all inputs"), p.band(axes, guess, PREDICTED, "from p and M")]
        p.title(axes, sure.variant)
    p.length_axis(grid[0], record)
    grid[0].set_yscale("symlog", linthresh=1)
    p.label(figure, p.LENGTH_AXIS, "Worst displacement (nats, linear below 1)")
    p.legend(figure, [*keys, shade])
    return figure


def along(lines: Sequence[Line]) -> Figure:
    """The certified length by training step, a line for each variant."""
    figure = Figure(figsize=(p.WIDTH, 2.7 + 0.17 * -(-len(lines) // 3)), layout="constrained")
    axes = figure.subplots()
    keys = [p.band(axes, line, mark(k), line.variant, alpha=0.1) for k, line in enumerate(lines)]
    axes.set_xlabel("Training step")
    axes.set_ylabel("Certified length (tokens)")
    p.count_ticks(axes)
    p.legend(figure, keys, columns=3)
    return figure
