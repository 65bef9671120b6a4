"""Tables of positions are their formulas, go on as they began, and know distances where they say so."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise import Member, Phase, Plan, Population, SetComplement, Trainer
from lengthwise.errors import InputError
from lengthwise.models import GPT, MODELS, PRESETS, preset
from lengthwise.models.dropout import dropouts
from lengthwise.models.gpt import rotated
from lengthwise.models.positions import (
    POSITIONS,
    AlibiPositions,
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    Visible,
    rotations,
    sinusoids,
    slopes,
)


@given(st.integers(1, 40), st.integers(1, 9))
def test_sinusoids_by_definition(length: int, width: int) -> None:
    table = sinusoids(length, width)
    assert table.shape == (length, width)
    for p in range(length):
        for column in range(width):
            wave = math.cos if column % 2 else math.sin
            assert table[p, column].item() == pytest.approx(wave(p / 10_000 ** (column // 2 * 2 / width)), abs=1e-12)


@given(st.integers(1, 40), st.integers(1, 5), st.integers(0, 2**31))
def test_rotation_turns_pairs_of_columns_as_complex_numbers(length: int, half: int, seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=(length, 2 * half))
    turned = rotated(torch.from_numpy(x), rotations(length, 2 * half)).numpy()
    for p in range(length):
        for i in range(half):
            angle = p * 10_000 ** (-i / half)
            expected = complex(x[p, i], x[p, i + half]) * complex(math.cos(angle), math.sin(angle))
            assert complex(turned[p, i], turned[p, i + half]) == pytest.approx(expected, abs=1e-12)


@given(st.integers(0, 2**31), st.integers(0, 15), st.integers(0, 15), st.integers(0, 15))
def test_rotated_products_know_distance_alone(seed: int, q: int, k: int, shift: int) -> None:
    random = np.random.default_rng(seed)
    query, key = (torch.from_numpy(random.normal(size=6)).expand(31, 6) for _ in range(2))
    scores = rotated(query, rotations(31, 6)) @ rotated(key, rotations(31, 6)).T
    assert scores[q + shift, k + shift].item() == pytest.approx(scores[q, k].item(), abs=1e-12)
    assert scores[q, q].item() == pytest.approx((query[0] @ key[0]).item(), abs=1e-12)


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 6, 8, 12, 16])
def test_alibi_is_its_lines(heads: int) -> None:
    def by_recursion(n: int) -> list[float]:
        if math.log2(n).is_integer():
            return [2 ** (-8 * (k + 1) / n) for k in range(n)]
        below = 2 ** int(math.log2(n))
        return by_recursion(below) + by_recursion(2 * below)[0::2][: n - below]

    assert slopes(heads).tolist() == pytest.approx(by_recursion(heads), rel=1e-12)
    assert slopes(8).tolist() == [2.0**-k for k in range(1, 9)]
    bias = AlibiPositions(heads, heads, 1).bias(torch.zeros(5, heads, dtype=torch.float64))
    for h, slope in enumerate(by_recursion(heads)):
        for q in range(5):
            for k in range(q + 1):
                assert bias[h, q, k].item() == pytest.approx(-slope * (q - k), abs=1e-12)


@given(st.integers(1, 20), st.integers(1, 20), st.sampled_from([2, 4, 6, 10, 16, 34]))
def test_a_longer_table_starts_with_the_shorter_one(length: int, more: int, width: int) -> None:
    short, long = length, length + more
    assert torch.equal(sinusoids(long, width)[:short], sinusoids(short, width))
    assert torch.equal(rotations(long, width)[:, :short], rotations(short, width))
    bias = [AlibiPositions(width, 2, 1).bias(torch.zeros(n, width)) for n in (long, short)]
    assert torch.equal(bias[0][:, :short, :short], bias[1])
    tables = []
    for block in (long, short):
        torch.manual_seed(3)
        tables.append(LearnedPositions(width, 1, block, 0.5).table)
    assert torch.equal(tables[0][:short], tables[1])
    assert len({tuple(row.tolist()) for row in tables[0]}) == long


@pytest.mark.statistical
def test_learned_vectors_are_normal_with_the_scale_asked_for() -> None:
    table = LearnedPositions(50, 1, 2_000, 0.02).table
    n = table.numel()
    assert abs(table.mean().item()) < 5.5 * 0.02 / math.sqrt(n)
    assert abs(table.var().item() / 0.02**2 - 1) < 5.5 * math.sqrt(2 / n)


def test_far_positions_are_as_exact_as_near_ones() -> None:
    p, x = 100_000, torch.zeros(100_001, 2)
    added = SinusoidalPositions(2, 1, 1).added(x)[p]
    rotation = RotaryPositions(2, 1, 1).rotation(x)[:, p, 0]
    assert added.dtype == torch.float32
    assert added.tolist() == pytest.approx([math.sin(p), math.cos(p)], abs=1e-7)
    assert rotation.tolist() == pytest.approx([math.cos(p), math.sin(p)], abs=1e-9)


def test_each_kind_says_where_positions_enter_and_what_is_beyond() -> None:
    x, enters = torch.zeros(1, 3, 4), {"learned": "added", "sinusoidal": "added", "rotary": "rotation", "alibi": "bias"}
    for kind, make in POSITIONS.items():
        positions = make(4, 2, 8)
        found = {"added": not torch.equal(positions.added(x), x), "rotation": positions.rotation(x) is not None}
        found["bias"] = positions.bias(x) is not None
        assert [name for name, yes in found.items() if yes] == ([enters[kind]] if kind in enters else [])
        assert "Beyond the trained length:" in (make.__doc__ or "")
        assert not positions.state_dict() or kind == "learned"


@given(st.integers(0, 2**31), st.integers(1, 6), st.booleans())
def test_attention_by_definition_fused_or_not(seed: int, s: int, masked: bool) -> None:
    """Softmax over what may be seen, with the bias; zero for a query that sees nothing, and so are its gradients."""
    random = np.random.default_rng(seed)
    query, key, value = (torch.from_numpy(random.normal(0, 3, (2, 3, s, 4))).requires_grad_() for _ in range(3))
    mask = torch.from_numpy(random.random((2, s)) < 0.6) if masked else None
    visible = Visible.of(torch.zeros(2, s, 12, dtype=torch.float64), AlibiPositions(12, 3, 1), mask)
    weights, expected = visible.weights(query, key), np.zeros((2, 3, s, s))
    for b, h, q in np.ndindex(2, 3, s):
        seen = [k for k in range(q + 1) if mask is None or mask[b, k]]
        score = {k: (query[b, h, q] @ key[b, h, k]).item() / 2 - slopes(3)[h].item() * (q - k) for k in seen}
        odds = {k: math.exp(x - max(score.values())) for k, x in score.items()}
        for k in seen:
            expected[b, h, q, k] = odds[k] / sum(odds.values())
    np.testing.assert_allclose(weights.detach(), expected, rtol=1e-9, atol=1e-12)
    outputs = [weights @ value, visible.mixed(query, key, value)]
    torch.testing.assert_close(outputs[0], outputs[1])
    signs = torch.from_numpy(random.normal(size=outputs[0].shape))
    gradients = [torch.autograd.grad((out * signs).sum(), [query, key, value], retain_graph=True) for out in outputs]
    for explicit, fused in zip(*gradients, strict=True):
        assert explicit.isfinite().all()
        torch.testing.assert_close(explicit, fused)


RATES = {"embedding_dropout": 0.3, "attention_dropout": 0.4, "residual_dropout": 0.2}


@pytest.mark.parametrize("kind", POSITIONS)
@pytest.mark.parametrize("dropped", [False, True], ids=["plain", "dropout"])
def test_a_population_of_gpts_is_its_models_alone(kind: Any, dropped: bool) -> None:
    """Trained through vmap, without a warning of slowness, each with its own rates of dropout and noise of its own."""
    plan = Plan(phases=(Phase(steps=3, rates={"attention": 0.01, "output": 0.02}),), batch=4)
    members = [_member(kind, plan, **{k: r / (j + 1) for k, r in RATES.items() if dropped}) for j in range(2)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        together = _trained(members, [0, 1])
    assert together.forward.name == "vmap"
    assert len(together.forward.noise_shapes(together.batch(0))) == (7 if dropped else 0)
    for index in range(4):
        alone = _trained([members[index % 2]], [index // 2])
        torch.testing.assert_close(together.population.weights[index], alone.population.weights[0], rtol=0, atol=1e-8)
    assert not torch.equal(together.population.weights[0], together.population.weights[1]) or not dropped


@pytest.mark.parametrize("masked", [False, True], ids=["whole", "padded"])
@pytest.mark.parametrize("kind", POSITIONS)
def test_a_mapped_model_answers_as_it_does_alone(kind: Any, masked: bool) -> None:
    models = [GPT(vocabulary=6, width=8, positions=kind, initial_scale=0.5) for _ in range(3)]
    state, _ = torch.func.stack_module_state(models)  # type: ignore[arg-type]
    tokens, mask = torch.randint(6, (3, 4, 5)), torch.arange(5).expand(3, 4, 5) < torch.randint(6, (3, 4, 1))
    inputs = (tokens, mask) if masked else (tokens,)
    one = lambda weights, *x: torch.func.functional_call(models[0], weights, x)  # noqa: E731
    mapped = torch.vmap(one)(state, *inputs)
    alone = torch.stack([model(*(x[i] for x in inputs)) for i, model in enumerate(models)])
    torch.testing.assert_close(mapped, alone, rtol=1e-5, atol=1e-5)


def test_the_seed_gives_the_same_weights_whatever_the_positions() -> None:
    def state(**changes: Any) -> dict[str, torch.Tensor]:
        torch.manual_seed(1)
        return GPT(vocabulary=5, **changes).state_dict()

    expected = state(block=40)
    for changes in ({"positions": kind} for kind in POSITIONS):
        for name, value in state(**changes).items():
            assert torch.equal(value[:40] if name == "positions.table" else value, expected[name])


@pytest.mark.parametrize("kind", POSITIONS)
def test_it_runs_in_half_precision(kind: Any) -> None:
    model, mask = GPT(vocabulary=5, positions=kind), torch.rand(3, 7) < 0.5
    tokens = torch.randint(5, (3, 7))
    with torch.autocast("cpu", torch.bfloat16):
        halves = [model(tokens, mask), model.attention(tokens, mask)]
    halves += [model.bfloat16()(tokens, mask), model.attention(tokens, mask)]
    assert all(half.dtype == torch.bfloat16 and half.isfinite().all() for half in halves)


@pytest.mark.parametrize("place", GPT.numbers)
def test_dropout_places_are_independent_and_silent_when_not_training(place: str) -> None:
    rate: dict[str, Any] = {place: 0.5}
    torch.manual_seed(0)
    plain = GPT(vocabulary=5)
    torch.manual_seed(0)
    model, tokens = GPT(vocabulary=5, **rate).eval(), torch.randint(5, (3, 7))
    places = {layer.rpartition(".")[2] for layer in dropouts(model)}
    assert places in ({place}, {"dropout"}, {"attention_residual_dropout", "mlp_residual_dropout"})
    assert len(dropouts(model)) == {"embedding_dropout": 1, "attention_dropout": 2, "residual_dropout": 4}[place]
    assert torch.equal(model(tokens), plain(tokens))
    assert not torch.allclose(model.train()(tokens), plain(tokens))


def test_fused_kernels_serve_the_published_othello_model_and_not_a_population(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, fused = [], torch.nn.functional.scaled_dot_product_attention
    spy = lambda *x, **options: (calls.append(options), fused(*x, **options))[1]  # noqa: E731
    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", spy)
    model, games = preset("othellogpt").eval(), torch.randint(61, (1, 59))
    assert sum(parameter.numel() for parameter in model.parameters()) == 25_312_768
    assert model(games).shape == (1, 59, 61)
    assert calls == [{"is_causal": True}] * 8
    torch.vmap(preset("tiny", vocabulary=61))(games[None])
    assert len(calls) == 8


def test_presets_take_changes_and_refuse_what_they_do_not_know() -> None:
    for name in PRESETS:
        model = preset(name, vocabulary=7, positions="rotary", layers=1)
        assert model(torch.tensor([[0, 6]])).shape == (1, 2, 7)
    with pytest.raises(InputError, match="unknown preset 'tinny': did you mean 'tiny'"):
        preset("tinny")
    with pytest.raises(InputError, match="unknown setting 'layer': did you mean 'layers'"):
        preset("tiny", vocabulary=5, layer=3)
    assert MODELS["gpt"] is GPT


def _member(kind: Any, plan: Plan, **rates: Any) -> Member:
    build = lambda: GPT(vocabulary=6, width=4, mlp_ratio=1, positions=kind, initial_scale=0.3, **rates).double()  # noqa: E731
    return Member("", build, plan)


def _trained(members: list[Member], replicates: list[int]) -> Trainer:
    population = Population.start(members, replicates, seed=0)
    trainer = Trainer(population, SetComplement(vocabulary=6, s_train=5), seed=0)
    for _ in range(trainer.total):
        trainer.step()
    return trainer
