"""Reach, rivals, groups, and how intervals are shown: laws of the numbers that no page is needed for."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from lengthwise.reports.estimates import Estimate, Line, estimate_of
from lengthwise.reports.figures.panels import limit
from lengthwise.reports.groups import FEW, groups
from lengthwise.reports.record import Record
from lengthwise.reports.sections.reach import reach_of
from lengthwise.reports.sections.rival import rival


def stub(values: dict[str, list[list[float]]], metric: str = "accuracy") -> Record:
    """As much of a record as its values by variant and length."""
    arrays = {v: np.array(rows, dtype=float) for v, rows in values.items()}
    lengths = list(range(1, next(iter(arrays.values())).shape[1] + 1))

    def read(variant: str, weights: str, asked: str, at=None) -> np.ndarray:
        return arrays[variant][:, [lengths.index(s) for s in at or lengths]]

    return SimpleNamespace(  # type: ignore[return-value]
        variants=list(arrays), lengths=lengths, marks=lengths[-1:], metric=metric, values=read, has=lambda name: False
    )


@given(
    st.lists(st.lists(st.sampled_from([0.5, 0.98, 0.99, 1.0, np.nan]), min_size=4, max_size=4), min_size=1, max_size=9)
)
def test_reach_is_the_last_of_the_lengths_served_without_a_gap(rows: list[list[float]]):
    found = reach_of(stub({"a": rows}), "a")
    expected = None
    for length in range(1, 5):
        kept = sorted(row[length - 1] for row in rows if not math.isnan(row[length - 1]))
        middle = (kept[(len(kept) - 1) // 2] + kept[len(kept) // 2]) / 2 if kept else 0
        if middle < 0.99:
            break
        expected = length
    assert found.length == expected
    last = [row[-1] for row in rows if not math.isnan(row[-1])]
    assert found.share == f"{sum(x >= 0.99 for x in last)} of {len(last)}"


def test_the_best_other_variant_is_the_best_by_its_metric_and_ties_are_told():
    values = {"first": [[1.0], [0.5]], "b": [[0.6], [0.6]], "c": [[0.9], [0.9]], "d": [[0.9], [0.9]]}
    found = rival(stub(values))
    assert found is not None
    assert (found.variant, found.tied) == ("c", ["d"])
    assert found.lead[0].as_is.mean == pytest.approx(-0.15)
    lower = rival(stub(values, metric="tv"))
    assert lower is not None
    assert (lower.variant, lower.tied) == ("b", [])
    assert rival(stub({"first": [[1.0]], "b": [[np.nan]]})) is None


@given(st.lists(st.floats(0, 1), min_size=5, max_size=16))
def test_intervals_of_accuracy_hold_the_mean_and_only_what_accuracy_can_be(values: list[float]):
    found = estimate_of("accuracy", np.array(values))
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= np.mean(values) + 1e-12
    assert np.mean(values) - 1e-12 <= found.high <= 1


def test_a_band_that_dwarfs_the_values_is_cut_by_the_axis():
    axes = Figure().subplots()
    limit(axes, [Line("a", "raw", [1, 2], [Estimate(9, 0, 1.0, 1.0, 0.9, 5000.0), Estimate(9, 0, 2.0, 2.0, 1.9, 2.1)])])
    low, high = axes.get_ylim()
    assert low <= 0.9
    assert 2.1 <= high < 3


def many(models: list[dict], grids: list) -> Record:
    variants = {f"v{k}": {"model": m, "plan": None, "grid": g} for k, (m, g) in enumerate(zip(models, grids))}
    return SimpleNamespace(variants=list(variants), config={"variants": variants})  # type: ignore[return-value]


def test_many_variants_are_told_apart_by_model_and_grid():
    wide, overall = {"a": [1, 2]}, {"all": [1, 2]}
    found = groups(many([{}] * (FEW - 1) + [{"query": "x"}] * 2, [None, wide, *[overall] * (FEW - 3), None, None]))
    ratios = [f"v{k}" for k in range(2, FEW - 1)]
    assert found == {
        "Main arms": ["v0"], "Fixed ratios of rates": ratios, "Grids of their own": ["v1"],
        "Other parametrisations": [f"v{FEW - 1}", f"v{FEW}"],
    }  # fmt: skip
    assert groups(many([{}] * FEW, [overall] * FEW)) == {"": [f"v{k}" for k in range(FEW)]}
    assert list(groups(many([{}] + [{"norm": k} for k in range(FEW)], [None] * (FEW + 1)))) == [""]
