"""The table form is the plain module: values and gradients, with padding, repeats and dropout."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from lengthwise.models import Dropout, MinimalTransformer, Seen, TableForm

V, D = 5, 6
Lent = Mapping[str, tuple[Tensor, Tensor]]


def stacked(models: list[list[MinimalTransformer]]) -> dict[str, Tensor]:
    """Weights with axes (replicate, model)."""
    names = [name for name, _ in models[0][0].named_parameters()]
    return {n: torch.stack([torch.stack([m.get_parameter(n) for m in row]) for row in models]) for n in names}


def tables(
    model: MinimalTransformer, tokens: Tensor, dropout: Lent | None = None, mask: Tensor | None = None
) -> Tensor:
    """Logits `(b, s, v)` of one model through its tables."""
    logits = TableForm(model)(
        stacked([[model]]), Seen.of(tokens[None], V, False, _add(mask), model.embedding.dtype), dropout
    )
    return logits.view(*tokens.shape, V)


def gradients(model: nn.Module, outputs: Tensor) -> list[Tensor]:
    loss = (outputs.square() * torch.arange(1, V + 1)).sum()
    return list(torch.autograd.grad(loss, list(model.parameters())))


def agree(model: MinimalTransformer, plain: Tensor, table: Tensor) -> None:
    """Values and gradients; counts of tokens may be taken in float32."""
    torch.testing.assert_close(table, plain, rtol=1e-6, atol=1e-6)
    for mine, theirs in zip(gradients(model, table), gradients(model, plain), strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-5, atol=1e-5)


REPEATED = torch.tensor([[3, 1, 4, 1, 0, 0, 2], [2, 2, 2, 2, 2, 2, 2], [0, 1, 2, 3, 4, 0, 1]])
DISTINCT = torch.tensor([[3, 1, 4, 0, 2], [0, 1, 2, 3, 4], [4, 2, 0, 3, 1]])


def test_it_is_the_plain_module_repeats_included(settings: dict[str, Any], build: Any) -> None:
    model = build(**settings)
    agree(model, model(REPEATED), tables(model, REPEATED))


@given(st.lists(st.integers(0, V - 1), min_size=1, max_size=40), st.integers(0, 2**31))
@settings(max_examples=15)
def test_it_is_the_plain_module_on_any_input(build: Any, tokens: list[int], seed: int) -> None:
    model, rows = build(seed, norm="pre", scaling="log-length scores"), torch.tensor([tokens])
    torch.testing.assert_close(tables(model, rows), model(rows), rtol=1e-6, atol=1e-6)


def test_weights_in_float64_are_served_in_float64(build: Any) -> None:
    model = build(scaling="log-length scores")
    torch.testing.assert_close(tables(model, REPEATED), model(REPEATED), rtol=1e-11, atol=1e-11)


def test_it_is_the_plain_module_on_padded_batches(settings: dict[str, Any], build: Any) -> None:
    model = build(**settings)
    mask = torch.arange(7) < torch.tensor([[7], [3], [1]])
    agree(model, model(REPEATED, mask) * mask[..., None], tables(model, REPEATED, mask=mask) * mask[..., None])


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_residual_dropout_with_the_same_noise(settings: dict[str, Any], build: Any, rate: float) -> None:
    model = build(residual_dropout=rate, **settings)
    noise = torch.rand(*REPEATED.shape, D)
    assert isinstance(model.residual_dropout, Dropout)
    model.residual_dropout.noise = noise
    lent = {"residual_dropout": (noise.view(1, -1, D), model.residual_dropout.rate.view(1, 1))}
    agree(model, model.train()(REPEATED), tables(model, REPEATED, lent))


@pytest.mark.parametrize("rate", [0.3, 0.7])
def test_attention_dropout_with_the_same_noise(settings: dict[str, Any], build: Any, rate: float) -> None:
    """A key's noise in the plain module is that of its token in the vocabulary."""
    model, (b, s) = build(attention_dropout=rate, **settings), DISTINCT.shape
    noise = torch.rand(b, s, V)
    assert isinstance(model.attention_dropout, Dropout)
    model.attention_dropout.noise = noise.gather(-1, DISTINCT[:, None, :].expand(b, s, s))
    lent = {"attention_dropout": (noise.view(1, b * s, V), model.attention_dropout.rate.view(1, 1))}
    agree(model, model.train()(DISTINCT), tables(model, DISTINCT, lent))


def test_both_dropouts_together(build: Any) -> None:
    model, (b, s) = build(attention_dropout=0.4, residual_dropout=0.2, norm="post"), DISTINCT.shape
    attention, residual = torch.rand(b, s, V), torch.rand(b, s, D)
    model.attention_dropout.noise = attention.gather(-1, DISTINCT[:, None, :].expand(b, s, s))
    model.residual_dropout.noise = residual
    lent = {
        "attention_dropout": (attention.view(1, -1, V), model.attention_dropout.rate.view(1, 1)),
        "residual_dropout": (residual.view(1, -1, D), model.residual_dropout.rate.view(1, 1)),
    }
    agree(model, model.train()(DISTINCT), tables(model, DISTINCT, lent))


@pytest.mark.parametrize("norm", ["none", "pre", "post"])
def test_many_models_each_with_its_weights_rate_and_its_replicate_s_inputs(build: Any, norm: str) -> None:
    rates = torch.tensor([[0.1, 0.5, 0.8], [0.3, 0.6, 0.2]])
    models = [[build(3 * r + m, norm=norm, residual_dropout=float(rates[r, m])) for m in range(3)] for r in range(2)]
    tokens, noise = torch.stack([REPEATED, REPEATED.flip(1)]), torch.rand(2, REPEATED.numel(), D)
    logits = TableForm(models[0][0])(stacked(models), Seen.of(tokens, V, False), {"residual_dropout": (noise, rates)})
    for r in range(2):
        for m in range(3):
            models[r][m].residual_dropout.noise = noise[r].view(3, 7, D)
            torch.testing.assert_close(
                logits[r, m].view(3, 7, V), models[r][m].train()(tokens[r]), atol=1e-6, rtol=1e-6
            )


@pytest.mark.parametrize("masked", [False, True])
def test_the_last_position_alone(build: Any, masked: bool) -> None:
    model, lengths = build(norm="post", scaling="sum"), torch.tensor([7, 3, 1])
    mask = torch.arange(7) < lengths[:, None] if masked else None
    last = TableForm(model)(stacked([[model]]), Seen.of(REPEATED[None], V, True, _add(mask)))[0, 0]
    at = lengths - 1 if masked else torch.full((3,), 6)
    torch.testing.assert_close(last, model(REPEATED, mask)[torch.arange(3), at])


def test_attention_is_over_the_vocabulary_and_absent_tokens_weigh_nothing(build: Any) -> None:
    model, tokens = build(), torch.tensor([[3, 1, 1], [0, 0, 0]])
    attention = TableForm(model).attention(stacked([[model]]), Seen.of(tokens[None], V, True))[0, 0]
    torch.testing.assert_close(attention.sum(-1), torch.ones(2, dtype=torch.float64))
    assert attention[0, [0, 2, 4]].tolist() == [0, 0, 0]
    assert attention[1].tolist() == [1, 0, 0, 0, 0]


def test_logits_are_sums_of_the_tables_rows(build: Any) -> None:
    """f(t) = B[y] + sum_i a_i D[t_i], with attention a a softmax of S[y] over the tokens."""
    model, tokens = build(norm="pre"), [3, 1, 1, 4]
    s, b, d = (table[0, 0] for table in TableForm(model).tables(stacked([[model]])))
    a = s[4, tokens].softmax(0)
    torch.testing.assert_close(model(torch.tensor([tokens]))[0, -1], b[4] + a @ d[tokens])


def test_a_hundred_thousand_tokens_cost_no_square_of_them(build: Any) -> None:
    model = build()
    tokens = torch.cat([torch.zeros(99_999, dtype=torch.long), torch.tensor([1])])[None]
    long = TableForm(model)(stacked([[model]]), Seen.of(tokens[None], V, True))[0, 0, 0]
    s, b, d = (table[0, 0] for table in TableForm(model).tables(stacked([[model]])))
    odds = torch.tensor([99_999.0, 1.0], dtype=torch.float64) * s[1, :2].exp()
    torch.testing.assert_close(long, b[1] + odds / odds.sum() @ d[:2], rtol=1e-6, atol=1e-6)


def _add(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else mask[None]
