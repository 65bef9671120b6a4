"""Attention without NaN, dropout with a lent noise, and the norms against PyTorch's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from lengthwise.errors import InputError
from lengthwise.models.attention import causal_softmax, masked_softmax
from lengthwise.models.dropout import Dropout, dropout, dropouts, dropped
from lengthwise.models.normalisation import initial, normalisation, normalise


@given(st.integers(0, 2**31), st.integers(1, 6), st.integers(1, 6))
def test_masked_softmax_by_definition(seed: int, rows: int, columns: int) -> None:
    random = np.random.default_rng(seed)
    scores, visible = random.normal(0, 20, (rows, columns)), random.random((rows, columns)) < 0.5
    weights = masked_softmax(torch.from_numpy(scores), torch.from_numpy(visible))
    for i in range(rows):
        odds = [math.exp(x - max(scores[i])) if seen else 0.0 for x, seen in zip(scores[i], visible[i], strict=True)]
        expected = [o / sum(odds) if sum(odds) else 0.0 for o in odds]
        np.testing.assert_allclose(weights[i], expected, rtol=1e-9)


def test_a_row_that_sees_nothing_weighs_nothing_forward_and_backward() -> None:
    scores = torch.randn(3, 4, requires_grad=True)
    visible = torch.tensor([[True, False, True, True], [False] * 4, [True] * 4])
    weights = masked_softmax(scores, visible)
    assert weights[1].tolist() == [0, 0, 0, 0]
    (gradient,) = torch.autograd.grad((weights * torch.randn(3, 4)).sum(), scores)
    assert gradient.isfinite().all()
    assert gradient[1].tolist() == [0, 0, 0, 0]
    assert gradient[0, 1] == 0
    assert (gradient[2] != 0).all()


def test_causal_attention_sees_real_positions_up_to_its_own() -> None:
    mask = torch.tensor([[True, True, True, False], [False, False, True, True]])
    weights = causal_softmax(torch.randn(2, 4, 4), mask)
    expected = mask[:, None, :] & torch.ones(4, 4, dtype=torch.bool).tril()
    assert torch.equal(weights > 0, expected)
    sums = torch.tensor([[1.0, 1, 1, 1], [0, 0, 1, 1]])
    torch.testing.assert_close(weights.sum(-1), sums)


@given(st.integers(0, 2**31), st.floats(0, 0.95))
def test_dropout_keeps_where_the_noise_reaches_the_rate(seed: int, rate: float) -> None:
    random = np.random.default_rng(seed)
    x, noise = random.normal(size=20), random.random(20, dtype=np.float32)
    layer = Dropout(rate).train()
    layer.noise = torch.from_numpy(noise)
    threshold = np.float32(rate)
    expected = [v / (1 - rate) if u >= threshold else 0.0 for v, u in zip(x, noise, strict=True)]
    np.testing.assert_allclose(layer(torch.from_numpy(x)), expected, rtol=1e-6)


@pytest.mark.statistical
def test_dropout_without_lent_noise_keeps_the_mean_and_drops_its_share() -> None:
    n, rate = 200_000, 0.3
    torch.manual_seed(0)
    out = Dropout(rate).train()(torch.ones(n))
    deviation = math.sqrt(rate * (1 - rate) / n)
    assert abs((out == 0).float().mean().item() - rate) < 5.5 * deviation
    assert abs(out.mean().item() - 1) < 5.5 * deviation / (1 - rate)


def test_dropout_gives_each_model_its_own_rate() -> None:
    noise = torch.tensor([0.1, 0.4, 0.6, 0.9])
    out = dropped(torch.ones(2, 4), noise, torch.tensor([[0.25], [0.5]]))
    assert out.tolist() == [pytest.approx([0, 4 / 3, 4 / 3, 4 / 3]), [0, 0, 2, 2]]


def test_dropout_is_found_by_name_and_keeps_its_rate_in_the_state() -> None:
    module = nn.Sequential(nn.Linear(2, 2), nn.Sequential(Dropout(0.25)), dropout(0.0, "none"))
    assert list(dropouts(module)) == ["1.0"]
    assert set(module.state_dict()) == {"0.weight", "0.bias", "1.0.rate"}
    assert isinstance(module[2], nn.Identity)


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, math.nan, math.inf])
def test_dropout_rates_outside_are_refused(rate: float) -> None:
    with pytest.raises(InputError, match=f"attention dropout {rate}"):
        dropout(rate, "attention dropout")


@pytest.mark.parametrize(("kind", "bias"), [("layer", True), ("layer", False), ("rms", True)])
def test_normalisation_with_leading_axes_is_the_module_s(kind: str, bias: bool) -> None:
    modules = [normalisation(kind, 5, bias) for _ in range(3)]  # type: ignore[arg-type]
    for parameter in (p for module in modules for p in module.parameters()):
        nn.init.normal_(parameter)
    x = torch.randn(3, 4, 5) * 3 + 1
    bias_rows = torch.stack([m.get_parameter("bias") for m in modules]) if bias and kind == "layer" else None
    weight = torch.stack([m.get_parameter("weight") for m in modules])
    together = normalise(x, kind, weight, bias_rows)  # type: ignore[arg-type]
    torch.testing.assert_close(together, torch.stack([m(row) for m, row in zip(modules, x, strict=True)]))
    assert [name for name, _ in modules[0].named_parameters()] == ["weight"] + ["bias"] * (bias_rows is not None)


@pytest.mark.statistical
def test_initial_matrices_have_variance_one_over_their_rows() -> None:
    torch.manual_seed(0)
    matrix = initial(40, 5_000)
    n = matrix.numel()
    assert abs(matrix.mean().item()) < 5.5 / math.sqrt(40 * n)
    assert abs(matrix.var().item() * 40 - 1) < 5.5 * math.sqrt(2 / n)
