"""What is proved over all inputs: the lengths that certificates reach, and worst cases beside what p and M predict."""

from __future__ import annotations

import numpy as np
import polars as pl

from lengthwise.reports.blocks import Block, Figure, Heading, Paragraph, Section, Table
from lengthwise.reports.estimates import Line, estimate
from lengthwise.reports.figures import certificates as figures
from lengthwise.reports.figures.style import draw
from lengthwise.reports.numbers import NONE
from lengthwise.reports.record import Record
from lengthwise.reports.sections.curves import at_longest, data
from lengthwise.reports.sections.pending import pending

TITLE = "Certificates"
REACH = (
    "certified_order",
    "certified_tv@0.05",
    "certified_tv@0.1",
    "certified_tv@0.25",
    "certified_tv@0.5",
    "readout_order",
    "attention_spread",
)
HEADS = ("Order", "TV 0.05", "TV 0.1", "TV 0.25", "TV 0.5", "Readout", "Spread of S")
WHAT = (
    "A certificate is a proof over ALL inputs of a length, not a sample. Order: the greatest length up to which every "
    "legal token outranks every illegal one on every input. TV: the greatest length up to which total variation is at "
    "most the number given, on every input. Readout: the greatest length that any hidden states could serve through "
    "this model's readout. Medians over the certified replicates, with the least and the greatest in brackets where "
    "they differ. Spread of S: how far attention scores of one query range, the mean over queries; 0 is uniform "
    "attention. Models that cannot be certified (post-norm with a bias, another architecture) are left out."
)
WORST = (
    "The worst displacement over all inputs, certified, and what the strengths p and M alone predict of it under "
    "uniform attention: the least of p/s and M \N{MINUS SIGN} p (1 \N{MINUS SIGN} 1/s) over tokens. Below 0 an illegal "
    "token outranks a legal one."
)


def certificates(record: Record) -> Section:
    """The reach of every certificate, worst cases by length, and how reach grew along training."""
    if record.curve is None:
        return pending(TITLE)
    arms = [
        (v, w) for v in record.variants for w in record.weights(v) if record.certified(v, w, "certified_order").size
    ]
    if not arms:
        return Section(TITLE, [Paragraph("No model of this run was certified.")])
    blocks: list[Block] = [Paragraph(WHAT), _reach(record, arms)]
    raw = [v for v, w in arms if w == "raw"]
    blocks += [Heading("Worst displacement"), Paragraph(WORST), _worst(record, raw)]
    if len(record.certified_steps) > 1:
        blocks += [Heading("Along training"), _along(record, raw)]
    return Section(TITLE, blocks)


def _reach(record: Record, arms: list[tuple[str, str]]) -> Table:
    rows = [[v, w, *(_median(record.certified(v, w, metric)) for metric in REACH)] for v, w in arms]
    values = [
        {"variant": v, "weights": w, "metric": m, "replicate": r, "value": x}
        for v, w in arms
        for m in REACH
        for r, x in enumerate(record.certified(v, w, m).tolist())
    ]
    return Table(
        "certificates", "Lengths reached.", ["Variant", "Weights", *HEADS], rows, pl.DataFrame(values), heads=2
    )


def _median(values: np.ndarray) -> str:
    if not len(values):
        return NONE
    low, middle, high = values.min(), np.median(values), values.max()
    return f"{middle:.3g}" if low == high else f"{middle:.3g} [{low:.3g}, {high:.3g}]"


def _worst(record: Record, variants: list[str]) -> Figure:
    certified = [_line(record, v, "worst_displacement") for v in variants]
    predicted = [_line(record, v, "predicted_displacement") for v in variants]
    return Figure(
        name="certified-displacement",
        caption="Worst displacement by length, raw weights: certified over all inputs, and predicted from p and M.",
        alternative=f"Line charts of the certified worst displacement by input length. {at_longest(certified)}",
        drawing=draw("certified", lambda: figures.worst(record, certified, predicted)),
        data=pl.concat([data(certified, "worst_displacement"), data(predicted, "predicted_displacement")]),
    )


def _line(record: Record, variant: str, metric: str) -> Line:
    columns = [record.certified(variant, "raw", metric, s) for s in record.lengths]
    return Line(variant, "raw", record.lengths, [estimate(column) for column in columns])


def _along(record: Record, variants: list[str]) -> Figure:
    steps = record.certified_steps
    reach = {v: [record.certified(v, "raw", "certified_order", None, step) for step in steps] for v in variants}
    lines = [Line(v, "raw", steps, [estimate(column) for column in columns]) for v, columns in reach.items()]
    return Figure(
        name="certified-along-training",
        caption="The length up to which the order is certified, along training: means over replicates, raw weights.",
        alternative="Line charts of the certified length by training step.",
        drawing=draw("certified-along", lambda: figures.along(lines)),
        data=data(lines, "certified_order"),
    )
