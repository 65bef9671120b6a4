"""The answer in plain words: sentences that the run's numbers fill in, and nothing that they do not say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lengthwise.reports.estimates import Contrast, Estimate, estimate_of
from lengthwise.reports.figures.forest import Row
from lengthwise.reports.measures import measure
from lengthwise.reports.numbers import MINUS, NONE, number
from lengthwise.reports.record import Record
from lengthwise.reports.sections.contrasts import average_rows, variant_rows
from lengthwise.reports.sections.reach import reach_in_words
from lengthwise.reports.sections.rival import Rival, rival, who
from lengthwise.statistics import LEAST_REPLICATES


@dataclass(frozen=True)
class Sentence:
    """A few short sentences of the answer under their lead, each with a word of its own in front, or none."""

    lead: str
    texts: list[tuple[str, str]]


def answer(record: Record) -> list[Sentence]:
    """What the run says so far: the claims, error by length, and what each variant and average changes."""
    found = [Sentence("Claims", claims_in_words(record))] if record.claims else []
    if record.curve is None:
        return [*found, Sentence("Pending", [("", _pending(record))])]
    first, last = record.variants[0], record.marks[-1]
    if measure(record.metric).enough is not None:
        found.append(Sentence(_served(record), reach_in_words(record)))
    if len(record.variants) > 2 and (best := rival(record)):
        found.append(Sentence(f"{first} against the best other variant", [("", _against(record, best))]))
    found.append(Sentence(measure(record.metric).lead, [("", _by_length(record))]))
    if len(record.variants) > 1:
        found.append(
            Sentence(f"Variants against {first}, {measure(record.metric).name} at length {last:,}", _variants(record))
        )
    averages = [_average(record, row) for row in average_rows(record, [first])]
    if averages:
        found.append(Sentence(f"Averages against raw weights, {first}", averages))
    if record.replicates < LEAST_REPLICATES:
        few = f"{_count(record.replicates, 'replicate')}: too few for intervals, so no difference is judged."
        found.append(Sentence("Caution", [("", few)]))
    return found


def claims_in_words(record: Record) -> list[tuple[str, str]]:
    """The claims by their verdicts, what holds first."""
    by_decision = {
        d: [c.id for c in record.claims if c.decision == d] for d in ("holds", "fails", "undecided", "not run")
    }
    return [(decision.capitalize(), ", ".join(names)) for decision, names in by_decision.items() if names]


def judge(difference: Contrast) -> str:
    """What a contrast shows, as is and scale-matched, in words.

    >>> lower, unclear = Estimate(6, 0, -1, -1, -2, -0.5), Estimate(6, 0, 0, 0, -1, 1)
    >>> judge(Contrast("", 15, lower, lower)), judge(Contrast("", 15, lower, unclear))
    ('lower as is and scale-matched', 'lower as is only')
    """
    words = {-1: "lower", 0: "no clear difference", 1: "higher"}
    as_is = difference.as_is.sign
    if difference.as_is.low is None:
        return "not judged"
    if difference.matched is None or difference.matched.low is None:
        return words[as_is]
    matched = difference.matched.sign
    if as_is == matched:
        return f"{words[as_is]} as is and scale-matched" if as_is else words[0]
    if as_is == 0:
        return f"{words[matched]} only when scale-matched"
    return (
        f"{words[as_is]} as is only" if matched == 0 else f"{words[as_is]} as is, {words[matched]} when scale-matched"
    )


def _pending(record: Record) -> str:
    steps = max(sum(phase["steps"] for phase in record.plan(v)["phases"]) for v in record.variants)
    models = len(record.variants) * record.replicates
    return (
        f"Nothing has been measured yet. To come: {_count(len(record.variants), 'variant')} times "
        f"{_count(record.replicates, 'replicate')}, {_count(models, 'model')} in all, "
        f"up to {_count(steps, 'step')} each."
    )


def _by_length(record: Record) -> str:
    first = record.variants[0]
    values = record.values(first, "raw", record.metric, record.marks)
    at = [f"{estimate_of(record.metric, column)} at length {s:,}" for s, column in zip(record.marks, values.T)]
    told = ", ".join(at[:-1]) + f" and {at[-1]}" if len(at) > 1 else at[0]
    mean = f"With {first} and raw weights, mean {measure(record.metric).name}"
    return f"{mean} is {told}; trained up to length {record.trained(first):,}."


def _variants(record: Record) -> list[tuple[str, str]]:
    """The variants by what their contrasts show at the longest length, better ones first."""
    by_verdict: dict[str, list[str]] = {}
    rows = [(row.label, row.contrasts[-1]) for row in variant_rows(record)]
    side = -1 if measure(record.metric).higher else 1
    for label, last in sorted(rows, key=lambda row: (side * row[1].as_is.sign, side * (row[1].as_is.mean or 0.0))):
        by_verdict.setdefault(judge(last), []).append(f"{label} ({_signed(last.as_is)})")
    return [(verdict.capitalize(), "; ".join(names)) for verdict, names in by_verdict.items()]


def _served(record: Record) -> str:
    what = measure(record.metric)
    return f"Median {what.name} stays at {what.enough:g} or above up to length"


def _against(record: Record, best: Rival) -> str:
    """The best other variant, and the first one's lead over it at each marked length."""
    verdicts = [judge(c) for c in best.lead]
    same = len(set(verdicts)) == 1
    each = [f"{c.as_is} at length {c.length:,}{'' if same else f' ({v})'}" for c, v in zip(best.lead, verdicts)]
    told = f"{'; '.join(each)}{f': {verdicts[0]}' if same else ''}"
    return f"{who(best)}. The difference of “{record.variants[0]}” from it in {measure(record.metric).name} is {told}."


def _average(record: Record, row: Row) -> tuple[str, str]:
    told = "; ".join(f"{_signed(c.as_is)} at length {c.length:,} ({judge(c)})" for c in row.contrasts)
    return row.label, f"{told}{_loudness(record, row)}"


def _loudness(record: Record, row: Row) -> str:
    """By how much an average multiplies displacement at the longest trained length."""
    at = record.edge
    mine, raw = (record.values(row.group, w, "displacement", [at])[:, 0] for w in (row.label, "raw"))
    usable = np.isfinite(mine) & np.isfinite(raw) & (raw > 0)
    if not usable.any():
        return ""
    return f"; displacement at length {at:,} times {number(float((mine[usable] / raw[usable]).mean()), 2)}"


def _signed(found: Estimate) -> str:
    """A difference to two digits, or to four decimals where it is small, with its sign.

    >>> _signed(Estimate(6, 0, 0.0301)), _signed(Estimate(6, 0, -0.717)), _signed(Estimate(6, 0, -0.00024))
    ('+0.030', '−0.72', '−0.0002')
    """
    if not found.mean:
        return NONE if found.mean is None else "0"
    size = abs(found.mean)
    text = number(size, 0 if size >= 10 else 1 if size >= 1 else 2 if size >= 0.1 else 3 if size >= 0.01 else 4)
    return ("+" if found.mean > 0 else MINUS if found.mean < 0 else "") + text


def _count(count: int, noun: str) -> str:
    """A count with its noun.

    >>> _count(1, "claim"), _count(1500, "step")
    ('1 claim', '1,500 steps')
    """
    return f"{number(count)} {noun}{'' if count == 1 else 's'}"
