"""What the settings of a search change: averages, settings, interactions, at several lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import polars as pl

from lengthwise.diagnostics import ALL_METRICS
from lengthwise.search.distributions import Choice, LogUniform, Switch, When, label
from lengthwise.search.search import Search
from lengthwise.search.smoothing import smooth
from lengthwise.statistics.effects import Effect, holm, interaction_effect, mean_effect, rank_effect, slope_effect
from lengthwise.statistics.searched import Trials

ALL, FIFTH = "all", "best fifth"
SCALES = {"as is": "", "scale-matched": "_matched"}
COLUMNS = {
    **dict.fromkeys(("family", "among", "weights", "setting", "contrast", "kind"), pl.String),
    "length": pl.Int64,
    "scale": pl.String,
    **dict.fromkeys(("n", "failed", "blocks"), pl.Int64),
    **dict.fromkeys(("effect", "low", "high", "p", "p_holm"), pl.Float64),
}
FAMILY = ("family", "among", "weights", "scale")
"""p-values are adjusted over settings and lengths, for each kind of question, weights and scale by itself."""
SMOOTH = {
    **dict.fromkeys(("among", "weights", "setting"), pl.String),
    "length": pl.Int64,
    **dict.fromkeys(("x", "y", "low", "high"), pl.Float64),
}


@dataclass(frozen=True)
class Question:
    """One estimate that is asked for: of which family, over which trials (`own`), of which values."""

    family: str
    weights: str
    setting: str
    contrast: str
    kind: str
    length: int
    scale: str
    own: np.ndarray
    estimate: Any


class Analysis:
    """The effects of a search's settings on its metric, at the shortest, the longest trained and the longest length.

    A setting that is drawn only under a condition is judged over the trials that have it. Rank correlations are within
    structures; slopes and differences within blocks, but for choices that a whole block shares.
    """

    def __init__(self, search: Search, trials: Trials, resamples: int = 4000) -> None:
        self.search, self.trials, self.resamples = search, trials, resamples
        self.metric = metric_of(search)
        self.weights = sorted(set(trials.curve["weights"]), key=lambda w: (w != "raw", w))
        self.lengths = marks(search)
        self.scales = {k: v for k, v in SCALES.items() if not v or self.metric + v in set(trials.curve["metric"])}
        self.higher = ALL_METRICS[self.metric].better == "greater"

    def table(self) -> pl.DataFrame:
        """Every effect among all trials and among the best fifth, with p-values adjusted within families."""
        rows = [row for among, own in self.among().items() for row in self._rows(among, own)]
        table = pl.DataFrame(rows, schema=[c for c in COLUMNS if c != "p_holm"], orient="row")
        table = table.with_columns(pl.lit(None, pl.Float64).alias("p_holm")).cast(COLUMNS)  # type: ignore[arg-type]
        return pl.concat([_adjusted(part) for part in table.partition_by(*FAMILY, maintain_order=True)])

    def among(self) -> dict[str, np.ndarray]:
        """All trials, and the fifth that is best at TRAINED lengths with raw weights: what who tunes would have."""
        everyone = np.ones(len(self.trials.settings), bool)
        score = self.trained_error()
        count = max(int(np.isfinite(score).sum()) // 5, 1)
        best = np.zeros_like(everyone)
        best[np.argsort(np.where(np.isfinite(score), score, np.inf), kind="stable")[:count]] = True
        return {ALL: everyone, FIFTH: best}

    def trained_error(self) -> np.ndarray:
        """The mean of the metric of raw weights over the trained lengths measured, less being better."""
        inside = trained_lengths(self.search)
        mean = np.mean([self.trials.values("raw", self.metric, s) for s in inside], axis=0)
        return -mean if self.higher else mean

    def curves(self) -> pl.DataFrame:
        """Smooth curves of the metric on every setting that is a number, among all trials."""
        rows: list[tuple[Any, ...]] = []
        for name in self.numeric:
            x, log = self.trials.numbers(name), is_log(self.search, name)
            for weights in self.weights:
                for length in self.lengths:
                    y = self.trials.values(weights, self.metric, length)
                    found = smooth(np.log(x) if log else x, y, self.trials.blocks)
                    if found is not None:
                        at = np.exp(found.x) if log else found.x
                        points = zip(at, found.y, found.low, found.high, strict=True)
                        rows += [(ALL, weights, name, length, *map(float, point)) for point in points]
        return pl.DataFrame(rows, schema=SMOOTH, orient="row")

    @property
    def numeric(self) -> list[str]:
        """The settings that are numbers and were drawn from a continuum or a range."""
        return [name for name in self.trials.fields if not isinstance(_plain(self.search, name), Choice | Switch)]

    def _rows(self, among: str, own: np.ndarray) -> Iterator[tuple[Any, ...]]:
        failed = self.trials.failed
        for q in (*self._averages(), *self._numbers(), *self._choices(), *self._interactions()):
            inside = own & q.own
            found: Effect = q.estimate(inside)
            told = (q.family, among, q.weights, q.setting, q.contrast, q.kind, q.length, q.scale)
            n, *rest = astuple(found)
            yield (*told, n, int((failed & inside).sum()), *rest)

    def _places(self) -> Iterator[tuple[int, str, str]]:
        for length in self.lengths:
            for scale, suffix in self.scales.items():
                yield length, scale, self.metric + suffix

    def _averages(self) -> Iterator[Question]:
        everyone = np.ones(len(self.trials.settings), bool)
        for weights in self.weights[1:]:
            for length, scale, metric in self._places():
                y = self.trials.values(weights, metric, length) - self.trials.values("raw", metric, length)
                yield Question(
                    "averages", weights, "weights", f"{weights} minus raw, within trials", "mean difference", length,
                    scale, everyone, lambda own, y=y: mean_effect(_only(y, own), self.trials.blocks, self.resamples),
                )  # fmt: skip

    def _numbers(self) -> Iterator[Question]:
        for name in self.numeric:
            x = self.trials.numbers(name)
            for weights in self.weights:
                for length, scale, metric in self._places():
                    y = self._worst_if_failed(self.trials.values(weights, metric, length))
                    yield Question(
                        "settings", weights, name, "more of it", "rank correlation", length, scale, np.isfinite(x),
                        lambda own, x=x, y=y: rank_effect(
                            _only(x, own), y, self.trials.blocks, self.trials.structures, self.resamples),
                    )  # fmt: skip

    def _choices(self) -> Iterator[Question]:
        for name in (n for n in self.trials.fields if n not in self.numeric):
            options = [label(o) for o in _plain(self.search, name).options]
            is_at = {o: np.array([label(v) == o for v in self._labels(name)]) for o in options}
            for option in options[1:]:
                own = is_at[option] | is_at[options[0]]
                x = is_at[option].astype(float)
                strata = None if self._is_structural(name) else self.trials.blocks
                for weights in self.weights:
                    for length, scale, metric in self._places():
                        y = self.trials.values(weights, metric, length)
                        yield Question(
                            "settings", weights, name, f"{option} minus {options[0]}", "difference", length, scale, own,
                            lambda own, x=x, y=y, strata=strata: slope_effect(
                                _only(x, own), y, self.trials.blocks, strata, self.resamples),
                        )  # fmt: skip

    def _interactions(self) -> Iterator[Question]:
        yield from self._dropout_by_norm()
        rates = [name for name in self.numeric if "rates" in name.split(".")]
        for name in rates:
            x = np.log10(self.trials.numbers(name))
            for weights in self.weights[1:]:
                for length, scale, metric in self._places():
                    y = self.trials.values(weights, metric, length) - self.trials.values("raw", metric, length)
                    yield Question(
                        "interactions", weights, name, f"{weights} minus raw, for a tenfold rate", "slope", length,
                        scale, np.isfinite(x),
                        lambda own, x=x, y=y: slope_effect(
                            _only(x, own), y, self.trials.blocks, self.trials.blocks, self.resamples),
                    )  # fmt: skip

    def _dropout_by_norm(self) -> Iterator[Question]:
        norms = [n for n in self.trials.fields if n.split(".")[-1] == "norm" and n not in self.numeric]
        drops = [n for n in self.numeric if "dropout" in n]
        for norm, drop in ((n, d) for n in norms for d in drops):
            x, options = self.trials.numbers(drop), [label(o) for o in _plain(self.search, norm).options]
            is_at = {o: np.array([label(v) == o for v in self._labels(norm)]) for o in options}
            for option in options[1:]:
                for length, scale, metric in self._places():
                    y = self.trials.values("raw", metric, length)
                    yield Question(
                        "interactions", "raw", drop, f"slope with {norm} {option} minus with {options[0]}", "slope",
                        length, scale, np.isfinite(x) & (is_at[option] | is_at[options[0]]),
                        lambda own, x=x, y=y, a=is_at[option], b=is_at[options[0]]: interaction_effect(
                            _only(x, own), y, a, b, self.trials.blocks, self.trials.blocks, self.resamples),
                    )  # fmt: skip

    def _worst_if_failed(self, y: np.ndarray) -> np.ndarray:
        return np.where(self.trials.failed, -np.inf if self.higher else np.inf, y)

    def _is_structural(self, name: str) -> bool:
        """Whether all trials of a block have the same option: then only blocks differ in it."""
        return self.trials.settings.group_by("block").agg(pl.col(name).n_unique())[name].max() == 1

    def _labels(self, name: str) -> list[Any]:
        return self.trials.settings[name].to_list()


def marks(search: Search) -> list[int]:
    """The shortest measured length, the longest trained one, and the longest."""
    return list(search.experiment.lengths_along)


def trained_lengths(search: Search) -> list[int]:
    """The measured lengths that are trained on; the shortest if none is."""
    lengths = search.experiment.lengths
    return [s for s in lengths if s <= search.experiment.task.trained_length] or [lengths[0]]


def metric_of(search: Search) -> str:
    """The metric by which a search answers: the experiment's own, or the usual one of its task's loss."""
    usual = {"cross-entropy": "tv", "squared-error": "excess_error"}
    return search.experiment.metric or usual.get(search.experiment.task.loss, "accuracy")


def is_log(search: Search, name: str) -> bool:
    """Whether a setting is drawn, and so drawn in figures, on a logarithmic axis."""
    return isinstance(_plain(search, name), LogUniform)


def _plain(search: Search, name: str) -> Any:
    distribution = search.space.fields[name]
    return distribution.then if isinstance(distribution, When) else distribution


def _only(values: np.ndarray, own: np.ndarray) -> np.ndarray:
    return np.where(own, values, np.nan)


def _adjusted(table: pl.DataFrame) -> pl.DataFrame:
    """Holm's adjustment over the rows of one family that have a p-value."""
    p = table["p"].to_numpy().astype(float)
    known = np.isfinite(p)
    adjusted = np.full(len(p), np.nan)
    adjusted[known] = holm(p[known])
    return table.with_columns(pl.Series("p_holm", adjusted).fill_nan(None))
