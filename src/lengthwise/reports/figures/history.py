"""Training: the loss of each variant, and its error along the way, with the phases of its plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from lengthwise.reports.estimates import Line
from lengthwise.reports.figures import panels as p
from lengthwise.reports.figures.curves import HIGHLIGHT
from lengthwise.reports.figures.style import BLUE, INK, VERMILION, Mark
from lengthwise.reports.record import Record

MARKS = (Mark(BLUE, (0, (4, 1.6)), "o"), Mark(INK, "-", "s"), Mark(VERMILION, (0, (1.4, 1.2)), "^"))


def losses(record: Record, lines: Sequence[Line]) -> Figure:
    """A panel for each variant: its mean training loss with its band, the others' faint."""
    figure, grid = p.panels(len(lines))
    keys = {}
    for axes, line in zip(grid, lines):
        keys["others"] = p.context(axes, [x for x in lines if x is not line])
        keys["own"] = p.band(axes, line, HIGHLIGHT, "the variant named, mean and 95% band", markers=False)
        if steps := record.boundaries(line.variant):
            keys["phase"] = p.boundaries(axes, steps)
        p.title(axes, line.variant)
    if len(lines) == 1:
        keys.pop("others")
    p.count_ticks(grid[0], 4)
    p.limit(grid[0], lines)
    p.label(figure, "Training step", "Training loss (nats)" if record.has("kl") else "Training loss")
    p.legend(figure, [keys[k] for k in ("own", "others", "phase") if k in keys])
    return figure


def along(record: Record, lines: Mapping[str, Sequence[Line]], axis: str) -> Figure:
    """A panel for each variant: the metric at the shortest, longest trained and longest length, by step."""
    figure, grid = p.panels(len(lines))
    keys = {}
    for axes, (variant, own) in zip(grid, lines.items()):
        for line, length, mark in zip(own, record.marks, MARKS):
            keys[length] = p.band(axes, line, mark, f"at length {length:,}", alpha=0.13)
        if steps := record.boundaries(variant):
            keys["phase"] = p.boundaries(axes, steps)
        p.title(axes, variant)
    last = max(line.x[-1] for own in lines.values() for line in own if line.x)
    grid[0].set_xlim(0, last * 1.04)
    p.count_ticks(grid[0], 4)
    p.from_zero(grid[0], [line for own in lines.values() for line in own])
    p.label(figure, "Training step", axis)
    p.legend(figure, [keys.pop(length) for length in record.marks] + list(keys.values()))
    return figure


def thinned(steps: Sequence[int], most: int = 50) -> list[int]:
    """At most so many of the steps, evenly, the last among them.

    >>> thinned(range(10), 3)
    [0, 4, 9]
    """
    picked = np.linspace(0, len(steps) - 1, min(most, len(steps))).astype(int) if len(steps) else []
    return [steps[k] for k in picked]
