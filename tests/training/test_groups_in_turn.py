"""Shallow transformers and pooling layers in populations: a plain loop, group after group, is the meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lengthwise import SGD, Member, Phase, Plan, Population, Trainer
from lengthwise.errors import InputError
from lengthwise.models import AttentionPooling, ShallowTransformer
from lengthwise.tasks import Recognition, SingleLocation, mean_loss
from lengthwise.tasks.randomness import integer_seed, stream
from lengthwise.training import NormalisedSGD
from lengthwise.training.groups import groups_of
from lengthwise.training.plan import Schedule, compile_plans
from lengthwise.training.population import seeded

WORDS: Any = Recognition(language="contains", mean_length=3, longest=60)
VECTORS: Any = SingleLocation(features=2, mean_length=3, longest=60)
FALL = Schedule(peak=0.5, warmup=1, shape="linear", final=0.1)
LAGGING: tuple[Phase, ...] = (
    Phase(steps=3, rates={"output": 0.3}),
    Phase(steps=2, rates={"attention": 5.0}),
    Phase(steps=3, rates={"output": FALL}),
)
JOINT: tuple[Phase, ...] = (Phase(steps=6, rates={"attention": 2.0, "output": 0.2}),)
SHAPES = [
    {"query": query, "scores": scores, "sees_marker": sees}
    for query in ("marker", "last letter")
    for scores in ("free", "factorised")
    for sees in (False, True)
]


def shallow(**settings: Any) -> Callable[[], nn.Module]:
    return lambda: ShallowTransformer(vocabulary=5, hidden=16, width=3, key_width=2, **settings).double()


def pooling(**settings: Any) -> Callable[[], nn.Module]:
    return lambda: AttentionPooling(features=3, outputs=1, **settings)


def members(build: Callable[[], nn.Module], optimiser: Any) -> list[Member]:
    """Three plans of unlike length over one kind of module."""
    plans = {"lagging": LAGGING, "joint": JOINT, "attention": (Phase(steps=4, rates={"attention": 3.0}),)}
    return [Member(n, build, Plan(phases=p, optimiser=optimiser, batch=6)) for n, p in plans.items()]


def plain(member: Member, replicate: int, task: Any) -> nn.Module:
    """One model trained alone: a loop over steps that knows nothing of populations, tables or vmap."""
    module = seeded(member.build, integer_seed(0, replicate, 0, "initial weights"))
    groups, step = groups_of(module), 0
    for phase in member.plan.phases:
        for k in range(phase.steps):
            batch = task.sample(stream(0, replicate, step, "batch"), 6, phase.lengths or task.trained_length)
            answers = module(batch.inputs) if batch.mask is None else module(batch.inputs, batch.mask)
            module.zero_grad()
            mean_loss(batch.answers(answers), batch, task.loss).backward()
            for group, rate in phase.rates.items():
                move(module, groups[group], float(rate.rates(phase.steps)[k]) if isinstance(rate, Schedule) else rate,
                     member.plan.optimiser.kind)  # fmt: skip
            step += 1
    return module


def move(module: nn.Module, names: list[str], rate: float, kind: str) -> None:
    """One step of gradient descent on one group, of the gradient's length or of the rate's."""
    parameters = [module.get_parameter(name) for name in names]
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = sum(float(g.square().sum()) for g in gradients) ** 0.5 if kind == "normalised-sgd" else 1.0
    with torch.no_grad():
        for p, g in zip(parameters, gradients, strict=True):
            p.sub_(rate * g / norm if norm else 0 * g)


def trained(each: list[Member], task: Any, replicates: tuple[int, ...] = (0, 3)) -> Trainer:
    trainer = Trainer(Population.start(each, list(replicates), seed=0), task, seed=0)
    for _ in range(trainer.total):
        trainer.step()
    return trainer


@pytest.mark.parametrize("optimiser", [SGD(), NormalisedSGD()], ids=lambda o: o.kind)
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: ", ".join(str(v) for v in s.values()))
def test_a_population_of_shallow_transformers_is_models_trained_alone(shape: dict[str, Any], optimiser: Any) -> None:
    each = members(shallow(**shape), optimiser)
    trainer = trained(each, WORDS)
    assert trainer.forward.name == "table"
    for index, weights in enumerate(trainer.population.weights):
        replicate, member = (0, 3)[index // 3], each[index % 3]
        alone = trainer.population.layout.row(plain(member, replicate, WORDS))
        torch.testing.assert_close(weights, alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("optimiser", [SGD(), NormalisedSGD()], ids=lambda o: o.kind)
@pytest.mark.parametrize("query", ["constant", "last"])
def test_a_population_of_pooling_layers_is_models_trained_alone(query: str, optimiser: Any) -> None:
    """Replicates draw inputs of other lengths, which are padded to one batch; alone they are not."""
    each = members(pooling(query=query), optimiser)
    trainer = trained(each, VECTORS)
    assert trainer.forward.name == "vmap"
    for index, weights in enumerate(trainer.population.weights):
        replicate, member = (0, 3)[index // 3], each[index % 3]
        alone = trainer.population.layout.row(plain(member, replicate, VECTORS))
        torch.testing.assert_close(weights, alone, rtol=2e-4, atol=2e-5)


def test_a_frozen_embedding_keeps_its_bits_and_differs_between_replicates() -> None:
    trainer = Trainer(Population.start(members(shallow(scores="factorised"), SGD()), [0, 3], seed=0), WORDS, seed=0)
    before = trainer.population.constants["embedding"].clone()
    assert "embedding" not in trainer.population.layout.places
    for _ in range(trainer.total):
        trainer.step()
    assert torch.equal(trainer.population.constants["embedding"], before)
    assert torch.equal(before[0], before[2])  # one replicate's members start from the same weights
    assert not torch.equal(before[0], before[3])
    for index in range(trainer.population.size):
        assert torch.equal(trainer.population.model(index).get_parameter("embedding"), before[index])


@pytest.mark.parametrize("optimiser", [SGD(), NormalisedSGD()], ids=lambda o: o.kind)
def test_one_phase_after_the_other_moves_its_own_group_alone(optimiser: Any) -> None:
    member = Member("lagging", shallow(scores="factorised"), Plan(phases=LAGGING, optimiser=optimiser, batch=40))
    trainer = Trainer(Population.start([member], [0, 3], seed=0), WORDS, seed=0)
    columns, moving = trainer.population.layout.columns, [next(iter(p.rates)) for p in LAGGING for _ in range(p.steps)]
    for group in moving:
        before = trainer.population.weights.clone()
        trainer.step()
        changed = {g: (trainer.population.weights[:, at] != before[:, at]).any(1).tolist() for g, at in columns.items()}
        assert changed == {g: [g == group] * 2 for g in columns}


@given(st.integers(1, 4), st.integers(1, 5), st.floats(1e-3, 100), st.integers(0, 1000))
def test_a_normalised_step_has_the_length_of_its_rate_against_the_gradient(
    models: int, width: int, rate: float, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    w, g = (torch.randn(models, width, generator=generator, dtype=torch.float64) for _ in range(2))
    new, state = NormalisedSGD.update(w, g, {}, torch.ones(models, 1), torch.full((models, 1), rate).double(), {})
    step = w - new
    torch.testing.assert_close(step.norm(dim=1), torch.full((models,), rate).double(), rtol=1e-6, atol=1e-9)
    torch.testing.assert_close(step * g.norm(dim=1, keepdim=True), rate * g, rtol=1e-6, atol=1e-7)
    assert not state


def test_a_gradient_of_nothing_moves_nothing() -> None:
    w = torch.randn(2, 3)
    g = torch.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    new, _ = NormalisedSGD.update(w, g, {}, torch.ones(2, 1), torch.ones(2, 1), {})
    assert torch.equal(new[0], w[0])
    assert torch.equal(new[1], w[1] - g[1])


factors = st.dictionaries(st.sampled_from(["attention", "output", "all"]), st.floats(0, 1000), max_size=3)
GROUPS = {"attention": ["a"], "output": ["o"]}


@given(factors)
def test_a_scaled_plan_has_every_rate_times_its_factors_and_nothing_else_changed(chosen: dict[str, float]) -> None:
    plan = Plan(phases=(*LAGGING, *JOINT), optimiser=SGD(momentum=0.5), batch=7)
    before, after = (compile_plans([p], GROUPS) for p in (plan, plan.scaled(chosen)))
    for k, group in enumerate(GROUPS):
        expected = before.rate[:, k] * chosen.get(group, 1.0) * chosen.get("all", 1.0)
        assert after.rate[:, k] == pytest.approx(expected, rel=1e-12)
    assert (after.active == before.active).all()
    assert (after.reset == before.reset).all()
    bare = {"phases": {"__all__": {"rates"}}}
    assert plan.scaled(chosen).model_dump(exclude=bare) == plan.model_dump(exclude=bare)
    assert plan.scaled(chosen).optimiser == plan.optimiser


def test_scaling_by_nothing_or_by_one_is_the_same_plan() -> None:
    plan = Plan(phases=LAGGING)
    assert plan.scaled({}) == plan
    assert plan.scaled({"attention": 1.0, "all": 1.0}) == plan


def test_a_factor_for_one_group_of_a_phase_that_moves_all_is_refused() -> None:
    plan = Plan(phases=(*JOINT, Phase(steps=1, rates={"all": 0.5})))
    with pytest.raises(InputError, match="phase 2 moves 'all' at one rate: expected a rate for 'output'"):
        plan.scaled({"output": 2.0})


def test_a_rate_of_all_is_multiplied_by_the_factor_of_all_once() -> None:
    plan = Plan(phases=(Phase(steps=1, rates={"all": 0.5}), Phase(steps=1, rates={"all": 0.5, "output": 3.0})))
    assert [p.rates for p in plan.scaled({"all": 4.0}).phases] == [{"all": 2.0}, {"all": 2.0, "output": 12.0}]
