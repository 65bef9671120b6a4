"""Small multiples: one panel for each variant, on shared axes."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from lengthwise.reports.estimates import Line
from lengthwise.reports.figures.style import FAINT, INK, MUTED, SHADE, WIDTH, Mark
from lengthwise.reports.numbers import number
from lengthwise.reports.record import Record

LENGTH_AXIS = "Input length s (tokens)"


def panels(count: int, height: float = 1.55, columns: int = 3) -> tuple[Figure, list[Axes]]:
    """A grid of so many panels with shared axes; its empty places are left out."""
    columns = min(columns, count)
    rows = -(-count // columns)
    stretch = {1: 1.6, 2: 1.3}.get(columns, 1.0) * (1.25 if rows == 1 else 1.0)
    figure = Figure(figsize=(WIDTH, rows * height * stretch + 0.7), layout="constrained")
    figure.get_layout_engine().set(hspace=0.03, wspace=0.03)  # type: ignore[union-attr]
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flatten().tolist()
    for index, axes in enumerate(grid):
        if index >= count:
            axes.remove()
        elif index + columns >= count:
            axes.tick_params(labelbottom=True)  # the lowest panel of its column, though not in the last row
    return figure, grid[:count]


def label(figure: Figure, x: str, y: str) -> None:
    """One label for all panels on either axis."""
    figure.supxlabel(x, fontsize=8.5)
    figure.supylabel(y, fontsize=8.5)


def title(axes: Axes, name: str, note: str = "") -> None:
    """A panel's title, with a note under it."""
    lines = wrap(shown(name, 64), 34, break_on_hyphens=False) or [""]
    axes.set_title("\n".join([*lines, note] if note else lines))


def shown(name: str, most: int = 34) -> str:
    """A name as a figure can show it: on one line, cut if it is long, and never hidden as Matplotlib hides `_names`.

    >>> shown("a\\tb"), shown("_private"), shown("a" * 40, 5)
    ('a b', ' _private', 'aaaa…')
    """
    name = "".join(c if c.isprintable() else " " for c in name)
    name = name if len(name) <= most else f"{name[: most - 1]}\N{HORIZONTAL ELLIPSIS}"
    return f" {name}" if name.startswith("_") else name


def legend(figure: FigureBase, handles: Sequence[Line2D | Patch], columns: int = 4, title: str = "") -> None:
    """The key of all panels, above them, under a title if there is one."""
    labels = [shown(str(handle.get_label()), 60) for handle in handles]
    drawn = figure.legend(
        handles, labels, loc="outside upper left", ncols=columns, columnspacing=1.6, borderaxespad=0.2,
        title=title or None, alignment="left",
    )  # fmt: skip
    drawn.get_title().set(fontweight="bold", fontsize=8.5)


def length_axis(axes: Axes, record: Record, log: bool | None = None) -> None:
    """Lengths on the horizontal axis, with ticks where contrasts are shown; a log axis if they span a factor of 100."""
    lengths = record.lengths
    if lengths[-1] >= 100 * lengths[0] if log is None else log:
        log_ticks(axes, "x", lengths, record.marks)
        axes.set_xlim(lengths[0] / 1.1, lengths[-1] * 1.1)
    else:
        between = {lengths[(len(lengths) * k) // 4] for k in (1, 3)} if len(lengths) > 8 else set()
        axes.xaxis.set_major_locator(FixedLocator(sorted({*record.marks, *between})))
        axes.set_xlim(lengths[0] - 0.5, lengths[-1] + 0.5)


def shade_trained(axes: Axes, record: Record, trained: int | None = None) -> Patch:
    """Shade the lengths that were trained on: up to the longest of any variant, or up to one's own."""
    edge = record.trained_length if trained is None else trained
    axes.axvspan(record.lengths[0] / 2, edge + min(0.5, edge / 20), color=SHADE, lw=0, zorder=0)
    return Patch(facecolor=SHADE, edgecolor=FAINT, lw=0.5, label="trained lengths")


def band(axes: Axes, line: Line, mark: Mark, text: str, markers: bool = True, alpha: float = 0.2) -> Line2D:
    """A line of means (or medians) with its 95% band, where there is one."""
    low, high = line.array("low"), line.array("high")
    if np.isfinite(low).any():
        axes.fill_between(line.x, low, high, color=mark.colour, alpha=alpha, lw=0, zorder=2)
    (drawn,) = axes.plot(
        line.x, line.array("centre"), color=mark.colour, linestyle=mark.dashes, marker=mark.marker if markers else "",
        markeredgewidth=0, label=text, zorder=3,
    )  # fmt: skip
    return drawn


def context(axes: Axes, lines: Sequence[Line]) -> Line2D:
    """The other panels' lines, faint, behind this panel's own."""
    for line in lines:
        axes.plot(line.x, line.array("centre"), color=FAINT, lw=0.9, zorder=1)
    return Line2D([], [], color=FAINT, lw=0.9, label="the other variants")


def boundaries(axes: Axes, steps: Sequence[int]) -> Line2D:
    """Thin upright lines where the phases of training after the first begin."""
    for step in steps:
        axes.axvline(step, color=MUTED, lw=0.8, linestyle=(0, (2, 2)), zorder=1)
    return Line2D([], [], color=MUTED, lw=0.8, linestyle=(0, (2, 2)), label="a phase begins")


def count_ticks(axes: Axes, most: int = 6) -> None:
    """Whole numbers on the horizontal axis."""
    axes.xaxis.set_major_locator(MaxNLocator(most, integer=True, min_n_ticks=1))


def log_ticks(axes: Axes, which: str, values: Sequence[float], marks: Sequence[float] = ()) -> None:
    """A log axis with plain numbers at the marks and, well away from them, at 1, 2, 5, 10, ... within the values."""
    low, high = min(values), max(values)
    ticks = [
        m * 10.0**k
        for k in range(int(np.floor(np.log10(low))) - 1, int(np.ceil(np.log10(high))) + 1)
        for m in (1, 2, 5)
    ]
    if np.log10(high / low) > 2.5:
        ticks = [t for t in ticks if np.isclose(np.log10(t) % 1, 0)]
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log"})
    clear = [t for t in ticks if low * 0.85 <= t <= high * 1.15 and all(abs(np.log(t / m)) > 0.45 for m in marks)]
    axis.set_major_locator(FixedLocator([*clear, *marks]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))


def reference(axes: Axes, x: Sequence[float] | np.ndarray, y: np.ndarray, text: str) -> Line2D:
    """A dotted line of theory."""
    (drawn,) = axes.plot(x, y, color=INK, lw=1.0, linestyle=(0, (1, 1.6)), label=text, zorder=2)
    return drawn


def from_zero(axes: Axes, lines: Sequence[Line]) -> None:
    """Start the vertical axis at 0 where no value lies below."""
    limit(axes, lines)
    values = np.concatenate([line.array("centre") for line in lines])
    if np.isfinite(values).any() and np.nanmin(values) >= 0:
        axes.set_ylim(bottom=0)


def limit(axes: Axes, lines: Sequence[Line]) -> None:
    """A vertical axis that shows every value, and bands as far as they do not dwarf the values."""
    parts = (np.concatenate([line.array(field) for line in lines]) for field in ("centre", "low", "high"))
    values, lows, highs = (part[np.isfinite(part)] for part in parts)
    if not len(values):
        return
    low, high = values.min(), values.max()
    span = (high - low) or abs(high) or 1.0
    bottom, top = max(low - 0.5 * span, min([low, *lows])), min(high + 0.5 * span, max([high, *highs]))
    axes.set_ylim(bottom - 0.05 * span, top + 0.05 * span)
