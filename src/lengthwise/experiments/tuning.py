"""Tuning: the same tries for every variant, on replicates of their own, before the run that is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import polars as pl

from lengthwise.experiments.experiment import Experiment, Measuring, Variant
from lengthwise.statistics import Arm, replicate_values
from lengthwise.training import Plan

APART = 1_000_000
"""Tuning replicates are numbered so far beyond the run's: their data and initial weights are seen nowhere else."""

Factors = dict[str, float]


def tuning_experiment(experiment: Experiment) -> Experiment:
    """The experiment that tries every variant's grid: a variant for each plan that differs, measured at one length.

    >>> from lengthwise.experiments import EXPERIMENTS
    >>> len(tuning_experiment(EXPERIMENTS["lag"]).variants) > len(EXPERIMENTS["lag"].variants)
    True
    """
    assert experiment.tuning is not None
    tries: dict[str, Variant] = {}
    for name, variant in experiment.variants.items():
        for factors, plan in distinct_plans(experiment, name):
            tries[try_name(name, factors)] = variant.model_copy(update={"plan": plan, "averages": ()})
    changes = {
        "name": f"{experiment.name} tuning", "variants": tries, "replicates": experiment.tuning.replicates,
        "first_replicate": experiment.first_replicate + APART, "claims": (), "tuning": None, "averages": (),
        "keeps_weights": False,
        "measuring": Measuring(inputs=experiment.measuring.inputs, lengths=(tuned_length(experiment),)),
    }  # fmt: skip
    return Experiment(**{**{k: getattr(experiment, k) for k in Experiment.model_fields}, **changes})


def tuned_length(experiment: Experiment) -> int:
    """The trained length by which tries are compared: the task's longest quartile, or its longest trained length."""
    assert experiment.tuning is not None
    return experiment.tuning.length or getattr(experiment.task, "longest_quartile", experiment.task.trained_length)


def distinct_plans(experiment: Experiment, variant: str) -> Iterator[tuple[Factors, Plan]]:
    """Each point of a variant's grid that gives a plan of its own: groups that never move need no tries."""
    assert experiment.tuning is not None
    grid = experiment.variants[variant].grid or experiment.tuning.grid
    seen: list[Plan] = []
    for values in product(*grid.values()):
        factors = dict(zip(grid, values, strict=True))
        plan = experiment.plans[variant].scaled(factors)
        if plan not in seen:
            seen.append(plan)
            yield factors, plan


def try_name(variant: str, factors: Mapping[str, float]) -> str:
    """The name of one try.

    >>> try_name("joint", {"attention": 30.0, "output": 0.1})
    'joint @ attention 30, output 0.1'
    """
    return f"{variant} @ " + ", ".join(f"{group} {factor:g}" for group, factor in factors.items())


def choices(experiment: Experiment, curve: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """For each variant the factors that were best, and every try with its scores, from the tuning run's curve.

    Scores are means over the tuning replicates; the first metric decides, and the next where it ties. A try in which
    any model failed comes last.
    """
    tuning = experiment.tuning
    assert tuning is not None
    length, found, metrics = tuned_length(experiment), {}, tuning.metrics(experiment.task.loss)
    for variant in experiment.variants:
        tried = []
        for factors, _ in distinct_plans(experiment, variant):
            arm = Arm(variant=try_name(variant, factors))
            scores = {m: _mean(replicate_values(curve, arm, m, [length])[:, 0]) for m in metrics}
            tried.append({"factors": factors, "scores": scores})
        best = min(tried, key=lambda row: tuning.order(row["scores"]))
        found[variant] = {"factors": best["factors"], "length": length, "tried": tried}
    return found


def tuned(experiment: Experiment, chosen: Mapping[str, Mapping[str, Any]]) -> Experiment:
    """The experiment with every variant's plan at its chosen factors."""
    variants = {
        name: variant.model_copy(update={"plan": experiment.plans[name].scaled(chosen[name]["factors"])})
        for name, variant in experiment.variants.items()
    }
    return experiment.model_copy(update={"variants": variants})


def _mean(values: Any) -> float | None:
    mean = float(values.mean())  # NaN as soon as one model failed
    return mean if mean == mean else None
