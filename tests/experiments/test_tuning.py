"""Tuning: which tries there are, which is chosen, and that it shares nothing with the run."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise import SGD, Experiment, InputError, Phase, Plan, SetComplement, with_settings
from lengthwise.experiments import EXPERIMENTS, Measuring, ModelOf, Tuning, Variant
from lengthwise.experiments.populations import check_experiment, members_by_population
from lengthwise.experiments.tuning import choices, distinct_plans, try_name, tuned, tuned_length, tuning_experiment
from lengthwise.models import AttentionPooling, ShallowTransformer
from lengthwise.tasks import Recognition, SingleLocation
from lengthwise.tasks.randomness import stream
from lengthwise.training import Population

BOTH = {"attention": 1.0, "output": 1.0}


def plan(*rates: dict[str, float]) -> Plan:
    return Plan(phases=tuple(Phase(steps=2, rates=dict(r)) for r in rates), optimiser=SGD(), batch=4)


def experiment(**changes: Any) -> Experiment:
    fields: dict[str, Any] = {
        "name": "mine", "question": "?", "task": Recognition(mean_length=4, longest=100),
        "model": ModelOf(module=ShallowTransformer), "plan": plan(BOTH), "averages": (), "replicates": 3,
        "variants": {
            "joint": Variant(),
            "lagging": Variant(plan=plan({"output": 1.0}, {"attention": 2.0})),
            "output": Variant(plan=plan({"output": 1.0})),
            "own": Variant(grid={"all": (0.5, 2.0, 8.0)}),
        },
        "tuning": Tuning(grid={"attention": (1.0, 3.0), "output": (0.1, 0.2)}, replicates=2),
        "measuring": Measuring(inputs=4, lengths=(2, 30)),
    }  # fmt: skip
    return Experiment(**{**fields, **changes})


def grid_of(e: Experiment, variant: str) -> list[dict[str, float]]:
    """Every combination, in order, of a variant's own grid or of that of all; those that move no other group alike."""
    assert e.tuning is not None
    grid = e.variants[variant].grid or e.tuning.grid
    moves = {group for phase in e.plans[variant].phases for group in phase.rates}
    seen, found = set(), []
    for values in product(*grid.values()):
        factors = dict(zip(grid, values))
        key = tuple((g, f) for g, f in factors.items() if g in moves or g == "all")
        if key not in seen:
            seen.add(key)
            found.append(factors)
    return found


TUNED = [name for name, e in EXPERIMENTS.items() if e.tuning is not None]


@pytest.mark.parametrize("name", TUNED)
def test_every_arm_has_as_many_tries_or_fewer_only_where_plans_coincide(name: str) -> None:
    e = EXPERIMENTS[name]
    assert e.tuning is not None
    full = {len(list(product(*(v.grid or e.tuning.grid).values()))) for v in e.variants.values()}
    assert len(full) == 1  # the same number of tries for every arm, whichever its grid
    for variant, chosen in e.variants.items():
        tries = list(distinct_plans(e, variant))
        assert [factors for factors, _ in tries] == grid_of(e, variant)
        assert all(own == e.plans[variant].scaled(factors) for factors, own in tries)
        moves = {group for phase in e.plans[variant].phases for group in phase.rates}
        assert (len(tries) == full.copy().pop()) == (moves >= {"attention", "output"} or chosen.grid is not None)


def test_a_grid_of_a_variants_own_is_used_instead() -> None:
    e = experiment()
    assert [factors for factors, _ in distinct_plans(e, "own")] == [{"all": 0.5}, {"all": 2.0}, {"all": 8.0}]
    assert [own.phases[0].rates for _, own in distinct_plans(e, "own")] == [
        {"attention": f, "output": f} for f in (0.5, 2.0, 8.0)
    ]
    tries = tuning_experiment(e).variants
    assert [name for name in tries if name.startswith("own")] == [f"own @ all {f:g}" for f in (0.5, 2.0, 8.0)]
    assert len(tries) == 4 + 4 + 2 + 3


def test_a_try_is_its_variant_with_other_rates_only() -> None:
    e = experiment(variants={"seen": Variant(model={"sees_marker": True}, plan=plan(BOTH))})
    tries = tuning_experiment(e)
    for factors, own in distinct_plans(e, "seen"):
        one = tries.variants[try_name("seen", factors)]
        assert (one.model, one.plan) == ({"sees_marker": True}, own)
    assert (tries.task, tries.model, tries.seed) == (e.task, e.model, e.seed)
    assert tries.lengths == (tuned_length(e),)
    assert tries.tuning is None
    assert not tries.claims
    check_experiment(tries)


def test_tries_are_compared_at_the_longest_quartile_or_where_the_task_ends_or_where_told() -> None:
    task = Recognition(mean_length=20)
    assert tuned_length(experiment(task=task)) == task.longest_quartile == 41
    own = SetComplement(vocabulary=8, s_train=5)
    e = experiment(
        task=own, model=EXPERIMENTS["set-complement"].model, variants={"base": Variant()},
        measuring=Measuring(lengths=(2, 7)), plan=plan({"all": 0.1}), tuning=Tuning(grid={"all": (1.0,)}),
    )  # fmt: skip
    assert tuned_length(e) == 5
    assert tuned_length(with_settings(experiment(), {"tuning.length": 7})) == 7


score = st.sampled_from([0.25, 0.5, 0.75, 1.0, None])


def scored(e: Experiment, draw: Any) -> tuple[pl.DataFrame, dict[tuple[str, str], list[Any]]]:
    """A curve with a value for each try, metric and tuning replicate, and rows beside it that must not be read."""
    assert e.tuning is not None
    rows, table = [], {}
    for name in tuning_experiment(e).variants:
        for metric in e.tuning.by:
            values = [draw() for _ in range(e.tuning.replicates)]
            table[name, metric] = values
            for r, value in enumerate(values):
                for length, step, shown in ((tuned_length(e), 4, value), (2, 4, 0.9), (tuned_length(e), 2, 0.9)):
                    rows.append({"variant": name, "weights": "raw", "metric": metric, "length": length, "step": step,
                                 "replicate": 1_000_000 + r, "split": "random", "value": shown})  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64}), table


@settings(max_examples=40)
@given(st.data(), st.sampled_from([("accuracy", "kl"), ("kl",), ("accuracy",), ("kl", "accuracy")]))
def test_the_choice_is_that_of_brute_force(data: Any, by: tuple[str, ...]) -> None:
    """The best mean of the first metric, then of the next; without a mean where a model failed; the first of equals."""
    e = experiment(tuning=Tuning(grid={"attention": (1.0, 3.0), "output": (0.1, 0.2)}, replicates=2, by=by))
    curve, table = scored(e, lambda: data.draw(score))
    found = choices(e, curve)
    assert list(found) == list(e.variants)
    for variant in e.variants:
        best, best_key = None, None
        for factors in grid_of(e, variant):
            key = []
            for metric in by:
                values = table[try_name(variant, factors), metric]
                failed = None in values
                key.append((failed, 0 if failed else sum(values) / 2 * (-1 if metric == "accuracy" else 1)))
            if best_key is None or key < best_key:
                best, best_key = factors, key
        assert found[variant]["factors"] == best
        assert [row["factors"] for row in found[variant]["tried"]] == grid_of(e, variant)
        assert found[variant]["length"] == tuned_length(e)


def fixed(e: Experiment, **scores: tuple[Any, Any]) -> dict[str, float]:
    """The choice for `joint` where its tries, in order, have the given accuracies and divergences."""
    names = [try_name("joint", factors) for factors in grid_of(e, "joint")]
    rows = [
        {"variant": name, "weights": "raw", "metric": metric, "length": tuned_length(e), "step": 4, "replicate": r,
         "split": "random", "value": value[r] if isinstance(value, list) else value}
        for name, pair in zip(names, scores.values(), strict=True)
        for metric, value in zip(("accuracy", "kl"), pair) for r in range(2)
    ]  # fmt: skip
    joint = e.model_copy(update={"variants": {"joint": e.variants["joint"]}})
    return choices(joint, pl.DataFrame(rows, schema_overrides={"value": pl.Float64}))["joint"]["factors"]


def test_ties_fall_to_the_second_metric_and_failures_come_last() -> None:
    e, tries = experiment(), grid_of(experiment(), "joint")
    assert fixed(e, a=(0.5, 0.1), b=(0.9, 3.0), c=(0.9, 2.0), d=(0.9, 2.5)) == tries[2]
    assert fixed(e, a=([1.0, None], 0.0), b=(0.1, 9.0), c=(0.2, 9.0), d=([None, None], 0.0)) == tries[2]
    assert fixed(e, a=([1.0, float("nan")], 0.0), b=(0.0, 9.0), c=(0.0, 8.0), d=(0.0, 9.0)) == tries[2]
    assert fixed(e, a=(0.9, [1.0, None]), b=(0.9, 9.0), c=(0.8, 0.0), d=(0.9, 9.5)) == tries[1]


def test_the_tuned_experiment_has_the_chosen_rates_and_nothing_else_new() -> None:
    e = experiment()
    chosen = {name: {"factors": grid_of(e, name)[-1]} for name in e.variants}
    after = tuned(e, chosen)
    for name in e.variants:
        assert after.plans[name] == e.plans[name].scaled(chosen[name]["factors"])
    assert after.plans["lagging"].phases[1].rates == {"attention": 6.0}
    assert after.plans["own"].phases[0].rates == {"attention": 8.0, "output": 8.0}
    changed = {"variants"}
    assert all(getattr(after, k) == getattr(e, k) for k in Experiment.model_fields if k not in changed)


@pytest.mark.parametrize("build", [Recognition, SingleLocation], ids=["words", "vectors"])
def test_tuning_shares_no_data_and_no_initial_weights_with_the_run(build: Any) -> None:
    task = build()
    model = ModelOf(module=ShallowTransformer if task.loss == "cross-entropy" else AttentionPooling)
    e = experiment(task=task, model=model)
    tries = tuning_experiment(e)
    each = [range(x.first_replicate, x.first_replicate + x.replicates) for x in (e, tries)]
    assert not {*each[0]} & {*each[1]}
    starts, batches = [], []
    for x, replicates in zip((e, tries), each):
        members = next(iter(members_by_population(x).values()))
        population = Population.start(members, [*replicates], x.seed)
        starts += [tuple(row.tolist()) for row in population.weights[:: len(members)]]
        batches += [task.sample(stream(x.seed, r, 0, "batch"), 8, 40).inputs for r in replicates]
    assert len(set(starts)) == len(starts) == 5
    assert not any(torch.equal(a, b) for i, a in enumerate(batches) for b in batches[:i])


def test_an_experiment_may_be_told_not_to_tune() -> None:
    without = with_settings(EXPERIMENTS["lag"], {"tuning": None})
    assert without.tuning is None
    assert without.plans == EXPERIMENTS["lag"].plans
    check_experiment(with_settings(without, {"measuring.lengths": [5, 42]}))
    assert with_settings(EXPERIMENTS["lag"], {"tuning.replicates": 2}).tuning == EXPERIMENTS["lag"].tuning.model_copy(  # type: ignore[union-attr]
        update={"replicates": 2}
    )


@pytest.mark.parametrize(
    "bad",
    [
        {"tuning.length": 100_001},  # a pydantic traceback after the folder was written
        {"tuning.by": ["acuracy"]},  # KeyError once the tries are trained
        {"tuning.by": ["excess_error"]},  # not measured of this task: every try ties
        {"tuning.grid": {"atention": [1.0, 30.0]}},  # multiplies nothing: one try, without a word
        {"tuning.grid": {"attention": []}},  # no tries: ValueError of min()
        {"tuning.grid": {"attention": [-1.0]}},  # climbs the loss
    ],
    ids=lambda bad: " ".join(f"{k} {v}" for k, v in bad.items()),
)
def test_bad_settings_of_tuning_are_refused_before_anything_is_written(bad: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        check_experiment(with_settings(EXPERIMENTS["lag"], {"measuring.lengths": [5, 42, 1000], **bad}))


def test_replicates_that_tuning_uses_are_refused_or_others_are_used() -> None:
    e = experiment(first_replicate=1_000_000)
    assert tuning_experiment(e).first_replicate not in range(e.first_replicate, e.first_replicate + e.replicates)


def test_no_try_of_any_experiment_trains_at_a_rate_of_nothing() -> None:
    rates = [
        rate for name in TUNED for v in EXPERIMENTS[name].variants for _, p in distinct_plans(EXPERIMENTS[name], v)
        for phase in p.phases for rate in phase.rates.values()
    ]  # fmt: skip
    assert len(rates) > 500
    assert np.min(np.array(rates, dtype=float)) > 0
