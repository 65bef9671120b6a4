"""A synthetic run folder: what a run writes, without training anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from lengthwise.reports import write_page
from lengthwise.runs import CURVE_SCHEMA
from lengthwise.runs.files import read_json, write_json, write_table
from lengthwise.statistics import Arm, Median, Paired, Rule, Slope

VARIANTS = {"no norm": {}, "post-norm": {"norm": "post"}, "sum, not mean": {"scaling": "sum"}}
SECTIONS = ("verdicts", "curves", "displacement", "contrasts", "history", "settings")
STRENGTHS = {"p_mean": 1.0, "p_min": 0.8, "m_minus_p_mean": 0.1, "m_minus_p_min": -0.02}
TRAINED = 8


@pytest.fixture
def build_run(tmp_path: Path) -> Callable[..., Path]:
    """`build_run(name, ...)` writes a synthetic run and gives its folder; see `write_run` for what can be changed."""
    return lambda name="run", **changes: write_run(tmp_path / name, **changes)


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with everything in it, and its page; tests only read it."""
    folder = write_run(tmp_path_factory.mktemp("reports") / "run", failed=[("post-norm", 2)])
    write_page(folder)
    return folder


def write_run(
    path: Path,
    variants: dict[str, dict[str, Any]] = VARIANTS,
    averages: Sequence[str] = ("ema@0.99", "bema"),
    replicates: int = 7,
    lengths: Sequence[int] = range(1, 16),
    phases: Sequence[int] = (100, 50),
    sections: Sequence[str] = SECTIONS,
    failed: Sequence[tuple[str, int]] = (),
    missing: float | None = np.nan,
    finished: bool = True,
) -> Path:
    """One run: `failed` names each (variant, replicate) whose values are `missing`."""
    lengths, names = list(lengths), list(variants)
    rules = _rules(names, lengths)
    write_json(path / "config.json", _config(variants, averages, replicates, lengths, phases, sections))
    write_json(path / "provenance.json", _provenance())
    if not finished:
        not_run = {"decision": "not run", "parts": []}
        write_json(path / "claims.json", [_claim(i, r) | not_run for i, r in rules.items()])
        return path
    curve = pl.concat(
        _curve(names, ["raw", *averages], replicates, lengths, step / sum(phases), step) for step in (75, sum(phases))
    )
    lost = pl.any_horizontal(pl.lit(False), *((pl.col("variant") == v) & (pl.col("replicate") == r) for v, r in failed))
    curve = curve.with_columns(value=pl.when(lost).then(pl.lit(missing, pl.Float64)).otherwise("value"))
    write_table(path / "curve.parquet", curve)
    write_table(path / "history.parquet", _history(names, replicates, sum(phases), failed))
    write_json(path / "failures.json", [{"variant": v, "replicate": r, "step": 41} for v, r in failed])
    write_json(path / "claims.json", [_claim(i, r) | r.decide(curve).model_dump() for i, r in rules.items()])
    write_json(path / "finished.json", {"populations": names})
    return path


def _rules(names: list[str], lengths: list[int]) -> dict[str, Rule]:
    far = tuple(s for s in lengths if s >= TRAINED) or tuple(lengths[-2:])
    first, last = Arm(variant=names[0]), Arm(variant=names[-1])
    return {
        "sc.dispersion": Slope(metric="displacement", lengths=far, arm=first, inside=(-1.1, -0.9)),
        "sc.post-norm": Paired(metric="tv", lengths=lengths[-1:], better=last, than=(first,)),  # type: ignore[arg-type]
    }


def _curve(names, weights, replicates: int, lengths: list[int], progress: float, step: int) -> pl.DataFrame:
    random = np.random.default_rng(step)
    rows = []
    for replicate in range(replicates):
        luck = random.normal(0, 0.08)
        for k, variant in enumerate(names):
            for name in weights:
                louder = 1.5 if name == "bema" else 1.0
                strength = (4 + 22 * progress + k) * np.exp(luck + random.normal(0, 0.03)) * louder
                for length, metric, value in _model(
                    strength, 0.03 if name.startswith("ema") else 0.2, k, lengths, random
                ):
                    place = ("synthetic", "", variant, replicate, name, step, "random", length, metric)
                    rows.append((*place, float(value), 512))
    return pl.DataFrame(rows, schema=CURVE_SCHEMA, orient="row")


def _model(strength: float, noise: float, k: int, lengths: list[int], random) -> Iterator[tuple]:
    """One model: displacement strength / s (flatter for the second variant), and errors that follow from it."""
    fitted = 24 / strength
    yield None, "inverse_temperature", fitted
    if k != 1:  # like post-norm, the second variant has no tables to read strengths from
        yield from ((None, metric, strength * share) for metric, share in STRENGTHS.items())
    for s in lengths:
        for suffix, scale in (("", 1.0), ("_matched", fitted)):
            gap = scale * strength / s ** (0.4 if k == 1 else 1.0) * random.uniform(0.98, 1.02)
            illegal = s * np.exp(-gap) / (16 - s + s * np.exp(-gap))
            tv = min(illegal + noise / s * random.uniform(0.8, 1.2), 1.0)
            yield s, f"tv{suffix}", tv
            yield s, f"kl{suffix}", -np.log1p(-min(tv, 0.999))
            yield s, f"illegal_mass{suffix}", illegal
            yield s, f"displacement{suffix}", gap
        yield s, "top1_illegal", 0.0
        yield s, "attention_entropy", np.log(s) * (1 - 0.02 * (k + 1))


def _history(names, replicates: int, steps: int, failed) -> pl.DataFrame:
    random = np.random.default_rng(1)
    rows = [
        (v, r, t, np.nan if (v, r) in failed and t > 41 else 2.2 + 0.1 * k + np.exp(-t / 30) + random.normal(0, 0.01))
        for k, v in enumerate(names)
        for r in range(replicates)
        for t in range(5, steps + 1, 5)
    ]
    return pl.DataFrame(rows, schema=["variant", "replicate", "step", "loss"], orient="row")


def _config(variants, averages, replicates, lengths, phases, sections) -> dict[str, Any]:
    plan = {
        "phases": [{"steps": n, "rates": {"all": 0.01}, "lengths": None, "carry": False} for n in phases],
        "optimiser": {"kind": "adam", "beta1": 0.9},
        "batch": 64,
    }
    kept = [{"name": name, "kind": name.partition("@")[0]} for name in averages]
    model = {"vocabulary": 16, "width": 32}
    return {
        "experiment": "synthetic",
        "question": "Does error grow with length, and what helps?",
        "scale": "quick",
        "task": {
            "name": "set-complement",
            "settings": {"vocabulary": 16, "s_train": TRAINED},
            "trained_length": TRAINED,
        },
        "plan": plan,
        "variants": {n: {"model": {**model, **own}, "plan": None, "averages": kept} for n, own in variants.items()},
        "replicates": replicates,
        "seed": 0,
        "measuring": {"inputs": 512, "lengths": lengths, "along": 1},
        "sections": list(sections),
    }


def _claim(identifier: str, rule: Rule) -> dict[str, Any]:
    return {"id": identifier, "statement": f"The statement of {identifier}", "rule": rule.says}


def _provenance() -> dict[str, Any]:
    return {
        "started": "2026-01-02T03:04:05+00:00",
        "command": ["lengthwise", "run", "synthetic"],
        "packages": {"lengthwise": "0.1.0", "torch": "2.13.0"},
        "git": {"commit": "0123abcd", "changed": False},
    }


LAG = {"three phases": 1000, "joint": 100, "output only": 20, "attention only": 0}
LAG_LENGTHS, LAG_STEPS, LAG_FACTORS = (5, 20, 100, 1000), (100, 200), {"attention": 30.0, "output": 0.1}


@pytest.fixture
def build_lag(tmp_path: Path) -> Callable[..., Path]:
    """`build_lag(name, ...)` writes a synthetic run that is tuned and answers by accuracy, and gives its folder."""
    return lambda name="lag", **changes: write_lag(tmp_path / name, **changes)


@pytest.fixture(scope="session")
def lag(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of phases that answers by accuracy, and its page; tests only read it."""
    folder = write_lag(tmp_path_factory.mktemp("lag") / "lag")
    write_page(folder)
    return folder


def write_lag(
    path: Path,
    sections: Sequence[str] = ("verdicts", "reach", "mechanism", "contrasts", "tuning", "settings"),
    finished: bool = True,
) -> Path:
    """One run whose variants serve lengths up to those in `LAG`, but for the first replicate or two."""
    write_run(path, averages=(), lengths=LAG_LENGTHS, sections=sections, finished=False)
    rates = {"three phases": ["output", "attention", "output"], "joint": ["both"], "output only": ["output"]}
    plans = {v: _lag_plan(rates.get(v, ["attention"])) for v in LAG}
    variants = {v: {"model": {}, "plan": plan, "averages": [], "grid": None} for v, plan in plans.items()}
    tuning = {"grid": {"attention": [1, 30], "output": [0.1, 0.3, 1]}, "replicates": 4, "by": []}  # the default
    changes = {"variants": variants, "plan": plans["joint"], "metric": "accuracy", "tuning": tuning}
    task = {"name": "recognition", "settings": {"drawn": "geometric"}, "trained_length": 60}
    write_json(path / "config.json", read_json(path / "config.json") | changes | {"task": task})
    if not finished:
        return path
    curve = pl.DataFrame(list(_lag_rows()), schema=CURVE_SCHEMA, orient="row")
    rule = Median(metric="accuracy", length=1000, arms=(Arm(variant="three phases"),), at_least=0.99, inside=(0.95, 1))
    write_table(path / "curve.parquet", curve)
    write_table(path / "history.parquet", _history(list(LAG), 7, 200, ()))
    write_json(path / "failures.json", [])
    write_json(path / "claims.json", [_claim("lag.phases", rule) | rule.decide(curve).model_dump()])  # type: ignore[arg-type]
    write_json(path / "tuning.json", {v: _lag_choice() for v in LAG})
    write_json(path / "finished.json", {"populations": list(LAG)})
    return path


def _lag_plan(groups: Sequence[str]) -> dict[str, Any]:
    rates = {"output": {"output": 1.0}, "attention": {"attention": 1.0}, "both": {"attention": 1.0, "output": 1.0}}
    steps = {1: [200], 3: [120, 1, 79]}[len(groups)]
    phases = [{"steps": n, "rates": rates[g], "lengths": None} for n, g in zip(steps, groups)]
    return {"phases": phases, "optimiser": {"kind": "sgd"}, "batch": 64}


def _lag_choice() -> dict[str, Any]:
    tried = [
        {
            "factors": {"attention": a, "output": o},
            "scores": {"accuracy": None if o == 1 else 0.9 + 0.1 * (a > 1), "kl": o},
        }
        for a in (1.0, 30.0)
        for o in (0.1, 0.3, 1.0)
    ]
    return {"factors": LAG_FACTORS, "length": 20, "tried": tried}


def _lag_rows() -> Iterator[tuple]:
    for step in LAG_STEPS:
        for variant, served in LAG.items():
            for r in range(7):
                gap = (np.log(served) + 0.1 * r if served else -1.0 - r) * (step == 200)
                values = [(None, "score_gap", gap), (None, "norm_attention", abs(gap)), (None, "norm_output", 3.0 + r)]
                lucky = r < (2 if variant == "joint" else 0)
                unlucky = r == 0 and variant == "three phases"
                values += [(s, "tv", 0.1) for s in LAG_LENGTHS]  # measured first, and not what the page answers by
                values += [
                    (s, "accuracy", 0.97 if unlucky and s == 1000 else 1.0 if s <= served or lucky else 0.5)
                    for s in LAG_LENGTHS
                ]
                for length, metric, value in values:
                    yield ("synthetic", "", variant, r, "raw", step, "random", length, metric, float(value), 512)
