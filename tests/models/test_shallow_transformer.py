"""The shallow transformer by its definition, through letter counts, and in padded batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from lengthwise.errors import InputError
from lengthwise.models import ShallowTables, ShallowTransformer

kinds = st.fixed_dictionaries(
    {
        "query": st.sampled_from(["marker", "last letter"]),
        "scores": st.sampled_from(["free", "factorised"]),
        "sees_marker": st.booleans(),
        "vocabulary": st.integers(2, 5),
    }
)
word_lengths = st.lists(st.integers(0, 9), min_size=1, max_size=5)
seeds = st.integers(0, 10_000)


def made(kind: dict[str, Any], seed: int, double: bool = True) -> ShallowTransformer:
    """A shallow transformer in which no number is at its start: scores would all be 0."""
    torch.manual_seed(seed)
    model = ShallowTransformer(**kind, hidden=6, width=4, key_width=3, outputs=3)
    for parameter in model.parameters():
        parameter.data = torch.randn_like(parameter) * (1.0 if double else 0.3)
    return model.double() if double else model


def words_of(lengths: Sequence[int], vocabulary: int, seed: int) -> list[list[int]]:
    """Random words without their markers."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(vocabulary - 1, (n,), generator=generator).tolist() for n in lengths]


def padded(words: Sequence[list[int]], vocabulary: int, filler: int = 0) -> tuple[Tensor, Tensor]:
    """Words with their markers, padded to the longest, and the mask of what is real."""
    longest = max(map(len, words))
    tokens = [[*word, vocabulary - 1, *[filler] * (longest - len(word))] for word in words]
    return torch.tensor(tokens), torch.arange(longest + 1) <= torch.tensor([len(w) for w in words])[:, None]


def tables(model: ShallowTransformer, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
    """The answers through letter counts, with gradients to the model's own parameters."""
    form = ShallowTables(model)
    weights = {name: p[None, None] for name, p in model.named_parameters()}
    batch = (tokens[None], True, None if mask is None else mask[None])
    return form(weights, form.seen(*batch))[0, 0]


def by_definition(model: ShallowTransformer, word: list[int]) -> list[float]:
    """One answer in plain Python, from the definition."""
    w = {name: p.tolist() for name, p in model.named_parameters()}
    marker, last = model.vocabulary - 1, word[-1] if word else model.vocabulary - 1

    def score(asks: int, x: int) -> float:
        if "scores" in w:
            return w["scores"][0 if model.of_query == "marker" else asks][x]
        e, q, k = w["embedding"], w["query"], w["key"]
        project = lambda token, matrix, j: sum(e[token][i] * matrix[i][j] for i in range(len(matrix)))  # noqa: E731
        width = len(q[0])
        return sum(project(asks, q, j) * project(x, k, j) for j in range(width)) / math.sqrt(width)

    asks = marker if model.of_query == "marker" else last
    seen = [*word, marker] if model.sees_marker else word
    powers = [math.exp(score(asks, x)) for x in seen]
    read = [sum((p for p, x in zip(powers, seen) if x == t), 0.0) / (sum(powers) or 1) for t in range(marker + 1)]
    if model.of_query == "last letter":
        read += [float(t == last) for t in range(marker + 1)]
    inner = [max(0.0, sum(r * row[j] for r, row in zip(read, w["inward"])) + b) for j, b in enumerate(w["inward_bias"])]
    return [sum(h * row[o] for h, row in zip(inner, w["outward"])) + b for o, b in enumerate(w["outward_bias"])]


def gradients(model: ShallowTransformer, answers: Tensor) -> list[Tensor]:
    """Gradients of an uneven sum of the answers, so that no two of them can stand for each other."""
    weight = torch.linspace(-1, 2, answers.numel(), dtype=answers.dtype).view(answers.shape)
    trained = [p for p in model.parameters() if p.requires_grad]
    return list(torch.autograd.grad((answers * weight).sum(), trained))


@given(kinds, word_lengths, seeds)
def test_both_forms_are_the_definition(kind: dict[str, Any], lengths: list[int], seed: int) -> None:
    model, words = made(kind, seed), words_of(lengths, kind["vocabulary"], seed)
    expected = torch.tensor([by_definition(model, word) for word in words], dtype=torch.float64)
    for form in (model, lambda *batch: tables(model, *batch)):
        torch.testing.assert_close(form(*padded(words, kind["vocabulary"])), expected, rtol=1e-10, atol=1e-10)


@given(kinds, word_lengths, seeds)
def test_letter_counts_give_the_same_gradients(kind: dict[str, Any], lengths: list[int], seed: int) -> None:
    model, words = made(kind, seed), words_of(lengths, kind["vocabulary"], seed)
    batch = padded(words, kind["vocabulary"])
    plain, counted = gradients(model, model(*batch)), gradients(model, tables(model, *batch))
    for one, other in zip(plain, counted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@given(kinds, word_lengths, seeds)
def test_in_single_precision_the_forms_agree_to_a_millionth(
    kind: dict[str, Any], lengths: list[int], seed: int
) -> None:
    model, words = made(kind, seed, double=False), words_of(lengths, kind["vocabulary"], seed)
    batch = padded(words, kind["vocabulary"])
    torch.testing.assert_close(model(*batch), tables(model, *batch), rtol=1e-6, atol=1e-6)


@given(kinds, word_lengths, seeds)
def test_a_padded_batch_is_its_words_alone_whatever_pads_it(
    kind: dict[str, Any], lengths: list[int], seed: int
) -> None:
    model, v = made(kind, seed), kind["vocabulary"]
    words = words_of(lengths, v, seed)
    for form in (model, lambda *batch: tables(model, *batch)):
        alone = torch.cat([form(torch.tensor([[*word, v - 1]])) for word in words])
        expected = gradients(model, alone)
        for filler in (0, v - 1):
            answers = form(*padded(words, v, filler))
            torch.testing.assert_close(answers, alone, rtol=1e-10, atol=1e-10)
            for one, other in zip(gradients(model, answers), expected, strict=True):
                torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)


@given(kinds, st.integers(1, 9), seeds, st.randoms(use_true_random=False))
def test_the_order_of_letters_changes_nothing_but_the_last_for_its_query(
    kind: dict[str, Any], length: int, seed: int, random: Any
) -> None:
    model, v = made(kind, seed), kind["vocabulary"]
    word = words_of([length], v, seed)[0]
    kept = word[-1:] if kind["query"] == "last letter" else []
    moved = word[: length - len(kept)]
    random.shuffle(moved)
    one, other = torch.tensor([[*word, v - 1]]), torch.tensor([[*moved, *kept, v - 1]])
    torch.testing.assert_close(model(one), model(other), rtol=1e-12, atol=1e-12)
    assert torch.equal(tables(model, one), tables(model, other))


def test_the_last_letter_matters_to_its_query_only() -> None:
    one, other = torch.tensor([[0, 1, 2]]), torch.tensor([[1, 0, 2]])
    for query, same in (("marker", True), ("last letter", False)):
        model = made({"vocabulary": 3, "query": query}, seed=0)
        assert torch.allclose(model(one), model(other)) == same


@given(kinds, word_lengths, seeds)
def test_absent_letters_weigh_exactly_nothing(kind: dict[str, Any], lengths: list[int], seed: int) -> None:
    model, v = made(kind, seed), kind["vocabulary"]
    words, form = words_of(lengths, v, seed), ShallowTables(model)
    tokens, mask = padded(words, v)
    weights = {name: p.detach()[None, None] for name, p in model.named_parameters()}
    attention = form.attention(weights, form.seen(tokens[None], True, mask[None]))[0, 0]
    for word, row in zip(words, attention, strict=True):
        there = {*word, v - 1} if kind["sees_marker"] else {*word}
        assert [bool(x > 0) for x in row] == [t in there for t in range(v)]
        assert row.sum().item() == (pytest.approx(1) if there else 0.0)


@pytest.mark.parametrize("query", ["marker", "last letter"])
def test_the_scores_of_absent_letters_have_a_gradient_of_exactly_nothing(query: str) -> None:
    model = made({"vocabulary": 5, "query": query}, seed=1)
    tokens = torch.tensor([[0, 2, 2, 0, 4]])
    for answers in (model(tokens), tables(model, tokens)):
        grad = torch.autograd.grad(answers.square().sum(), model.scores)[0]
        there = torch.zeros_like(grad, dtype=torch.bool)
        there[0, [0, 2]] = True
        assert ((grad != 0) == there).all()


class Largest(TorchDispatchMode):
    """Notes the bytes of the largest tensor that any operation makes, views aside."""

    bytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for x in out if isinstance(out, tuple | list) else [out]:
            if isinstance(x, Tensor):
                self.bytes = max(self.bytes, x.untyped_storage().nbytes())
        return out


@pytest.mark.parametrize("ragged", [False, True], ids=["of one length", "padded"])
def test_words_of_100_000_letters_take_no_more_memory_than_their_tokens(ragged: bool) -> None:
    model = ShallowTransformer(vocabulary=5)
    tokens = torch.randint(4, (3, 100_001))
    tokens[:, -1] = 4
    mask = torch.ones_like(tokens, dtype=torch.bool) if ragged else None
    with torch.no_grad(), Largest() as largest:
        tables(model, tokens, mask)
    assert 0 < largest.bytes <= tokens.numel() * tokens.element_size()


def test_a_long_word_answers_by_its_counts() -> None:
    """softmax over letters of score + log count, in float64 and from counts alone."""
    model = made({"vocabulary": 4}, seed=3, double=False)
    counts = [99_996, 3, 1]
    tokens = torch.tensor([0] * counts[0] + [1] * counts[1] + [2] * counts[2] + [3])[None]
    with torch.no_grad():
        powers = model.scores[0, :3].double().exp() * torch.tensor(counts)
        read = torch.cat([powers / powers.sum(), torch.zeros(1)])
        inner = torch.relu(read @ model.inward.double() + model.inward_bias)
        expected = inner @ model.outward.double() + model.outward_bias
        torch.testing.assert_close(tables(model, tokens)[0].double(), expected, rtol=1e-5, atol=1e-6)


def test_attention_starts_uniform_and_the_embedding_of_factorised_scores_never_trains() -> None:
    assert not ShallowTransformer(vocabulary=3).scores.any()
    model = ShallowTransformer(vocabulary=3, scores="factorised")
    assert [name for name, p in model.named_parameters() if not p.requires_grad] == ["embedding"]
    assert "embedding" not in {glob for globs in model.groups.values() for glob in globs}


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"query": "last"}, "unknown query 'last': did you mean 'last letter'"),
        ({"scores": "fre"}, "unknown scores 'fre': did you mean 'free'"),
        ({"hidden": 0}, "hidden 0: expected at least 1"),
        ({"key_width": -1}, "key_width -1: expected at least 1"),
    ],
)
def test_what_cannot_be_built_is_refused_by_name(settings: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        ShallowTransformer(vocabulary=3, **settings)
