"""Measuring draws its own inputs, the same for every model of a replicate, and leaves everything as it was."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from lengthwise import Member, MinimalTransformer, Phase, Plan, Population, SetComplement, Trainer
from lengthwise.diagnostics import MATCHED, METRICS, Inputs, Measured, measure
from lengthwise.errors import InputError
from lengthwise.tasks import Batch
from lengthwise.training.forward import choose_forward

TASK: Any = SetComplement(vocabulary=6, s_train=3)
PLAN = Plan(phases=(Phase(steps=4, rates={"all": 0.1}),), batch=8)


class Own(nn.Module):
    """A user's module with dropout and batch statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.statistics = nn.Embedding(6, 4), nn.BatchNorm1d(4)
        self.dropout, self.head = nn.Dropout(0.5), nn.Linear(4, 6)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.statistics(self.embedding(tokens).transpose(1, 2)).transpose(1, 2)
        return self.head(self.dropout(x))


BUILDS = {
    "table": lambda: MinimalTransformer(6, width=4, residual_dropout=0.3),
    "table after vmap": lambda: MinimalTransformer(6, width=4, embedding_dropout=0.3),
    "vmap": Own,
}


def inputs(replicates: list[int], seed: int = 0, count: int = 7) -> Inputs:
    return Inputs(TASK, replicates, seed, count, trained_length=3)


def measured(trainer: Trainer) -> Iterator[Measured]:
    population = trainer.population
    views = population.layout.views(population.weights, population.shape)
    drawn = inputs([*population.replicates])
    forward, _ = choose_forward(population, TASK, drawn.at(1), training=False)
    with torch.no_grad():
        yield from measure(lambda batch: forward(views, batch, {}, training=False).flatten(0, 1), drawn, range(1, 6))


@pytest.mark.parametrize("kind", BUILDS)
def test_weights_buffers_and_random_states_are_left_alone(kind: str) -> None:
    members = [Member(str(k), BUILDS[kind], PLAN) for k in range(2)]
    trainer = Trainer(Population.start(members, [0, 1], seed=0), TASK, seed=0)
    trainer.step()
    before = {name: value.clone() for name, value in trainer.state().items()}
    modes = [module.training for module in trainer.population.template.modules()]
    template = {name: value.clone() for name, value in trainer.population.template.state_dict().items()}
    states = torch.get_rng_state(), str(np.random.get_state())  # noqa: NPY002
    first = [row.values for row in measured(trainer)]
    assert torch.equal(torch.get_rng_state(), states[0])
    assert str(np.random.get_state()) == states[1]  # noqa: NPY002
    for name, value in trainer.state().items():
        assert torch.equal(value, before[name]), name
    for name, value in trainer.population.template.state_dict().items():
        assert torch.equal(value, template[name]), name
    assert [module.training for module in trainer.population.template.modules()] == modes
    assert all(torch.equal(a, row.values) for a, row in zip(first, measured(trainer), strict=True))
    trainer.step()


@pytest.mark.parametrize("kind", BUILDS)
def test_what_is_measured_is_what_the_plain_module_says(kind: str) -> None:
    members = [Member(str(k), BUILDS[kind], PLAN) for k in range(2)]
    trainer = Trainer(Population.start(members, [0, 1], seed=0), TASK, seed=0)
    for _ in range(4):
        trainer.step()
    found = {(row.metric, row.length): row.values for row in measured(trainer)}
    for index in range(4):
        model = trainer.population.model(index)
        alone = lambda batch, m=model: batch.map(lambda x: x[0]).answers(m(batch.inputs[0]))[None].detach()  # noqa: E731
        for row in measure(alone, inputs([index // 2]), range(1, 6)):
            torch.testing.assert_close(found[row.metric, row.length][index], row.values[0], rtol=1e-4, atol=1e-5)


def test_every_metric_comes_at_every_length_as_is_and_matched() -> None:
    rows = list(measure(lambda batch: torch.randn(4, batch.inputs.shape[1], 6), inputs([0, 1]), [1, 5]))
    matched = [name + MATCHED for name, metric in METRICS.items() if metric.scales]
    expected = {("inverse_temperature", None)} | {(m, s) for m in [*METRICS, *matched] for s in (1, 5)}
    assert {(row.metric, row.length) for row in rows} == expected
    assert len(rows) == len(expected)
    assert all(row.values.shape == (4,) and row.inputs == 7 for row in rows)
    assert "top1_illegal" + MATCHED not in {row.metric for row in rows}


def test_each_model_is_held_against_its_own_replicate_s_targets() -> None:
    """Models that know the targets of their replicate, and of the other one."""
    drawn = inputs([3, 8])

    def answer(batch: Batch) -> Tensor:
        assert batch.targets is not None
        (a, b) = batch.targets.clamp_min(1e-300).log()
        return torch.stack([a, b, b, a])

    tv = {row.length: row.values.tolist() for row in measure(answer, drawn, [2, 4]) if row.metric == "tv"}
    for values in tv.values():
        right, wrong, also_right, also_wrong = values
        assert max(right, also_right) < 1e-9
        assert min(wrong, also_wrong) > 0.1


def test_inputs_repeat_and_differ_by_seed_replicate_length_and_from_training() -> None:
    first, again, other = (inputs([0, 1], seed, count=30).at(3) for seed in (0, 0, 1))
    assert torch.equal(first.inputs, again.inputs)
    assert not torch.equal(first.inputs, other.inputs)
    assert not torch.equal(first.inputs[0], first.inputs[1])
    assert torch.equal(inputs([1], count=30).at(3).inputs[0], first.inputs[1])
    assert not torch.equal(inputs([0, 1], count=30).at(3, "scale matching").inputs, first.inputs)
    trainer = Trainer(Population.start([Member("m", BUILDS["table"], PLAN)], [0], seed=0), TASK, seed=0)
    assert not torch.equal(trainer.batch(3).inputs, first.inputs[:1, : PLAN.batch])


@pytest.mark.parametrize("length", [0, 6, -1])
def test_lengths_that_do_not_exist_are_refused(length: int) -> None:
    with pytest.raises(InputError, match=f"length {length}: expected one of 1..5 for set-complement"):
        list(measure(lambda batch: torch.zeros(1, batch.inputs.shape[1], 6), inputs([0]), [length]))
