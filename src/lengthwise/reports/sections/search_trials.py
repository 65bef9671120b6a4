"""The trials of a search: drawn against every setting and on parallel axes, the best of them, and all as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from lengthwise.reports.blocks import Block, Code, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.figures import search as figures
from lengthwise.reports.figures.style import draw
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import NONE, number
from lengthwise.reports.search_record import ALL, SearchRecord
from lengthwise.reports.sections.settings import plain


def search_best(record: SearchRecord) -> Section:
    """The best settings, each with the command that runs it."""
    lengths = record.marks
    blocks: list[Block] = [
        Paragraph(
            "The best at trained lengths can be chosen without looking at long ones; the best at the longest length "
            "show what there is to win, and are flattered by having been chosen there. Run one again with the "
            "experiment's own replicates before believing it."
        )
    ]
    for by in dict.fromkeys(row["by"] for row in record.best):
        own = [row for row in record.best if row["by"] == by]
        header = ["Trial", "Settings", *(f"At {s:,}" for s in lengths)]
        rows = [
            [str(row["trial"]), in_words(record, row["settings"]), *(_value(row, "raw", s) for s in lengths)]
            for row in own
        ]
        name = f"best-at-{by.split()[0] if by[0] == 't' else 'longest'}"
        caption = f"The trials that are best at {by} with raw weights: {measure(record.metric).name}."
        values = {f"{w} at {s}": [row["values"][w][str(s)] for row in own] for w in record.weights for s in lengths}
        data = pl.DataFrame({"trial": [row["trial"] for row in own], "settings": [r[1] for r in rows], **values})
        blocks += [Heading(f"Best at {by}"), Table(name, caption, header, rows, data, numeric=False)]
        if own:
            broken = own[0]["command"].replace(" --set ", " \\\n    --set ")
            blocks += [Paragraph("The first of them as an experiment of its own:"), Code(broken)]
    return Section("Best settings", blocks)


def search_scatter(record: SearchRecord) -> Section:
    """The longest length's metric against every numeric setting, and every trial on parallel axes."""
    what, length = measure(record.metric), record.marks[-1]
    blocks: list[Block] = []
    for weights in record.weights:
        panels = [_panel(record, name, weights, length) for name in record.config["numeric"]]
        shown = [panel for panel in panels if np.isfinite(panel.y).any()]
        if not shown:
            continue
        name = f"scatter-{weights}".replace(" ", "-")
        drawing = draw(name, lambda shown=shown: figures.scatters(shown, f"{what.axis} at length {length:,}"))
        caption = f"{what.axis} at length {length:,} against each numeric setting, {weights} weights."
        data = record.smooth.filter(weights=weights, length=length)
        alternative = f"Scatter plots of {what.name} against {len(shown)} settings"
        blocks.append(Figure(name, caption, alternative, drawing, data))
    return Section("Trials against settings", [*blocks, _parallel(record), *_all_trials(record)])


def best_fifth(record: SearchRecord) -> np.ndarray:
    """The fifth of the trials that is best at trained lengths with raw weights."""
    mean = np.mean([record.trials.values("raw", record.metric, s) for s in record.config["trained"]], axis=0)
    score = -mean if measure(record.metric).higher else mean
    best = np.zeros(len(score), bool)
    count = max(int(np.isfinite(score).sum()) // 5, 1)
    best[np.argsort(np.where(np.isfinite(score), score, np.inf), kind="stable")[:count]] = True
    return best


def _panel(record: SearchRecord, name: str, weights: str, length: int) -> figures.Scatter:
    x, y = record.trials.numbers(name), record.trials.values(weights, record.metric, length)
    own = np.isfinite(x)
    curve = record.smooth.filter(among=ALL, weights=weights, setting=name, length=length)
    return figures.Scatter(
        title=record.short(name), x=x[own], y=y[own], best=best_fifth(record)[own],
        failed=x[own & record.trials.failed],
        curve=curve.select("x", "y", "low", "high").to_numpy(), log=name in record.config["log"],
    )  # fmt: skip


def _parallel(record: SearchRecord) -> Figure:
    axes = [_axis(record, name) for name in record.trials.fields]
    values = [record.trials.values("raw", record.metric, s) for s in record.marks]
    axes += [_numbers(f"{record.metric} at {s:,}", v, False) for s, v in zip(record.marks, values)]
    drawing = draw(
        "parallel", lambda: figures.parallel(axes, best_fifth(record), "in the best fifth at trained lengths")
    )
    caption = (
        "Every trial over all settings and its raw weights' values; a setting that a trial does not have is a gap."
    )
    alternative = f"{len(record.trials.settings)} trials as lines over {len(axes)} parallel axes"
    return Figure("parallel", caption, alternative, drawing, record.trials.settings)


def _axis(record: SearchRecord, name: str) -> figures.AxisOf:
    if name in record.config["numeric"]:
        return _numbers(record.short(name), record.trials.numbers(name), name in record.config["log"])
    values = record.trials.settings[name].to_list()
    options = sorted({v for v in values if v is not None})
    at = {option: (k + 0.5) / len(options) for k, option in enumerate(options)}
    places = np.array([np.nan if v is None else at[v] for v in values])
    return figures.AxisOf(record.short(name), places, [(place, option) for option, place in at.items()])


def _numbers(title: str, values: np.ndarray, log: bool) -> figures.AxisOf:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return figures.AxisOf(title, values, [])
    low, high = float(finite.min()), float(finite.max())
    if log and low > 0 and high > low:
        places = (np.log(values) - np.log(low)) / (np.log(high) - np.log(low))
    else:
        places = (values - low) / (high - low) if high > low else np.where(np.isfinite(values), 0.5, np.nan)
    return figures.AxisOf(
        title, places, [(0.0, number(low)), (1.0, number(high))] if high > low else [(0.5, number(low))]
    )


def _all_trials(record: SearchRecord) -> list[Block]:
    table = record.trials.settings
    for s in record.marks:
        table = table.with_columns(pl.Series(f"{record.metric} at {s}", record.trials.values("raw", record.metric, s)))
    header = ["Trial", "Block", "Failed at step", *map(record.short, record.trials.fields)]
    header += [f"{record.metric} at {s:,}" for s in record.marks]
    columns = ["trial", "block", "failed_at", *record.trials.fields, *table.columns[-len(record.marks) :]]
    rows = [[_cell(v) for v in row] for row in table.select(columns).iter_rows()]
    caption = "Every trial with its settings and its raw weights' values, failed ones too."
    return [Table("trials", caption, header, rows, table, summary="All trials")]


def _cell(value: Any) -> str:
    if value is None:
        return NONE
    return number(value) if isinstance(value, float) else plain(value)


def in_words(record: SearchRecord, settings: dict[str, Any]) -> str:
    """A trial's settings in words."""
    return ", ".join(f"{record.short(k)} {_cell(v)}" for k, v in settings.items())


def _value(row: dict[str, Any], weights: str, length: int) -> str:
    return number(row["values"].get(weights, {}).get(str(length)), 3)
