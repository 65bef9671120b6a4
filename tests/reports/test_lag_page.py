"""The page of a run that answers by accuracy: how far each arm reaches, by what mechanism, and with which rates."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lengthwise.errors import InputError
from lengthwise.reports import write_page
from lengthwise.reports.answer import answer
from lengthwise.reports.estimates import Line, median
from lengthwise.reports.figures import mechanism as figures
from lengthwise.reports.figures.reach import by_length
from lengthwise.reports.record import Record
from lengthwise.reports.sections.reach import median_line


@pytest.fixture(scope="module")
def record(lag: Path) -> Record:
    return Record.read(lag)


def text(folder: Path) -> str:
    html = (folder / "index.html").read_text(encoding="utf-8")
    plain = re.sub(r"<svg.*?</svg>|<style>.*?</style>|<[^>]+>", " ", html, flags=re.DOTALL)
    return " ".join(plain.replace("&#34;", '"').split())


def csv(folder: Path, name: str) -> pl.DataFrame:
    return pl.read_csv(folder / "tables" / f"{name}.csv")


def test_the_answer_speaks_of_accuracy_and_says_who_reaches_what(record: Record):
    found = {sentence.lead: sentence.texts for sentence in answer(record)}
    assert dict(found["Median accuracy stays at 0.99 or above up to length"]) == {
        "1,000, the longest measured": "three phases",
        "100": "joint",
        "20": "output only",
        "Not even the shortest": "attention only",
    }
    assert "Accuracy by length" in found
    assert "Error by length" not in found
    [(_, told)] = found["three phases against the best other variant"]
    assert told.startswith("The best other variant is “joint”.")
    difference = np.mean([-0.03, 0, 0.5, 0.5, 0.5, 0.5, 0.5])
    assert f"; {difference:.2f} [" in told.split("at length 20")[1]
    assert told.endswith("at length 1,000 (higher).")


def test_the_better_side_of_a_difference_is_that_of_its_metric(lag: Path, run: Path):
    assert "right of 0 is higher: better" in (lag / "index.html").read_text(encoding="utf-8")
    assert "left of 0 is lower: better" in (run / "index.html").read_text(encoding="utf-8")
    assert "positive is better than the reference" in text(lag)
    assert "scale-matched" not in text(lag).lower()
    verdicts = {s.lead: s.texts for s in answer(Record.read(lag))}[
        "Variants against three phases, accuracy at length 1,000"
    ]
    assert [verdict for verdict, _ in verdicts] == ["Lower"]


def test_a_median_on_the_page_is_that_of_the_rule(lag: Path):
    part = json.loads((lag / "claims.json").read_text())[0]["parts"][0]
    row = csv(lag, "reach").filter(variant="three phases")
    columns = ("median", "median_low", "median_high", "n", "serving")
    assert row.select(columns).row(0) == (part["effect"], part["low"], part["high"], 7, 6)
    assert (part["low"], part["high"]) == (0.97, 1.0)
    assert "mean 0.996; 6 of 7 at 0.99 or above" in text(lag)


def test_medians_along_training_are_those_of_a_plain_group_by(lag: Path):
    curve = pl.read_parquet(lag / "curve.parquet")
    expected = curve.group_by("variant", "metric", "step").agg(want=pl.col("value").median())
    for name, rows in (("score-gap", 8), ("norms", 16)):
        both = csv(lag, name).join(expected, on=["variant", "metric", "step"])
        assert len(both) == len(csv(lag, name)) == rows
        np.testing.assert_allclose(both["median"], both["want"])
        assert ((both["low"] <= both["median"]) & (both["median"] <= both["high"])).all()


def test_phases_and_the_gaps_that_give_half_the_weight_are_drawn(record: Record):
    lines = [
        Line(v, "raw", [100, 200], [median(column) for column in record.along(v, None, "score_gap")[1].T])
        for v in record.variants
    ]
    figure = figures.gaps(record, lines, [60, 1000])
    for axes, variant in zip(figure.axes, record.variants):
        upright = {line.get_xdata()[0] for line in axes.lines if len({*line.get_xdata()}) == 1}  # type: ignore[arg-type,index]
        assert upright == set(record.boundaries(variant))
        level = [float(np.asarray(x.get_ydata())[0]) for x in axes.lines if list(x.get_xdata()) == [0, 1]]  # type: ignore[arg-type]
        for gap, length in zip(sorted(level)[1:], (60, 1000)):
            assert math.exp(gap) / (math.exp(gap) + length - 1) == pytest.approx(0.5)
        assert axes.get_yscale() == "symlog"
        low, high = axes.get_ylim()
        assert low < -7
        assert high > np.log(1000) + 0.6


def test_panels_of_reach_have_a_log_axis_chance_and_every_replicate(record: Record):
    lines = [median_line(record, v) for v in record.variants]
    figure = by_length(record, lines, "Accuracy", 0.5)
    for axes, line in zip(figure.axes, lines):
        drawn = [tuple(x.get_ydata()) for x in axes.lines if len(x.get_xdata()) == 4]  # type: ignore[arg-type]
        assert {tuple(row) for row in record.values(line.variant, "raw", "accuracy")} <= set(drawn)
        assert tuple(line.array("median")) in drawn
        assert [x.get_label() for x in axes.lines if list(x.get_ydata()) == [0.5, 0.5]] == ["chance"]  # type: ignore[arg-type]
        assert axes.get_xscale() == "log"


def test_tuning_shows_what_was_chosen_tried_and_at_an_edge(lag: Path):
    told = text(lag)
    assert "24 tries in all, each on 4 replicates" in told
    assert (
        "The best mean accuracy at length 20, a trained length, was chosen; where it ties, KL divergence decides"
        in told
    )
    tries = csv(lag, "tuning-tries").filter(variant="joint")
    assert (len(tries), tries["accuracy"].null_count()) == (6, 2)
    row = csv(lag, "tuning").filter(variant="joint")
    assert row.select("factor_attention", "factor_output", "accuracy").row(0) == (30.0, 0.1, 1.0)
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</th>(.*?)</tr>", (lag / "index.html").read_text(encoding="utf-8"))
    shown = [cells.replace("\u00a0", " ") for name, cells in rows if name == "output only" and "×" in cells]
    assert "<td>attention, output</td><td>output × 0.1</td>" in shown[0]  # it never moves attention


def test_chosen_rates_stand_next_to_the_plan(lag: Path, record: Record):
    assert record.rates("three phases") == [{"output": 0.1}, {"attention": 30.0}, {"output": 0.1}]
    plan = csv(lag, "plan").filter(Plan="three phases")
    assert plan["Rates by group"].to_list() == ["output = 1.0", "attention = 1.0", "output = 1.0"]
    assert plan["Chosen rates"].to_list() == ["output = 0.1", "attention = 30", "output = 0.1"]


def test_before_it_ran_every_part_is_pending_and_without_tuning_it_says_so(build_lag):
    folder = build_lag(finished=False, sections=("reach", "mechanism", "tuning", "contrasts"))
    write_page(folder)
    assert text(folder).count("Pending: this part appears once the run has been measured.") == 4
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({k: v for k, v in config.items() if k not in ("tuning", "metric")}))
    write_page(folder)
    assert "The rates of this run were given, not tuned." in text(folder)


def test_a_damaged_tuning_file_is_one_clear_line(build_lag):
    folder = build_lag()
    (folder / "tuning.json").write_text('{"joint": {"factors": {}, "length": "long", "tried": []}}')
    with pytest.raises(InputError, match=r"tuning.json: joint.length: input should be a valid integer[^\n]*$"):
        write_page(folder)
    (folder / "tuning.json").unlink()
    with pytest.raises(InputError, match=r"tuning.json: no such file"):
        write_page(folder)


def test_a_regression_run_draws_and_answers_by_its_first_metric(build_run):
    sections = ("verdicts", "reach", "curves", "displacement", "contrasts", "mechanism", "tuning")
    folder = build_run(variants={"a": {}, "b": {}, "c": {}}, averages=(), lengths=(1, 8, 100, 1000), sections=sections)
    names = {"tv": "squared_error", "illegal_mass": "excess_error"}
    curve = pl.read_parquet(folder / "curve.parquet").filter(pl.col("metric").is_in(list(names)))
    curve.with_columns(pl.col("metric").replace(names)).write_parquet(folder / "curve.parquet")
    write_page(folder)
    told = text(folder)
    for words in ("mean squared error is", "Error by length", "Medians by length", "no scores of letters"):
        assert words in told, words
    assert "0.99 or above up to" not in told
    assert {"curves-squared-error", "curves-other-metrics", "reach-by-length"} <= {
        path.stem for path in (folder / "figures").iterdir()
    }
    assert set(csv(folder, "curves-other-metrics")["metric"]) == {"excess_error"}


def test_claims_that_no_run_decides_are_listed_as_not_run(build_run, tmp_path: Path):
    runs = [build_run("one", finished=False, sections=("verdicts",))]
    claim = {"id": "far.away", "statement": "It <also> holds far away", "why": "experiment far has no scale smoke"}
    write_page(tmp_path / "page", runs, not_run=[claim])
    told = text(tmp_path / "page")
    assert "far.away It &lt;also&gt; holds far away (experiment far has no scale smoke) … not run" in told
    assert "All claims of this page" not in text(write_page(tmp_path / "other", runs).parent)
    with pytest.raises(InputError, match=r"not_run: 0\.why: field required"):
        write_page(tmp_path / "page", runs, not_run=[{"id": "a", "statement": "b"}])
