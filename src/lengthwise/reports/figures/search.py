"""Figures of a search: trials against a setting with a smooth curve, effects with intervals, and parallel axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from lengthwise.reports.figures import panels as p
from lengthwise.reports.figures.style import BLUE, FAINT, INK, MUTED, ORANGE, VERMILION, WIDTH
from lengthwise.reports.numbers import number


@dataclass(frozen=True)
class Scatter:
    """Trials against one setting: values at `x` and `y`, which of them are among the best fifth, and a smooth curve.

    The curve is rows of (x, y, low, high); `failed` are the places of trials without a value.
    """

    title: str
    x: np.ndarray
    y: np.ndarray
    best: np.ndarray
    failed: np.ndarray
    curve: np.ndarray
    log: bool


def scatters(panels: Sequence[Scatter], axis: str) -> Figure:
    """A panel for each setting, on one vertical axis."""
    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(WIDTH, 1.9 * rows + 0.6), layout="constrained")
    grid = figure.subplots(rows, columns, sharey=True, squeeze=False).flatten().tolist()
    for axes in grid[len(panels) :]:
        axes.remove()
    for axes, panel in zip(grid, panels):
        _scatter(axes, panel)
    figure.supylabel(axis, fontsize=8.5)
    p.legend(figure, _keys(panels))
    return figure


def _scatter(axes: Axes, panel: Scatter) -> None:
    axes.set_title(p.shown(panel.title, 40))
    if panel.log:
        p.log_ticks(axes, "x", panel.x.tolist())
    axes.plot(panel.x[~panel.best], panel.y[~panel.best], "o", ms=2.4, color=MUTED, alpha=0.55, mew=0, zorder=2)
    axes.plot(panel.x[panel.best], panel.y[panel.best], "D", ms=2.8, color=VERMILION, mew=0, zorder=3)
    if len(panel.failed):
        bottom = axes.get_xaxis_transform()
        axes.plot(panel.failed, np.full(len(panel.failed), 0.02), "x", ms=3.2, color=INK, transform=bottom, zorder=3)
    if len(panel.curve):
        x, y, low, high = panel.curve.T
        axes.fill_between(x, low, high, color=BLUE, alpha=0.2, lw=0, zorder=1)
        axes.plot(x, y, color=BLUE, lw=1.5, zorder=4)


def _keys(panels: Sequence[Scatter]) -> list[Line2D | Patch]:
    keys: list[Line2D | Patch] = [
        Line2D([], [], color=MUTED, marker="o", ms=3, lw=0, label="a trial"),
        Line2D([], [], color=VERMILION, marker="D", ms=3, lw=0, label="in the best fifth at trained lengths"),
        Line2D([], [], color=BLUE, lw=1.5, label="smooth curve, 95% band"),
    ]
    if any(len(panel.failed) for panel in panels):
        keys.append(Line2D([], [], color=INK, marker="x", ms=3.2, lw=0, label="failed"))
    return keys


@dataclass(frozen=True)
class AxisOf:
    """One of several parallel axes: places in 0..1 for every trial (NaN where it has none), and ticks in words."""

    title: str
    places: np.ndarray
    ticks: Sequence[tuple[float, str]]


def parallel(axes_of: Sequence[AxisOf], best: np.ndarray, score: str) -> Figure:
    """Every trial as a line over parallel axes, the best fifth on top; a trial without a value has a gap there."""
    figure = Figure(figsize=(WIDTH, 3.4), layout="constrained")
    axes = figure.subplots()
    table = np.stack([axis.places for axis in axes_of], axis=1)
    x = np.arange(table.shape[1])
    for own, colour, alpha, width in ((~best, MUTED, 0.25, 0.6), (best, ORANGE, 0.8, 0.9)):
        lines = [np.column_stack([x, row]) for row in table[own]]
        axes.add_collection(LineCollection(lines, colors=colour, alpha=alpha, linewidths=width))
        _alone(axes, table[own], colour)
    for k, axis in enumerate(axes_of):
        axes.axvline(k, color=INK, lw=0.7, zorder=3)
        for place, text in axis.ticks:
            axes.annotate(
                p.shown(text, 12), (k, place), xytext=(3, 0), textcoords="offset points", fontsize=7, va="center",
                zorder=4, bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "alpha": 0.75, "linewidth": 0},
            )  # fmt: skip
    titles = ["\n".join(p.wrap(p.shown(axis.title, 40), 13)) for axis in axes_of]
    axes.set_xticks(x, titles)
    axes.tick_params(axis="x", length=0)
    axes.set(xlim=(-0.15, len(axes_of) - 0.55), ylim=(-0.06, 1.06))
    axes.yaxis.set_visible(False)
    axes.spines[["left", "bottom"]].set_visible(False)
    keys = [Line2D([], [], color=MUTED, lw=1, label="a trial"), Line2D([], [], color=ORANGE, lw=1.4, label=score)]
    p.legend(figure, keys)
    return figure


def _alone(axes: Axes, table: np.ndarray, colour: str) -> None:
    """Points where a trial has a value and none beside it: a line cannot show them."""
    known = np.isfinite(table)
    beside = np.zeros_like(known)
    beside[:, :-1] |= known[:, 1:]
    beside[:, 1:] |= known[:, :-1]
    row, column = np.nonzero(known & ~beside)
    axes.plot(column, table[row, column], "o", ms=2, color=colour, mew=0)


@dataclass(frozen=True)
class Bar:
    """One effect with its interval (None where there is none); `called` where it stands after the correction."""

    label: str
    effect: float
    low: float | None
    high: float | None
    called: bool


def bars(columns: Sequence[tuple[str, Sequence[Bar]]], axis: str) -> Figure:
    """A column of effects for each length, in the same order."""
    count = len(columns[0][1])
    figure = Figure(figsize=(WIDTH, 0.19 * count + 1.0), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.25)  # type: ignore[union-attr]  # names may be set in a wider font
    grid = figure.subplots(1, len(columns), sharey=True, squeeze=False)[0]
    for axes, (title, rows) in zip(grid, columns):
        axes.set_title(title)
        axes.axvline(0, color=INK, lw=0.8, zorder=1)
        for k, bar in enumerate(rows):
            colour = BLUE if bar.called else MUTED
            if bar.low is not None and bar.high is not None:
                axes.plot([bar.low, bar.high], [k, k], color=colour, lw=1.4, solid_capstyle="butt", zorder=2)
            axes.plot([bar.effect], [k], "o" if bar.called else "d", ms=3.8, color=colour, zorder=3)
        axes.set_ylim(count - 0.4, -0.6)
        axes.grid(axis="x", color=FAINT, lw=0.4)
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    grid[0].set_yticks(range(count), [p.shown(bar.label, 38) for bar in columns[0][1]])
    figure.supxlabel(axis, fontsize=8.5)
    called = [
        Line2D([], [], color=BLUE, marker="o", ms=3.8, lw=1.4, label="an effect after Holm's correction"),
        Line2D([], [], color=MUTED, marker="d", ms=3.8, lw=1.4, label="not called an effect"),
    ]
    p.legend(figure, called)
    return figure
