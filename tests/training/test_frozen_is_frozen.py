"""A parameter outside the present phase keeps its exact bits: no momentum, no decay, no gradient."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise import BEMA, EMA, SGD, Adam, AdamW, Member, Phase, Plan, Trainer

OPTIMISERS = [SGD(momentum=0.9, weight_decay=0.2), Adam(weight_decay=0.2), AdamW(weight_decay=0.5)]


def by_step(trainer: Trainer) -> Tensor:
    """The weights `(steps + 1, n, width)` before and after every step."""
    weights = [trainer.population.weights.clone()]
    for _ in range(trainer.total):
        trainer.step()
        weights.append(trainer.population.weights.clone())
    return torch.stack(weights)


def changes(trainer: Trainer, group: str) -> list[list[bool]]:
    """For each step and model, whether any bit of the group changed."""
    weights = by_step(trainer)[:, :, trainer.population.layout.columns[group]]
    return (weights[1:] != weights[:-1]).any(-1).tolist()


@pytest.mark.parametrize("form", ["table", "vmap"])
@pytest.mark.parametrize("carry", [False, True], ids=["fresh", "carry"])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_groups_move_in_their_phases_and_in_no_other(
    lab: SimpleNamespace, form: str, carry: bool, optimiser: Any
) -> None:
    """Trained, frozen with momentum and decay on, trained again, frozen again."""
    moving = ["output", "attention", "all", "attention"]
    plan = Plan(
        phases=tuple(Phase(steps=3, rates={g: 0.1}, carry=carry) for g in moving), optimiser=optimiser, batch=lab.BATCH
    )
    other = lab.plan((12, {"attention": 0.1}), optimiser=optimiser)
    members = [Member("phases", lab.build(form), plan), Member("attention", lab.build(form), other)]
    for group in ("output", "attention"):
        expected = [[g in ("all", group), group == "attention"] for g in moving for _ in range(3)]
        assert changes(lab.train(members, steps=0, form=form), group) == expected


def test_a_phase_at_rate_zero_decays_nothing(lab: SimpleNamespace) -> None:
    plan = lab.plan((3, 0.1), (3, 0.0), optimiser=SGD(momentum=0.9, weight_decay=0.2))
    assert changes(lab.train(Member("m", lab.build("table"), plan), steps=0), "output") == [[True]] * 3 + [[False]] * 3


class Twins(nn.Module):
    """Two layers of equal values and equal roles: nothing but their names tells them apart."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(6, 6)
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.load_state_dict(self.first.state_dict())
        self.groups = {"first": ("first.*",), "second": ("second.*",), "rest": ("embedding.*",)}

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        return self.first(x) + self.second(x)


@pytest.mark.parametrize("frozen", ["first", "second"])
def test_equal_values_do_not_confuse_what_is_frozen(lab: SimpleNamespace, frozen: str) -> None:
    free = {"first": "second", "second": "first"}[frozen]
    plan = lab.plan((3, {free: 0.1}), (3, {"all": 0.1}), optimiser=AdamW())
    for group, expected in ((frozen, [[False]] * 3 + [[True]] * 3), (free, [[True]] * 6)):
        assert changes(lab.train(Member("m", Twins, plan), steps=0), group) == expected


def test_a_model_whose_plan_has_ended_keeps_its_bits(lab: SimpleNamespace) -> None:
    plans = [lab.plan((n, 0.1), optimiser=SGD(momentum=0.9, weight_decay=0.2)) for n in (2, 5)]
    trainer = lab.train([Member(str(k), lab.build("table"), plan) for k, plan in enumerate(plans)], steps=0)
    assert changes(trainer, "output") == [[True, True]] * 2 + [[False, True]] * 3


def test_averages_of_what_never_moved_are_what_it_is(lab: SimpleNamespace) -> None:
    averages = (EMA(decay=0.9), EMA(decay=0.5, warmup=False), BEMA(), BEMA(variant="reference", burn_in=3))
    plan = lab.plan((9, {"output": 0.1}), optimiser=SGD(momentum=0.9, weight_decay=0.2))
    trainer = lab.train(Member("m", lab.build("table", double=False), plan, averages))
    at = trainer.population.layout.columns["attention"]
    for index in range(len(averages)):
        assert torch.equal(trainer.averages.weights(index)[:, at], trainer.population.weights[:, at])


def test_averages_catch_up_with_what_is_frozen_after_it_moved(lab: SimpleNamespace) -> None:
    plan = lab.plan((3, 0.1), (60, {"output": 0.1}))
    trainer = lab.train(Member("m", lab.build("table"), plan, (EMA(decay=0.5),)))
    at = trainer.population.layout.columns["attention"]
    torch.testing.assert_close(trainer.averages.weights(0)[:, at], trainer.population.weights[:, at])


def test_a_new_phase_forgets_even_state_that_overflowed(lab: SimpleNamespace) -> None:
    """Squares of huge gradients overflow to infinity and stop Adam; a phase with fresh state must start finite."""
    trainer = lab.train(Member("m", lab.build("table"), lab.plan((2, 0.1), (2, 0.1))), steps=2)
    trainer.slots["square"].fill_(torch.inf)
    trainer.step()
    assert trainer.population.weights.isfinite().all()
    assert trainer.slots["square"].isfinite().all()
