"""Reach: up to which length each variant serves, in medians, as claims about the typical model are decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from lengthwise.reports.blocks import Block, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.estimates import Estimate, Line, estimate_of, median
from lengthwise.reports.figures import reach as figures
from lengthwise.reports.figures.style import draw
from lengthwise.reports.groups import groups
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import NONE, number
from lengthwise.reports.record import Record
from lengthwise.reports.sections.curves import data
from lengthwise.reports.sections.pending import pending

CHANCE = {"recognition": 0.5}
"""The accuracy of guessing, by task: words inside and outside are asked in equal number."""


@dataclass(frozen=True)
class Reach:
    """How far one variant's raw weights serve: by the median, and at the longest length how many replicates do.

    `length` is the longest measured length up to which the median is enough at every measured length, None where it
    is not at the shortest.
    """

    variant: str
    length: int | None
    median: Estimate
    mean: Estimate
    serving: int

    @property
    def share(self) -> str:
        """How many of the replicates with a value serve the longest length."""
        return f"{self.serving} of {self.median.n}"


def reach(record: Record) -> Section:
    """Which lengths are served: an overview, every variant by length, and the numbers."""
    what = measure(record.metric)
    title = "Medians by length" if what.enough is None else f"How far {what.name} reaches"
    if record.curve is None:
        return pending(title)
    lines = [median_line(record, v) for v in record.variants]
    blocks: list[Block] = [Paragraph(_what(record))]
    if what.enough is not None:
        found = [reach_of(record, v) for v in record.variants]
        blocks += [_overview(record, found), _lines(record, lines), _table(record, found)]
    else:
        blocks += [_lines(record, lines)]
    return Section(title, [*blocks, *_certified(record)])


def median_line(record: Record, variant: str) -> Line:
    """The page's metric by length, in medians over replicates, raw weights at the last step."""
    values = record.values(variant, "raw", record.metric)
    return Line(variant, "raw", record.lengths, [median(column) for column in values.T])


def reach_of(record: Record, variant: str) -> Reach:
    """How far a variant serves, by the least value of the page's metric that is enough."""
    enough, values = measure(record.metric).enough, record.values(variant, "raw", record.metric)
    assert enough is not None
    medians = [median(column).median for column in values.T]
    served = np.cumprod([m is not None and m >= enough for m in medians]).sum()
    last = values[:, -1]
    return Reach(
        variant, record.lengths[served - 1] if served else None, median(last), estimate_of(record.metric, last),
        int((last[np.isfinite(last)] >= enough).sum()),
    )  # fmt: skip


def reach_in_words(record: Record) -> list[tuple[str, str]]:
    """The variants by the length that they reach, the longest first."""
    found = [reach_of(record, v) for v in record.variants]
    by_length: dict[int, list[str]] = {}
    for one in found:
        by_length.setdefault(one.length or 0, []).append(one.variant)
    longest = record.lengths[-1]
    words = {0: "Not even the shortest", longest: f"{longest:,}, the longest measured"}
    return [(words.get(s, f"{s:,}"), "; ".join(by_length[s])) for s in sorted(by_length, reverse=True)]


def _what(record: Record) -> str:
    enough, task = measure(record.metric).enough, record.config["task"]
    drawn = task.get("settings", {}).get("drawn")
    beyond = "; of the lengths drawn in training, one in a thousand is longer" if drawn else ""
    told = (
        f"Shaded: the trained lengths, up to {record.trained_length:,}{beyond}. Values are medians over the replicates "
        f"(n = {record.replicates}), which say what the typical model does, with exact intervals of at least 95% "
        "between two of the values (none below 6 values); raw weights at the last step."
    )
    if enough is None:
        return told
    return (
        f"{told} A length is served where the median is at least {enough:g}; the reach of a variant is the longest "
        "measured length up to which every measured length is served."
    )


def _overview(record: Record, found: Sequence[Reach]) -> Figure:
    longest = record.lengths[-1]
    rows = [(group, [one for one in found if one.variant in names]) for group, names in groups(record).items()]
    told = "; ".join(f"{one.variant} {NONE if one.length is None else f'{one.length:,}'}" for one in found)
    return Figure(
        name="reach",
        caption=f"The reach of each variant: bars end at the longest served length, an arrow where that is the longest "
        f"measured one. At the right, how many replicates serve length {longest:,}.",
        alternative=f"Bar chart of the longest length served, by variant: {told}.",
        drawing=draw("reach", lambda: figures.bars(record, rows)),
        data=_data(found),
    )


def _lines(record: Record, lines: Sequence[Line]) -> Figure:
    what, chance = measure(record.metric), chance_of(record)
    ends = ", ".join(f"{x.variant} {number(x.estimates[-1].median)}" for x in lines)
    guessing = f" The dotted line is chance ({chance:g})." if chance is not None else ""
    return Figure(
        name="reach-by-length",
        caption=f"{what.axis} by length, a panel for each variant: the median with its interval in blue, every "
        f"replicate as a faint line.{guessing}",
        alternative=f"Line charts of median {what.name} by length. Medians at length {record.lengths[-1]:,}: {ends}.",
        drawing=draw("reach-lines", lambda: figures.by_length(record, lines, what.axis, chance)),
        data=data(lines, record.metric),
    )


def chance_of(record: Record) -> float | None:
    """What guessing scores by the page's metric, where that is known."""
    return CHANCE.get(record.config["task"]["name"]) if record.metric == "accuracy" else None


def _table(record: Record, found: Sequence[Reach]) -> Table:
    what, longest = measure(record.metric), record.lengths[-1]
    assert what.enough is not None
    header = ["Variant", "Reach", f"Median, s = {longest:,}", "Mean", f"At {what.enough:g} or above"]
    rows = [
        [one.variant, NONE if one.length is None else f"{one.length:,}", str(one.median), str(one.mean), one.share]
        for one in found
    ]
    caption = (
        f"Reach, and {what.name} at length {longest:,}: the median with its exact interval, the mean with its "
        f"bootstrap interval, and how many replicates are at {what.enough:g} or above."
    )
    return Table("reach-table", caption, header, rows, _data(found))


def _certified(record: Record) -> list[Block]:
    """The lengths up to which EVERY word is proved right, of the models that were certified."""
    rows = [
        (variant, weights, float(np.median(lengths)), len(lengths), bool((lengths == checked).any()))
        for variant in record.variants for weights in record.weights(variant)
        if len(lengths := record.certified(variant, weights, "certified_length"))
        and len(checked := record.certified(variant, weights, "checked_length")) == len(lengths)
    ]  # fmt: skip
    if not rows:
        return []
    header = ["Variant", "Weights", "Certified length", "Models"]
    shown = [[v, w, f"{'at least ' if open_ else ''}{length:,.0f}", str(n)] for v, w, length, n, open_ in rows]
    caption = (
        "The length up to which every word of every length is proved to be answered right (median over the certified "
        "models); a longer word is known to be answered wrong unless it says at least."
    )
    kinds = ["variant", "weights", "certified_length", "n", "at_least"]
    table = pl.DataFrame(rows, schema=kinds, orient="row")
    return [Heading("Proved for all words"), Table("certified-lengths", caption, header, shown, table, heads=2)]


def _data(found: Sequence[Reach]) -> pl.DataFrame:
    rows = [
        {
            "variant": one.variant, "reach": one.length, "n": one.median.n, "failed": one.median.failed,
            "serving": one.serving, "median": one.median.median, "median_low": one.median.low,
            "median_high": one.median.high, "mean": one.mean.mean, "mean_low": one.mean.low, "mean_high": one.mean.high,
        }
        for one in found
    ]  # fmt: skip
    counts = dict.fromkeys(("reach", "n", "failed", "serving"), pl.Int64)
    return pl.DataFrame(rows, schema_overrides={**counts, **dict.fromkeys(list(rows[0])[5:], pl.Float64)})
