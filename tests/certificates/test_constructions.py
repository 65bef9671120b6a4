"""The constructions of the theorem come out of the certificate as it says."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from lengthwise.certificates.certificate import certify
from lengthwise.certificates.constructions import balanced, counterexample, minimal
from lengthwise.certificates.readout import readout_law
from lengthwise.errors import InputError


@pytest.mark.parametrize("vocabulary", [2, 3, 5, 8, 13])
@pytest.mark.parametrize(("precision", "residual"), [(6.0, 0.5), (np.pi, 0.1)])
def test_v_minus_one_dimensions_solve_every_length(vocabulary: int, precision: float, residual: float) -> None:
    weights = minimal(vocabulary, precision, residual)
    assert weights.E.shape[1] == weights.W_V.shape[1] == vocabulary - 1
    certificate = certify(weights.tables())
    assert certificate.certified_order == vocabulary - 1
    assert readout_law(weights.U).largest_length == vocabulary - 1
    for row in certificate.lengths:
        expected = precision + residual if row.length == 1 else precision / row.length
        assert row.worst_displacement == pytest.approx(expected, rel=1e-14)
        assert row.legal_spread == 0.0
        assert row.worst_input == tuple(range(row.length))


@pytest.mark.parametrize("vocabulary", [2, 5, 8])
def test_twice_the_dimensions_balance_every_length(vocabulary: int) -> None:
    weights = balanced(vocabulary, 7.0)
    assert weights.E.shape[1] == 2 * vocabulary - 2
    tables = weights.tables()
    for row in certify(tables).lengths:
        assert row.worst_displacement == pytest.approx(7.0 / row.length, rel=1e-14)
        assert row.legal_spread == 0.0
        for tokens in combinations(range(vocabulary), row.length):
            logits = tables.logits(tokens)
            assert logits[list(tokens)] == pytest.approx(np.delete(logits, tokens)[0] - 7.0 / row.length)


def test_balance_at_two_lengths_is_not_enough() -> None:
    tables = counterexample().tables()
    certificate = certify(tables)
    found = [row.worst_displacement for row in certificate.lengths]
    assert found == pytest.approx([1, 1 / 2, 1 / 5, 0, -1 / 7, -1 / 4, -1 / 3], abs=1e-13)
    assert certificate.certified_order == 3
    assert all(row.legal_spread == 0.0 for row in certificate.lengths)
    for length, displacement in ((1, 1.0), (2, 0.5)):
        for tokens in combinations(range(8), length):
            logits = tables.logits(tokens)
            assert np.delete(logits, tokens)[0] - logits[list(tokens)] == pytest.approx(displacement)


def test_bad_sizes_are_refused() -> None:
    with pytest.raises(InputError, match=r"^vocabulary 1: expected at least 2 tokens$"):
        minimal(1)
    with pytest.raises(InputError, match=r"^precision 0: expected a positive number$"):
        balanced(3, 0)
    with pytest.raises(InputError, match=r"^residual inf: expected a positive number$"):
        minimal(3, residual=np.inf)
