"""The verdicts: every claim with the rule that decides it, written before the run."""

from __future__ import annotations

import polars as pl

from lengthwise.reports.blocks import Card, Cards, Paragraph, Section
from lengthwise.reports.numbers import NONE, interval, number
from lengthwise.reports.record import Record
from lengthwise.statistics import LEAST_REPLICATES, Part

RULES = (
    "Each rule was written before the run. In brackets are 95% intervals over replicates: by the studentised bootstrap "
    "for means, exact and between two of the values for medians. Differences are paired within replicates. "
)
MATCHED = (
    "Scale-matched means that one inverse temperature per model and weights, fitted on the trained lengths, took out "
    "how loud the logits are. "
)
FEW = f"With fewer than {LEAST_REPLICATES} replicates no interval is shown, and a claim that needs one stays undecided."
HEADER = ("Decision", "n", "Failed")


def verdicts(record: Record) -> Section:
    """A card for each claim, with every estimate that its verdict rests on."""
    if not record.claims:
        return Section("Verdicts", [Paragraph("This experiment makes no claims.")])
    parts = [part for claim in record.claims for part in claim.parts]
    scaled, beside = any(part.matched for part in parts), any(part.beside for part in parts)

    def words(part: Part) -> list[str]:
        more = ([matched(part)] if scaled else []) + ([part.beside or NONE] if beside else [])
        return [part.label, as_is(part), *more, part.decision, str(part.n), str(part.failed)]

    more = ["Scale-matched"] * scaled + ["Beside it"] * beside
    header = ["Estimate", "As is" if scaled else "Value", *more, *HEADER]
    cards = [Card(claim, [words(part) for part in claim.parts]) for claim in record.claims]
    told = Paragraph(RULES + MATCHED * scaled + FEW)
    return Section("Verdicts", [told, Cards("verdicts", header, cards, _data(record))])


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
    schema = {
        **texts, "n": pl.Int64, "failed": pl.Int64, **dict.fromkeys(numbers, pl.Float64), "beside": pl.String,
    }  # fmt: skip
    rows = [
        (
            c.id, c.decision, p.label, p.decision, p.n, p.failed, p.effect, p.low, p.high,
            *(p.matched or [None] * 3), p.beside,
        )
        for c in record.claims for p in c.parts
    ]  # fmt: skip
    return pl.DataFrame(rows, schema, orient="row")
