"""Verdicts: a decision, and every estimate that it rests on; and how the values behind them are read off a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl
from pydantic import BaseModel, ConfigDict

Decision = Literal["holds", "fails", "undecided", "not run"]


class Frozen(BaseModel):
    """Plain data that does not change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Arm(Frozen):
    """One line of a curve: a variant and the weights that were measured.

    >>> str(Arm(variant="post-norm"))
    'post-norm'
    >>> str(Arm(variant="no norm", weights="bema"))
    'no norm, bema'
    """

    variant: str
    weights: str = "raw"

    def __str__(self) -> str:
        return self.variant if self.weights == "raw" else f"{self.variant}, {self.weights}"


class Part(Frozen):
    """One estimate behind a verdict, as is and (where taken) scale-matched; `beside` says what else was seen."""

    label: str
    n: int
    failed: int
    effect: float | None = None
    low: float | None = None
    high: float | None = None
    decision: Decision = "undecided"
    matched: tuple[float, float, float] | None = None
    beside: str = ""


class Verdict(Frozen):
    """What a rule says of a curve: a decision, and every estimate that it rests on."""

    decision: Decision
    parts: tuple[Part, ...] = ()

    @property
    def weakest(self) -> Part | None:
        """The part that supports the claim least."""
        order = {"fails": 0, "undecided": 1, "not run": 1, "holds": 2}
        known = [part for part in self.parts if part.effect is not None]
        return min(known, key=lambda part: (order[part.decision], abs(part.effect or 0)), default=None)


def replicate_values(
    curve: pl.DataFrame, arm: Arm, metric: str, lengths: Sequence[int | None], split: str = "random"
) -> np.ndarray:
    """A metric of one arm, `(replicates, lengths)` in order, NaN where a model failed or was not measured.

    The length None asks for a property of the whole model.

    >>> rows = {"variant": ["a", "a"], "weights": ["raw"] * 2, "metric": ["tv"] * 2, "length": [1, 1],
    ...         "step": [9, 9], "replicate": [1, 0], "split": ["random"] * 2, "value": [0.5, 0.25]}
    >>> replicate_values(pl.DataFrame(rows), Arm(variant="a"), "tv", [1]).tolist()
    [[0.25], [0.5]]
    """
    last = curve.filter(pl.col("step") == pl.col("step").max().over("variant"))
    replicates = sorted(curve["replicate"].unique())
    mine = last.filter(variant=arm.variant, weights=arm.weights, metric=metric, split=split)
    values = {(r, s): v for r, s, v in mine.select("replicate", "length", "value").iter_rows() if v is not None}
    return np.array([[values.get((r, s), np.nan) for s in lengths] for r in replicates])


def all_of(decisions: Sequence[Decision]) -> Decision:
    """One decision for several that must all hold: one that fails decides, and nothing decides nothing.

    >>> all_of(["holds", "undecided"]), all_of(["holds", "fails"]), all_of([])
    ('undecided', 'fails', 'undecided')
    """
    if "fails" in decisions:
        return "fails"
    return "holds" if decisions and all(d == "holds" for d in decisions) else "undecided"
