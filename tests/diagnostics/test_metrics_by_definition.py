"""Every metric is its definition, one input and one token at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.diagnostics import METRICS
from lengthwise.diagnostics.metrics import attention_entropy, divergence, illegal_mass, total_variation

Slow = Callable[[list[float], list[float]], float]
INF = math.inf


def softmax(logits: list[float]) -> list[float]:
    odds = [math.exp(x - max(logits)) for x in logits]
    return [o / sum(odds) for o in odds]


def split(logits: list[float], target: list[float]) -> tuple[list[float], list[float]]:
    """Legal and illegal logits."""
    pairs = list(zip(logits, target, strict=True))
    return [x for x, t in pairs if t > 0], [x for x, t in pairs if t == 0]


def tv(logits: list[float], target: list[float]) -> float:
    return sum(abs(p - t) for p, t in zip(softmax(logits), target, strict=True)) / 2


def mass(logits: list[float], target: list[float]) -> float:
    return sum(p for p, t in zip(softmax(logits), target, strict=True) if t == 0)


def kl(logits: list[float], target: list[float]) -> float:
    log_total = max(logits) + math.log(sum(math.exp(x - max(logits)) for x in logits))
    return sum(t * (math.log(t) - (x - log_total)) for x, t in zip(logits, target, strict=True) if t > 0)


def top1(logits: list[float], target: list[float]) -> float:
    legal, illegal = split(logits, target)
    return float(max(illegal, default=-INF) >= max(legal))


def gap(logits: list[float], target: list[float]) -> float:
    legal, illegal = split(logits, target)
    return sum(legal) / len(legal) - sum(illegal) / len(illegal) if illegal else math.nan


def spread(logits: list[float], target: list[float]) -> float:
    legal, illegal = split(logits, target)
    displacements = [legal[0] - j for j in illegal]
    return max(displacements) - min(displacements)


def legal_spread(logits: list[float], target: list[float]) -> float:
    return max(a - b for a, b in product(split(logits, target)[0], repeat=2))


def worst(logits: list[float], target: list[float]) -> float:
    return min(i - j for i, j in product(*split(logits, target)))


MEANS: dict[str, Slow] = {
    "tv": tv,
    "illegal_mass": mass,
    "kl": kl,
    "top1_illegal": top1,
    "accuracy": lambda logits, target: 1 - top1(logits, target),
    "displacement": gap,
    "displacement_spread": spread,
    "legal_spread": legal_spread,
}


def random_case(seed: int, loud: float, n: int = 2, i: int = 3, v: int = 6) -> tuple[np.ndarray, np.ndarray]:
    """Logits and targets `(n, i, v)`; targets have zeros, and are not uniform."""
    random = np.random.default_rng(seed)
    targets = random.random((n, i, v)) * (random.random((n, i, v)) < 0.6)
    targets[..., 0], targets[..., 1] = 0, targets[..., 1] + 0.1  # something illegal, something legal
    return random.normal(0, loud, (n, i, v)), targets / targets.sum(-1, keepdims=True)


@given(st.integers(0, 2**31), st.floats(0.01, 50))
def test_every_metric_is_its_definition(seed: int, loud: float) -> None:
    logits, targets = random_case(seed, loud)
    assert set(METRICS) == {*MEANS, "worst_displacement"}
    for name, metric in METRICS.items():
        mine = metric.measure(torch.from_numpy(logits), torch.from_numpy(targets)).numpy()
        slow = MEANS.get(name, worst)
        models = zip(logits, targets, strict=True)
        values = [[slow(*map(list, pair)) for pair in zip(*rows, strict=True)] for rows in models]
        expected = np.min(values, axis=1) if name == "worst_displacement" else np.mean(values, axis=1)
        np.testing.assert_allclose(mine, expected, rtol=1e-8, atol=1e-10, err_msg=name)


@given(st.integers(0, 2**31), st.floats(0.1, 10), st.floats(-100, 100))
def test_a_constant_added_to_the_logits_changes_nothing(seed: int, loud: float, constant: float) -> None:
    logits, targets = (torch.from_numpy(x) for x in random_case(seed, loud))
    for name, metric in METRICS.items():
        expected = metric.measure(logits, targets)
        torch.testing.assert_close(metric.measure(logits + constant, targets), expected, msg=name)


@given(st.integers(0, 2**31), st.floats(0.1, 10))
def test_metrics_keep_their_bounds(seed: int, loud: float) -> None:
    logits, targets = (torch.from_numpy(x) for x in random_case(seed, loud))
    value = {name: metric.measure(logits, targets) for name, metric in METRICS.items()}
    assert (value["illegal_mass"] <= value["tv"] + 1e-12).all()
    assert ((value["tv"] >= 0) & (value["tv"] <= 1)).all()
    assert (value["kl"] >= 2 * value["tv"].square() - 1e-12).all()  # Pinsker
    assert (value["worst_displacement"] <= value["displacement"]).all()


def test_only_what_the_top_one_decides_is_told_not_to_scale() -> None:
    logits, targets = (torch.from_numpy(x) for x in random_case(3, 1.0))
    for name, metric in METRICS.items():
        changed = not torch.allclose(metric.measure(3 * logits, targets), metric.measure(logits, targets))
        assert changed == metric.scales, name


def test_zero_targets_and_logits_of_minus_infinity_give_no_nan() -> None:
    """A model that rules tokens out is measured as the limit: tokens of probability exactly 0."""
    logits = torch.tensor([[[1.0, 0.0, -INF, -INF], [0.0, 2.0, 1.0, -INF]]])
    targets = torch.tensor([[[0.5, 0.5, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]])
    for metric in (total_variation, illegal_mass, divergence):
        limit = metric(logits.clamp_min(-500).double(), targets.double())
        torch.testing.assert_close(metric(logits, targets).double(), limit, rtol=1e-6, atol=1e-6)
    assert divergence(logits.flip(-1), targets).item() == INF  # a legal token is ruled out


def test_displacement_from_tokens_ruled_out_is_infinite_and_not_nan() -> None:
    logits, targets = torch.tensor([[[1.0, 0.0, -INF]]]), torch.tensor([[[0.5, 0.5, 0.0]]])
    assert METRICS["displacement"].measure(logits, targets).item() == INF
    assert METRICS["worst_displacement"].measure(logits, targets).item() == INF


def test_a_perfect_prediction_has_no_error() -> None:
    targets = torch.tensor([[[0.5, 0.25, 0.25, 0.0]]], dtype=torch.float64)
    assert total_variation(targets.log(), targets).item() == pytest.approx(0, abs=1e-15)
    assert divergence(targets.log(), targets).item() == pytest.approx(0, abs=1e-15)
    assert illegal_mass(targets.log(), targets).item() == 0


@pytest.mark.parametrize("legal", [1.0, 2.0])
def test_a_tie_with_a_legal_token_is_a_failure_and_a_win_by_a_hair_is_not(legal: float) -> None:
    logits, targets = torch.tensor([[[legal, 1.0, 0.0]]]), torch.tensor([[[0.5, 0.0, 0.5]]])
    assert METRICS["top1_illegal"].measure(logits, targets).item() == (legal == 1.0)


@given(st.integers(0, 2**31), st.integers(1, 8))
def test_attention_entropy_by_definition(seed: int, v: int) -> None:
    random = np.random.default_rng(seed)
    attention = random.random((2, 3, v)) * (random.random((2, 3, v)) < 0.7)
    attention[..., 0] += 0.01
    attention /= attention.sum(-1, keepdims=True)
    expected = np.mean([[sum(-a * math.log(a) for a in row if a > 0) for row in rows] for rows in attention], axis=1)
    np.testing.assert_allclose(attention_entropy(torch.from_numpy(attention)), expected, rtol=1e-9, atol=1e-12)
