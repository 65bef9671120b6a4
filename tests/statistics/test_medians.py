"""Intervals for a median, by counting and by simulation, and the rule that decides on them."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import comb

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from lengthwise.statistics import Arm, Median, median_interval

LEVELS = [(0.95, Fraction(95, 100)), (0.9, Fraction(9, 10)), (0.6, Fraction(6, 10)), (0.99, Fraction(99, 100))]


def order(n: int, level: Fraction) -> int:
    """The largest k with P(fewer than k of n values below the median) <= (1 - level) / 2, counted exactly; 0: none."""
    tail, k = Fraction(0), 0
    while k < n and 2 * (tail + Fraction(comb(n, k), 2**n)) <= 1 - level:
        tail, k = tail + Fraction(comb(n, k), 2**n), k + 1
    return k


def coverage(n: int, k: int) -> Fraction:
    """P(at least k of n values below the median, and at least k above)."""
    return 1 - 2 * sum((Fraction(comb(n, i), 2**n) for i in range(k)), Fraction(0))


@pytest.mark.parametrize(("level", "exact"), LEVELS, ids=str)
def test_the_interval_is_the_shortest_pair_of_order_statistics_of_the_level(level: float, exact: Fraction) -> None:
    for n in range(1, 90):
        found, k = median_interval(np.arange(float(n)), level), order(n, exact)
        assert (found is None) == (k == 0)
        if found is not None:
            assert (found.n, found.effect, found.low, found.high) == (n, (n - 1) / 2, k - 1, n - k)
            assert coverage(n, k) >= exact > coverage(n, k + 1)


def test_six_values_are_the_fewest_for_95_per_cent() -> None:
    assert [n for n in range(12) if median_interval(np.arange(float(n))) is None] == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("n", [6, 9, 11])
def test_the_coverage_of_every_pattern_of_values_below_and_above_is_the_binomial_one(n: int) -> None:
    """Each of the 2^n ways in which values lie below (-) or above (+) a median of 0 is as likely as any other."""
    size, covered = np.arange(1.0, n + 1), 0
    for signs in product((-1, 1), repeat=n):
        found = median_interval(size * np.array(signs))
        assert found is not None
        covered += found.low < 0 < found.high
    assert Fraction(covered, 2**n) == coverage(n, order(n, Fraction(95, 100))) >= Fraction(95, 100)


@pytest.mark.statistical
@pytest.mark.parametrize("n", [6, 16])
def test_a_skewed_median_is_covered_as_often_as_counted(n: int) -> None:
    """Log-normal values have median 1; the number of covering intervals is binomial, at a bound of 2e-7."""
    draws, rounds = np.random.default_rng(5).lognormal(sigma=2, size=(3000, n)), 3000
    covered = sum(i.low <= 1 <= i.high for i in map(median_interval, draws) if i is not None)
    share = float(coverage(n, order(n, Fraction(95, 100))))
    assert binom.ppf(1e-7, rounds, share) <= covered <= binom.isf(1e-7, rounds, share)


@pytest.mark.statistical
def test_ties_cover_at_least_as_often() -> None:
    draws, rounds = np.random.default_rng(6).integers(0, 3, size=(3000, 8)), 3000
    covered = sum(i.low <= 1 <= i.high for i in map(median_interval, draws) if i is not None)
    assert covered >= binom.ppf(1e-7, rounds, float(coverage(8, order(8, Fraction(95, 100)))))


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=30), st.randoms(use_true_random=False))
def test_the_interval_knows_no_order_and_is_made_of_values(values: list[float], random: object) -> None:
    shuffled = sorted(values, key=lambda _: random.random())  # type: ignore[attr-defined]
    found = median_interval(np.array(values))
    assert found == median_interval(np.array(shuffled))
    assert found is not None
    assert {found.low, found.high} <= set(values)
    assert found.low <= found.effect <= found.high


def curve(**arms: Sequence[float | None]) -> pl.DataFrame:
    """Accuracies of replicates at length 9; also some at another length and an earlier step, which do not count."""
    rows = [
        {"variant": arm, "weights": "raw", "metric": "accuracy", "length": length, "step": step, "replicate": r,
         "split": "random", "value": value if (length, step) == (9, 2) else 0.123}
        for arm, values in arms.items() for r, value in enumerate(values)
        for length, step in ((9, 2), (9, 1), (5, 2))
    ]  # fmt: skip
    return pl.DataFrame(rows, schema_overrides={"value": pl.Float64})


def rule(*arms: str, at_least: float | None = 0.99, inside: tuple[float, float] = (0.95, 1.0)) -> Median:
    chosen = tuple(Arm(variant=arm) for arm in arms or ("a",))
    return Median(metric="accuracy", length=9, arms=chosen, at_least=at_least, inside=inside)


CHANCE = {"at_least": None, "inside": (0.45, 0.6)}
CURVES = [
    ([1.0] * 8, {}, "holds"),
    ([1.0] * 7 + [0.2], {}, "undecided"),  # of 8 values the interval is all but none: the least is its lower end
    ([1.0] * 8 + [0.2], {}, "holds"),  # of 9 it leaves one out on each side
    ([0.98] * 8, {}, "fails"),  # wholly below what is to be reached, though inside
    ([0.5] * 8, {}, "fails"),
    ([0.99] * 8, {}, "holds"),
    ([0.9] * 4 + [1.0] * 5, {}, "undecided"),
    ([0.96] * 5 + [1.0] * 5, {}, "undecided"),  # the median .98 is too little, the interval reaches 1
    ([1.0] * 5, {}, "undecided"),  # too few for an interval
    ([0.5] * 8, CHANCE, "holds"),
    ([0.7] * 8, CHANCE, "fails"),
    ([0.3] * 8, CHANCE, "fails"),
    ([0.5] * 5 + [0.7] * 4, CHANCE, "undecided"),
    ([0.45] * 8, CHANCE, "holds"),
    ([0.6] * 8, CHANCE, "holds"),
]


@pytest.mark.parametrize(("values", "settings", "decision"), CURVES)
def test_constructed_curves_are_decided(values: list[float], settings: dict, decision: str) -> None:
    assert rule(**settings).decide(curve(a=values)).decision == decision


@given(
    st.lists(st.sampled_from([0.3, 0.45, 0.5, 0.6, 0.8, 0.98, 0.99, 1.0, None]), min_size=1, max_size=14),
    st.sampled_from([None, 0.5, 0.99]),
    st.sampled_from([(0.45, 0.6), (0.95, 1.0), (0.4, 1.0)]),
)
def test_the_decision_is_that_of_the_order_statistics(
    values: list[float | None], least: float | None, inside: tuple[float, float]
) -> None:
    """The rule written once more, from counts and sorted values."""
    kept = sorted(v for v in values if v is not None)
    k, expected = order(len(kept), Fraction(95, 100)), "undecided"
    if k:
        low, high, median = kept[k - 1], kept[len(kept) - k], float(np.median(kept))
        if high < inside[0] or low > inside[1] or (least is not None and high < least):
            expected = "fails"
        elif inside[0] <= low and high <= inside[1] and (least is None or median >= least):
            expected = "holds"
    verdict = rule(at_least=least, inside=inside).decide(curve(a=values))
    part = verdict.parts[0]
    assert (verdict.decision, part.n, part.failed) == (expected, len(kept), len(values) - len(kept))
    if kept:
        assert part.effect == float(np.median(kept))
        assert f"mean {np.mean(kept):.3g}; {sum(v >= 0.99 for v in kept)} of {len(kept)} at 0.99" in part.beside


def test_failed_models_are_counted_and_leave_the_rest_to_decide() -> None:
    part = rule().decide(curve(a=[1.0] * 6 + [None, float("nan")])).parts[0]
    assert (part.decision, part.n, part.failed) == ("holds", 6, 2)
    part = rule().decide(curve(a=[None] * 7)).parts[0]
    assert (part.decision, part.n, part.failed, part.effect) == ("undecided", 0, 7, None)


def test_every_arm_must_hold_and_one_that_fails_decides() -> None:
    good, bad, few = [1.0] * 8, [0.2] * 8, [1.0] * 7 + [0.2]
    for values, decision in ((good, "holds"), (bad, "fails"), (few, "undecided")):
        assert rule("a", "b").decide(curve(a=good, b=values)).decision == decision
    assert rule("a", "b", "c").decide(curve(a=good, b=bad, c=few)).decision == "fails"


def test_an_interval_upside_down_is_refused() -> None:
    with pytest.raises(ValueError, match="expected the lower end first"):
        rule(inside=(0.6, 0.4))
