"""The command as a user meets it: JSON, files that open, Ctrl-C, kill -9."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
import torch

import lengthwise
from lengthwise.runs import CURVE_SCHEMA
from lengthwise.runs.tensors import load_tensors

QUICKEST = ["--scale", "smoke", "--set", "plan.phases.0.steps=40", "--set", "measuring.inputs=8"]


def command(*words, timeout: float = 300, **options) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "lengthwise", *map(str, words)]
    return subprocess.run(line, capture_output=True, text=True, timeout=timeout, check=False, **options)


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """One smoke run by the command, as JSON."""
    out = tmp_path_factory.mktemp("smoke") / "run"
    done = command("run", "set-complement", *QUICKEST, "--out", out, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_json_names_the_run_and_the_page(smoke):
    assert Path(smoke["run"]).is_dir()
    assert Path(smoke["page"]).read_text().startswith("<!DOCTYPE html>")
    assert set(smoke["claims"]) == {"sc.dispersion", "sc.post-norm"}


def test_the_curve_opens_in_polars_and_pandas(smoke):
    polars, pandas = pl.read_parquet(smoke["curve"]), pd.read_parquet(smoke["curve"])
    assert polars.schema == CURVE_SCHEMA
    assert len(polars) == len(pandas)
    assert {"raw", "ema@0.99", "bema", "bema-reference"} <= set(polars["weights"])
    last = polars.filter(pl.col("step") == 40, metric="tv", weights="raw", variant="no norm")
    assert sorted(set(last["length"])) == list(range(1, 16))
    assert last["value"].is_between(0, 1).all()


def test_a_model_comes_back_as_it_was_measured(smoke):
    run = lengthwise.load(smoke["run"])
    raw, averaged = run.model("post-norm", 1), run.model("post-norm", 1, "ema@0.99")
    assert isinstance(raw, lengthwise.MinimalTransformer)
    assert isinstance(averaged, lengthwise.MinimalTransformer)
    assert not torch.equal(raw.embedding, averaged.embedding)
    task = lengthwise.SetComplement(vocabulary=16, s_train=8)
    from lengthwise.diagnostics import Inputs, measure

    # The table form measured the run; the plain module must answer alike on the same inputs.
    inputs = Inputs(task, [1], seed=0, count=8, trained_length=8)
    with torch.no_grad():
        rows = list(measure(lambda batch: averaged(batch.inputs[0])[None, :, -1], inputs, [15]))
    value = next(row.values.item() for row in rows if row.metric == "tv")
    where = {"variant": "post-norm", "replicate": 1, "weights": "ema@0.99", "metric": "tv", "length": 15, "step": 40}
    assert value == pytest.approx(run.curve.filter(**where)["value"].item(), abs=1e-5)
    for wrong in (("post-nrom", 0, "raw"), ("post-norm", 7, "raw"), ("no norm", 0, "emma")):
        with pytest.raises(lengthwise.InputError):
            run.model(*wrong)


def test_report_writes_the_page_again(smoke):
    page = Path(smoke["page"])
    before = page.read_text()
    page.unlink()
    assert command("report", smoke["run"]).returncode == 0
    assert page.read_text() == before


def test_list_names_what_there_is():
    listed = json.loads(command("list", "--json").stdout)
    assert "set-complement" in listed["experiments"]
    assert "tv" in listed["metrics"]
    assert "set-complement" in command("list").stdout


def results(run: Path) -> tuple:
    """Final weights, averages and curve, to be compared bit for bit."""
    weights = {p.name: load_tensors(p, None) for p in sorted((run / "weights").glob("*.safetensors"))}
    bits = {(f, k): x.numpy().tobytes() for f, tensors in weights.items() for k, x in tensors.items()}
    return bits, (run / "curve.parquet").read_bytes(), (run / "history.parquet").read_bytes()


USER = """
from lengthwise import *

PLAN = Plan(phases=(Phase(steps=150, rates={"output": 0.02}), Phase(steps=250, rates={"all": 0.01})), batch=16)
mine = Experiment(
    name="mine", question="Is it resumed?", task=SetComplement(vocabulary=8, s_train=4), model=MinimalTransformer,
    plan=PLAN,
    variants={"plain": Variant(), "drop": Variant(model={"attention_dropout": 0.2, "embedding_dropout": 0.1})},
    averages=(EMA(decay=0.99), BEMA(every=3)), replicates=2, measuring=Measuring(inputs=16, along=3),
)
"""


WILD = """
from lengthwise import *

def plan(rate):
    return Plan(phases=(Phase(steps=50, rates={"all": rate}),), batch=16, optimiser=SGD())

wild = Experiment(
    name="wild", question="Who survives?", task=SetComplement(vocabulary=8, s_train=4), model=MinimalTransformer,
    plan=plan(0.1), variants={"plain": Variant(), "wild": Variant(plan=plan(1e9))}, replicates=2,
    measuring=Measuring(inputs=16),
)
"""


@pytest.fixture(scope="module")
def user_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("user") / "mine.py"
    path.write_text(USER)
    return path


@pytest.fixture(scope="module")
def uninterrupted(user_file, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "run"
    assert command("run", user_file, "--out", out, "--no-page", "--json").returncode == 0
    return results(out)


def started(user_file: Path, out: Path, *extra: str) -> subprocess.Popen:
    line = [
        sys.executable,
        "-m",
        "lengthwise",
        "run",
        str(user_file),
        "--out",
        str(out),
        "--save-every",
        "0",
        "--no-page",
        *extra,
    ]
    return subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for(condition, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.01)


@pytest.mark.parametrize("at", ["folder", "plain 1", "plain 390", "drop 100", "end"])
def test_killed_and_resumed_is_the_uninterrupted_run_bit_for_bit(user_file, uninterrupted, tmp_path, at):
    out = tmp_path / "run"
    index = out / "checkpoints" / "index.json"
    process = started(user_file, out)
    if at == "folder":
        wait_for((out / "config.json").exists)
    elif at == "end":
        wait_for((out / "curve.parquet").exists)
    else:
        part, step = at.split()
        wait_for(lambda: index.exists() and json.loads(index.read_text()).get(part, 0) >= int(step))
    process.kill()
    process.communicate()
    done = command("run", user_file, "--out", out, "--resume", "--no-page", "--json")
    assert done.returncode == 0, done.stderr
    assert results(out) == uninterrupted


def test_ctrl_c_saves_says_how_to_go_on_and_resumes(user_file, uninterrupted, tmp_path):
    out = tmp_path / "run"
    process = started(user_file, out)
    wait_for((out / "checkpoints" / "index.json").exists)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "continue with --resume" in error
    assert "Traceback" not in error
    assert command("run", user_file, "--out", out, "--resume", "--no-page").returncode == 0
    assert results(out) == uninterrupted


def test_a_model_that_diverges_is_a_row_and_not_a_failure(tmp_path):
    path = tmp_path / "wild.py"
    path.write_text(WILD)
    done = command("run", path, "--out", tmp_path / "run", "--no-page", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["failed"] == 2
    failures = json.loads((tmp_path / "run" / "failures.json").read_text())
    assert {f["variant"] for f in failures} == {"wild"}
    assert all(f["step"] < 50 for f in failures)
    tv = pl.read_parquet(tmp_path / "run" / "curve.parquet").filter(metric="tv", length=1, step=50)
    assert tv.filter(variant="wild")["value"].is_nan().all()
    assert tv.filter(variant="plain")["value"].is_finite().all()


def test_reproduce_writes_one_page_for_its_claims(tmp_path):
    out = tmp_path / "reproduce"
    words = ("reproduce", "sc.post-norm", "--scale", "smoke", "--out", out)
    done = command(*words, "--json", "--check")
    assert done.returncode == 1  # two replicates decide nothing, and --check asks that the claim hold
    said = json.loads(done.stdout)
    assert said["claims"] == {"sc.post-norm": "undecided"}
    assert "sc.post-norm" in Path(said["page"]).read_text()
    again = command(*words)
    assert again.returncode == 0
    assert again.stdout.startswith("page: ")
