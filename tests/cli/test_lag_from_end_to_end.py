"""The lag experiments through the command, much smaller: every arm, tuned, stopped on the way, to its page."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from safetensors import safe_open

from lengthwise.cli.sources import at_scale
from lengthwise.experiments import EXPERIMENTS
from lengthwise.experiments.execute import Interrupted, Options, execute
from lengthwise.experiments.running import open_run
from lengthwise.experiments.tuning import tuning_experiment
from lengthwise.reports import write_page
from lengthwise.runs import RunFolder
from lengthwise.runs.files import read_json


def settings(name: str, most: int, **changes: Any) -> list[str]:
    """`key=value` words that cut every phase of every arm to `most` steps, and leave a grid of a few points."""
    words = {"plan.phases.0.steps": 2, **changes}
    for variant, chosen in EXPERIMENTS[name].variants.items():
        if chosen.plan is not None:
            for k, phase in enumerate(chosen.plan.phases):
                words[f"variants.{variant}.plan.phases.{k}.steps"] = min(phase.steps, most)
        if chosen.grid is not None:
            words[f"variants.{variant}.grid"] = {"all": [0.1, 1.0]}
    return [f"{key}={json.dumps(value)}" for key, value in words.items()]


def command(name: str, words: list[str], out: Path, *more: str) -> dict[str, Any]:
    told = [part for word in words for part in ("--set", word)]
    line = [
        sys.executable,
        "-m",
        "lengthwise",
        "run",
        name,
        "--scale",
        "smoke",
        *told,
        "--out",
        str(out),
        "--json",
        *more,
    ]
    done = subprocess.run(line, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def stopped(name: str, words: list[str], out: Path, step: int) -> None:
    """The same run as the command makes, stopped after so many steps, counted over populations and both stages."""
    e, asked = at_scale(EXPERIMENTS[name], "smoke", words), []
    folder = open_run(e, out, "smoke", resume=True)

    def stop() -> bool:
        asked.append(0)
        return len(asked) == step

    with pytest.raises(Interrupted), folder.locked():
        execute(e, folder, Options(stop=stop))


def whole(out: Path, name: str, words: list[str]) -> RunFolder:
    """The same run as the command makes, in this process and without a stop."""
    e = at_scale(EXPERIMENTS[name], "smoke", words)
    folder = open_run(e, out, "smoke")
    execute(e, folder, Options())
    return folder


def results(folder: Path) -> dict[str, Any]:
    """What a run found: tables and JSON by their bytes, weights by theirs."""
    found: dict[str, Any] = {}
    for pattern in ("*.parquet", "claims.json", "failures.json", "tuning.json", "finished.json"):
        found |= {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob(pattern) if "pieces" not in p.parts}
    for path in folder.rglob("weights/*.safetensors"):
        with safe_open(path, framework="numpy") as file:
            found |= {f"{path.relative_to(folder)} {k}": file.get_tensor(k).tobytes() for k in file.keys()}  # noqa: SIM118
    return found


LAG = settings("lag", 3, **{"tuning.grid": {"attention": [1.0, 30.0], "output": [0.3]}, "measuring.inputs": 4})
STEP = random.Random(20).randrange(2, 50)  # of 60 in all, half of them the tuning stage's


def test_lag_through_the_command_and_again_after_a_stop_at_a_random_step(tmp_path: Path) -> None:
    whole(tmp_path / "whole", "lag", LAG)
    stopped("lag", LAG, tmp_path / "stopped", STEP)
    stopped("lag", LAG, tmp_path / "stopped", 2)
    said = command("lag", LAG, tmp_path / "stopped", "--resume", "--no-page")
    assert results(tmp_path / "stopped") == results(tmp_path / "whole")
    assert set(said["claims"]) == {"lag.three-phase", "lag.attention-only", "lag.output-only", "lag.one-step"}
    assert set(said["claims"].values()) == {"undecided"}  # two replicates have no interval
    e, curve = at_scale(EXPERIMENTS["lag"], "smoke", LAG), pl.read_parquet(said["curve"])
    assert set(curve["variant"]) == set(e.variants)
    assert {"accuracy", "score_gap", "norm_attention", "norm_output", "attention_entropy"} <= set(curve["metric"])
    chosen = read_json(tmp_path / "whole" / "tuning.json")
    tries = [row for arm in chosen.values() for row in arm["tried"]]
    assert len(tries) == len(tuning_experiment(e).variants) > len(e.variants)


@pytest.mark.slow
def test_lag_goes_to_its_page_with_every_arm(tmp_path: Path) -> None:
    page = Path(command("lag", LAG, tmp_path / "run")["page"]).read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert all(variant in page for variant in EXPERIMENTS["lag"].variants)


def test_regression_goes_to_its_page(tmp_path: Path) -> None:
    words = settings("lagging-single-location", 2, **{"measuring.lengths": [5, 41, 200]})
    folder = whole(tmp_path / "run", "lagging-single-location", words)
    curve = folder.curve
    assert {"squared_error", "excess_error"} <= set(curve["metric"])
    assert not {"inverse_temperature", "accuracy", "kl"} & set(curve["metric"])
    assert curve.filter(metric="excess_error")["value"].min() > 0  # type: ignore[operator]
    assert [claim["id"] for claim in folder.claims] == ["lag.regression"]
    page = write_page(folder.path).read_text()
    assert "excess_error" in page or "excess error" in page
