"""p and M are recovered whatever is added to a row, and are the least-squares fit where a table is not exact."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from lengthwise.diagnostics.balance import balance_of_tables, strengths


@given(st.integers(0, 2**31), st.integers(3, 9))
def test_they_are_recovered_up_to_a_constant_for_each_row(seed: int, v: int) -> None:
    random = np.random.default_rng(seed)
    p, m, w, rows, more = (random.normal(0, 3, (2, v)) for _ in range(5))
    eye = np.eye(v)
    d = w[:, None, :] - p[:, :, None] * eye + rows[:, :, None]
    b = -m[:, :, None] * eye - d + more[:, :, None]
    found = strengths(torch.from_numpy(b), torch.from_numpy(d))
    np.testing.assert_allclose(found[0], p, atol=1e-9)
    np.testing.assert_allclose(found[1], m, atol=1e-9)
    mean_p, min_p, mean_rest, min_rest = (x.numpy() for x in balance_of_tables(*map(torch.from_numpy, (b, d))))
    np.testing.assert_allclose(mean_p, p.mean(1), atol=1e-9)
    np.testing.assert_allclose(min_p, p.min(1), atol=1e-9)
    np.testing.assert_allclose(mean_rest, (m - p).mean(1), atol=1e-9)
    np.testing.assert_allclose(min_rest, (m - p).min(1), atol=1e-9)


@given(st.integers(0, 2**31), st.integers(3, 7))
def test_p_is_taken_against_numpy_s_least_squares_fit(seed: int, v: int) -> None:
    """The off-diagonal entries are fitted by a row and a column effect; the diagonal is left out."""
    random = np.random.default_rng(seed)
    b, d = random.normal(0, 1, (1, v, v)), random.normal(0, 1, (1, v, v))
    cells = [(x, j) for x in range(v) for j in range(v) if x != j]
    design = np.zeros((len(cells), 2 * v))
    for k, (x, j) in enumerate(cells):
        design[k, x] = design[k, v + j] = 1
    effects = np.linalg.lstsq(design, np.array([d[0][cell] for cell in cells]))[0]
    found = strengths(torch.from_numpy(b), torch.from_numpy(d))
    np.testing.assert_allclose(found[0][0], effects[:v] + effects[v:] - d[0].diagonal(), atol=1e-8)
    whole = b[0] + d[0]
    others = np.array([np.delete(whole[y], y).mean() - whole[y, y] for y in range(v)])
    np.testing.assert_allclose(found[1][0], others, atol=1e-9)


def test_two_tokens_do_not_determine_them() -> None:
    with pytest.raises(ValueError, match="at least 3"):
        strengths(torch.zeros(1, 2, 2), torch.zeros(1, 2, 2))
    assert all(x.isnan().all() for x in balance_of_tables(torch.zeros(3, 2, 2), torch.zeros(3, 2, 2)))
