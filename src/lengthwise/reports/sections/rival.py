"""The first variant against the best of the others: how much of its lead is left when all rivals are tuned alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lengthwise.reports.blocks import Table
from lengthwise.reports.estimates import Contrast, contrast, table
from lengthwise.reports.measures import measure
from lengthwise.reports.record import Record


@dataclass(frozen=True)
class Rival:
    """The best other variant at the longest length, those that tie with it, and the first variant's lead at each mark.

    `lead` holds paired differences, the first variant minus this one.
    """

    variant: str
    tied: Sequence[str]
    lead: Sequence[Contrast]


def rival(record: Record) -> Rival | None:
    """The rival of the first variant, of all the others; None where there is no other with a value.

    The best mean of the page's metric at the longest length decides, and the experiment's order among ties.
    """
    first, *others = record.variants
    means = {v: _mean(record.values(v, "raw", record.metric, record.lengths[-1:])[:, 0]) for v in others}
    means = {v: m for v, m in means.items() if np.isfinite(m)}
    if not means:
        return None
    best = max(means.values()) if measure(record.metric).higher else min(means.values())
    name, *tied = [v for v, m in means.items() if m == best]
    arms = (first, "raw"), (name, "raw")
    return Rival(name, tied, [contrast(record, f"{first} minus {name}", *arms, s, record.metric) for s in record.marks])


def who(found: Rival) -> str:
    """The rival by name, and those with which it ties.

    >>> who(Rival("joint", ["b", "c"], [])), who(Rival("joint", [], []))
    ('The best other variant is “joint” (tied with “b”, “c”)', 'The best other variant is “joint”')
    """
    names = [f"“{name}”" for name in found.tied] if len(found.tied) <= 3 else [f"{len(found.tied)} others"]
    tied = f" (tied with {', '.join(names)})" if found.tied else ""
    return f"The best other variant is “{found.variant}”{tied}"


def rival_table(record: Record, found: Rival) -> Table:
    """The lead over the rival at each marked length."""
    what, scaled = measure(record.metric), any(c.matched for c in found.lead)
    header = ["Length", "Difference", *(["Scale-matched"] * scaled), "n"]
    rows = [[f"{c.length:,}", str(c.as_is), *([str(c.matched)] * scaled), str(c.as_is.n)] for c in found.lead]
    caption = (
        f"{found.lead[0].label}: paired differences in {what.name} with 95% intervals; "
        f"{'above' if what.higher else 'below'} 0 is better."
    )
    kinds = [(c, kind, e) for c in found.lead for kind, e in (("as is", c.as_is), ("scale-matched", c.matched)) if e]
    data = table((((found.variant, c.length, kind), e) for c, kind, e in kinds), ("against", "length", "kind"))
    return Table("contrasts-best-other", caption, header, rows, data)


def _mean(values: np.ndarray) -> float:
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if len(kept) else float("nan")
