"""Intervals keep their level at the small n of a quick run, and say nothing of what is no sample."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_1samp

from lengthwise.errors import InputError
from lengthwise.statistics import Interval, log_slope, mean_interval

SAMPLERS = {
    "normal": (lambda random, shape: random.normal(3, 2, shape), 3.0),
    "skewed": (lambda random, shape: random.gamma(2, 1, shape), 2.0),
    "difference of skewed": (lambda random, shape: random.exponential(1, shape) - random.exponential(1, shape), 0.0),
    "heavy tails": (lambda random, shape: random.standard_t(4, shape), 0.0),
}


@pytest.mark.statistical
@pytest.mark.parametrize("n", [8, 12])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_null_effect_is_found_in_no_more_than_27_of_200_repetitions(kind: str, n: int) -> None:
    """At a true level of .05 more than 27 of 200 are found once in three million runs (binomial)."""
    sample, mean = SAMPLERS[kind]
    draws = sample(np.random.default_rng(n), (200, n))
    found = sum(mean_interval(row, resamples=2000).excludes(mean) for row in draws)
    assert found <= 27
    assert found >= 1 or kind == "heavy tails"  # an interval that never misses is too wide


@pytest.mark.statistical
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_a_handful_of_normal_values_keeps_its_level_too(n: int) -> None:
    draws = np.random.default_rng(n).normal(3, 2, (200, n))
    assert 1 <= sum(mean_interval(row, resamples=2000).excludes(3.0) for row in draws) <= 27


@pytest.mark.parametrize("n", [2, 3, 4])
def test_a_handful_of_values_has_student_s_interval(n: int) -> None:
    row = np.random.default_rng(n).normal(size=n)
    expected = ttest_1samp(row, 0).confidence_interval(0.9)
    interval = mean_interval(row, level=0.9)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.statistical
@pytest.mark.parametrize("n", [8, 12])
def test_an_effect_of_two_deviations_is_found(n: int) -> None:
    draws = np.random.default_rng(n).normal(2, 1, (60, n))
    assert sum(mean_interval(row, resamples=2000).excludes(0.0) for row in draws) >= 50


values = st.lists(st.floats(-100, 100), min_size=3, max_size=15).filter(lambda v: np.std(v) > 1e-3)


@given(values)
def test_the_mean_lies_inside(values: list[float]) -> None:
    interval = mean_interval(np.array(values), resamples=500)
    assert (interval.n, interval.effect) == (len(values), pytest.approx(np.mean(values)))
    assert interval.low <= interval.effect <= interval.high
    assert math.isfinite(interval.low)
    assert math.isfinite(interval.high)


@given(values, st.floats(0.1, 10), st.floats(-50, 50))
def test_it_goes_along_with_a_change_of_units(values: list[float], scale: float, shift: float) -> None:
    here, there = (mean_interval(v, resamples=500) for v in (np.array(values), scale * np.array(values) + shift))
    for mine, theirs in ((here.effect, there.effect), (here.low, there.low), (here.high, there.high)):
        assert theirs == pytest.approx(scale * mine + shift, rel=1e-6, abs=1e-6)


@given(values)
def test_a_mirrored_sample_has_a_mirrored_interval(values: list[float]) -> None:
    here, there = (mean_interval(v, resamples=500) for v in (np.array(values), -np.array(values)))
    assert (there.low, there.high) == (pytest.approx(-here.high, abs=1e-9), pytest.approx(-here.low, abs=1e-9))


def test_a_higher_level_is_wider_and_more_values_are_narrower() -> None:
    draws = np.random.default_rng(0).normal(size=200)
    width = lambda interval: interval.high - interval.low  # noqa: E731
    wide, usual = (width(mean_interval(draws[:20], level=level)) for level in (0.99, 0.95))
    assert wide > usual > 2 * width(mean_interval(draws))


def test_it_is_the_same_every_time_and_leaves_the_global_generator_alone() -> None:
    before, draws = str(np.random.get_state()), np.random.default_rng(0).normal(size=9)  # noqa: NPY002
    assert mean_interval(draws) == mean_interval(draws)
    assert mean_interval(draws) != mean_interval(draws, seed=1)
    assert str(np.random.get_state()) == before  # noqa: NPY002


def test_it_reaches_further_towards_the_long_tail() -> None:
    """A sample that is skewed to the right says least of how far the mean lies to the right."""
    values = np.array([1.0, 1.1, 1.2, 1.3, 1.5, 2.0, 3.0, 6.0])
    interval = mean_interval(values)
    assert interval.high - interval.effect > 1.5 * (interval.effect - interval.low)


@pytest.mark.parametrize("value", [0.0, 0.3, -7.0])
def test_equal_values_have_an_interval_of_width_zero(value: float) -> None:
    assert mean_interval(np.full(7, value)) == Interval(7, value, value, value)


def test_all_but_one_equal_is_finite() -> None:
    interval = mean_interval(np.array([1.0] * 7 + [2.0]))
    assert math.isfinite(interval.low)
    assert math.isfinite(interval.high)
    assert interval.low <= interval.effect <= interval.high


@pytest.mark.parametrize("bad", [[], [1.0], [1.0, math.nan], [1.0, math.inf, 2.0]], ids=str)
def test_what_is_no_sample_is_refused(bad: list[float]) -> None:
    with pytest.raises(InputError, match="at least 2 finite values"):
        mean_interval(np.array(bad))


def test_the_ends_belong_to_an_interval() -> None:
    interval = Interval(5, 0.5, 0.0, 1.0)
    assert [interval.excludes(x) for x in (-1e-9, 0.0, 0.5, 1.0, 1 + 1e-9)] == [True, False, False, False, True]


@given(st.floats(-3, 3), st.floats(0.01, 100), st.lists(st.integers(1, 1000), min_size=2, max_size=9, unique=True))
def test_a_power_law_has_its_exponent(exponent: float, factor: float, x: list[int]) -> None:
    xs = np.array(x, dtype=float)
    assert log_slope(xs, factor * xs**exponent) == pytest.approx(exponent, abs=1e-6)


@given(st.integers(0, 2**31), st.integers(3, 9))
def test_the_slope_is_that_of_least_squares(seed: int, n: int) -> None:
    random = np.random.default_rng(seed)
    x, y = np.arange(1, n + 1), random.lognormal(size=n)
    a, b = np.log(x) - np.log(x).mean(), np.log(y) - np.log(y).mean()
    assert log_slope(x, y) == pytest.approx(a @ b / (a @ a))


@pytest.mark.parametrize("y", [[1.0, 0.0, 2.0], [1.0, -1.0, 2.0], [1.0, math.nan, 2.0]], ids=str)
def test_what_has_no_logarithm_has_no_slope(y: list[float]) -> None:
    assert math.isnan(log_slope(np.array([1.0, 2.0, 3.0]), np.array(y)))


def test_one_point_has_no_slope() -> None:
    assert math.isnan(log_slope(np.array([2.0]), np.array([1.0])))
