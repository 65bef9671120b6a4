"""GPT is its definition, written once more position by position; it sees no future, and padding changes nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.models import GPT, gpt
from lengthwise.models.positions import POSITIONS
from lengthwise.training.groups import groups_of

KINDS, TOKENS = [*POSITIONS], torch.tensor([[3, 1, 4, 1, 0, 0, 2], [2, 2, 2, 2, 2, 2, 2], [0, 1, 2, 3, 4, 0, 1]])


def small(seed: int = 0, **changes: Any) -> GPT:
    """A float64 model of two layers in which no weight is 0 or 1."""
    torch.manual_seed(seed)
    reads = {} if "features" in changes else {"vocabulary": 5}
    model = GPT(**{**reads, "heads": 2, "width": 8, "mlp_ratio": 2, "block": 12, **changes}).double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(mean=float("norm" in name and "weight" in name), std=0.5)
    return model


@pytest.fixture(params=[(kind, norm) for kind in KINDS for norm in ("pre", "post")], ids=" ".join)
def build(request: pytest.FixtureRequest) -> Callable[..., GPT]:
    """`build(seed, **changes)`: a small model of every kind of positions and place of norm."""
    kind, norm = request.param
    return lambda seed=0, **changes: small(seed, **{"positions": kind, "norm": norm, **changes})


def by_definition(model: GPT, inputs: list[Any]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Outputs `(s, v)` for one example, and each layer's attention `(h, s, s)`, one position and one head at a time."""
    kind, norm = _kind_and_norm(model)
    w = {name: p.detach().numpy() for name, p in model.named_parameters()}
    width, heads = model.positions.width, model.positions.heads
    linear = lambda name, x: w[f"{name}.weight"] @ x + w.get(f"{name}.bias", 0.0)  # noqa: E731
    normal = lambda name, x: (x - x.mean()) / math.sqrt(x.var() + 1e-5) * w[f"{name}.weight"] + w[f"{name}.bias"]  # noqa: E731
    states, measured = [], []
    for p, item in enumerate(inputs):
        x = w["embedding.weight"][item] if isinstance(item, int) else linear("embedding", np.array(item))
        if kind == "learned":
            x = x + w["positions.table"][p]
        if kind == "sinusoidal":
            angle = lambda c: p / 10_000 ** (c // 2 * 2 / width)  # noqa: B023, E731
            x = x + [0.02 * (math.cos if c % 2 else math.sin)(angle(c)) for c in range(width)]
        states.append(x)
    for i in range(len(model.layers)):
        at = f"layers.{i}"
        read = [normal(f"{at}.attention_norm", x) if norm == "pre" else x for x in states]
        mixed, weights = _attention(kind, heads, at, read, linear)
        states = [x + linear(f"{at}.attention.output", m) for x, m in zip(states, mixed, strict=True)]
        states = states if norm == "pre" else [normal(f"{at}.attention_norm", x) for x in states]
        read = [normal(f"{at}.mlp_norm", x) if norm == "pre" else x for x in states]
        hidden = [np.array([h / 2 * (1 + math.erf(h / 2**0.5)) for h in linear(f"{at}.mlp.0", x)]) for x in read]
        states = [x + linear(f"{at}.mlp.2", h) for x, h in zip(states, hidden, strict=True)]
        states = states if norm == "pre" else [normal(f"{at}.mlp_norm", x) for x in states]
        measured.append(weights)
    return np.stack([linear("unembedding", normal("norm", x) if norm == "pre" else x) for x in states]), measured


def _attention(kind: str, heads: int, at: str, read: list[Any], linear: Any) -> tuple[list[np.ndarray], np.ndarray]:
    s, each = len(read), len(read[0]) // heads
    part = lambda name: [linear(f"{at}.attention.{name}", x).reshape(heads, each) for x in read]  # noqa: E731
    query, key, value = (part(name) for name in ("query", "key", "value"))
    weights, mixed = np.zeros((heads, s, s)), np.zeros((s, heads, each))
    for h in range(heads):
        for q in range(s):
            scores = [_score(kind, h, heads, query[q][h], key[k][h], q, k) for k in range(q + 1)]
            odds = [math.exp(x - max(scores)) for x in scores]
            for k in range(q + 1):
                weights[h, q, k] = odds[k] / sum(odds)
                mixed[q, h] += weights[h, q, k] * value[k][h]
    return [m.reshape(-1) for m in mixed], weights


def _score(kind: str, h: int, heads: int, query: np.ndarray, key: np.ndarray, q: int, k: int) -> float:
    each, half = len(query), len(query) // 2
    if kind == "rotary":  # a product of complex numbers, one of them turned by the distance
        turn = [complex(0, (q - k) * 10_000 ** (-i / half)) for i in range(half)]
        pairs = (query[:half] + 1j * query[half:]) * (key[:half] - 1j * key[half:]) * np.exp(turn)
        return float(pairs.sum().real) / math.sqrt(each)
    slope = 2 ** (-8 * (h + 1) / heads) if kind == "alibi" else 0.0
    return float(query @ key) / math.sqrt(each) - slope * (q - k)


def test_outputs_and_attention_are_those_of_the_definition(build: Any) -> None:
    model = build()
    outputs, attention = model(TOKENS).detach(), model.attention(TOKENS).detach()
    for row, tokens in enumerate(TOKENS.tolist()):
        expected, measured = by_definition(model, tokens)
        np.testing.assert_allclose(outputs[row], expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(attention[:, row], np.stack(measured), rtol=1e-9, atol=1e-12)


@given(st.lists(st.integers(0, 4), min_size=1, max_size=12), st.integers(0, 2**31), st.sampled_from([1, 2, 4]))
@settings(max_examples=8)
def test_outputs_are_those_of_the_definition_on_any_input(build: Any, tokens: list[int], seed: int, heads: int) -> None:
    model = build(seed, heads=heads, layers=1)
    expected, _ = by_definition(model, tokens)
    np.testing.assert_allclose(model(torch.tensor([tokens]))[0].detach(), expected, rtol=1e-8, atol=1e-8)


def test_vectors_are_read_by_a_linear_layer(build: Any) -> None:
    model, x = build(features=3, outputs=2), torch.randn(2, 6, 3, dtype=torch.float64)
    outputs = model(x).detach()
    for row in range(2):
        expected, _ = by_definition(model, x[row].tolist())
        np.testing.assert_allclose(outputs[row], expected, rtol=1e-8, atol=1e-8)


def test_no_position_sees_a_later_one(build: Any) -> None:
    model = build()
    whole = model(TOKENS)
    for s in range(1, 7):
        torch.testing.assert_close(model(TOKENS[:, :s]), whole[:, :s])
        changed = torch.cat([TOKENS[:, :s], 4 - TOKENS[:, s:]], dim=1)
        torch.testing.assert_close(model(changed)[:, :s], whole[:, :s])


def test_batch_mates_change_nothing(build: Any) -> None:
    model = build().float()
    alone = torch.cat([model(row[None]) for row in TOKENS])
    torch.testing.assert_close(model(TOKENS), alone, rtol=1e-5, atol=1e-5)
    assert torch.equal(model(TOKENS), model(TOKENS))


@pytest.mark.parametrize("explicit", [False, True], ids=["fused", "explicit"])
def test_a_padded_batch_is_its_examples_outputs_and_gradients(
    build: Any, explicit: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    _force(monkeypatch, explicit)
    model, lengths = build(), [7, 3, 1]
    mask = torch.arange(7) < torch.tensor(lengths)[:, None]
    for filler in (0, 4):
        together = [row[:n] for row, n in zip(model(TOKENS.masked_fill(~mask, filler), mask), lengths, strict=True)]
        alone = [model(TOKENS[i : i + 1, :n])[0] for i, n in enumerate(lengths)]
        for mine, theirs in zip(together, alone, strict=True):
            torch.testing.assert_close(mine, theirs)
        for mine, theirs in zip(_gradients(model, together), _gradients(model, alone), strict=True):
            torch.testing.assert_close(mine, theirs)


def test_both_paths_give_one_answer_and_no_nan(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the mask: rows that see nothing, all of an example masked, padding in front."""
    model = build()
    for mask in (None, torch.rand(3, 7) < 0.4, torch.zeros(3, 7, dtype=torch.bool), torch.arange(7).expand(3, 7) >= 4):
        answers = []
        for explicit in (False, True):
            _force(monkeypatch, explicit)
            outputs = model(TOKENS, mask)
            answers.append((outputs, *_gradients(model, [outputs])))
            assert build().float()(TOKENS, mask).isfinite().all()
        for fused, formed in zip(*answers, strict=True):
            torch.testing.assert_close(fused, formed, rtol=1e-9, atol=1e-9)
        attention = model.attention(TOKENS, mask)
        seen = torch.ones(3, 7, dtype=torch.bool) if mask is None else mask
        visible = (seen[:, None, :] & torch.ones(7, 7, dtype=torch.bool).tril())[None, :, None].expand_as(attention)
        assert (attention[~visible] == 0).all()
        torch.testing.assert_close(attention.sum(-1), visible.any(-1).double())


def test_relative_positions_know_distance_alone(build: Any) -> None:
    """An example that starts later, behind padding, is answered alike; by absolute positions it is not."""
    model = build()
    late = torch.cat([torch.zeros(3, 4, dtype=torch.long), TOKENS], 1)
    answers, (kind, _) = model(late, torch.arange(11).expand(3, 11) >= 4)[:, 4:], _kind_and_norm(model)
    assert torch.allclose(answers, model(TOKENS), rtol=1e-9, atol=1e-9) == (kind in ("none", "rotary", "alibi"))


def test_beyond_the_block(build: Any) -> None:
    model = build(block=6)
    if _kind_and_norm(model)[0] == "learned":
        with pytest.raises(
            InputError, match="length 7: learned positions end at block 6; use a larger block, or rotary"
        ):
            model(TOKENS)
        assert model(TOKENS[:, :6]).shape == (3, 6, 5)
    else:
        torch.testing.assert_close(model(TOKENS), build(block=7)(TOKENS))


def test_its_groups_own_every_parameter_once_and_attention_is_queries_and_keys(build: Any) -> None:
    groups = groups_of(build())
    parts = [f"{part}.{kind}" for part in ("query", "key") for kind in ("weight", "bias")]
    assert groups["attention"] == [f"layers.{i}.attention.{part}" for i in range(2) for part in parts]


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [None, 0.1])
def test_initial_weights_are_gpt_2s(scale: float | None) -> None:
    changes: dict[str, Any] = {} if scale is None else {"initial_scale": scale}
    model = GPT(vocabulary=300, width=128, **changes)
    for name, parameter in model.named_parameters():
        n, writes = parameter.numel(), name.endswith(("attention.output.weight", "mlp.2.weight"))
        expected = (scale or 0.02) / (2 if writes else 1)  # sqrt(2 layers) is 2
        if parameter.dim() == 1:
            assert (parameter == float("norm.weight" in name)).all()
        else:
            assert abs(parameter.var().item() / expected**2 - 1) < 5.5 * math.sqrt(2 / n), name


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        *[({name: 0}, f"{name} 0: expected at least 1") for name in ("layers", "heads", "width", "mlp_ratio", "block")],
        ({"vocabulary": 0}, "vocabulary 0: expected at least 1"),
        ({"vocabulary": None, "features": 0, "outputs": 1}, "features 0: expected at least 1"),
        ({"outputs": -1}, "outputs -1"),
        ({"features": 2}, "vocabulary 5, features 2: expected exactly one"),
        ({"vocabulary": None}, "vocabulary None, features None: expected exactly one"),
        ({"vocabulary": None, "features": 2}, "outputs: expected a size"),
        ({"width": 9}, "width 9: expected a multiple of heads 2"),
        ({"width": 6, "positions": "rotary"}, "width 6, heads 2: rotary positions expect an even head width"),
        ({"norm": "psot"}, "unknown norm 'psot': did you mean 'post'"),
        ({"positions": "rotory"}, "unknown positions 'rotory': did you mean 'rotary'"),
        ({"attention_dropout": 1.0}, "attention_dropout 1.0"),
        ({"initial_scale": float("nan")}, "initial_scale nan"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_by_name_and_value(bad: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        GPT(**{"vocabulary": 5, "width": 8, **bad})
    assert "\n" not in str(caught.value)


def _kind_and_norm(model: GPT) -> tuple[str, str]:
    (kind,) = [kind for kind, made in POSITIONS.items() if type(model.positions) is made]
    return kind, "post" if isinstance(model.norm, nn.Identity) else "pre"


def _force(monkeypatch: pytest.MonkeyPatch, explicit: bool) -> None:
    monkeypatch.setattr(gpt, "is_batchedtensor", lambda x: explicit)


def _gradients(model: nn.Module, outputs: list[Tensor]) -> tuple[Tensor, ...]:
    loss = sum((out.square() * torch.arange(1, out.shape[-1] + 1)).sum() for out in outputs)
    assert isinstance(loss, Tensor)
    return torch.autograd.grad(loss, list(model.parameters()))
