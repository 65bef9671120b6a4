"""Tuning: what every variant was tried with, and what was chosen, before the run that the page reports."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from lengthwise.reports.blocks import Paragraph, Section, Table
from lengthwise.reports.checks import Choice
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import NONE, number
from lengthwise.reports.record import Record
from lengthwise.reports.sections.pending import TO_COME

TITLE = "Tuning of the rates"
SPACE = "\N{NO-BREAK SPACE}"


def tuning(record: Record) -> Section:
    """The chosen factors of every variant with their scores, and every try folded away."""
    if record.config.get("tuning") is None:
        return Section(TITLE, [Paragraph("The rates of this run were given, not tuned.")])
    if record.tuning is None:
        return Section(TITLE, [Paragraph(TO_COME)])
    return Section(
        TITLE, [Paragraph(_how(record, record.tuning)), _chosen(record, record.tuning), _tries(record, record.tuning)]
    )


def factors(chosen: Mapping[str, float]) -> str:
    """Factors in words.

    >>> factors({"attention": 1000.0, "output": 0.3}).replace(SPACE, " ")
    'attention × 1,000, output × 0.3'
    """
    times = f"{SPACE}\N{MULTIPLICATION SIGN}{SPACE}"
    return ", ".join(f"{group}{times}{number(f)}" for group, f in chosen.items()) or NONE


def _moved(record: Record, variant: str, tried: Mapping[str, float]) -> str:
    """The factors of the groups that a variant's plan moves: the others multiply nothing."""
    groups = {"all", *(g for phase in record.plan(variant)["phases"] for g in phase["rates"])}
    return factors({g: f for g, f in tried.items() if g in groups})


def _how(record: Record, found: Mapping[str, Choice]) -> str:
    lengths = " or ".join(sorted({f"{choice.length:,}" for choice in found.values()}))
    told, (first, *others) = record.config["tuning"], [measure(m).name for m in _metrics(found)]
    tries = sum(len(c.tried) for c in found.values())
    ties = f"; where it ties, {' and then '.join(others)} decides" if others else ""
    return (
        f"Before the run, every variant was tried with factors that multiply the rates of its plan: {tries:,} tries in "
        f"all, each on {told['replicates']} replicates that are used nowhere else. The best mean {first} at length "
        f"{lengths}, a trained length, was chosen{ties}. Factors that would train a variant exactly alike, such as "
        "those of a group that it never moves, count as one try."
    )


def _metrics(found: Mapping[str, Choice]) -> list[str]:
    return list(dict.fromkeys(m for choice in found.values() for row in choice.tried for m in row.scores))


def _chosen(record: Record, found: Mapping[str, Choice]) -> Table:
    metrics = _metrics(found)
    header = ["Variant", *(measure(m).axis for m in metrics), "Tries", "At an edge of the grid", "Chosen factors"]
    rows = [
        [
            v,
            *(number(c.scores.get(m)) for m in metrics),
            str(len(c.tried)),
            ", ".join(c.edges) or NONE,
            _moved(record, v, c.factors),
        ]
        for v, c in found.items()
    ]
    caption = (
        "The chosen factors and their scores. Where a factor is the least or the greatest of its grid, a wider grid "
        "might do better."
    )
    return Table("tuning", caption, header, rows, _table({v: [c] for v, c in found.items()}, metrics), numeric=False)


def _tries(record: Record, found: Mapping[str, Choice]) -> Table:
    metrics = _metrics(found)
    rows = [
        [
            v, *(number(row.scores.get(m)) for m in metrics), "chosen" * (row.factors == c.factors),
            _moved(record, v, row.factors),
        ]
        for v, c in found.items() for row in c.tried
    ]  # fmt: skip
    header = ["Variant", *(measure(m).axis for m in metrics), "Chosen", "Factors"]
    data = _table({v: c.tried for v, c in found.items()}, metrics)
    caption = f"Every try and its mean scores; {NONE}: a model failed."
    return Table("tuning-tries", caption, header, rows, data, numeric=False, summary="Every try")


def _table(rows: Mapping[str, list], metrics: list[str]) -> pl.DataFrame:
    names = list(dict.fromkeys(g for own in rows.values() for row in own for g in row.factors))
    columns = [*(f"factor_{g}" for g in names), *metrics]
    values = [
        (v, *(row.factors.get(g) for g in names), *(row.scores.get(m) for m in metrics))
        for v, own in rows.items() for row in own
    ]  # fmt: skip
    return pl.DataFrame(values, schema={"variant": pl.String, **dict.fromkeys(columns, pl.Float64)}, orient="row")
