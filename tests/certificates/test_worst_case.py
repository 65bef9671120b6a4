"""Exact worst cases against brute force over all inputs, and the exact arithmetic under them."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lengthwise.certificates.candidates import FloatRow, pairs_of, scale_of
from lengthwise.certificates.rational import PRECISION, Exact, Programme, exponential
from lengthwise.certificates.tables import Tables
from lengthwise.certificates.worst_case import rounded_up, worst_case, worst_cases
from lengthwise.errors import InputError


def inputs_of(vocabulary: int, length: int) -> list[tuple[int, ...]]:
    return [
        (*others, last)
        for last in range(vocabulary)
        for others in combinations([c for c in range(vocabulary) if c != last], length - 1)
    ]


def brute_force(tables: Tables, length: int) -> tuple[float, float]:
    """Worst displacement and legal spread over every input; softmax per input loses nothing to wide rows."""
    displacements, spreads = [], []
    for tokens in inputs_of(tables.vocabulary, length):
        logits = tables.logits(tokens)
        legal = np.delete(logits, tokens)
        displacements.append(legal.min() - logits[list(tokens)].max())
        spreads.append(np.ptp(legal))
    return min(displacements), max(spreads)


def decimal_brute_force(tables: Tables, length: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The least arg-min and arg-max inputs in 500-digit decimals: nothing shared with the search."""
    v = tables.vocabulary
    with localcontext() as context:
        context.prec = 500
        exponentials = [[Decimal(score).exp() for score in row] for row in tables.S.tolist()]
        low, wide = [], []
        for tokens in inputs_of(v, length):
            y = tokens[-1]
            weight = {c: exponentials[y][c] for c in tokens}
            total = sum(weight.values())
            mixed = [sum(weight[c] * Decimal(float(tables.D[c, i])) for c in tokens) / total for i in range(v)]
            logits = [Decimal(float(tables.B[y, i])) + Decimal(mixed[i]) for i in range(v)]
            legal = [logits[i] for i in range(v) if i not in tokens]
            step = Decimal(10) ** -420  # decimals of equal quotients may differ in their last digits
            low.append(((min(legal) - max(logits[j] for j in tokens)).quantize(step), tokens))
            wide.append((-(max(legal) - min(legal)).quantize(step), tokens))
        return min(low)[1], min(wide)[1]


@st.composite
def some_tables(draw: st.DrawFn, largest: int = 8, widest: float = 1000.0) -> Tables:
    """Continuous and integer tables, with ties, equal weights, repeated rows and row spreads of S up to 1,000."""
    v = draw(st.integers(2, largest))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def table(whole: bool) -> np.ndarray:
        return generator.integers(-2, 3, (v, v)).astype(float) if whole else generator.normal(size=(v, v))

    scores = table(draw(st.booleans()))
    spreads = [0.0, 1.0, 5.0, 29.0, 31.0, 45.0, 100.0, 400.0, 601.0, 746.0, 1000.0]
    spread = draw(st.sampled_from([spread for spread in spreads if spread <= widest]))
    scores *= spread / (np.ptp(scores, axis=1).max() or 1.0)
    if draw(st.booleans()):
        scores[generator.integers(v)] = 0.0
    residual, value = table(draw(st.booleans())), table(draw(st.booleans()))
    if draw(st.booleans()):
        value -= draw(st.sampled_from([1.0, 8.0])) * np.eye(v)
    return Tables(scores, residual, value)


@settings(max_examples=220, deadline=None, derandomize=True)
@given(some_tables())
def test_equal_to_brute_force_at_every_length(tables: Tables) -> None:
    for worst in worst_cases(tables):
        low, wide = brute_force(tables, worst.length)
        assert float(worst.displacement) == pytest.approx(low, abs=1e-9)
        assert float(worst.spread) == pytest.approx(wide, abs=1e-9)
        logits, chosen = tables.logits(worst.displacement_input), list(worst.displacement_input)
        assert np.delete(logits, chosen).min() - logits[chosen].max() == pytest.approx(low, abs=1e-9)
        assert np.ptp(np.delete(tables.logits(worst.spread_input), worst.spread_input)) == pytest.approx(wide, abs=1e-9)


@settings(max_examples=25, deadline=None, derandomize=True)
@given(some_tables(largest=5, widest=400.0))
def test_the_inputs_are_the_least_that_attain_the_values(tables: Tables) -> None:
    for worst in worst_cases(tables):
        assert (worst.displacement_input, worst.spread_input) == decimal_brute_force(tables, worst.length)


def test_a_displacement_below_the_float_range_keeps_its_sign() -> None:
    """The last token has the weight e^-900: its displacement is 0 in float64 and positive here."""
    scores = np.array([[-900.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    worst = worst_case(Tables(scores, np.zeros((3, 3)), -np.eye(3)), 2)
    assert worst.displacement_input == (1, 0)
    assert worst.slack < worst.displacement < Fraction(1, 10**390)


@pytest.mark.parametrize(
    "x", [Fraction(-1, 3), Fraction(-1), Fraction(-2999, 100), Fraction(-1000), Fraction(-1, 10**9)]
)
def test_exponential_errs_by_less_than_a_unit(x: Fraction) -> None:
    bits = 1700
    with localcontext() as context:
        context.prec = 1500
        exact = (Decimal(x.numerator) / Decimal(x.denominator)).exp() * Decimal(2) ** bits
        assert abs(exact - exponential(x, bits)) < 1


def test_weights_have_the_stated_relative_error() -> None:
    scores = np.array([[0.0, -300.0, -1000.0], [0.0, -1.0, -2.0], [1.0, 1.0, 1.0]])
    exact = Exact(Tables(scores, np.zeros((3, 3)), -np.eye(3)))
    with localcontext() as context:
        context.prec = 1200
        for last in range(3):
            weights = exact.row(last).weights
            for c in range(3):
                true = Decimal(float(scores[last, c] - scores[last].max())).exp()
                error = abs(Decimal(weights[c]) / Decimal(max(weights)) / true - 1)
                assert error <= 2 * Decimal(2) ** -PRECISION * Decimal(-1000).exp()
    assert exact.row(2).weights == [1, 1, 1]


@settings(max_examples=40, deadline=None, derandomize=True)
@given(some_tables(largest=6, widest=400.0), st.floats(-1, 1))
def test_float_bounds_never_exceed_the_exact_minimum(tables: Tables, place: float) -> None:
    exact = Exact(tables)
    scale = scale_of(exact)
    ratio = place * scale
    length = (tables.vocabulary + 1) // 2
    for displacement in (True, False):
        for pairs in pairs_of(tables.vocabulary, 0, displacement):
            if pairs.forced > length or (not displacement and length == tables.vocabulary - 1):
                continue
            bounds, _ = FloatRow(exact, 0).lower_bounds(pairs, length, ratio)
            programme = Programme(exact.row(0), Fraction(ratio) / Fraction(scale) / exact.unit)
            unit = exact.unit * Fraction(scale) / max(exact.row(0).weights) / programme.ratio.denominator
            for i, j, bound in zip(pairs.i.tolist(), pairs.j.tolist(), bounds.tolist(), strict=True):
                assert Fraction(bound) <= programme.lowest(i, j, pairs.inside, length)[0] * unit


def test_a_length_alone_is_the_same_as_in_the_course_of_all() -> None:
    generator = np.random.default_rng(3)
    tables = Tables(*generator.normal(size=(3, 9, 9)))
    assert [worst_case(tables, length) for length in range(1, 9)] == worst_cases(tables)


def test_tables_tied_only_up_to_rounding_are_told_apart_exactly() -> None:
    """Rounding of 1e-16 orders all inputs: far below the floats' error bound, so every triple is decided exactly."""
    generator = np.random.default_rng(4)
    noise = generator.normal(size=(3, 5, 5)) * 1e-16
    tables = Tables(noise[0], noise[1], noise[2] - np.eye(5))
    for worst in worst_cases(tables):
        assert (worst.displacement_input, worst.spread_input) == decimal_brute_force(tables, worst.length)


def test_programmes_that_differ_only_in_forced_tokens_are_told_apart() -> None:
    """Token 3 sinks one rounding less than the others; beside 4 floats cannot see it, but it is the worst."""
    depth = np.array([1.0, 1.0, 1.0, 1.0 - 2.0**-53, 1.0])
    worst = worst_case(Tables(np.zeros((5, 5)), 4.0 - np.eye(5), -np.diag(depth)), 2)
    assert worst.displacement == Fraction(1.0 - 2.0**-53) / 2
    assert worst.displacement_input == (3, 0)


def test_extreme_entries_are_certified() -> None:
    for scale in (1e100, 1e-310):
        tables = Tables(np.zeros((4, 4)), np.zeros((4, 4)), -scale * np.eye(4))
        found = [float(worst.displacement) for worst in worst_cases(tables)]
        assert found == pytest.approx([scale, scale / 2, scale / 3], rel=1e-12, abs=0)


def test_progress_counts_the_lengths() -> None:
    calls: list[tuple[int, int]] = []
    worst_cases(Tables(*np.zeros((3, 4, 4))), lambda done, total: calls.append((done, total)))
    assert calls == [(1, 3), (2, 3), (3, 3)]


@given(st.fractions(-5, 5))
def test_rounding_up_is_least(x: Fraction) -> None:
    up = rounded_up(x)
    assert Fraction(float(np.nextafter(up, -np.inf))) < x <= Fraction(up)


@pytest.mark.parametrize("length", [0, 4])
def test_other_lengths_are_refused(length: int) -> None:
    with pytest.raises(InputError, match=rf"^length {length}: expected 1\.\.3 for 4 tokens$"):
        worst_case(Tables(*np.zeros((3, 4, 4))), length)
