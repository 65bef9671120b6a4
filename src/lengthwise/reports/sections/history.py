"""Training history: losses, the error along training, and the models that failed."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from lengthwise.reports.blocks import Block, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.checks import FailureRecord
from lengthwise.reports.estimates import Line, estimate, estimate_of, table
from lengthwise.reports.figures import history as figures
from lengthwise.reports.figures.style import draw
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import NONE, number
from lengthwise.reports.record import Record
from lengthwise.reports.sections.pending import TO_COME
from lengthwise.reports.sections.settings import plain, rates
from lengthwise.runs import slug

TITLE = "Training history"


def history(record: Record) -> Section:
    """What happened on the way."""
    blocks: list[Block] = []
    if record.history is not None and len(record.history):
        blocks += [Heading("Loss"), _losses(record, record.history)]
    if record.curve is not None:
        lines = {v: [_along(record, v, s) for s in record.marks] for v in record.variants}
        if any(len(line.x) > 1 for own in lines.values() for line in own):
            blocks += [Heading(f"{measure(record.metric).name.capitalize()} along training"), _steps(record, lines)]
    if record.failures is not None:
        blocks += [Heading("Failed models"), *_failures(record, record.failures)]
    return Section(TITLE, blocks or [Paragraph(TO_COME)])


def _losses(record: Record, losses: pl.DataFrame) -> Figure:
    lines = [_loss(record, losses, variant) for variant in record.variants]
    last = ", ".join(f"{x.variant} {number(x.estimates[-1].mean)}" for x in lines if x.x)
    rows = (((x.variant, step), e) for x in lines for step, e in zip(x.x, x.estimates))
    return Figure(
        name="loss",
        caption="Training loss by step (each point a short stretch of steps), mean over replicates, with its 95% band "
        "(cut where it leaves the axes).",
        alternative=f"Line charts of training loss by step for {len(lines)} variants. At the end: {last}.",
        drawing=draw("loss", lambda: figures.losses(record, lines)),
        data=table(rows, ("variant", "step")),
    )


def _loss(record: Record, losses: pl.DataFrame, variant: str) -> Line:
    own = losses.filter(variant=variant)
    by_step = own.group_by("step").agg("loss").sort("step")
    steps = figures.thinned(by_step["step"].to_list())
    values = dict(by_step.iter_rows())
    return Line(variant, "raw", steps, [estimate(pl.Series(values[s], dtype=pl.Float64).to_numpy()) for s in steps])


def _along(record: Record, variant: str, length: int) -> Line:
    steps, values = record.along(variant, length)
    return Line(variant, "raw", steps, [estimate_of(record.metric, column) for column in values.T])


def _steps(record: Record, lines: dict[str, list[Line]]) -> Figure:
    what = measure(record.metric)
    lengths = ", ".join(f"{s:,}" for s in record.marks)
    rows = (
        ((v, length, step), e)
        for v, own in lines.items()
        for length, line in zip(record.marks, own)
        for step, e in zip(line.x, line.estimates)
    )
    return Figure(
        name=f"along-{slug(record.metric)}",
        caption=f"{what.axis} along training at the shortest, the longest trained and the longest length; "
        "raw weights, 95% bands.",
        alternative=f"Line charts of {what.name} by training step at lengths {lengths}.",
        drawing=draw("along", lambda: figures.along(record, lines, what.axis)),
        data=table(rows, ("variant", "length", "step")),
    )


def _failures(record: Record, failures: Sequence[FailureRecord]) -> list[Block]:
    if not failures:
        return [Paragraph("No model failed: every loss stayed finite.")]
    rows = [[f.variant, str(f.replicate), str(f.step), _settings(record, f.variant)] for f in failures]
    header = ["Variant", "Replicate", "Step", "Settings"]
    told = (
        f"{len(failures)} of {len(record.variants) * record.replicates} models failed: their loss stopped being finite "
        "at the step given, counted from 0. They are counted as failed above; the others went on."
    )
    data = pl.DataFrame(rows, schema=dict.fromkeys(header, pl.String), orient="row")
    return [Paragraph(told), Table("failures", "Failed models.", header, rows, data, numeric=False)]


def _settings(record: Record, variant: str) -> str:
    """What a failed model was told: its model's settings, its phases, its optimiser."""
    if variant not in record.variants:
        return NONE
    plan = record.plan(variant)
    phases = ", then ".join(
        f"{phase['steps']:,} steps with rates {rates(own)}" for phase, own in zip(plan["phases"], record.rates(variant))
    )
    return f"{plain(record.config['variants'][variant]['model'])}; {phases}; {plain(plan['optimiser'])}"
