"""A small task, plans that differ in everything a plan may differ in, and plain loops to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise import EMA, Member, MinimalTransformer, Phase, Plan, Population, SetComplement, Trainer
from lengthwise.models.dropout import dropouts
from lengthwise.tasks import mean_loss
from lengthwise.tasks.randomness import integer_seed, stream
from lengthwise.training.groups import groups_of
from lengthwise.training.plan import Schedule
from lengthwise.training.population import seeded

TASK = SetComplement(vocabulary=6, s_train=3)
BATCH = 8


class Wrapped(nn.Module):
    """A minimal transformer that is not recognised as one, so that vmap serves it."""

    def __init__(self, **settings: Any) -> None:
        super().__init__()
        self.inner = MinimalTransformer(6, **settings)
        self.groups = {g: tuple(f"inner.{glob}" for glob in globs) for g, globs in self.inner.groups.items()}

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        return self.inner(tokens, mask)


FORMS: dict[str, Callable[..., nn.Module]] = {
    "table": lambda **settings: MinimalTransformer(6, width=5, **settings),
    "vmap": lambda **settings: Wrapped(width=5, **settings),
}


def build(form: str, double: bool = True, **settings: Any) -> Callable[[], nn.Module]:
    """A function that builds a small module of one form; float64 keeps Adam from magnifying rounding."""
    return lambda: FORMS[form](**settings).double() if double else FORMS[form](**settings)


def plan(*phases: tuple[int, Any], batch: int = BATCH, **settings: Any) -> Plan:
    """`plan((4, 0.1), (3, {"output": 0.1}))`: phases of so many steps at a rate for all, or at rates by group."""
    made = [Phase(steps=n, rates=r if isinstance(r, dict) else {"all": r}) for n, r in phases]
    return Plan(phases=tuple(made), batch=batch, **settings)


def train(
    members: Sequence[Member] | Member,
    replicates: Sequence[int] = (0,),
    steps: int | None = None,
    task: Any = TASK,
    seed: int = 0,
    form: str | None = None,
    globs: Any = None,
) -> Trainer:
    """Train some members on some replicates to the end, or for `steps`; `form` says how they must have run."""
    members = [members] if isinstance(members, Member) else members
    trainer = Trainer(Population.start(members, list(replicates), seed=seed, globs=globs), task, seed=seed)
    assert form is None or trainer.forward.name == form
    for _ in range(trainer.total if steps is None else steps):
        trainer.step()
    return trainer


def same(trainer: Trainer, index: int, other: Trainer, at: int = 0, rtol: float = 0.0, atol: float = 0.0) -> None:
    """Model `index` of one training is model `at` of another: weights, buffers, averages, failure; bits by default."""
    close = lambda a, b: torch.testing.assert_close(a, b, rtol=rtol, atol=atol, equal_nan=True)  # noqa: E731
    close(trainer.population.weights[index], other.population.weights[at])
    assert trainer.failed_at[index] == other.failed_at[at]
    for name, values in trainer.population.constants.items():
        close(values[index], other.population.constants[name][at])
    for mine, theirs in zip(trainer.averages.states, other.averages.states, strict=True):
        for slot in mine:
            close(mine[slot][index], theirs[slot][at])


def alone(trainer: Trainer, rtol: float, atol: float) -> None:
    """Every model of a trained population equals the same model trained alone."""
    population = trainer.population
    for index in range(population.size):
        i, j = divmod(index, len(population.members))
        member = population.members[j]
        single = train(member, [population.replicates[i]], None, trainer.task, trainer.seed)
        same(trainer, index, single, rtol=rtol, atol=atol)


def plain(member: Member, replicate: int, noise: Callable[[int], dict[str, Tensor]] | None = None) -> nn.Module:
    """One model in an ordinary PyTorch loop with torch.optim: the meaning of a plan, written once more.

    `noise(step)` lends dropout noise by place.
    """
    module = seeded(member.build, integer_seed(0, replicate, 0, "initial weights")).train()
    groups, optimiser = groups_of(module), _optimiser(member.plan, module)
    step = 0
    for phase in member.plan.phases:
        moving = {name: rate for g in groups if (rate := _rate(phase, g)) is not None for name in groups[g]}
        if not phase.carry:
            for name in moving:
                optimiser.state.pop(module.get_parameter(name), None)
        for k in range(phase.steps):
            for name, layer in dropouts(module).items():
                layer.noise = noise(step)[name] if noise else layer.noise
            batch = TASK.sample(stream(0, replicate, step, "batch"), member.plan.batch, phase.lengths or 3)
            optimiser.zero_grad()
            mean_loss(batch.answers(module(batch.inputs)), batch, "cross-entropy").backward()
            for group in optimiser.param_groups:
                name, parameter = group["name"], group["params"][0]
                rate = moving.get(name)
                parameter.grad = parameter.grad if rate is not None else None
                group["lr"] = float(rate.rates(phase.steps)[k]) if isinstance(rate, Schedule) else rate or 0.0
            optimiser.step()
            step += 1
    return module


def _rate(phase: Phase, group: str) -> float | Schedule | None:
    return phase.rates.get(group, phase.rates.get("all"))


def _optimiser(plan: Plan, module: nn.Module) -> torch.optim.Optimizer:
    own = plan.optimiser
    parameters = [{"params": [p], "name": n} for n, p in module.named_parameters() if p.requires_grad]
    if own.kind == "sgd":
        return torch.optim.SGD(parameters, lr=0.1, momentum=own.momentum, weight_decay=own.weight_decay)
    assert own.kind != "normalised-sgd"  # PyTorch has none
    kind = torch.optim.Adam if own.kind == "adam" else torch.optim.AdamW
    return kind(parameters, betas=(own.beta1, own.beta2), eps=own.epsilon, weight_decay=own.weight_decay)


@pytest.fixture
def lab() -> SimpleNamespace:
    """The functions of this file, for the tests of this room."""
    return SimpleNamespace(
        TASK=TASK, BATCH=BATCH, FORMS=FORMS, Wrapped=Wrapped, build=build, plan=plan, train=train, same=same,
        alone=alone, plain=plain, fast=EMA(decay=0.7), slow=EMA(decay=0.95, warmup=False),
    )  # fmt: skip
