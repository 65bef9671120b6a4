"""The verdicts: every claim with the rule that decides it, written before the run."""

from __future__ import annotations

import polars as pl

from lengthwise.reports.blocks import Card, Cards, Paragraph, Section
from lengthwise.reports.numbers import NONE, interval, number
from lengthwise.reports.record import Record
from lengthwise.statistics import LEAST_REPLICATES, Part

RULES = (
    "Each rule was written before the run. In brackets are 95% studentised bootstrap intervals over replicates; "
    "differences are paired within replicates. Scale-matched means that one inverse temperature per model and "
    "weights, fitted on the trained lengths, took out how loud the logits are. "
    f"With fewer than {LEAST_REPLICATES} replicates no interval is shown, and a claim that needs one stays undecided."
)
HEADER = ("Estimate", "Decision", "n", "Failed", "As is", "Scale-matched")


def verdicts(record: Record) -> Section:
    """A card for each claim, with every estimate that its verdict rests on."""
    if not record.claims:
        return Section("Verdicts", [Paragraph("This experiment makes no claims.")])
    cards = [Card(claim, [_words(part) for part in claim.parts]) for claim in record.claims]
    return Section("Verdicts", [Paragraph(RULES), Cards("verdicts", HEADER, cards, _data(record))])


def _words(part: Part) -> list[str]:
    return [part.label, part.decision, str(part.n), str(part.failed), as_is(part), matched(part)]


def as_is(part: Part) -> str:
    """A part's estimate in words, without an interval that so few replicates do not support.

    >>> as_is(Part(label="", n=2, failed=0, effect=1.0, low=1.0, high=1.0))
    '1'
    """
    return interval(part.effect, part.low, part.high) if part.n >= LEAST_REPLICATES else number(part.effect)


def matched(part: Part) -> str:
    """The same after scale matching; a dash where it was not taken."""
    if part.matched is None:
        return NONE
    return interval(*part.matched) if part.n >= LEAST_REPLICATES else number(part.matched[0])


def _data(record: Record) -> pl.DataFrame:
    texts = dict.fromkeys(("claim", "verdict", "estimate", "decision"), pl.String)
    numbers = ("effect", "low", "high", "matched_effect", "matched_low", "matched_high")
    schema = {**texts, "n": pl.Int64, "failed": pl.Int64, **dict.fromkeys(numbers, pl.Float64)}
    rows = [
        (c.id, c.decision, p.label, p.decision, p.n, p.failed, p.effect, p.low, p.high, *(p.matched or [None] * 3))
        for c in record.claims for p in c.parts
    ]  # fmt: skip
    return pl.DataFrame(rows, schema, orient="row")
