"""Run folders that are not what they should be: one clear line each, and nothing written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from lengthwise.errors import InputError
from lengthwise.reports import write_page
from lengthwise.reports.record import Record


def change(name: str, edit: Callable) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        value = json.loads((folder / name).read_text())
        (folder / name).write_text(json.dumps(edit(value)))

    return damage


DAMAGE: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "no config.json"),
    "no claims": (lambda f: (f / "claims.json").unlink(), r"claims.json: no such file"),
    "no curve": (lambda f: (f / "curve.parquet").unlink(), r"curve.parquet: no such file"),
    "no history": (lambda f: (f / "history.parquet").unlink(), r"history.parquet: no such file"),
    "no failures": (lambda f: (f / "failures.json").unlink(), r"failures.json: no such file"),
    "half a config": (lambda f: (f / "config.json").write_text('{"a": '), r"config.json: not valid JSON"),
    "a config of something else": (change("config.json", lambda c: [c]), r"config.json: the whole: input should be"),
    "no plan": (change("config.json", lambda c: {**c, "plan": None}), r"config.json: plan: input should be"),
    "no variants": (change("config.json", lambda c: {**c, "variants": {}}), r"config.json: variants is empty"),
    "a new decision": (
        change("claims.json", lambda c: [{**c[0], "decision": "maybe"}]),
        r"claims.json: 0.decision: input should be 'holds', 'fails', 'undecided' or 'not run'",
    ),
    "a failure without step": (
        lambda f: (f / "failures.json").write_text('[{"variant": "a", "replicate": 0}]'),
        r"failures.json: 0.step: field required",
    ),
    "half a curve": (
        lambda f: (f / "curve.parquet").write_bytes((f / "curve.parquet").read_bytes()[:900]),
        r"curve.parquet: not a readable Parquet table",
    ),
    "a curve without lengths": (
        lambda f: pl.read_parquet(f / "curve.parquet").drop("length").write_parquet(f / "curve.parquet"),
        r"curve.parquet: no column 'length'",
    ),
    "an unknown section": (
        change("config.json", lambda c: {**c, "sections": ["verdict", "curves"]}),
        r"unknown section 'verdict': did you mean 'verdicts'",
    ),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_run_is_one_clear_line_and_nothing_is_written(build_run, kind: str):
    damage, message = DAMAGE[kind]
    folder = build_run(variants={"a": {}}, averages=(), replicates=2, lengths=(1, 8, 15))
    damage(folder)
    with pytest.raises(InputError, match=message) as error:
        write_page(folder)
    assert "\n" not in str(error.value)
    assert not (folder / "index.html").exists()
    assert not (folder / "figures").exists()


def test_no_runs_at_all_is_an_error(tmp_path: Path):
    with pytest.raises(InputError, match="at least one run"):
        write_page(tmp_path, [])


def test_values_are_those_of_the_last_step_in_their_places(run: Path):
    record = Record.read(run)
    values = record.values("no norm", "bema", "tv")
    for replicate, length in ((0, 1), (6, 15), (3, 8)):
        own = record.curve.filter(variant="no norm", weights="bema", metric="tv", step=150)  # type: ignore[union-attr]
        expected = own.filter(replicate=replicate, length=length)["value"].item()
        assert values[replicate, record.lengths.index(length)] == expected


def test_null_and_nan_both_mean_no_value(build_run):
    records = [Record.read(build_run(str(m), failed=[("no norm", 3)], missing=m)) for m in (None, np.nan)]
    values = [record.values("no norm", "raw", "tv") for record in records]
    np.testing.assert_array_equal(values[0], values[1])
    assert np.isnan(values[0]).any(axis=1).tolist() == [r == 3 for r in range(7)]


def test_the_marked_lengths_are_the_ends_and_the_trained_edge(build_run):
    assert Record.read(build_run("a")).marks == [1, 8, 15]
    assert Record.read(build_run("b", lengths=(2, 4, 6))).marks == [2, 6]
    assert Record.read(build_run("c", lengths=(10, 12))).marks == [10, 12]


def test_a_phase_may_train_on_longer_inputs_than_the_task(build_run):
    folder = build_run(finished=False)
    config = json.loads((folder / "config.json").read_text())
    own = {
        **config["plan"],
        "phases": [{"steps": 5, "rates": {"all": 0.1}, "lengths": 12}, config["plan"]["phases"][0]],
    }
    config["variants"]["post-norm"]["plan"] = own
    (folder / "config.json").write_text(json.dumps(config))
    record = Record.read(folder)
    assert (record.trained("post-norm"), record.trained("no norm"), record.trained_length) == (12, 8, 12)
    assert (record.boundaries("post-norm"), record.boundaries("no norm")) == ([5], [100])
