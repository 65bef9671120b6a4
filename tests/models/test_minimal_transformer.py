"""The minimal transformer is its equation; it sees no future, and padding changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.models import MODELS, MinimalTransformer

REPEATED = [[3, 1, 4, 1, 0, 0, 2], [2, 2, 2, 2, 2, 2, 2], [0, 1, 2, 3, 4, 0, 1]]


def test_logits_are_those_of_the_equation(settings: dict[str, Any], build: Any, oracle: Any) -> None:
    model = build(**settings)
    logits = model(torch.tensor(REPEATED)).detach().numpy()
    for row, tokens in zip(logits, REPEATED, strict=True):
        np.testing.assert_allclose(row, oracle(model, tokens), rtol=1e-6, atol=1e-6)


def test_a_float64_model_computes_in_float64(build: Any, oracle: Any) -> None:
    model = build(scaling="log-length scores")
    logits = model(torch.tensor(REPEATED[:1]))[0].detach()
    np.testing.assert_allclose(logits, oracle(model, REPEATED[0]), rtol=1e-11, atol=1e-11)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(0, 2**31))
@settings(max_examples=15)
def test_logits_are_those_of_the_equation_on_any_input(build: Any, oracle: Any, tokens: list[int], seed: int) -> None:
    model = build(seed, norm="post")
    np.testing.assert_allclose(model(torch.tensor([tokens]))[0].detach(), oracle(model, tokens), rtol=1e-9, atol=1e-9)


def test_no_position_sees_a_later_one(settings: dict[str, Any], build: Any) -> None:
    model = build(**settings)
    tokens = torch.tensor(REPEATED)
    whole = model(tokens)
    for s in range(1, tokens.shape[1]):
        torch.testing.assert_close(model(tokens[:, :s]), whole[:, :s])
        changed = torch.cat([tokens[:, :s], 4 - tokens[:, s:]], dim=1)
        torch.testing.assert_close(model(changed)[:, :s], whole[:, :s])


def test_a_padded_batch_is_its_examples_outputs_and_gradients(settings: dict[str, Any], build: Any) -> None:
    model, lengths = build(**settings), [7, 3, 1]
    tokens = torch.tensor(REPEATED)
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    together = [row[:n] for row, n in zip(model(tokens, mask), lengths, strict=True)]
    alone = [model(tokens[i : i + 1, :n])[0] for i, n in enumerate(lengths)]
    for mine, theirs in zip(together, alone, strict=True):
        torch.testing.assert_close(mine, theirs)
    for mine, theirs in zip(_gradients(model, together), _gradients(model, alone), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("value", [0, 3])
def test_what_stands_in_the_padding_does_not_matter(build: Any, value: int) -> None:
    model, tokens = build(norm="post", scaling="sum"), torch.tensor(REPEATED)
    mask = torch.arange(7) < torch.tensor([[4], [2], [5]])
    padded = model(tokens.masked_fill(~mask, value), mask)
    torch.testing.assert_close(padded[mask], model(tokens, mask)[mask])


def test_its_groups_own_every_parameter_once(settings: dict[str, Any], build: Any) -> None:
    model = build(**settings)
    owned = [glob for globs in model.groups.values() for glob in globs]
    top = {name.split(".")[0] + (".*" if "." in name else "") for name, _ in model.named_parameters()}
    assert sorted(owned) == sorted(top)


def test_dropout_places_are_independent_and_silent_when_not_training() -> None:
    places = ("embedding_dropout", "attention_dropout", "residual_dropout")
    tokens = torch.tensor(REPEATED)
    for place in places:
        torch.manual_seed(0)
        plain = MinimalTransformer(5, width=6)
        torch.manual_seed(0)
        chosen: dict[str, Any] = {place: 0.5}
        model = MinimalTransformer(5, width=6, **chosen)
        assert [name for name, _ in model.named_buffers() if name.endswith("rate")] == [f"{place}.rate"]
        assert torch.equal(model.eval()(tokens), plain(tokens))
        assert not torch.allclose(model.train()(tokens), plain(tokens))


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"vocabulary": 0}, "vocabulary 0"),
        ({"width": -1}, "width -1"),
        ({"width": 0}, "width 0"),
        ({"key_width": -2}, "key_width -2"),
        ({"key_width": 0}, "key_width 0"),
        ({"value_width": 0}, "value_width 0"),
        ({"embedding_dropout": 1.0}, "embedding_dropout 1.0"),
        ({"attention_dropout": -0.1}, "attention_dropout -0.1"),
        ({"residual_dropout": float("nan")}, "residual_dropout nan"),
        ({"norm": "psot"}, "unknown norm 'psot': did you mean 'post'"),
        ({"norm_kind": "batch"}, "unknown norm_kind 'batch'"),
        ({"scaling": "log"}, "unknown scaling 'log'"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_by_name_and_value(bad: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        MinimalTransformer(**{"vocabulary": 5, "width": 4, **bad})
    assert "\n" not in str(caught.value)


def test_the_dictionary_holds_modules() -> None:
    assert all(issubclass(module, torch.nn.Module) for module in MODELS.values())
    assert MODELS["minimal"] is MinimalTransformer


def _gradients(model: torch.nn.Module, outputs: list[Tensor]) -> tuple[Tensor, ...]:
    loss = sum((out.square() * torch.arange(1, 6)).sum() for out in outputs)
    assert isinstance(loss, Tensor)
    return torch.autograd.grad(loss, list(model.parameters()))
