"""A population: models of one shape, stacked along a leading axis, replicate by replicate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.tasks.randomness import integer_seed
from lengthwise.training.averages import BEMA, EMA
from lengthwise.training.groups import Globs
from lengthwise.training.layout import Layout
from lengthwise.training.plan import Plan

Build = Callable[[], nn.Module]


@dataclass(frozen=True)
class Member:
    """What one variant of a population is: how its module is built, its plan, its averages."""

    name: str
    build: Build
    plan: Plan
    averages: tuple[EMA | BEMA, ...] = ()


@dataclass
class Population:
    """r replicates of m members, n = r m models of one shape: model `i m + j` is member j of replicate i.

    Within a replicate the members see the same data and start from the same weights. `weights` is `(n, width)`;
    buffers, and parameters that never train, are stacked by name in `constants`.

    >>> plan = Plan.model_validate({"phases": [{"steps": 1, "rates": {"all": 0.1}}]})
    >>> population = Population.start([Member("linear", lambda: nn.Linear(2, 2), plan)], replicates=[0, 1, 2], seed=0)
    >>> population.weights.shape, population.shape
    (torch.Size([3, 6]), (3, 1))
    """

    members: Sequence[Member]
    replicates: Sequence[int]
    template: nn.Module
    layout: Layout
    weights: Tensor
    constants: dict[str, Tensor]

    @staticmethod
    def start(
        members: Sequence[Member],
        replicates: Sequence[int],
        seed: int,
        device: torch.device | str = "cpu",
        globs: Globs | None = None,
    ) -> Population:
        """A population at its initial weights, drawn from (seed, replicate).

        Errors: InputError if members differ in the shape of their modules, optimiser kind, batch, or lengths.
        """
        check_alike([member.plan for member in members])
        modules = [[seeded(m.build, integer_seed(seed, r, 0, "initial weights")) for m in members] for r in replicates]
        template = modules[0][0]
        layout = Layout.of(template, globs)
        for row in modules:
            for module, member in zip(row, members, strict=True):
                if Layout.of(module, globs) != layout:
                    raise InputError(
                        f"variant {member.name!r}: its parameters differ in shape from {members[0].name!r}'s"
                    )
        flat = [module for row in modules for module in row]
        weights = torch.stack([layout.row(module) for module in flat]).to(device)
        constants = {
            name: torch.stack([_constants(module)[name] for module in flat]).to(device) for name in _constants(template)
        }
        return Population(members, replicates, template.to(device), layout, weights, constants)

    @property
    def shape(self) -> tuple[int, int]:
        """(replicates, members)."""
        return len(self.replicates), len(self.members)

    @property
    def size(self) -> int:
        """The number of models n."""
        return len(self.replicates) * len(self.members)

    def model(self, index: int, weights: Tensor | None = None) -> nn.Module:
        """One model as a plain module of its own, with its trained or the given `(n, width)` weights.

        >>> plan = Plan.model_validate({"phases": [{"steps": 1, "rates": {"all": 1}}]})
        >>> population = Population.start([Member("linear", lambda: nn.Linear(2, 2), plan)], [0, 1], seed=0)
        >>> torch.equal(population.layout.row(population.model(1)), population.weights[1])
        True
        """
        row = (self.weights if weights is None else weights)[index : index + 1]
        module = self.members[index % len(self.members)].build()
        values = {
            **self.layout.views(row.to(self.layout.dtype)),
            **{k: v[index : index + 1] for k, v in self.constants.items()},
        }
        module.load_state_dict({name: value[0].cpu() for name, value in values.items()}, strict=False)
        return module.eval()


def seeded(build: Build, seed: int) -> nn.Module:
    """Build a module with PyTorch's generator seeded, and leave that generator as it was.

    >>> torch.equal(seeded(lambda: nn.Linear(1, 1), 3).weight, seeded(lambda: nn.Linear(1, 1), 3).weight)
    True
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


def check_alike(plans: Sequence[Plan]) -> None:
    """Raise InputError unless the plans can train together: optimiser kind, batch and lengths agree at every step."""
    first = plans[0]
    for plan in plans[1:]:
        if plan.optimiser.kind != first.optimiser.kind or plan.batch != first.batch:
            raise InputError("plans of one population: expected one optimiser kind and one batch size")
        shared = min(plan.steps, first.steps)
        if (plan.lengths(0)[:shared] != first.lengths(0)[:shared]).any():
            raise InputError("plans of one population: expected the same lengths at every step")


def _constants(module: nn.Module) -> Mapping[str, Tensor]:
    frozen = {name: p.detach() for name, p in module.named_parameters() if not p.requires_grad}
    buffers = {name: b for name, b in module.named_buffers() if not name.endswith("noise")}
    return {**frozen, **buffers}
