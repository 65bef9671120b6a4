"""Lengths drawn from a distribution: its mean, its quantiles, and what a bound on lengths leaves of it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from scipy.stats import chi2

from lengthwise.errors import InputError
from lengthwise.tasks import MarkedMean, SingleLocation
from lengthwise.tasks.lengths import Lengths

whole = st.integers(1, 60)
distributions = st.one_of(
    st.builds(lambda m: Lengths(kind="geometric", mean=m), st.floats(1, 60)),
    st.builds(lambda m: Lengths(kind="uniform", mean=m / 2), st.integers(2, 120)),
    st.builds(lambda m, a: Lengths(kind="heavy-tailed", mean=m, tail=a), st.floats(1, 60), st.floats(1.2, 6)),
)


@given(distributions)
def test_the_mean_is_the_one_asked_for(lengths: Lengths) -> None:
    """The mean is the sum of P(L >= l); what is left out lies between two integrals of the tail."""
    n = 4000
    total = sum(lengths.at_least(k) for k in range(1, n + 1))
    if lengths.kind == "heavy-tailed" and lengths.mean > 1:
        m, a = lengths._scale, lengths.tail
        rest = [m**a * (m + k) ** (1 - a) / (a - 1) for k in (n, n - 1)]
        assert total + rest[0] - 1e-6 <= lengths.mean <= total + rest[1] + 1e-6
    else:
        assert total == pytest.approx(lengths.mean, rel=1e-9)


@given(distributions, st.floats(0, 0.99))
def test_a_quantile_is_the_least_length_that_reaches_the_share(lengths: Lengths, share: float) -> None:
    found = lengths.quantile(share)
    assert 1 - lengths.at_least(found + 1) >= share - 1e-12
    assert found == 1 or 1 - lengths.at_least(found) < share + 1e-12


@given(distributions, whole, st.integers(0, 60), st.integers(0, 2**32))
def test_draws_lie_where_they_were_asked(lengths: Lengths, shortest: int, more: int, seed: int) -> None:
    longest = shortest + more
    if lengths.at_least(shortest) > lengths.at_least(longest + 1):
        drawn = lengths.draw(np.random.default_rng(seed), 50, longest, shortest)
        assert drawn.dtype == np.int64
        assert shortest <= drawn.min() <= drawn.max() <= longest
    else:
        with pytest.raises(InputError, match=f"none lies in {shortest}..{longest}"):
            lengths.draw(np.random.default_rng(seed), 50, longest, shortest)


@pytest.mark.statistical
@pytest.mark.parametrize("shortest", [1, 3])
@pytest.mark.parametrize(
    "lengths",
    [Lengths(kind="geometric", mean=4), Lengths(kind="uniform", mean=7), Lengths(kind="heavy-tailed", mean=3)],
    ids=lambda lengths: lengths.kind,
)
def test_draws_follow_the_distribution_given_their_bounds(lengths: Lengths, shortest: int) -> None:
    """Chi-squared over lengths up to 9, at a bound of probability 1e-7."""
    n, longest = 40_000, 9
    drawn = lengths.draw(np.random.default_rng(3), n, longest, shortest)
    each = np.array([lengths.at_least(k) - lengths.at_least(k + 1) for k in range(shortest, longest + 1)])
    expected = n * each / each.sum()
    found = np.bincount(drawn, minlength=longest + 1)[shortest:]
    assert ((found - expected) ** 2 / expected).sum() < chi2.isf(1e-7, len(each) - 1)


def test_a_mean_of_one_leaves_one_length() -> None:
    for kind in ("geometric", "uniform", "heavy-tailed"):
        lengths = Lengths(kind=kind, mean=1)
        assert lengths.quantile(0.999) == 1
        assert (lengths.draw(np.random.default_rng(0), 9, longest=5) == 1).all()


def test_the_longest_quarter_of_a_geometric_mean_of_20() -> None:
    """1 - .95^41 is the first to reach 7/8, 1 - .95^135 the first to reach .999."""
    task = SingleLocation()
    assert (task.longest_quartile, task.trained_length) == (41, 135)
    assert 0.95**41 <= 1 / 8 < 0.95**40
    assert 0.95**135 <= 1 / 1000 < 0.95**134


def test_trained_lengths_reach_the_shortest_input_and_no_further_than_asked() -> None:
    batch = MarkedMean(marked=4).sample(np.random.default_rng(0), 500, 12)
    assert batch.mask is not None
    found = batch.mask.sum(1)
    assert (int(found.min()), int(found.max())) == (4, 12)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"mean_length": 0.5}, "greater than or equal to 1"),
        ({"drawn": "uniform", "mean_length": 2.3}, "mean 2.3 of uniform lengths"),
        ({"drawn": "cubic"}, "'geometric', 'uniform' or 'heavy-tailed'"),
        ({"mean_length": 20, "longest": 100}, r"up to 135: expected lengths in 1\.\.100"),
        ({"mean_lenght": 20}, "mean_lenght"),
    ],
)
def test_impossible_lengths_are_refused_by_name(settings: dict[str, float], says: str) -> None:
    with pytest.raises((ValidationError, InputError), match=says):
        SingleLocation(**settings)  # type: ignore[arg-type]
