"""What a run folder holds, checked and arranged for a page: arrays over replicates and lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float

from lengthwise.reports.checks import (
    Choice,
    ClaimRecord,
    FailureRecord,
    checked_claims,
    checked_config,
    checked_failures,
    checked_provenance,
    checked_table,
    checked_tuning,
)
from lengthwise.runs import CURVE_SCHEMA, RunFolder
from lengthwise.runs.files import read_json, read_table

HISTORY_COLUMNS = ("variant", "replicate", "step", "loss")


@dataclass(frozen=True)
class Record:
    """One run as its folder tells it; `curve`, `history`, `failures` and `tuning` are None until they are written.

    `Record.read(folder)` raises InputError for a file that is damaged, or missing although the run has finished.
    """

    name: str
    config: dict[str, Any]
    claims: tuple[ClaimRecord, ...]
    finished: bool
    provenance: dict[str, Any] | None
    failures: tuple[FailureRecord, ...] | None
    curve: pl.DataFrame | None
    history: pl.DataFrame | None
    tuning: dict[str, Choice] | None = None

    @classmethod
    def read(cls, path: Path) -> Record:
        """The record of a run folder, finished or not."""
        folder = RunFolder.existing(path)

        def when_due(name: str, read: Callable[[Path], Any]) -> Any:
            return read(path / name) if folder.finished or (path / name).exists() else None

        def when_tuned() -> dict[str, Choice] | None:
            needed = folder.config.get("tuning") is not None
            read = lambda p: checked_tuning(read_json(p), p)  # noqa: E731
            return when_due("tuning.json", read) if needed else None

        return cls(
            name=path.resolve().name,
            config=checked_config(folder.config, path / "config.json"),
            claims=checked_claims(folder.claims, path / "claims.json"),
            finished=folder.finished,
            provenance=when_due("provenance.json", lambda p: checked_provenance(read_json(p), p)),
            failures=when_due("failures.json", lambda p: checked_failures(read_json(p), p)),
            curve=when_due("curve.parquet", lambda p: checked_table(read_table(p), CURVE_SCHEMA, p)),
            tuning=when_tuned(),
            history=when_due("history.parquet", lambda p: checked_table(read_table(p), HISTORY_COLUMNS, p)),
        )

    @property
    def variants(self) -> list[str]:
        """The variants in the experiment's order; contrasts are taken against the first."""
        return list(self.config["variants"])

    @property
    def replicates(self) -> int:
        return self.config["replicates"]

    @property
    def lengths(self) -> list[int]:
        """The lengths that were measured, ascending."""
        return sorted(self.config["measuring"]["lengths"])

    def plan(self, variant: str) -> dict[str, Any]:
        """The plan that a variant was trained with."""
        return self.config["variants"][variant]["plan"] or self.config["plan"]

    def trained(self, variant: str) -> int:
        """The longest length that a variant was trained on."""
        own = self.config["task"]["trained_length"]
        return max(phase["lengths"] or own for phase in self.plan(variant)["phases"])

    def rates(self, variant: str) -> list[dict[str, Any]]:
        """The rates of each phase of a variant's plan, multiplied by the factors that tuning chose."""
        factors = self.tuning[variant].factors if self.tuning and variant in self.tuning else {}
        return [
            {g: multiplied(rate, factors.get(g, 1.0) * factors.get("all", 1.0)) for g, rate in phase["rates"].items()}
            for phase in self.plan(variant)["phases"]
        ]

    def boundaries(self, variant: str) -> list[int]:
        """The step at which each phase after the first begins."""
        return np.cumsum([phase["steps"] for phase in self.plan(variant)["phases"]]).tolist()[:-1]

    @cached_property
    def trained_length(self) -> int:
        """The longest length that any variant was trained on."""
        return max(map(self.trained, self.variants))

    @property
    def edge(self) -> int:
        """The longest measured length that was trained on; the shortest measured one if none was."""
        return max((s for s in self.lengths if s <= self.trained_length), default=self.lengths[0])

    @property
    def marks(self) -> list[int]:
        """The shortest length, the longest trained one, and the longest: where contrasts are shown."""
        return sorted({self.lengths[0], self.edge, self.lengths[-1]})

    @cached_property
    def metric(self) -> str:
        """The metric by which the page answers: the experiment's own, total variation or else the curve's first."""
        by_length = [metric for (_, _, metric), rows in self._last.items() if rows["length"].null_count() < len(rows)]
        own = [m for m in (self.config.get("metric"), "tv") if m and (m in by_length or not by_length)]
        return (own or by_length)[0]

    def weights(self, variant: str) -> list[str]:
        """The weights measured of a variant: raw first, then its averages in order."""
        names = ["raw", *(a["name"] for a in self.config["variants"][variant]["averages"])]
        measured = {weights for v, weights, _ in self._last if v == variant}
        return [name for name in names if name in measured]

    def has(self, metric: str, variant: str | None = None) -> bool:
        """Whether a metric was measured, of one variant or of any."""
        return any(m == metric and variant in (None, v) for v, _, m in self._last)

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics that were measured, in the order of the curve."""
        return list(dict.fromkeys(metric for _, _, metric in self._last))

    def values(
        self, variant: str, weights: str, metric: str, lengths: Sequence[int | None] | None = None
    ) -> Float[np.ndarray, "replicates lengths"]:
        """A metric at the last measured step, NaN where a model failed or was not measured.

        The length None stands for a property of the whole model.
        """
        return self._array(self._last.get((variant, weights, metric)), self.lengths if lengths is None else lengths)

    def along(
        self, variant: str, length: int | None, metric: str | None = None
    ) -> tuple[list[int], Float[np.ndarray, "replicates steps"]]:
        """The steps at which a variant was measured, and a metric of its raw weights at one length there.

        The metric is the page's own by default; the length None stands for a property of the whole model.
        """
        at = pl.col("length").is_null() if length is None else pl.col("length") == length
        rows = self._split.filter(at, variant=variant, weights="raw", metric=metric or self.metric)
        steps = sorted(rows["step"].unique())
        return steps, self._array(rows.with_columns(length=pl.col("step")), steps)

    def certified(
        self, variant: str, weights: str, metric: str, length: int | None = None, step: int | None = None
    ) -> Float[np.ndarray, " certified"]:
        """What was proved over all inputs, a value for each certified replicate; at the last step by default."""
        where = pl.col("length").is_null() if length is None else pl.col("length") == length
        rows = self._proved.filter(where, variant=variant, weights=weights, metric=metric)
        if rows.is_empty():
            return np.empty(0)
        chosen = rows.filter(pl.col("step") == (rows["step"].max() if step is None else step))
        return chosen.sort("replicate")["value"].to_numpy()

    @cached_property
    def certified_steps(self) -> list[int]:
        """The steps at which anything was certified, of the variants that trained longest."""
        rows = self._proved.filter(metric="certified_order")
        longest = rows.filter(pl.col("step").max().over("variant") == rows["step"].max())
        return sorted(longest["step"].unique())

    @cached_property
    def _proved(self) -> pl.DataFrame:
        assert self.curve is not None
        return self.curve.filter(split="all")

    def _array(self, rows: pl.DataFrame | None, columns: Sequence[int | None]) -> np.ndarray:
        array = np.full((self.replicates, len(columns)), np.nan)
        place = {column: k for k, column in enumerate(columns)}
        found = rows.select("replicate", "length", "value").iter_rows() if rows is not None else ()
        for replicate, column, value in found:
            if column in place and replicate < self.replicates:
                array[replicate, place[column]] = value
        return array

    @cached_property
    def _split(self) -> pl.DataFrame:
        """The rows of the first input distribution: contrasts compare like with like."""
        assert self.curve is not None
        return self.curve.filter(pl.col("split") == self.curve["split"].first())

    @cached_property
    def _last(self) -> dict[tuple[Any, ...], pl.DataFrame]:
        if self.curve is None or self.curve.is_empty():
            return {}
        last = self._split.filter(pl.col("step") == pl.col("step").max().over("variant"))
        return last.partition_by("variant", "weights", "metric", as_dict=True, maintain_order=True)


def multiplied(rate: Any, factor: float) -> Any:
    """A rate, or the ends of a schedule of rates, times a factor.

    >>> multiplied(0.5, 4.0), multiplied({"peak": 1.0, "final": 0.5, "warmup": 10}, 4.0)
    (2.0, {'peak': 4.0, 'final': 2.0, 'warmup': 10})
    """
    if isinstance(rate, dict):
        return {k: v * factor if k in ("peak", "final") and v is not None else v for k, v in rate.items()}
    return rate * factor
