"""The fit of the theorem's form: exact on tables of the form, in any gauge, and what it predicts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.certificates.balance import balance, measured
from lengthwise.certificates.constructions import counterexample, minimal
from lengthwise.certificates.tables import Tables
from lengthwise.certificates.worst_case import worst_cases
from lengthwise.errors import InputError


@given(st.integers(3, 9), st.integers(0, 2**32 - 1))
def test_the_form_is_found_in_any_gauge(vocabulary: int, seed: int) -> None:
    draw = np.random.default_rng(seed)
    p, single = draw.uniform(1, 9, vocabulary), draw.uniform(1, 9, vocabulary)
    w, rows = draw.normal(size=vocabulary), 5 * draw.normal(size=(3, vocabulary))
    tables = Tables(
        draw.normal(size=(vocabulary, vocabulary)),
        -w + np.diag(p - single) + rows[0][:, None],
        w - np.diag(p) + rows[1][:, None],
    )
    found = balance(tables)
    assert found.precision == pytest.approx(p)
    assert found.single == pytest.approx(single)
    assert found.misfit == pytest.approx(0, abs=1e-12)
    fitted = worst_cases(found.fitted(tables))
    for worst, expected in zip(worst_cases(tables), fitted, strict=True):
        assert float(worst.displacement) == pytest.approx(float(expected.displacement), abs=1e-9)


def test_prediction_is_the_measurement_under_uniform_attention() -> None:
    draw = np.random.default_rng(0)
    p, single = draw.uniform(4, 9, 7), draw.uniform(9, 12, 7)
    tables = Tables(np.zeros((7, 7)), np.diag(p - single), -np.diag(p))
    for length in range(1, 7):
        predicted, found = balance(tables).predicted(length), measured(tables, length, inputs=40_000)
        assert found.last == pytest.approx(predicted.last, rel=0.02)
        assert found.mean == pytest.approx(predicted.mean, rel=0.02)
        assert found.worst == pytest.approx(predicted.worst)
        assert found.others == pytest.approx(predicted.others, rel=0.02, nan_ok=True)
        assert predicted.worst == pytest.approx(float(worst_cases(tables)[length - 1].displacement))


def test_constructions_are_measured_as_built() -> None:
    exact = balance(minimal(6, precision=4.0, residual=0.5).tables())
    assert exact.precision == pytest.approx(np.full(6, 4.0))
    assert exact.single == pytest.approx(np.full(6, 4.5))
    assert not exact.attention_spread.any()
    uneven = balance(counterexample().tables())
    assert uneven.single == pytest.approx(np.ones(8))
    assert uneven.precision == pytest.approx(np.full(8, 2.0))
    assert uneven.self_attention == pytest.approx(np.full(8, np.log(3)))
    assert uneven.attention_spread == pytest.approx(np.full(8, np.log(3)))


def test_a_departure_from_the_form_shows_as_misfit() -> None:
    value = -4 * np.eye(5)
    value[0, 1] += 1.0
    assert balance(Tables(np.zeros((5, 5)), np.zeros((5, 5)), value)).misfit > 0.05


def test_bad_sizes_are_refused() -> None:
    two, three = Tables(*np.zeros((3, 2, 2))), Tables(*np.zeros((3, 3, 3)))
    with pytest.raises(InputError, match=r"^balance of 2 tokens: expected at least 3"):
        balance(two)
    with pytest.raises(InputError, match=r"^length 3: expected 1\.\.2$"):
        balance(three).predicted(3)
    with pytest.raises(InputError, match=r"^length 0, 5 inputs: expected a length of 1\.\.2 and at least one input$"):
        measured(three, 0, inputs=5)
