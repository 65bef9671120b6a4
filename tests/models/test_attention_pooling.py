"""Attention pooling by its definition, in padded batches, and in any order of its vectors."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.models import AttentionPooling

kinds = st.fixed_dictionaries(
    {
        "features": st.integers(1, 4),
        "outputs": st.integers(1, 3),
        "query": st.sampled_from(["constant", "last"]),
        "hidden": st.sampled_from([0, 5]),
    }
)
seeds = st.integers(0, 10_000)


def made(kind: dict[str, Any], seed: int) -> AttentionPooling:
    """A pooling layer in which no number is at its start."""
    torch.manual_seed(seed)
    model = AttentionPooling(**kind).double()
    for parameter in model.parameters():
        parameter.data = torch.randn_like(parameter)
    return model


def by_definition(model: AttentionPooling, x: Tensor) -> Tensor:
    """One answer to vectors `(s, features)`, each weight from its own sum."""
    last = model.asks == "last"
    seen = x[:-1] if last else x
    if last:
        scores = [(x[-1] @ model.scores @ y / math.sqrt(x.shape[-1])).item() for y in seen]
    else:
        scores = [(model.scores[:, 0] @ y).item() for y in seen]
    total = sum(math.exp(s) for s in scores)
    mean = sum((math.exp(s) / total * y for s, y in zip(scores, seen)), torch.zeros_like(x[0]))
    return model.readout(torch.cat([mean, x[-1]]) if last else mean)


@given(kinds, st.lists(st.integers(2, 7), min_size=1, max_size=4), seeds, st.booleans())
def test_a_padded_batch_is_the_definition_of_each_input(
    kind: dict[str, Any], lengths: list[int], seed: int, garbage: bool
) -> None:
    model = made(kind, seed)
    vectors = torch.randn(len(lengths), max(lengths), kind["features"], dtype=torch.float64)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    shown = vectors if garbage else vectors * mask[..., None]
    expected = torch.stack([by_definition(model, x[:n]) for x, n in zip(vectors, lengths)])
    answers = model(shown, mask)
    torch.testing.assert_close(answers, expected, rtol=1e-10, atol=1e-10)
    parameters = list(model.parameters())
    alone = torch.cat([model(x[None, :n]) for x, n in zip(vectors, lengths)])
    for one, other in zip(
        torch.autograd.grad(answers.square().sum(), parameters), torch.autograd.grad(alone.square().sum(), parameters)
    ):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@given(kinds, st.integers(2, 7), seeds)
def test_the_order_of_vectors_changes_nothing_but_which_is_last(kind: dict[str, Any], length: int, seed: int) -> None:
    model = made(kind, seed)
    x = torch.randn(1, length, kind["features"], dtype=torch.float64)
    order = [*torch.randperm(length - 1).tolist(), length - 1]
    torch.testing.assert_close(model(x), model(x[:, order]), rtol=1e-10, atol=1e-10)
    if kind["query"] == "constant":
        torch.testing.assert_close(model(x), model(x.flip(1)), rtol=1e-10, atol=1e-10)


def test_attention_starts_uniform() -> None:
    model, x = AttentionPooling(features=3, outputs=2), torch.randn(4, 6, 3)
    torch.testing.assert_close(model(x), model.readout(x.mean(1)))
    model = AttentionPooling(features=3, outputs=2, query="last", hidden=4)
    torch.testing.assert_close(model(x), model.readout(torch.cat([x[:, :-1].mean(1), x[:, -1]], -1)))


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"query": "constnat"}, "unknown query 'constnat': did you mean 'constant'"),
        ({"outputs": 0}, "outputs 0: expected at least 1"),
        ({"hidden": -1}, "hidden -1: expected at least 0"),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        AttentionPooling(**{"features": 3, "outputs": 1, **settings})
