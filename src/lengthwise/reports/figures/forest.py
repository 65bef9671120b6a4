"""Forest plots: paired differences with their intervals, as is and scale-matched in the same row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from lengthwise.reports.estimates import Contrast, Estimate
from lengthwise.reports.figures import panels as p
from lengthwise.reports.figures.style import BLUE, FAINT, INK, PAPER, SHADE, VERMILION
from lengthwise.reports.numbers import MINUS


@dataclass(frozen=True)
class Row:
    """One row of a forest plot: a contrast at each length, under the heading of its group."""

    group: str
    label: str
    contrasts: Sequence[Contrast]


def forest(rows: Sequence[Row], axis: str, better: str = "left of 0 is lower") -> Figure:
    """A column for each length and a row for each contrast; `better` says what the sides of 0 are."""
    lengths = [contrast.length for contrast in rows[0].contrasts]
    places, headings, bottom = _places(rows)
    figure = Figure(figsize=(p.WIDTH, 0.2 * bottom + 0.95), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.2)  # type: ignore[union-attr]  # names may be set in a wider font
    grid = figure.subplots(1, len(lengths), sharey=True, squeeze=False)[0]
    for k, axes in enumerate(grid):
        axes.set_title(f"at length {lengths[k]:,}")
        axes.axvline(0, color=INK, lw=0.8, zorder=1)
        for n, (row, y) in enumerate(zip(rows, places)):
            if n % 2 == 0:
                axes.axhspan(y - 0.5, y + 0.5, color=SHADE, lw=0, zorder=0)
            _bar(axes, row.contrasts[k].as_is, y - 0.16, BLUE, "o", filled=True)
            if row.contrasts[k].matched is not None:
                _bar(axes, row.contrasts[k].matched, y + 0.16, VERMILION, "D", filled=False)
        _frame(axes, bottom)
    _names(grid[0], rows, places, headings)
    figure.supxlabel(f"{axis}; {better}", fontsize=8.5)
    p.legend(figure, _keys(any(c.matched for row in rows for c in row.contrasts)))
    return figure


def _places(rows: Sequence[Row]) -> tuple[list[float], dict[float, str], float]:
    """Where rows stand, from the top, with a place for each group's heading."""
    places, headings, y, last = [], {}, 0.0, ""
    for row in rows:
        if row.group != last:
            headings[y], last = row.group, row.group
            y += 1
        places.append(y)
        y += 1
    return places, headings, y


def _bar(axes: Axes, estimate: Estimate | None, y: float, colour: str, marker: str, filled: bool) -> None:
    if estimate is None or estimate.mean is None:
        return
    if estimate.low is not None and estimate.high is not None:
        axes.plot([estimate.low, estimate.high], [y, y], color=colour, lw=1.4, solid_capstyle="butt", zorder=2)
    axes.plot(
        [estimate.mean], [y], marker=marker, ms=4.2 if filled else 3.8, color=colour,
        markerfacecolor=colour if filled else PAPER, markeredgewidth=1.0, zorder=3,
    )  # fmt: skip


def _frame(axes: Axes, bottom: float) -> None:
    axes.set_ylim(bottom - 0.4, -0.6)
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(4))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}".replace("-", MINUS)))
    axes.grid(axis="x", color=FAINT, lw=0.4)


def _names(axes: Axes, rows: Sequence[Row], places: Sequence[float], headings: dict[float, str]) -> None:
    axes.set_yticks(
        [*places, *headings], [p.shown(name) for name in (*(row.label for row in rows), *headings.values())]
    )
    for text in axes.get_yticklabels()[len(places) :]:
        text.set(fontweight="bold", color=INK)


def _keys(matched: bool) -> list[Line2D]:
    keys = [Line2D([], [], color=BLUE, marker="o", ms=4.2, lw=1.4, label="as is, mean and 95% interval")]
    if matched:
        open_ = {"marker": "D", "ms": 3.8, "markerfacecolor": PAPER}
        keys.append(Line2D([], [], color=VERMILION, lw=1.4, label="scale-matched", **open_))
    return keys
