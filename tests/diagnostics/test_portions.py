"""Measuring in portions, keeping what was drawn, thinning the lengths of scale matching, and regression."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from lengthwise.diagnostics import METRICS_OF, Inputs, curves, measure
from lengthwise.diagnostics.metrics import accuracy, squared_error
from lengthwise.tasks import Batch, Recognition, SingleLocation


class Given:
    """A task without chance: the inputs of a length alternate between two, whoever draws them."""

    name, distinct = "given", False
    sizes = {"vocabulary": 4, "outputs": 4}
    trained_length, lengths = 6, range(1, 200)

    def __init__(self, loss: Any = "cross-entropy") -> None:
        self.loss = loss

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        return self.measure(rng, count, length)

    def measure(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        odd = torch.arange(count) % 2
        tokens = (odd[:, None] * 2 + torch.arange(length)) % 4
        if self.loss == "squared-error":
            exact = odd[:, None].double() + length / 7
            return Batch(tokens, (exact + 0.5).float(), "last", exact)
        labels = (odd + length) % 4
        return Batch(tokens, labels, "last", torch.nn.functional.one_hot(labels, 4).double())

    def oracle(self, inputs: Any) -> list[float]:
        raise NotImplementedError


class Asked:
    """Two models for each replicate that answer by the last token and the length, and note what they were shown."""

    def __init__(self, outputs: int) -> None:
        self.table = torch.randn(2, 4, outputs, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        self.batches: list[Batch] = []

    def __call__(self, batch: Batch) -> Tensor:
        self.batches.append(batch)
        last = batch.inputs[..., -1] % 4
        return torch.stack([m[row] * (1 + batch.length / 50) for row in last for m in self.table])

    def attention(self, batch: Batch) -> Tensor:
        return self(batch).softmax(-1)


def inputs(task: Any, count: int, replicates: tuple[int, ...] = (0, 1), trained: int = 6) -> Inputs:
    return Inputs(task, replicates, seed=0, count=count, trained_length=trained)


@pytest.mark.parametrize("loss", ["cross-entropy", "squared-error"])
@pytest.mark.parametrize("count", [2, 7, 16])
def test_measuring_in_portions_is_measuring_at_once(monkeypatch: Any, loss: str, count: int) -> None:
    task, lengths = Given(loss), [1, 6, 20, 90]

    def rows(portion: int) -> tuple[list[Any], list[int]]:
        monkeypatch.setattr(curves, "PORTION", portion)
        asked = Asked(4 if loss == "cross-entropy" else 1)
        found = list(measure(asked, inputs(task, count), lengths, asked.attention))
        return found, [b.labels.shape[1] for b in asked.batches if b.length == 90]

    (whole, once), (parts, pieces) = rows(2**24), rows(400)
    assert once == [count] * 2
    assert pieces == [n for k in range(0, count, 2) for n in [min(2, count - k)] * 2]
    assert len(whole) == len(parts) > len(lengths)
    for one, other in zip(whole, parts):
        assert (one.length, one.metric, one.inputs) == (other.length, other.metric, other.inputs)
        torch.testing.assert_close(one.values, other.values, rtol=1e-12, atol=1e-12, equal_nan=True)


@given(st.integers(1, 60), st.integers(1, 150), st.integers(1, 4), st.integers(1, 3000))
def test_a_portion_is_bounded_even_and_none_is_left_out(count: int, length: int, replicates: int, bound: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(curves, "PORTION", bound)
        batches = list(inputs(Given(), count, tuple(range(replicates))).portions(length))
    sizes = [batch.labels.shape[1] for batch in batches]
    assert sum(sizes) == count
    assert all(size % 2 == 0 for size in sizes[:-1])
    assert all(size * length * replicates <= bound or size <= 2 for size in sizes)
    assert len(sizes) <= 1 or (sizes[0] + 2) * length * replicates > bound  # no smaller than need be


def test_portions_of_a_task_with_chance_are_other_draws(monkeypatch: Any) -> None:
    monkeypatch.setattr(curves, "PORTION", 80)
    first, second = list(inputs(Recognition(), 8, (0,)).portions(20))
    assert not torch.equal(first.inputs, second.inputs)


def test_what_was_drawn_is_kept_and_given_again(monkeypatch: Any) -> None:
    monkeypatch.setattr(curves, "PORTION", 80)
    drawn = inputs(Recognition(), 8, (0,))
    first, again = list(drawn.portions(20)), list(drawn.portions(20))
    assert all(one is other for one, other in zip(first, again, strict=True))
    assert drawn.at(5) is drawn.at(5)
    assert drawn.at(5) is not drawn.at(5, "scale matching")
    assert drawn.at(5, count=2) is not drawn.at(5)
    asked = Asked(2)
    for _ in range(2):
        list(measure(asked, drawn, [5, 20]))
    half = len(asked.batches) // 2
    assert half > 2
    assert all(one is other for one, other in zip(asked.batches[:half], asked.batches[half:], strict=True))


def test_no_more_is_kept_than_the_bound_and_the_rest_is_drawn_again_the_same(monkeypatch: Any) -> None:
    monkeypatch.setattr(curves, "KEPT", 2 * 8 * (6 + 11))
    drawn = inputs(Recognition(), 8)
    batches = {length: drawn.at(length) for length in (5, 10, 40, 6)}
    assert sum(b.inputs.numel() for b in drawn.kept.values()) <= curves.KEPT
    assert [drawn.at(s) is batches[s] for s in (5, 10, 40, 6)] == [True, True, False, False]
    assert all(torch.equal(drawn.at(s).inputs, batches[s].inputs) for s in batches)


@given(st.integers(1, 199))
def test_scale_matching_looks_at_some_trained_lengths_evenly(trained: int) -> None:
    asked = Asked(4)
    next(iter(measure(asked, inputs(Given(), 8, (0,), trained), [1])))
    lengths = [batch.length for batch in asked.batches]
    assert 1 <= len(lengths) <= curves.SCALE_LENGTHS
    assert lengths[0] == 1
    assert lengths[-1] <= trained
    assert len({b - a for a, b in pairwise(lengths)}) <= 1
    assert trained > curves.SCALE_LENGTHS or lengths == [*range(1, trained + 1)]
    assert trained <= curves.SCALE_LENGTHS or len(lengths) > curves.SCALE_LENGTHS // 2


def test_regression_has_its_two_errors_and_no_temperature() -> None:
    task, lengths = SingleLocation(noise=0.5), [1, 9]
    drawn = inputs(task, 6)
    rows = list(measure(lambda b: b.inputs.double().sum((-1, -2))[..., None], drawn, lengths))
    assert [(r.length, r.metric) for r in rows] == [(s, m) for s in lengths for m in ("squared_error", "excess_error")]
    for length, found, excess in ((1, rows[0], rows[1]), (9, rows[2], rows[3])):
        batch = drawn.at(length)
        assert batch.targets is not None
        said = batch.inputs.double().sum((-1, -2))
        for values, truth in ((found.values, batch.labels), (excess.values, batch.targets)):
            expected = [
                sum((s - t) ** 2 for s, t in zip(one, other)) / 6
                for one, other in zip(said.tolist(), truth[..., 0].double().tolist())
            ]
            assert values.tolist() == pytest.approx(expected, rel=1e-12)


def test_the_optimal_predictor_has_no_excess_error_and_the_error_of_the_noise() -> None:
    task = SingleLocation(noise=0.5)
    drawn = inputs(task, 2000, (0,))
    rows = {r.metric: r.values.item() for r in measure(lambda b: b.targets, drawn, [4])}  # type: ignore[arg-type, return-value]
    assert rows["excess_error"] == 0
    assert abs(rows["squared_error"] - 0.25) < 5.5 * 0.25 * (2 / 2000) ** 0.5


logits = st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=6)


@given(logits, st.integers(0, 1000))
def test_an_answer_is_right_where_every_illegal_token_is_less_likely(rows: list[list[int]], seed: int) -> None:
    """Ties, which small whole numbers give often, are not right."""
    legal = np.random.default_rng(seed).random((len(rows), 3)) < 0.5
    legal[:, 0] = True
    right = [
        all(x < max(y for y, is_in in zip(row, mine) if is_in) for x, is_in in zip(row, mine) if not is_in)
        for row, mine in zip(rows, legal.tolist())
    ]
    targets = torch.from_numpy(legal / legal.sum(1, keepdims=True))[None]
    assert accuracy(torch.tensor(rows).double()[None], targets).tolist() == [pytest.approx(np.mean(right))]


@given(st.integers(1, 3), st.integers(1, 5), st.integers(1, 3), st.integers(0, 1000))
def test_the_squared_error_is_the_mean_over_inputs_and_numbers(models: int, count: int, width: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    answers, truth = random.normal(size=(2, models, count, width))
    expected = [np.mean([(a - t) ** 2 for a, t in zip(x.flat, y.flat)]) for x, y in zip(answers, truth)]
    assert squared_error(torch.from_numpy(answers), torch.from_numpy(truth)).tolist() == pytest.approx(expected)


def test_every_loss_says_which_way_its_metrics_are_better() -> None:
    assert METRICS_OF["cross-entropy"]["accuracy"].better == "greater"
    assert {metric.better for metric in METRICS_OF["squared-error"].values()} == {"less"}
    assert not any(metric.scales for metric in METRICS_OF["squared-error"].values())
