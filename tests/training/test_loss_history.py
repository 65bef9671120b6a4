"""Losses along training are means over stretches, resumed in the middle of one too."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.training.history import History

losses = st.lists(st.floats(-100, 100) | st.just(math.nan), min_size=1, max_size=20)


def fed(values: list[float], every: int) -> History:
    history = History(models=1, every=every)
    for value in values:
        history.add(torch.tensor([value]))
    return history


@given(losses, st.integers(1, 5))
def test_a_row_is_the_mean_of_the_steps_that_ran(values: list[float], every: int) -> None:
    history = fed(values, every)
    history.flush()
    stretches = [values[k : k + every] for k in range(0, len(values), every)]
    assert history.table.shape == (len(stretches), 1)
    for mine, stretch in zip(history.table[:, 0].tolist(), stretches, strict=True):
        ran = [v for v in stretch if not math.isnan(v)]
        expected = sum(ran) / len(ran) if ran else math.nan
        assert mine == pytest.approx(expected, rel=1e-5, abs=1e-4, nan_ok=True)


@given(losses, st.integers(1, 5), st.integers(0, 20))
def test_resumed_is_uninterrupted(values: list[float], every: int, stop: int) -> None:
    whole, first = fed(values, every), fed(values[:stop], every)
    again = History(models=1, every=every)
    again.restore({name: value.clone() for name, value in first.state().items()})
    for value in values[stop:]:
        again.add(torch.tensor([value]))
    for name, value in whole.state().items():
        assert torch.equal(again.state()[name].nan_to_num(), value.nan_to_num()), name


def test_models_that_rest_do_not_disturb_the_others() -> None:
    history = History(models=2, every=2)
    for row in ([1.0, 4.0], [3.0, math.nan], [5.0, math.nan], [7.0, math.nan]):
        history.add(torch.tensor(row))
    assert history.table[:, 0].tolist() == [2, 6]
    assert history.table[0, 1] == 4
    assert history.table[1, 1].isnan()


def test_flushing_twice_adds_nothing() -> None:
    history = fed([1.0], 3)
    history.flush()
    history.flush()
    assert history.table.tolist() == [[1.0]]
    assert History(models=2, every=1).table.shape == (0, 2)
