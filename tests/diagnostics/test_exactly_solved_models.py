"""Models whose curve is known in closed form are measured as the formulas say (docs/theory.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from lengthwise import SetComplement
from lengthwise.diagnostics import Inputs, measure
from lengthwise.diagnostics.balance import BALANCE, balance_of_tables, strengths
from lengthwise.models import MinimalTransformer, Seen, TableForm


def curve(answer: Any, v: int, attention: Any = None) -> dict[tuple[str, int | None], float]:
    task: Any = SetComplement(vocabulary=v, s_train=2)
    inputs = Inputs(task, [0], seed=0, count=20, trained_length=2)
    rows = measure(answer, inputs, range(1, v), attention)
    return {(row.metric, row.length): row.values.item() for row in rows}


@pytest.mark.parametrize(("v", "p"), [(5, 3.0), (8, 10.0), (10, 10.0)])
def test_a_balanced_model_has_displacement_p_over_s(
    balanced: Callable[..., MinimalTransformer], answer_of: Callable[..., Any], v: int, p: float
) -> None:
    found = curve(answer_of(balanced(v, p)), v)
    for s in range(1, v):
        wrong = s * math.exp(-p / s)
        tv = wrong / (v - s + wrong)
        assert found["displacement", s] == pytest.approx(p / s)
        assert found["worst_displacement", s] == pytest.approx(p / s)
        assert found["displacement_spread", s] == pytest.approx(0, abs=1e-6)
        assert found["legal_spread", s] == pytest.approx(0, abs=1e-6)
        assert found["top1_illegal", s] == 0
        assert found["tv", s] == pytest.approx(tv)
        assert found["illegal_mass", s] == pytest.approx(tv)
        assert found["kl", s] == pytest.approx(-math.log(1 - tv))


def test_the_published_figures_at_ten_tokens(balanced: Callable[..., MinimalTransformer], answer_of: Any) -> None:
    found = curve(answer_of(balanced(10, 10.0)), 10)
    assert [round(found["tv", s], d) for s, d in ((2, 4), (5, 3), (9, 3))] == [0.0017, 0.119, 0.748]


@pytest.mark.parametrize(("v", "p", "c"), [(5, 4.0, 1.5), (8, 6.0, 0.5), (4, 2.0, 3.0)])
def test_a_solved_model_pushes_its_last_token_further(
    solved: Callable[..., MinimalTransformer], answer_of: Callable[..., Any], v: int, p: float, c: float
) -> None:
    """M = p + c: tokens before the last lie p/s below the legal ones, the last M - p (1 - 1/s)."""
    found = curve(answer_of(solved(v, p, c)), v)
    for s in range(1, v):
        below = [p / s] * (s - 1) + [c + p / s]
        wrong = sum(math.exp(-x) for x in below)
        assert found["displacement", s] == pytest.approx(sum(below) / s)
        assert found["worst_displacement", s] == pytest.approx(min(below))
        assert found["displacement_spread", s] == pytest.approx(c if s > 1 else 0, abs=1e-6)
        assert found["legal_spread", s] == pytest.approx(0, abs=1e-6)
        assert found["tv", s] == pytest.approx(wrong / (v - s + wrong))


def test_uniform_attention_has_the_entropy_of_its_length(
    balanced: Callable[..., MinimalTransformer], answer_of: Any
) -> None:
    model = balanced(6, 3.0)
    weights = {name: p.detach()[None, None] for name, p in model.named_parameters()}
    form = TableForm(model)
    attention = lambda batch: form.attention(weights, Seen.of(batch.inputs, 6, last_only=True)).flatten(0, 1)  # noqa: E731
    found = curve(answer_of(model), 6, attention)
    for s in range(1, 6):
        assert found["attention_entropy", s] == pytest.approx(math.log(s), abs=1e-7)


@pytest.mark.parametrize(("p", "c"), [(4.0, 1.5), (2.0, 0.1)])
def test_strengths_are_read_off_a_solved_model_s_tables(
    solved: Callable[..., MinimalTransformer], p: float, c: float
) -> None:
    model = solved(7, p, c)
    _, b, d = TableForm(model).tables({name: w.detach()[None, None] for name, w in model.named_parameters()})
    found = dict(zip(BALANCE, (x.item() for x in balance_of_tables(b[0], d[0])), strict=True))
    expected = {"p_mean": p, "p_min": p, "m_minus_p_mean": c, "m_minus_p_min": c}
    assert found == pytest.approx(expected, abs=1e-9)
    assert torch.allclose(strengths(b[0], d[0])[1], torch.tensor(p + c, dtype=torch.float64))
