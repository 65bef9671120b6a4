"""A trained population's rows: its curve for raw and averaged weights, its history, and what failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl
import torch
from torch import Tensor

from lengthwise.diagnostics import Inputs, Measured, measure
from lengthwise.diagnostics.balance import BALANCE, balance_of_tables
from lengthwise.experiments.certified import certified_table
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.mechanism import score_gap, weight_norms
from lengthwise.models import ShallowTables, TableForm
from lengthwise.runs import CURVE_SCHEMA
from lengthwise.tasks import Batch, Recognition
from lengthwise.training import Trainer
from lengthwise.training.forward import TableForward, choose_forward
from lengthwise.training.history import History


def measured_inputs(experiment: Experiment, replicates: Sequence[int], device: torch.device | str) -> Inputs:
    """The inputs that every population of an experiment is measured on."""
    e = experiment
    trained = max(plan.lengths(e.task.trained_length).max() for plan in e.plans.values())
    return Inputs(e.task, replicates, e.seed, e.measuring.inputs, int(trained), device)


def measure_population(experiment: Experiment, trainer: Trainer, inputs: Inputs) -> pl.DataFrame:
    """The curve rows of a population at its present step, for raw and averaged weights; failed models have no value."""
    e = experiment
    lengths = e.lengths if trainer.steps_done == trainer.total else e.lengths_along
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        every = list(trainer.weights_by_name())
        tables = [_table(e, trainer, names, list(_measured(e, trainer, w, inputs, lengths))) for names, w in every]
        if e.measuring.certified_along or trainer.steps_done == trainer.total:
            tables.append(certified_table(e, trainer, every))
    return pl.concat(tables)


def history_table(trainer: Trainer, history: History) -> pl.DataFrame:
    """Mean training losses: variant, replicate, step (the last of its stretch), loss."""
    variants, replicates = _labels(trainer)
    table = history.table.cpu().double()
    steps = [min((k + 1) * history.every, trainer.total) for k in range(len(table))]
    return pl.DataFrame(
        {
            "variant": variants * len(steps),
            "replicate": replicates * len(steps),
            "step": [s for s in steps for _ in variants],
            "loss": table.flatten().tolist(),
        }
    )


def failures(e: Experiment, trainer: Trainer) -> list[dict[str, Any]]:
    """The models whose loss stopped being finite: which, at which step (from 0), with which settings."""
    variants, replicates = _labels(trainer)
    return [
        {
            "variant": v,
            "replicate": r,
            "step": step,
            "model": e.arguments(v),
            "plan": e.plans[v].model_dump(mode="json"),
        }
        for v, r, step in zip(variants, replicates, trainer.failed_at.tolist(), strict=True)
        if step >= 0
    ]


def _measured(
    e: Experiment, trainer: Trainer, weights: Tensor, inputs: Inputs, lengths: Sequence[int]
) -> Iterator[Measured]:
    population = trainer.population
    views = population.layout.views(weights.to(population.weights.dtype), population.shape)
    forward, _ = choose_forward(population, e.task, inputs.at(e.lengths[0]), training=False)

    def answer(batch: Batch) -> Tensor:
        return forward(views, batch, {}, training=False).flatten(0, 1)

    def attention(batch: Batch) -> Tensor:
        assert isinstance(forward, TableForward)
        return forward.attention(views, batch).flatten(0, 1)

    has_tables = isinstance(forward, TableForward)
    yield from measure(answer, inputs, lengths, attention if has_tables else None)
    yield from weight_norms(population, weights)
    if has_tables and isinstance(forward.form, ShallowTables) and isinstance(e.task, Recognition):
        yield from score_gap(e.task, forward.form, {**views, **forward.frozen})
    if has_tables and isinstance(forward.form, TableForm) and not forward.form.mixes_state:
        _, b, d = forward.form.tables(views)
        balance = balance_of_tables(b.flatten(0, 1).double(), d.flatten(0, 1).double())
        yield from (Measured(None, name, values, 1) for name, values in zip(BALANCE, balance, strict=True))


def _table(e: Experiment, trainer: Trainer, names: list[str], rows: list[Measured]) -> pl.DataFrame:
    variants, replicates = _labels(trainer)
    values = torch.stack([row.values for row in rows])
    values = torch.where(trainer.failed_at < 0, values, torch.nan).flatten().cpu().numpy()
    each = lambda items: [item for item in items for _ in variants]  # noqa: E731
    columns = {
        "variant": variants * len(rows),
        "replicate": replicates * len(rows),
        "weights": names * len(rows),
        "length": each(row.length for row in rows),
        "metric": each(row.metric for row in rows),
        "value": values,
        "n": each(row.inputs for row in rows),
    }
    same = {"experiment": e.name, "setting": "", "step": trainer.steps_done, "split": "random"}
    table = pl.DataFrame(columns).with_columns(pl.lit(value).alias(name) for name, value in same.items())
    return table.select(pl.col(name).cast(kind) for name, kind in CURVE_SCHEMA.items())


def _labels(trainer: Trainer) -> tuple[list[str], list[int]]:
    population = trainer.population
    members = [member.name for member in population.members]
    return members * len(population.replicates), [r for r in population.replicates for _ in members]
