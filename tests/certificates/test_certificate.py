"""What a certificate claims: sound rounding, the total variation bound, the lengths reached, and sampled inputs."""

from __future__ import annotations

import json
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.certificates.balance import measured
from lengthwise.certificates.certificate import certify, total_variation_bound
from lengthwise.certificates.tables import Tables
from lengthwise.certificates.worst_case import worst_cases


def total_variation(logits: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Total variation of softmax(logits) to uniform over the absent tokens, row by row."""
    target = ~present / (~present).sum(axis=1, keepdims=True)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.abs(weights / weights.sum(axis=1, keepdims=True) - target).sum(axis=1) / 2


def trained_like(vocabulary: int, seed: int) -> Tables:
    """Tables with the right sign and noise, as training leaves them."""
    noise = np.random.default_rng(seed).normal(size=(3, vocabulary, vocabulary))
    return Tables(0.3 * noise[0], 0.2 * noise[1], 0.2 * noise[2] - 8 * np.eye(vocabulary))


@pytest.mark.parametrize("seed", range(3))
def test_no_sampled_input_is_worse(seed: int) -> None:
    tables = trained_like(12, seed)
    draw = np.random.default_rng(seed)
    for row in certify(tables).lengths[::2]:
        assert row.worst_displacement is not None
        assert row.tv_bound is not None
        assert row.legal_spread is not None
        assert measured(tables, row.length, 100_000 // 6, seed).worst >= row.worst_displacement - 1e-9
        orders = draw.permuted(np.tile(np.arange(12), (100_000 // 6, 1)), axis=1)[:, : row.length]
        member = np.zeros((len(orders), 12), dtype=bool)
        np.put_along_axis(member, orders, True, axis=1)
        logits = tables.logits_of_sets(member, orders[:, -1])
        assert total_variation(logits, member).max() <= row.tv_bound + 1e-9
        legal = np.ma.array(logits, mask=member)
        assert (legal.max(axis=1) - legal.min(axis=1)).max() <= row.legal_spread + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_reported_floats_are_rounded_to_the_safe_side(seed: int) -> None:
    noise = np.random.default_rng(seed).normal(size=(3, 6, 6))
    tables = Tables(30 * noise[0], noise[1], noise[2])
    for row, worst in zip(certify(tables).lengths, worst_cases(tables), strict=True):
        assert row.worst_displacement is not None
        assert row.legal_spread is not None
        below, above = np.nextafter(row.worst_displacement, np.inf), np.nextafter(row.legal_spread, -np.inf)
        assert Fraction(row.worst_displacement) <= worst.displacement <= Fraction(float(below))
        assert Fraction(float(above)) <= worst.spread <= Fraction(row.legal_spread)


def test_a_tie_is_a_failure() -> None:
    ties = certify(Tables(np.zeros((4, 4)), np.zeros((4, 4)), np.zeros((4, 4))))
    assert ties.certified_order == 0
    assert all(row.worst_displacement == 0.0 and row.legal_spread == 0.0 and not row.ordered for row in ties.lengths)


def test_lengths_are_reached_without_a_gap() -> None:
    """Token 3's attention to itself fails length 3 only where others outweigh it; beyond a gap nothing counts."""
    certificate = certify(Tables(np.zeros((6, 6)), 3 * np.eye(6), -6 * np.eye(6)))
    assert [row.ordered for row in certificate.lengths] == [True, False, False, False, False]
    assert certificate.certified_order == 1
    bounds = [row.tv_bound for row in certificate.lengths]
    for tau, reached in certificate.certified_tv.items():
        assert reached is not None
        assert all(bound is not None and bound <= tau for bound in bounds[:reached])
        assert reached == len(bounds) or (bounds[reached] or 0) > tau


def test_json_has_the_keys_and_the_values() -> None:
    certificate = certify(trained_like(5, 0))
    found = json.loads(json.dumps(certificate.to_json()))
    assert list(found) == ["vocabulary", "certified_order", "certified_tv", "lengths"]
    assert list(found["certified_tv"]) == ["0.05", "0.1", "0.25", "0.5"]
    assert [row["length"] for row in found["lengths"]] == [1, 2, 3, 4]
    for row, kept in zip(found["lengths"], certificate.lengths, strict=True):
        assert list(row) == ["length", "worst_displacement", "worst_input", "legal_spread", "tv_bound"]
        assert row["worst_input"] == list(kept.worst_input)
        assert row["worst_displacement"] == kept.worst_displacement


@given(st.integers(1, 6), st.integers(1, 6), st.floats(-4, 4), st.floats(0, 4), st.integers(0, 2**32 - 1))
def test_no_logits_exceed_the_bound(present: int, absent: int, displacement: float, spread: float, seed: int) -> None:
    draw = np.random.default_rng(seed)
    legal = draw.uniform(0, spread, (200, absent))
    legal[:, 0] = 0.0
    legal[100:] = np.where(draw.random((100, absent)) < 0.5, 0.0, spread)
    illegal = legal.min(axis=1, keepdims=True) - displacement - draw.exponential(size=(200, present))
    mask = np.tile(np.arange(absent + present) >= absent, (200, 1))
    bound = total_variation_bound(present, absent, displacement, spread)
    assert total_variation(np.hstack([legal, illegal]), mask).max() <= bound + 1e-12


@given(st.integers(1, 6), st.integers(1, 6), st.floats(-4, 8), st.floats(0, 4))
def test_some_logits_attain_the_bound(present: int, absent: int, displacement: float, spread: float) -> None:
    low = np.tril(np.ones((absent, absent)))  # m = 1..n legal logits at the bottom, the rest at the top
    logits = np.hstack([spread * (1 - low), np.full((absent, present), -displacement)])
    mask = np.tile(np.arange(absent + present) >= absent, (absent, 1))
    bound = total_variation_bound(present, absent, displacement, spread)
    assert total_variation(logits, mask).max() == pytest.approx(bound, rel=1e-9, abs=1e-15)
    with localcontext() as context:
        context.prec = 60
        leak, top = present * (-Decimal(displacement)).exp(), Decimal(spread).exp()
        exact = max(Decimal(m) / absent - m / (m + (absent - m) * top + leak) for m in range(1, absent + 1))
        assert exact <= Decimal(bound) <= exact * (1 + Decimal(10) ** -13)


@pytest.mark.parametrize(
    ("displacement", "spread", "expected"),
    [(1e5, 0.0, 5e-324), (-1e5, 0.0, 1.0), (40.0, 0.0, 4.25e-18 / 2 * 3), (3.0, 1e5, 0.5), (1e100, 1e-18, 5e-19)],
)
def test_the_bound_keeps_its_digits_at_extremes(displacement: float, spread: float, expected: float) -> None:
    """n = 2, s = 3: s e^-delta / n alone; the spread alone is lambda / 4 to first order, or one of two tokens gone."""
    bound = total_variation_bound(3, 2, displacement, spread)
    if spread == 1e-18:
        expected = spread / 4
    assert bound == pytest.approx(expected, rel=2e-3, abs=0)
    assert bound > 0


def test_the_balanced_form_has_the_closed_form_of_total_variation() -> None:
    """v = 10, p = 10: s e^(-p/s) / (v - s + s e^(-p/s)) is .0017, .119, .748 at s = 2, 5, 9."""
    certificate = certify(Tables(np.zeros((10, 10)), np.zeros((10, 10)), -10 * np.eye(10)))
    bounds = [certificate.lengths[s - 1].tv_bound for s in (2, 5, 9)]
    assert bounds == pytest.approx([0.0017, 0.119, 0.748], abs=6e-4)
