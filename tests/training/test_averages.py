"""Averages are their recursions, in plain Python, and move even what a low precision holds still."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from lengthwise import BEMA, EMA
from lengthwise.training import AVERAGES, Averages


def walk(steps: int, models: int = 1, seed: int = 0) -> Tensor:
    """Weights `(steps + 1, models, 2)` of a random walk in float64, the initial ones first."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(steps + 1, models, 2, generator=generator, dtype=torch.float64).cumsum(0)


def averaged(specs: list[Any], weights: Tensor) -> list[Tensor]:
    """The average after every step, one row of specs for the models."""
    averages = Averages([specs], weights[0])
    values = []
    for t, w in enumerate(weights[1:]):
        averages.update(w, t + 1, None)
        values.append(averages.weights(0).clone())
    return values


def naive_ema(weights: list[float], decay: float, warmup: bool, every: int) -> list[float]:
    bar, values, t = weights[0], [], 0
    for step, w in enumerate(weights[1:], start=1):
        if step % every == 0:
            d = min(decay, (1 + t) / (10 + t)) if warmup else decay
            bar, t = bar + (1 - d) * (w - bar), t + 1
        values.append(bar)
    return values


def naive_bema(weights: list[float], own: BEMA) -> list[float]:
    start = ema = hat = weights[0]
    values = []
    for t, w in enumerate(weights[1:], start=1):
        if t % own.every == 0:
            if own.variant == "paper":
                beta, alpha = (own.rho + own.gamma * t) ** -own.kappa, (own.rho + own.gamma * t) ** -own.eta
            else:
                late = 1 + max(0.0, t - own.rho)
                beta, alpha = own.gamma * late**-own.kappa, own.gamma * late**-own.eta
            if t <= own.burn_in:
                start = ema = hat = w
            else:
                ema = (1 - beta) * ema + beta * w
                hat = alpha * (w - start) + ema
        values.append(hat)
    return values


def follows(specs: list[Any], weights: Tensor, naive: Any) -> None:
    for model, spec in enumerate(specs):
        for number in range(weights.shape[-1]):
            expected = naive(weights[:, model, number].tolist(), spec)
            mine = [value[model, number].item() for value in averaged(specs, weights)]
            assert mine == pytest.approx(expected, rel=1e-9, abs=1e-9)


decays = st.floats(0, 1)


@given(st.lists(decays, min_size=1, max_size=3), st.booleans(), st.integers(1, 4), st.integers(0, 2**31))
@settings(max_examples=20)
def test_ema_is_its_recursion_with_a_decay_for_each_model(
    decays: list[float], warmup: bool, every: int, seed: int
) -> None:
    specs = [EMA(decay=d, warmup=warmup, every=every) for d in decays]
    follows(specs, walk(15, len(specs), seed), lambda w, s: naive_ema(w, s.decay, s.warmup, s.every))


def test_warm_up_may_differ_between_models() -> None:
    specs = [EMA(decay=0.9), EMA(decay=0.9, warmup=False)]
    follows(specs, walk(30, 2), lambda w, s: naive_ema(w, s.decay, s.warmup, s.every))


def test_ema_has_its_closed_form() -> None:
    """Without warm-up: d^n w_0 + (1 - d) sum_k d^(n - k) w_k."""
    weights, d, n = walk(40), 0.8, 40
    closed = d**n * weights[0] + (1 - d) * sum(d ** (n - k) * weights[k] for k in range(1, n + 1))
    torch.testing.assert_close(averaged([EMA(decay=d, warmup=False)], weights)[-1], closed)


def test_warm_up_weighs_a_constant_from_the_first_update_by_nine_tenths() -> None:
    weights = torch.tensor([0.0, 1.0], dtype=torch.float64).view(2, 1, 1)
    assert averaged([EMA(decay=0.999)], weights)[0].item() == pytest.approx(0.9)


@pytest.mark.parametrize("every", [1, 7])
@pytest.mark.parametrize("decay", [0.5, 0.999])
def test_the_effective_decay_is_the_one_used(decay: float, every: int) -> None:
    """A jump of the weights by 1 at an update moves the average by 1 - d."""
    ema = EMA(decay=decay, every=every)
    for update in (1, 5, 200):
        averages, step = Averages([[ema]], torch.zeros(1, 1, dtype=torch.float64)), update * every
        averages.update(torch.ones(1, 1, dtype=torch.float64), step, None)
        assert averages.weights(0).item() == pytest.approx(1 - ema.effective_decay(step))


@given(
    st.sampled_from(["paper", "reference"]),
    st.floats(0, 1),
    st.floats(0, 1),
    st.floats(0, 20),
    st.floats(0.1, 1),
    st.integers(0, 12),
    st.integers(1, 4),
)
@settings(max_examples=40)
def test_bema_is_its_recursion(
    variant: Any, kappa: float, eta: float, rho: float, gamma: float, burn_in: int, every: int
) -> None:
    own = BEMA(variant=variant, kappa=kappa, eta=eta, rho=rho, gamma=gamma, burn_in=burn_in, every=every)
    follows([own], walk(20), naive_bema)


@pytest.mark.parametrize("variant", ["paper", "reference"])
def test_bema_numbers_may_differ_between_models(variant: Any) -> None:
    specs = [BEMA(variant=variant, eta=0.5), BEMA(variant=variant, kappa=0.9, rho=3), BEMA(variant=variant, burn_in=9)]
    follows(specs, walk(25, 3), naive_bema)


def test_bema_without_its_correction_is_an_average_between_what_was_seen() -> None:
    weights = walk(50)
    value = averaged([BEMA(kappa=1.0, eta=50.0, rho=1.0)], weights)[-1]
    torch.testing.assert_close(value, weights.mean(0), rtol=1e-6, atol=1e-6)  # beta_t = 1/(1+t): the running mean


def test_ema_is_that_of_pytorch() -> None:
    module = nn.Linear(2, 1, bias=False)
    theirs = AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    weights = walk(30).float()
    for w in weights:  # the first is copied
        module.weight.data.copy_(w)
        theirs.update_parameters(module)
    mine = averaged([EMA(decay=0.9, warmup=False)], weights)[-1]
    torch.testing.assert_close(mine, theirs.get_parameter("module.weight").detach())


@pytest.mark.parametrize("average", [EMA(decay=0.999, warmup=False), BEMA(), BEMA(variant="reference")])
def test_low_precision_weights_still_move_the_average(average: Any) -> None:
    """A bfloat16 average would never move: .001 of a step is below its resolution."""
    start, moved = torch.ones(1, 1, dtype=torch.bfloat16), torch.full((1, 1), 2.0, dtype=torch.bfloat16)
    averages = Averages([[average]], start)
    for step in range(1, 301):
        averages.update(moved, step, None)
    assert averages.weights(0).dtype == torch.float32
    expected = averaged([average], torch.cat([start, moved.expand(300, 1)]).double()[:, :, None])[-1].item()
    assert averages.weights(0).item() == pytest.approx(expected, rel=1e-4)
    assert averages.weights(0).item() > 1.2


@pytest.mark.parametrize("kind", AVERAGES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_weights_that_train_are_never_touched_nor_shared(kind: str, dtype: torch.dtype) -> None:
    weights = torch.randn(2, 3, dtype=dtype)
    averages, before = Averages([[AVERAGES[kind]()] * 2], weights), weights.clone()
    for step in range(1, 4):
        averages.update(weights, step, None)
        weights += 1
        before += 1
    assert torch.equal(weights, before)
    for slot in averages.states[0].values():
        assert slot.dtype == dtype
        slot.zero_()
    assert torch.equal(weights, before)


def test_several_averages_at_once_are_each_alone() -> None:
    weights = walk(12, 2)
    rows = [[EMA(decay=0.5), EMA(decay=0.9)], [BEMA(), BEMA(eta=0.9)], [BEMA(variant="reference")] * 2]
    together = Averages(rows, weights[0])
    for t, w in enumerate(weights[1:]):
        together.update(w, t + 1, None)
    for index, row in enumerate(rows):
        assert torch.equal(together.weights(index), averaged(row, weights)[-1])


def test_a_model_that_rests_keeps_its_average() -> None:
    averages, weights = Averages([[EMA(decay=0.5)] * 2, [BEMA()] * 2], torch.zeros(2, 1)), torch.ones(2, 1)
    averages.update(weights, 1, torch.tensor([[True], [False]]))
    for index in (0, 1):
        moved, kept = averages.weights(index).flatten().tolist()
        assert moved > 0
        assert kept == 0
