"""Curves by length: variants side by side, raw weights against averages, and several metrics at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from lengthwise.reports.estimates import Line
from lengthwise.reports.figures import panels as p
from lengthwise.reports.figures.style import BLUE, INK, Mark, mark
from lengthwise.reports.record import Record

HIGHLIGHT = Mark(BLUE, "-", "o")
FIRST = Mark(INK, (0, (4, 1.6)), "")


def by_variant(record: Record, lines: Sequence[Line], axis: str) -> Figure:
    """A panel for each variant: its own line in blue with its band, the first variant dashed, the others faint."""
    figure, grid = p.panels(len(lines))
    keys: dict[str, object] = {}
    for axes, line in zip(grid, lines):
        shade = p.shade_trained(axes, record, record.trained(line.variant))
        others = p.context(axes, [x for x in lines[1:] if x is not line])
        own = p.band(axes, line, HIGHLIGHT, "the variant named, mean and 95% band")
        if line is not lines[0]:
            first = p.band(axes, lines[0], FIRST, lines[0].variant, markers=False, alpha=0)
            keys = {"own": own, "first": first, "others": others, "shade": shade}
        p.title(axes, line.variant)
    keys = keys or {"own": own, "shade": shade}
    if len(lines) < 3:
        keys.pop("others", None)
    return _finish(figure, grid, record, lines, axis, list(keys.values()))


def by_weights(record: Record, lines: Mapping[str, Sequence[Line]], axis: str) -> Figure:
    """A panel for each variant with its raw weights and every average of them."""
    names = list(dict.fromkeys(line.weights for own in lines.values() for line in own))
    figure, grid = p.panels(len(lines))
    keys: dict[str, object] = {}
    for axes, (variant, own) in zip(grid, lines.items()):
        shade = p.shade_trained(axes, record, record.trained(variant))
        for line in own:
            keys[line.weights] = p.band(axes, line, mark(names.index(line.weights)), line.weights, alpha=0.13)
        p.title(axes, variant)
    flat = [line for own in lines.values() for line in own]
    return _finish(figure, grid, record, flat, axis, [*keys.values(), shade], columns=6)


def by_metric(
    record: Record, lines: Mapping[str, Sequence[Line]], axes_names: Sequence[str], groups: Mapping[str, Sequence[str]]
) -> Figure:
    """A panel for each metric with a line for each variant, in a row for each group of variants, with its key."""
    names = [name for own in groups.values() for name in own]
    keyed = 0.17 * sum(-(-len(own) // 3) for own in groups.values())
    figure = Figure(figsize=(p.WIDTH, 0.6 + 2.5 * len(groups) + keyed), layout="constrained")
    rows = [*figure.subfigures(len(groups), 1, squeeze=False)[:, 0]]
    for part, (group, members) in zip(rows, groups.items()):
        grid = part.subplots(1, len(lines), squeeze=False)[0]
        keys: dict[str, object] = {}
        for axes, name, own in zip(grid, axes_names, lines.values()):
            shade = p.shade_trained(axes, record)
            for line in (x for x in own if x.variant in members):
                keys[line.variant] = p.band(axes, line, mark(names.index(line.variant)), line.variant, alpha=0.1)
            axes.set_title(name)
            p.length_axis(axes, record)
            p.from_zero(axes, own)
        p.legend(part, [*keys.values(), shade], columns=3, title=group)  # type: ignore[list-item]
    figure.supxlabel(p.LENGTH_AXIS, fontsize=8.5)
    return figure


def _finish(
    figure: Figure, grid: Sequence, record: Record, lines: Sequence[Line], axis: str, keys: Sequence, columns: int = 4
) -> Figure:
    p.length_axis(grid[0], record)
    p.from_zero(grid[0], lines)
    p.label(figure, p.LENGTH_AXIS, axis)
    p.legend(figure, keys, columns)
    return figure
