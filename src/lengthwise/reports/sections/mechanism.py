"""The mechanism: how far attention sets the deciding letters apart, and how each group's weights grow, by step."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from lengthwise.reports.blocks import Block, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.estimates import Estimate, Line, median, table
from lengthwise.reports.figures import mechanism as figures
from lengthwise.reports.figures.style import draw
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import NONE, number
from lengthwise.reports.record import Record
from lengthwise.reports.sections.pending import pending
from lengthwise.reports.sections.reach import reach_of

TITLE = "The mechanism: scores and weights along training"
GAP, NORM = "score_gap", "norm_"
RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
WHAT = (
    "The score gap G is the least attention score among the letters that decide minus the largest among the others. A "
    "single deciding letter (a witness) in a word of L letters then weighs at least e^G / (e^G + L \N{MINUS SIGN} 1): "
    "half of all attention up to length 1 + e^G, so that the length served grows like e^G. Below 0 attention prefers a "
    "letter that does not decide. Values are medians over replicates with their exact intervals, raw weights."
)


def mechanism(record: Record) -> Section:
    """Score gaps and norms of weights along training, and at its end beside the reach."""
    if record.curve is None:
        return pending(TITLE)
    norms = [m for m in record.metrics if m.startswith(NORM)]
    gaps = [v for v in record.variants if record.has(GAP, v)]
    blocks: list[Block] = []
    if gaps:
        blocks += [Paragraph(WHAT), Heading("Score gap"), _gaps(record, gaps)]
    if norms:
        blocks += [Heading("Norms of the weights"), _norms(record, norms)]
    if gaps or norms:
        blocks += [_table(record, ([GAP] if gaps else []) + norms)]
    return Section(
        TITLE, blocks or [Paragraph("This run's models have no scores of letters and one group of weights.")]
    )


def served(gap: float | None) -> str:
    """The length up to which a single deciding letter has half of the weight: 1 + e^G.

    >>> served(0.0), served(7.0), served(212.3), served(-1.0), served(None)
    ('2', '1,098', '10⁹²', '1', '–')
    """
    if gap is None:
        return NONE
    return f"{1 + math.exp(gap):,.0f}" if gap < 14 else f"10{f'{gap / math.log(10):.0f}'.translate(RAISED)}"


def _along(record: Record, variant: str, metric: str) -> Line:
    steps, values = record.along(variant, None, metric)
    return Line(variant, "raw", steps, [median(column) for column in values.T])


def _gaps(record: Record, variants: Sequence[str]) -> Figure:
    lines = [_along(record, v, GAP) for v in variants]
    levels = sorted({record.trained_length, record.lengths[-1]})
    ends = ", ".join(f"{x.variant} {number(x.estimates[-1].median)}" for x in lines)
    return Figure(
        name="score-gap",
        caption=f"{measure(GAP).axis} along training, a panel for each variant. Dotted: the gaps at which a single "
        f"deciding letter has half of the weight at length {' and '.join(f'{s:,}' for s in levels)}. The scale is "
        "linear between \N{MINUS SIGN}1 and 1 and logarithmic beyond.",
        alternative=f"Line charts of the score gap by training step. At the end: {ends}.",
        drawing=draw("score-gap", lambda: figures.gaps(record, lines, levels)),
        data=_data({GAP: lines}),
    )


def _norms(record: Record, metrics: Sequence[str]) -> Figure:
    lines = {m: [_along(record, v, m) for v in record.variants] for m in metrics}
    groups = ", ".join(m.removeprefix(NORM) for m in metrics)
    return Figure(
        name="norms",
        caption=f"Euclidean norms of the weights of each group ({groups}) along training, a panel for each variant. "
        "The scale is logarithmic, and linear below 0.1, so that weights that are still 0 can be seen.",
        alternative=f"Line charts of the norms of the weights of {groups} by training step.",
        drawing=draw("norms", lambda: figures.norms(record, lines)),
        data=_data(lines),
    )


def _data(lines: dict[str, list[Line]]) -> pl.DataFrame:
    rows = (
        ((x.variant, metric, step), e)
        for metric, own in lines.items()
        for x in own
        for step, e in zip(x.x, x.estimates)
    )
    return table(rows, ("variant", "metric", "step"))


def _table(record: Record, metrics: Sequence[str]) -> Table:
    found: dict[tuple[str, str], Estimate] = {
        (v, m): median(record.values(v, "raw", m, [None])[:, 0]) for v in record.variants for m in metrics
    }
    has_gap, has_reach = GAP in metrics, measure(record.metric).enough is not None
    norms = [m for m in metrics if m != GAP]
    gap_heads, reach_heads = ["G, nats", "1\N{NO-BREAK SPACE}+\N{NO-BREAK SPACE}e^G"] * has_gap, ["Reach"] * has_reach
    header = ["Variant", *gap_heads, *reach_heads, *(f"Norm, {m.removeprefix(NORM)}" for m in norms)]

    def row(v: str) -> list[str]:
        gap = [str(found[v, GAP]), served(found[v, GAP].median)] if has_gap else []
        return [v, *gap, *([_reach(record, v)] * has_reach), *(str(found[v, m]) for m in norms)]

    caption = "At the end of training, medians with their exact intervals."
    if has_gap:
        caption += " 1 + e^G: the length at which one deciding letter has half of the weight, from the median gap."
    if has_reach:
        caption += " Reach: the longest served length, as measured."
    return Table(
        "mechanism", caption, header, [row(v) for v in record.variants], table(found.items(), ("variant", "metric"))
    )


def _reach(record: Record, variant: str) -> str:
    length = reach_of(record, variant).length
    return NONE if length is None else f"{length:,}"
