"""Every optimiser, with numbers of its own for each model, is torch.optim's, run for each model alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from torch import Tensor

from lengthwise.training import OPTIMISERS, SGD, Adam, AdamW, NormalisedSGD

SETTINGS: dict[str, list[Any]] = {
    "sgd": [SGD(), SGD(momentum=0.9), SGD(momentum=0.5, weight_decay=0.1), SGD(weight_decay=0.3)],
    "normalised-sgd": [NormalisedSGD()] * 4,
    "adam": [Adam(), Adam(beta1=0.5, beta2=0.9), Adam(weight_decay=0.1), Adam(beta1=0.0, epsilon=1e-3)],
    "adamw": [AdamW(), AdamW(beta1=0.5, beta2=0.9), AdamW(weight_decay=0.5), AdamW(beta1=0.0, epsilon=1e-3)],
}
RATES = [0.1, 0.03, 0.3, 0.01]
STEPS = 150


def torch_twin(own: Any, parameter: Tensor, rate: float) -> torch.optim.Optimizer:
    if own.kind == "sgd":
        return torch.optim.SGD([parameter], lr=rate, momentum=own.momentum, weight_decay=own.weight_decay)
    if own.kind == "normalised-sgd":  # PyTorch has none: its SGD is given gradients of length 1
        return torch.optim.SGD([parameter], lr=rate)
    twin = torch.optim.Adam if own.kind == "adam" else torch.optim.AdamW
    return twin([parameter], lr=rate, betas=(own.beta1, own.beta2), eps=own.epsilon, weight_decay=own.weight_decay)


def run(kind: str, start: Tensor, gradients: Tensor) -> Tensor:
    """All models at once."""
    rule, own = OPTIMISERS[kind], SETTINGS[kind]
    numbers = {k: torch.tensor([[o.numbers()[k]] for o in own], dtype=start.dtype) for k in own[0].numbers()}
    rate, w = torch.tensor(RATES, dtype=start.dtype)[:, None], start.clone()
    state = {slot: torch.zeros_like(w) for slot in rule.slots}
    for t, gradient in enumerate(gradients):
        count = torch.full((len(w), 1), t + 1, dtype=w.dtype)
        w, state = rule.update(w, gradient + 0.3 * w, state, count, rate, numbers)
    return w


def run_alone(kind: str, start: Tensor, gradients: Tensor) -> Tensor:
    rows = []
    for m, own in enumerate(SETTINGS[kind]):
        w = torch.nn.Parameter(start[m].clone())
        optimiser = torch_twin(own, w, RATES[m])
        for gradient in gradients:
            w.grad = gradient[m] + 0.3 * w.detach()
            if own.kind == "normalised-sgd":
                w.grad = torch.nn.functional.normalize(w.grad, dim=0, eps=0.0)
            optimiser.step()
        rows.append(w.detach())
    return torch.stack(rows)


@pytest.mark.parametrize("kind", OPTIMISERS)
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-11), (torch.float32, 2e-5)])
def test_it_is_torch_optim_for_every_model(kind: str, dtype: torch.dtype, tolerance: float) -> None:
    start, gradients = torch.randn(4, 7, dtype=dtype), torch.randn(STEPS, 4, 7, dtype=dtype)
    gradients[:, :, 0] *= 1e-6
    gradients[::3, :, 1] = 0
    expected = run_alone(kind, start, gradients)
    assert (expected - start).abs().min() > 1e-4
    torch.testing.assert_close(run(kind, start, gradients), expected, rtol=tolerance, atol=tolerance)


@given(st.sampled_from(sorted(OPTIMISERS)), st.integers(0, 2**31), st.floats(-6, 6))
@settings(max_examples=15)
def test_it_is_torch_optim_at_any_scale_of_gradients(kind: str, seed: int, exponent: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(4, 3, generator=generator, dtype=torch.float64)
    gradients = 10**exponent * torch.randn(12, 4, 3, generator=generator, dtype=torch.float64)
    torch.testing.assert_close(run(kind, start, gradients), run_alone(kind, start, gradients), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", OPTIMISERS)
def test_the_old_weights_and_state_are_not_changed_in_place(kind: str) -> None:
    rule, w, g = OPTIMISERS[kind], torch.randn(4, 3), torch.randn(4, 3)
    numbers = {k: torch.tensor([[o.numbers()[k]] for o in SETTINGS[kind]]) for k in SETTINGS[kind][0].numbers()}
    state = {slot: torch.rand(4, 3) for slot in rule.slots}
    copies = w.clone(), g.clone(), {k: v.clone() for k, v in state.items()}
    rule.update(w, g, state, torch.ones(4, 1), torch.ones(4, 1), numbers)
    assert torch.equal(w, copies[0])
    assert torch.equal(g, copies[1])
    assert all(torch.equal(state[k], copies[2][k]) for k in state)


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        ("sgd", {"momentum": 1.0}),
        ("sgd", {"momentum": -0.1}),
        ("sgd", {"weight_decay": -1}),
        ("adam", {"beta1": 1.0}),
        ("adam", {"beta2": -0.1}),
        ("adam", {"epsilon": 0}),
        ("adamw", {"beta": 0.9}),
        ("adamw", {"kind": "adam"}),
    ],
    ids=str,
)
def test_impossible_numbers_are_refused(kind: str, bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=next(iter(bad))):
        OPTIMISERS[kind](**bad)
