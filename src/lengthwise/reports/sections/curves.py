"""Curves by length: every variant, raw weights against averages, and the other metrics."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from lengthwise.reports.blocks import Block, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.estimates import Line, estimate_of, line, table
from lengthwise.reports.figures import curves as figures
from lengthwise.reports.figures.style import draw
from lengthwise.reports.groups import groups
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import number
from lengthwise.reports.record import Record
from lengthwise.reports.sections.pending import pending
from lengthwise.runs import slug
from lengthwise.statistics import LEAST_REPLICATES

OTHERS = ("kl", "illegal_mass", "top1_illegal", "squared_error", "excess_error")
BESIDE_ACCURACY = ("tv", "kl")
BANDS = (
    "Lines are means over the replicates (n = {n}), bands their 95% intervals (studentised bootstrap; none below "
    f"{LEAST_REPLICATES} replicates; cut to what is possible, and to the axes); the trained lengths are shaded."
)


def curves(record: Record) -> Section:
    """How the metrics change with length."""
    if record.curve is None:
        return pending("Curves by length")
    name = measure(record.metric).name
    raw = [line(record, variant, "raw", record.metric) for variant in record.variants]
    averaged = {v: [line(record, v, w, record.metric) for w in record.weights(v)] for v in record.variants}
    blocks: list[Block] = [Heading(f"{name.capitalize()}, raw weights"), _variants(record, raw)]
    if any(len(own) > 1 for own in averaged.values()):
        blocks += [Heading("Raw weights against every average"), _averages(record, averaged)]
    blocks += [_table(record)]
    others = [metric for metric in _others_of(record) if record.has(metric) and metric != record.metric]
    if others:
        blocks += [Heading("The other metrics"), _others(record, others)]
    return Section("Curves by length", [Paragraph(BANDS.format(n=record.replicates)), *blocks])


def _others_of(record: Record) -> Sequence[str]:
    """Metrics that say something else than the page's own: accuracy is 1 minus the top-1 illegal rate."""
    return BESIDE_ACCURACY if record.metric == "accuracy" else OTHERS


def _variants(record: Record, lines: Sequence[Line]) -> Figure:
    what = measure(record.metric)
    return Figure(
        name=f"curves-{slug(record.metric)}",
        caption=f"{what.axis} by length, a panel for each variant, raw weights."
        + (" The first variant is repeated, dashed, in each panel." if len(lines) > 1 else ""),
        alternative=f"Line charts of {what.name} by input length for {len(lines)} variants. {at_longest(lines)}",
        drawing=draw("curves", lambda: figures.by_variant(record, lines, what.axis)),
        data=data(lines, record.metric),
    )


def _averages(record: Record, lines: dict[str, list[Line]]) -> Figure:
    what, flat = measure(record.metric), [x for own in lines.values() for x in own]
    return Figure(
        name=f"averages-{slug(record.metric)}",
        caption=f"{what.axis} by length of the raw weights and of every average of them, a panel for each variant.",
        alternative=f"Line charts of {what.name} by input length for raw and averaged weights. {at_longest(flat)}",
        drawing=draw("averages", lambda: figures.by_weights(record, lines, what.axis)),
        data=data(flat, record.metric),
    )


def _others(record: Record, metrics: Sequence[str]) -> Figure:
    lines = {m: [line(record, v, "raw", m) for v in record.variants if record.has(m, v)] for m in metrics}
    tables = [data(own, m) for m, own in lines.items()]
    names = [measure(m).axis for m in metrics]
    apart = groups(record)
    return Figure(
        name="curves-other-metrics",
        caption=f"{', '.join(names)} by length, raw weights, a line for each variant.",
        alternative=" ".join(f"{n} by input length. {at_longest(own)}" for n, own in zip(names, lines.values())),
        drawing=draw("others", lambda: figures.by_metric(record, lines, names, apart)),
        data=pl.concat(tables),
    )


def at_longest(lines: Sequence[Line]) -> str:
    """The last mean of every line, in words."""
    ends = ", ".join(
        f"{x.variant}{'' if x.weights == 'raw' else f' {x.weights}'} {number(x.estimates[-1].mean)}" for x in lines
    )
    return f"Means at length {lines[0].x[-1]:,}: {ends}."


def data(lines: Sequence[Line], metric: str) -> pl.DataFrame:
    """The estimates of several lines as a table to be saved."""
    rows = (((x.variant, x.weights, metric, s), e) for x in lines for s, e in zip(x.x, x.estimates))
    return table(rows, ("variant", "weights", "metric", "length"))


def _table(record: Record) -> Table:
    """The metric at the lengths where contrasts are shown, as is and scale-matched, for every variant and weights."""
    kinds = [k for k in (record.metric, f"{record.metric}_matched") if record.has(k)]
    arms = [(v, w) for v in record.variants for w in record.weights(v)]
    found = {
        (v, w, kind, s): estimate_of(kind, record.values(v, w, kind, [s])[:, 0])
        for v, w in arms for kind in kinds for s in record.marks
    }  # fmt: skip
    words = {record.metric: "as is, " if len(kinds) > 1 else ""}
    columns = [f"{words.get(kind, 'matched, ')}s = {s:,}" for kind in kinds for s in record.marks]
    header = ["Variant", "Weights", *columns, "Failed"]

    def row(v: str, w: str) -> list[str]:
        own = [found[v, w, kind, s] for kind in kinds for s in record.marks]
        return [v, w, *map(str, own), str(max((e.failed for e in own), default=record.replicates))]

    caption = (
        f"Mean {measure(record.metric).name} with its 95% interval{', as is and scale-matched' * (len(kinds) > 1)}."
    )
    data = table(found.items(), ("variant", "weights", "metric", "length"))
    return Table(f"{slug(record.metric)}-by-length", caption, header, [row(*arm) for arm in arms], data, heads=2)
