"""Why length hurts: displacement by length, what attention does, and the strengths that the theorem speaks of."""

from __future__ import annotations

from collections.abc import Sequence

from lengthwise.reports.blocks import Block, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.estimates import Estimate, estimate, line, slope, table
from lengthwise.reports.figures import displacement as figures
from lengthwise.reports.figures.style import draw
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import NONE
from lengthwise.reports.record import Record
from lengthwise.reports.sections.curves import at_longest, data
from lengthwise.reports.sections.pending import absent, pending

TITLE = "Displacement and attention"
STRENGTHS = ("p_mean", "p_min", "m_minus_p_mean", "m_minus_p_min")
WHAT = (
    "Displacement is how far the mean legal logit stands above the mean illegal one. Attention that is spread over s "
    "tokens gives each a weight near 1/s, so displacement falls along the dotted line of slope \N{MINUS SIGN}1."
)
THEOREM = (
    "In a model that solves lengths 1 and 2, attention pushes a seen token y down by p(y) and length 1 by M(y). Where "
    "M \N{MINUS SIGN} p is not negative, every legal token outranks every illegal one at every length. Raw weights; "
    "variants whose model has no such tables (a norm after the sum, residual dropout) are left out."
)


def displacement(record: Record) -> Section:
    """Displacement against the 1/s line, attention's entropy, and p and M - p."""
    if record.curve is None:
        return pending(TITLE)
    blocks: list[Block] = []
    if record.has("displacement"):
        blocks += [Paragraph(WHAT), _displacement(record), _slopes(record)]
    else:
        blocks += [absent(record, "displacement")]
    if record.has("attention_entropy"):
        blocks += [Heading("Attention entropy"), _entropy(record)]
    if any(map(record.has, STRENGTHS)):
        blocks += [Heading("The strengths p and M \N{MINUS SIGN} p"), Paragraph(THEOREM), _strengths(record)]
    return Section(TITLE, blocks)


def _displacement(record: Record) -> Figure:
    variants = [v for v in record.variants if record.has("displacement", v)]
    lines = [line(record, v, "raw", "displacement") for v in variants]
    slopes = {v: slope(record, v, "raw", "displacement") for v in variants}
    axis = measure("displacement").axis
    told = "; ".join(f"{v} {e}" for v, e in slopes.items())
    return Figure(
        name="displacement",
        caption=f"Displacement by length on log axes, raw weights, with the slope fitted from length "
        f"{record.trained_length} on and its 95% interval. The dotted line falls like 1/s from the longest trained "
        "length. Means that are not positive cannot be drawn.",
        alternative=f"Log-log line charts of displacement by input length. Slopes: {told}. {at_longest(lines)}",
        drawing=draw("displacement", lambda: figures.displacement(record, lines, slopes, axis)),
        data=data(lines, "displacement"),
    )


def _slopes(record: Record) -> Table:
    found = {(v, w): slope(record, v, w, "displacement") for v in record.variants for w in record.weights(v)}
    caption = (
        f"Slope of log displacement on log length from length {record.trained_length} on, with its 95% interval "
        f"(\N{MINUS SIGN}1: falls like 1/s; {NONE}: displacement is not positive at every length)."
    )
    return by_weights(record, "displacement-slopes", caption, found)


def by_weights(record: Record, name: str, caption: str, found: dict[tuple[str, str], Estimate]) -> Table:
    """Estimates in a table with a row for each variant and a column for each weights."""
    columns = list(dict.fromkeys(w for v in record.variants for w in record.weights(v)))
    rows = [[v, *(str(found[v, w]) if (v, w) in found else NONE for w in columns)] for v in record.variants]
    return Table(name, caption, ["Variant", *columns], rows, table(found.items(), ("variant", "weights")))


def _entropy(record: Record) -> Figure:
    lines = [line(record, v, "raw", "attention_entropy") for v in record.variants if record.has("attention_entropy", v)]
    return Figure(
        name="attention-entropy",
        caption="Left: entropy of attention by length, raw weights; uniform attention has log s, its greatest value. "
        "Right: how far below log s each variant stays.",
        alternative=f"Line charts of attention entropy by input length on a log axis, with log s. {at_longest(lines)}",
        drawing=draw("entropy", lambda: figures.entropy(record, lines)),
        data=data(lines, "attention_entropy"),
    )


def _strengths(record: Record) -> Table:
    arms: Sequence[tuple[str, str]] = [
        (v, w) for v in record.variants for w in record.weights(v) if record.has("p_mean", v)
    ]
    found = {(v, w, m): estimate(record.values(v, w, m, [None])[:, 0]) for v, w in arms for m in STRENGTHS}
    rows = [[v, *(str(found[v, "raw", m]) for m in STRENGTHS)] for v, w in arms if w == "raw"]
    header = ["Variant", *(measure(m).axis for m in STRENGTHS)]
    caption = (
        "Mean and least p, mean and least M \N{MINUS SIGN} p over the tokens: means over replicates with 95% intervals."
    )
    return Table("strengths", caption, header, rows, table(found.items(), ("variant", "weights", "metric")))
