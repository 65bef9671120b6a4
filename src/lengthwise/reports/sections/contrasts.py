"""Contrasts: what each variant and each average changes, as is and scale-matched side by side."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from lengthwise.reports.blocks import Block, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.estimates import Contrast, Estimate, contrast, estimate, table
from lengthwise.reports.figures.forest import Row, forest
from lengthwise.reports.figures.style import draw
from lengthwise.reports.groups import groups
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import NONE
from lengthwise.reports.record import Record
from lengthwise.reports.sections.displacement import by_weights
from lengthwise.reports.sections.pending import pending
from lengthwise.reports.sections.rival import rival, rival_table, who

TITLE = "Contrasts"
REMEDIES, ONLY_SCALE = "Remedies", "Only scale"
WHY = (
    "Larger logits alone lower the error at long lengths. So each paired difference is shown twice: as is, and "
    "scale-matched, after one inverse temperature per model and weights, fitted on the trained lengths, took out how "
    "loud the logits are. A gain that scale matching removes was loudness; one that stays is a better shape of the "
    "prediction."
)


CHOSEN = (
    "It was chosen among all the others on the very replicates compared here, so the difference is, if anything, too "
    "kind to it."
)


def contrasts(record: Record) -> Section:
    """Each variant minus the first, each average minus raw, and the inverse temperatures that were fitted."""
    if record.curve is None:
        return pending(TITLE)
    blocks: list[Block] = [Paragraph(WHY)] if record.has(f"{record.metric}_matched") else []
    variants, averages = variant_rows(record), average_rows(record)
    first = record.variants[0]
    if variants:
        caption = f"Each variant minus {first}, raw weights, paired within replicates."
        if any(row.group == ONLY_SCALE for row in variants):
            caption += " The baselines that only scale change nothing but the size of scores or logits with length."
        blocks += [Heading(f"Each variant minus {first}"), *_shown(record, "contrasts-variants", caption, variants)]
        if (found := rival(record)) and len(record.variants) > 2:
            told = f"{who(found)}, by mean {measure(record.metric).name} at length {record.lengths[-1]:,}. {CHOSEN}"
            blocks += [Heading(f"{first} against the best other variant"), Paragraph(told), rival_table(record, found)]
    if averages:
        caption = "Each average minus the raw weights of the same model, paired within replicates."
        blocks += [Heading("Each average minus raw"), *_shown(record, "contrasts-averages", caption, averages)]
    if record.has("inverse_temperature"):
        blocks += [Heading("How loud: inverse temperatures"), _temperatures(record)]
    return Section(TITLE, blocks)


def variant_rows(record: Record) -> list[Row]:
    """A row for each variant after the first: its difference from the first at each marked length."""
    first, *others = record.variants
    return [
        Row(group, v, [contrast(record, v, (v, "raw"), (first, "raw"), s, record.metric) for s in record.marks])
        for group, own in _groups(record).items() for v in others if v in own
    ]  # fmt: skip


def _groups(record: Record) -> dict[str, list[str]]:
    """Remedies apart from what only scales, where anything does; the groups of the page otherwise."""
    scale = [v for v in record.variants[1:] if _only_scales(record, v)]
    if not scale:
        return groups(record)
    return {REMEDIES: [v for v in record.variants if v not in scale], ONLY_SCALE: scale}


def average_rows(record: Record, variants: Sequence[str] | None = None) -> list[Row]:
    """A row for each average of each variant (of those named): its difference from raw weights."""
    return [
        Row(v, w, [contrast(record, f"{v}, {w}", (v, w), (v, "raw"), s, record.metric) for s in record.marks])
        for v in variants or record.variants for w in record.weights(v) if w != "raw"
    ]  # fmt: skip


def _only_scales(record: Record, variant: str) -> bool:
    """Whether a variant differs from the first in nothing but its model's `scaling`."""
    first, own = (record.config["variants"][v] for v in (record.variants[0], variant))
    keys = {*first["model"], *own["model"]}
    changed = {k for k in keys if first["model"].get(k) != own["model"].get(k)}
    return changed == {"scaling"} and first["plan"] == own["plan"]


def _shown(record: Record, name: str, caption: str, rows: Sequence[Row]) -> list[Block]:
    what = measure(record.metric)
    flat = [(row, c) for row in rows for c in row.contrasts]
    told = "; ".join(f"{c.label} {c.as_is}" for _, c in flat if c.length == record.marks[-1])
    axis = f"Paired difference in {what.name}{f' ({what.unit})' if what.unit else ''}"
    figure = Figure(
        name=name,
        caption=f"{caption} Bars are 95% intervals over replicates"
        + ("; filled circles as is, open diamonds scale-matched." if any(c.matched for _, c in flat) else "."),
        alternative=f"Forest plot of paired differences in {what.name}. As is at length {record.marks[-1]:,}: {told}.",
        drawing=draw(name, lambda: forest(rows, axis, what.better)),
        data=_data(flat),
    )
    return [figure, _numbers(f"{name}-table", record, rows)]


def _data(flat: Sequence[tuple[Row, Contrast]]) -> pl.DataFrame:
    kinds = [
        (r, c, kind, e)
        for r, c in flat
        for kind, e in (("as is", c.as_is), ("scale-matched", c.matched))
        if e is not None
    ]
    return table(
        (((r.group, r.label, c.length, kind), e) for r, c, kind, e in kinds), ("group", "label", "length", "kind")
    )


def _numbers(name: str, record: Record, rows: Sequence[Row]) -> Table:
    what, scaled = measure(record.metric), any(c.matched for row in rows for c in row.contrasts)
    kinds = ("as is, ", "matched, ") if scaled else ("",)
    grouped = any(row.group for row in rows)
    header = [*(["Group"] * grouped), "Contrast", *(f"{k}s = {s:,}" for s in record.marks for k in kinds), "n"]

    def cells(row: Row) -> list[str]:
        shown = [(c.as_is, c.matched) if scaled else (c.as_is,) for c in row.contrasts]
        return [str(e) if e is not None else NONE for own in shown for e in own]

    body = [[*([row.group] * grouped), row.label, *cells(row), str(row.contrasts[0].as_is.n)] for row in rows]
    data = _data([(row, c) for row in rows for c in row.contrasts])
    side = "positive is better" if what.higher else "negative is lower"
    caption = f"Paired mean differences in {what.name} with 95% intervals; {side} than the reference."
    return Table(name, caption, header, body, data, heads=1 + grouped)


def _temperatures(record: Record) -> Table:
    found: dict[tuple[str, str], Estimate] = {
        (v, w): estimate(record.values(v, w, "inverse_temperature", [None])[:, 0])
        for v in record.variants for w in record.weights(v)
    }  # fmt: skip
    caption = (
        "The inverse temperature that fits each model best on the trained lengths, mean over replicates with its 95% "
        "interval. Below 1: logits louder than the trained lengths ask for; above 1: too quiet."
    )
    return by_weights(record, "inverse-temperatures", caption, found)
