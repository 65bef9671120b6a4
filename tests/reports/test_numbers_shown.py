"""The numbers on the page: those of the statistics, by another road."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.reports.answer import answer
from lengthwise.reports.estimates import estimate
from lengthwise.reports.numbers import decimals, interval
from lengthwise.reports.record import Record


def csv(run: Path, name: str) -> pl.DataFrame:
    return pl.read_csv(run / "tables" / f"{name}.csv")


def test_a_contrast_is_the_verdict_of_the_paired_rule(run: Path):
    part = json.loads((run / "claims.json").read_text())[1]["parts"][0]
    rows = csv(run, "contrasts-variants").filter(label="sum, not mean", length=15)
    as_is, matched = rows.filter(kind="as is"), rows.filter(kind="scale-matched")
    assert as_is.select("mean", "low", "high", "n", "failed").row(0) == tuple(
        part[k] for k in ("effect", "low", "high", "n", "failed")
    )
    assert list(matched.select("mean", "low", "high").row(0)) == part["matched"]


def test_a_slope_is_the_verdict_of_the_slope_rule(run: Path):
    part = json.loads((run / "claims.json").read_text())[0]["parts"][0]
    row = csv(run, "displacement-slopes").filter(variant="no norm", weights="raw")
    assert row.select("mean", "low", "high").row(0) == (part["effect"], part["low"], part["high"])
    flat = csv(run, "displacement-slopes").filter(variant="post-norm", weights="raw")["mean"].item()
    assert flat == pytest.approx(-0.4, abs=0.05)  # as the synthetic run was made


def test_means_of_curves_are_those_of_a_plain_group_by(run: Path):
    curve = pl.read_parquet(run / "curve.parquet").filter(pl.col("step") == 150, pl.col("value").is_not_nan())
    expected = curve.group_by("variant", "weights", "metric", "length").agg(
        want=pl.col("value").mean(), middle=pl.col("value").median(), count=pl.len()
    )
    for name in (
        "curves-tv",
        "averages-tv",
        "curves-other-metrics",
        "tv-by-length",
        "displacement",
        "attention-entropy",
    ):
        both = csv(run, name).join(expected, on=["variant", "weights", "metric", "length"], how="left")
        assert len(both) == len(csv(run, name)) > 0
        np.testing.assert_allclose(both["mean"], both["want"])
        np.testing.assert_allclose(both["median"], both["middle"])
        assert both["n"].to_list() == both["count"].to_list()
        assert ((both["low"] <= both["mean"]) & (both["mean"] <= both["high"])).all()


def test_averages_are_contrasted_with_the_raw_weights_of_the_same_model(run: Path):
    record = Record.read(run)
    for kind, metric in (("as is", "tv"), ("scale-matched", "tv_matched")):
        row = csv(run, "contrasts-averages").filter(group="no norm", label="bema", length=8, kind=kind)
        difference = record.values("no norm", "bema", metric, [8]) - record.values("no norm", "raw", metric, [8])
        assert row["mean"].item() == pytest.approx(difference.mean())


def test_the_baselines_that_only_scale_stand_apart(run: Path):
    groups = dict(csv(run, "contrasts-variants").select("label", "group").iter_rows())
    assert groups == {"post-norm": "Remedies", "sum, not mean": "Only scale"}


def words(record: Record) -> dict[str, list[tuple[str, str]]]:
    return {sentence.lead: sentence.texts for sentence in answer(record)}


def test_the_answer_says_what_the_numbers_say(run: Path):
    found = words(Record.read(run))
    variants = found["Variants against no norm, total variation at length 15"]
    assert any(verdict.startswith("Lower") and "post-norm" in names for verdict, names in variants)
    loudness = dict(found["Averages against raw weights, no norm"])
    assert "displacement at length 8 times 1.5" in loudness["bema"]
    assert "lower as is only" in loudness["bema"]  # the synthetic run's bema is louder and no better
    assert dict(found["Claims"])["Holds"].startswith("sc.dispersion")


def test_other_numbers_give_another_answer(build_run):
    folder = build_run(variants={"post-norm": {"norm": "post"}, "no norm": {}}, averages=())
    curve = pl.read_parquet(folder / "curve.parquet")
    worse = pl.when(pl.col("variant") == "no norm", pl.col("metric").str.starts_with("tv"))
    curve.with_columns(value=worse.then(pl.col("value") + 0.9).otherwise("value")).write_parquet(
        folder / "curve.parquet"
    )
    variants = words(Record.read(folder))["Variants against post-norm, total variation at length 15"]
    assert [(verdict, names.split(" (")[0]) for verdict, names in variants] == [
        ("Higher as is and scale-matched", "no norm")
    ]


@given(st.lists(st.floats(-5, 5) | st.just(np.nan), min_size=1, max_size=9))
def test_an_estimate_leaves_out_what_failed_and_shows_an_interval_only_of_enough(values: list[float]):
    found = estimate(np.array(values))
    kept = [v for v in values if v == v]
    assert (found.n, found.failed) == (len(kept), len(values) - len(kept))
    assert (found.low is None) == (len(kept) < 5)
    if kept:
        assert found.mean == pytest.approx(np.mean(kept))
    assert "nan" not in str(found)


@given(st.floats(-1e3, 1e3), st.floats(1e-4, 1e2))
def test_shown_intervals_are_right_to_a_seventh_of_their_half_width(mean: float, half: float):
    shown = interval(mean, mean - half, mean + half).replace("−", "-").replace(",", "")
    value, low, high = (float(x) for x in shown.replace("[", "").replace("]", "").split())
    bound = max(0.18 * half, 0.5e-4) + 1e-9
    assert abs(value - mean) <= bound
    assert abs(low - (mean - half)) <= bound
    assert abs(high - (mean + half)) <= bound
    assert 0 <= decimals(2 * half) <= 4
