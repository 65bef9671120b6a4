"""A model whose loss stops being finite is marked with its step and rests; the others do not notice."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from lengthwise import BEMA, EMA, SGD, Member, Trainer

HUGE, WIDE = 1e25, EMA(decay=0.9)


def trio(lab: SimpleNamespace, form: str, middle: float, steps: int = 8) -> Trainer:
    """Two calm members with a third between them."""
    build = lab.build(form, double=False, residual_dropout=0.2)
    plans = [lab.plan((8, rate), optimiser=SGD(momentum=0.5)) for rate in (0.1, middle, 0.3)]
    members = [Member(str(k), build, plan, (WIDE, BEMA())) for k, plan in enumerate(plans)]
    return lab.train(members, [0, 1], steps, form=form)


@pytest.mark.parametrize("form", ["table", "vmap"])
def test_the_others_bits_are_those_without_it(lab: SimpleNamespace, form: str) -> None:
    failed, calm = trio(lab, form, HUGE), trio(lab, form, 0.2)
    assert (failed.failed_at >= 0).tolist() == [False, True, False] * 2
    assert (calm.failed_at == -1).all()
    for index in (0, 2, 3, 5):
        lab.same(failed, index, calm, index)
    lab.alone(failed, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("form", ["table", "vmap"])
def test_it_is_marked_with_the_first_step_whose_loss_is_not_finite(lab: SimpleNamespace, form: str) -> None:
    trainer = trio(lab, form, HUGE, steps=0)
    losses = torch.stack([trainer.step() for _ in range(trainer.total)])
    for index in (1, 4):
        at = int(trainer.failed_at[index])
        assert 0 < at < trainer.total
        assert losses[:at, index].isfinite().all()
        assert not losses[at:, index].isfinite().any()
    assert losses[:, [0, 2, 3, 5]].isfinite().all()


def test_it_rests_from_then_on_averages_too(lab: SimpleNamespace) -> None:
    trainer = trio(lab, "table", HUGE, steps=0)
    while trainer.failed_at[1] < 0:
        trainer.step()
    before = trainer.population.weights[1].clone(), [trainer.averages.weights(k)[1].clone() for k in (0, 1)]
    while trainer.steps_done < trainer.total:
        assert trainer.step()[1].isnan()
    torch.testing.assert_close(trainer.population.weights[1], before[0], rtol=0, atol=0, equal_nan=True)
    for k in (0, 1):
        torch.testing.assert_close(trainer.averages.weights(k)[1], before[1][k], rtol=0, atol=0, equal_nan=True)


def test_a_model_that_rests_has_no_loss(lab: SimpleNamespace) -> None:
    members = [Member(str(n), lab.build("table"), lab.plan((n, 0.1))) for n in (2, 4)]
    trainer = lab.train(members, steps=0)
    losses = torch.stack([trainer.step() for _ in range(4)])
    assert losses.isfinite().tolist() == [[True, True]] * 2 + [[False, True]] * 2
    assert (trainer.failed_at == -1).all()


def test_weights_that_overflow_in_the_last_step_are_a_failure(lab: SimpleNamespace) -> None:
    plan = lab.plan((1, 1e38), optimiser=SGD(weight_decay=1e3))
    trainer = lab.train(Member("m", lab.build("table", double=False), plan))
    assert not trainer.population.weights.isfinite().all()
    assert trainer.failed_at.tolist() == [0]
