"""Training is what an ordinary PyTorch loop with torch.optim does, phase by phase, dropout included."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from lengthwise import SGD, Adam, AdamW, Member, Phase, Plan, Trainer
from lengthwise.training.plan import Schedule

OPTIMISERS = [SGD(momentum=0.9, weight_decay=0.05), Adam(weight_decay=0.05), AdamW(weight_decay=0.2)]
FALL = Schedule(peak=0.2, warmup=2, shape="linear", final=0.02)


def phases(carry: bool) -> tuple[Phase, ...]:
    """Output, attention, output again, then all; lengths change too."""
    return (
        Phase(steps=5, rates={"output": 0.1}, lengths=2),
        Phase(steps=4, rates={"attention": FALL}),
        Phase(steps=4, rates={"output": 0.05}, carry=carry),
        Phase(steps=4, rates={"all": 0.03, "attention": FALL}, lengths=3, carry=carry),
    )


def rows(trainer: Trainer, modules: list[nn.Module]) -> None:
    for index, module in enumerate(modules):
        expected = trainer.population.layout.row(module)
        torch.testing.assert_close(trainer.population.weights[index], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", ["table", "vmap"])
@pytest.mark.parametrize("carry", [False, True], ids=["fresh", "carry"])
@pytest.mark.parametrize("optimiser", OPTIMISERS, ids=lambda o: o.kind)
def test_it_is_the_plain_loop(lab: SimpleNamespace, form: str, carry: bool, optimiser: Any) -> None:
    plan = Plan(phases=phases(carry), optimiser=optimiser, batch=lab.BATCH)
    member = Member("m", lab.build(form, norm="pre"), plan)
    rows(lab.train(member, [0, 2], form=form), [lab.plain(member, r) for r in (0, 2)])


def test_carrying_state_over_is_not_starting_afresh(lab: SimpleNamespace) -> None:
    plans = [Plan(phases=phases(carry), optimiser=SGD(momentum=0.9), batch=lab.BATCH) for carry in (False, True)]
    trainer = lab.train([Member(str(k), lab.build("table"), plan) for k, plan in enumerate(plans)])
    assert not torch.allclose(*trainer.population.weights)


@pytest.mark.parametrize("place", ["embedding_dropout", "attention_dropout", "residual_dropout"])
def test_dropout_through_vmap_is_the_plain_loop_with_the_same_noise(lab: SimpleNamespace, place: str) -> None:
    member = Member("m", lab.build("vmap", **{place: 0.4}), lab.plan((6, 0.05)))
    trainer = lab.train(member, steps=0, form="vmap")
    noise = lambda step: {name: x[0] for name, x in trainer.noise(step, trainer.batch(step)).items()}  # noqa: E731
    module = lab.plain(member, 0, noise)
    rows(lab.train(member), [module])


@pytest.mark.parametrize("place", ["attention_dropout", "residual_dropout"])
def test_dropout_through_tables_is_the_plain_loop_with_the_same_noise(lab: SimpleNamespace, place: str) -> None:
    member = Member("m", lab.build("table", **{place: 0.4}), lab.plan((6, 0.05)))
    trainer = lab.train(member, steps=0, form="table")

    def noise(step: int) -> dict[str, Tensor]:
        tokens = trainer.batch(step).inputs[0]
        table = trainer.noise(step, trainer.batch(step))[place][0].view(*tokens.shape, -1)
        keys = tokens[:, None, :].expand(-1, tokens.shape[1], -1)
        return {place: table.gather(-1, keys) if place == "attention_dropout" else table}

    rows(lab.train(member), [lab.plain(member, 0, noise)])


@pytest.mark.statistical
@pytest.mark.parametrize("form", ["table", "vmap"])
def test_noise_is_uniform_and_of_its_own_at_every_step_place_and_replicate(lab: SimpleNamespace, form: str) -> None:
    build = lab.build(form, attention_dropout=0.1, residual_dropout=0.1)
    trainer = lab.train(Member("m", build, lab.plan((400, 0.1), batch=16)), [0, 1], steps=0, form=form)
    draws = [x[r].flatten() for t in range(400) for x in trainer.noise(t, trainer.batch(t)).values() for r in (0, 1)]
    whole = torch.cat(draws).double()
    assert abs(whole.mean() - 0.5) < 5.5 / (12 * len(whole)) ** 0.5
    assert whole.min() >= 0
    assert whole.max() < 1
    assert len({tuple(draw[:4].tolist()) for draw in draws}) == len(draws)
