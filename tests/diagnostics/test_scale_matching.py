"""The inverse temperature is the minimiser that scipy finds, and takes loudness out of every metric."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from lengthwise import SetComplement
from lengthwise.diagnostics import MATCHED, METRICS, Inputs, inverse_temperature, measure
from lengthwise.tasks import Batch


def case(seed: int, n: int, i: int = 5, v: int = 4, sign: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits that know something of the targets, as loud as they like."""
    random = np.random.default_rng(seed)
    targets = random.dirichlet(np.ones(v), size=(n, i))
    loud = np.exp(random.uniform(-3, 3, (n, 1, 1)))
    logits = loud * (sign * np.log(targets) + random.normal(0, 1.5, (n, i, v)))
    return torch.from_numpy(logits), torch.from_numpy(targets)


def scipy_minimiser(logits: np.ndarray, targets: np.ndarray) -> float:
    loss = lambda x: -(targets * log_softmax(math.exp(x) * logits, axis=-1)).sum()  # noqa: E731
    return math.exp(minimize_scalar(loss, bounds=(-8, 8), method="bounded", options={"xatol": 1e-10}).x)


@given(st.integers(0, 2**31))
def test_it_is_the_minimiser_that_scipy_finds_for_each_model(seed: int) -> None:
    logits, targets = case(seed, n=3)
    found = inverse_temperature(logits, targets)
    for k in range(3):
        expected = scipy_minimiser(logits[k].numpy(), targets[k].numpy())
        if 1e-3 < expected < 1e3:  # beyond, the loss is flat to a computer
            assert found[k].item() == pytest.approx(expected, rel=1e-5)


@given(st.integers(0, 2**31), st.floats(0.05, 20))
def test_it_is_inversely_proportional_to_the_scale(seed: int, c: float) -> None:
    logits, targets = case(seed, n=2)
    found, scaled = inverse_temperature(logits, targets), inverse_temperature(c * logits, targets)
    inside = (found > 0.01) & (found < 100) & (scaled > 0.01) & (scaled < 100)
    torch.testing.assert_close((scaled * c)[inside], found[inside], rtol=1e-6, atol=0)


def test_a_model_that_says_nothing_keeps_its_scale() -> None:
    targets = case(0, n=1)[1]
    assert inverse_temperature(torch.full((1, 5, 4), 3.0, dtype=torch.float64), targets).tolist() == [1.0]


def test_the_ends_of_the_range_are_reached_where_there_is_no_minimum_inside() -> None:
    """A model that is always right wants an infinite scale, one that is always wrong wants none."""
    targets = torch.eye(4, dtype=torch.float64)[None].repeat(2, 1, 1)
    logits = torch.stack([targets[0], -targets[1]])
    found = inverse_temperature(logits, targets)
    assert found[0] > 20  # where every probability has become exactly 0 or 1
    assert found[1] < 1e-3
    assert found.isfinite().all()
    torch.testing.assert_close(inverse_temperature(7 * logits, targets) * 7, found, rtol=1e-6, atol=0)


def test_a_model_that_failed_does_not_disturb_the_others() -> None:
    logits, targets = case(1, n=3)
    expected = inverse_temperature(logits, targets)
    logits[1] = torch.nan
    found = inverse_temperature(logits, targets)
    torch.testing.assert_close(found[[0, 2]], expected[[0, 2]])


def test_tokens_that_are_ruled_out_do_not_hide_the_scale() -> None:
    """Illegal tokens at minus infinity have probability 0 at any scale: the rest decides."""
    logits, targets = case(2, n=1)
    ruled_out = torch.full((1, 5, 1), -torch.inf, dtype=torch.float64)
    found = inverse_temperature(torch.cat([logits, ruled_out], -1), torch.cat([targets, torch.zeros(1, 5, 1)], -1))
    torch.testing.assert_close(found, inverse_temperature(logits, targets))


def test_only_trained_lengths_decide_the_scale() -> None:
    """A model three times too loud at the lengths it trained on, and nine times too quiet beyond."""
    task: Any = SetComplement(vocabulary=6, s_train=3)

    def answer(batch: Batch) -> torch.Tensor:
        assert batch.targets is not None
        loud = 3.0 if batch.length <= 3 else 1 / 9
        return loud * (batch.targets * 0.9 + 0.1 / 6).log()

    def scale(trained: int) -> float:
        inputs = Inputs(task, [0], seed=0, count=40, trained_length=trained)
        return next(row.values.item() for row in measure(answer, inputs, [1]) if row.metric == "inverse_temperature")

    assert scale(1) == pytest.approx(scale(3), rel=0.5)
    assert scale(5) > 2 * scale(3)


@pytest.mark.parametrize("c", [0.1, 7.0])
def test_matched_metrics_do_not_hear_how_loud_a_model_is(c: float) -> None:
    task: Any = SetComplement(vocabulary=6, s_train=3)
    inputs = Inputs(task, [0, 1], seed=0, count=40, trained_length=3)

    def says(loud: float):
        def answer(batch: Batch) -> torch.Tensor:
            assert batch.targets is not None
            mark = torch.sin(torch.arange(6) * 1.7) + batch.inputs.sum(-1, keepdim=True).cos()
            return loud * (3 * (batch.targets > 0) / batch.length + mark)

        return {(row.metric, row.length): row.values for row in measure(answer, inputs, [1, 3, 5])}

    plain, scaled = says(1.0), says(c)
    for name, metric in METRICS.items():
        for s in (1, 3, 5):
            if metric.scales:
                assert not plain[name, s].any() or not torch.allclose(plain[name, s], scaled[name, s])
                torch.testing.assert_close(plain[name + MATCHED, s], scaled[name + MATCHED, s], rtol=1e-5, atol=1e-8)
            else:
                torch.testing.assert_close(plain[name, s], scaled[name, s])
    product = scaled["inverse_temperature", None] * c
    torch.testing.assert_close(product, plain["inverse_temperature", None], rtol=1e-6, atol=0)
