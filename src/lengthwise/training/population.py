"""A population: models of one shape, stacked along a leading axis, replicate by replicate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.models.dropout import dropouts
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

    def module(self) -> nn.Module:
        """A module of this variant, without the wrapper of torch.compile: we compile whole populations."""
        built = self.build()
        return getattr(built, "_orig_mod", built)


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

        Errors: InputError if members differ in more than numbers (`check_alike`).
        """
        modules = [[seeded(m.module, integer_seed(seed, r, 0, "initial weights")) for m in members] for r in replicates]
        template = modules[0][0]
        layout = Layout.of(template, globs)
        for row in modules:
            check_alike(members, row, [Layout.of(module, globs) for module in row])
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
        module = self.members[index % len(self.members)].module()
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


def check_alike(members: Sequence[Member], modules: Sequence[nn.Module], layouts: Sequence[Layout]) -> None:
    """Raise InputError unless the members can train together, and differ in numbers only.

    Modules are told apart by the shapes of their parameters, by what PyTorch prints of them, and by their plain
    attributes (numbers, words, flags).
    """
    first = members[0]
    averages = [[(a.kind, getattr(a, "variant", ""), a.every) for a in member.averages] for member in members]
    for k, member in enumerate(members):
        if member.plan.optimiser.kind != first.plan.optimiser.kind or member.plan.batch != first.plan.batch:
            raise InputError("plans of one population: expected one optimiser kind and one batch size")
        if averages[k] != averages[0]:
            raise InputError("averages of one population: expected the same kinds, variants and steps between updates")
        if layouts[k] != layouts[0]:
            raise InputError(f"variant {member.name!r}: its parameters differ in shape from {first.name!r}'s")
        if _settings(modules[k]) != _settings(modules[0]):
            raise InputError(f"variant {member.name!r}: its module is not {first.name!r}'s, though of the same shape")


def _settings(module: nn.Module) -> list[object]:
    """What a module is besides its tensors: what it prints, and the plain attributes of every part of it."""
    plain = (bool, int, float, str, type(None))
    parts = [{k: v for k, v in vars(part).items() if isinstance(v, plain)} for part in module.modules()]
    return [repr(module), *parts]


def _constants(module: nn.Module) -> Mapping[str, Tensor]:
    frozen = {name: p.detach() for name, p in module.named_parameters() if not p.requires_grad}
    lent = {f"{place}.noise" for place in dropouts(module)}
    buffers = {name: b for name, b in module.named_buffers() if name not in lent}
    return {**frozen, **buffers}
