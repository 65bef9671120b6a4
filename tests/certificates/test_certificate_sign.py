"""The sign certificate against a plain post-norm model on every input."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from lengthwise.certificates.constructions import minimal
from lengthwise.certificates.sign import Norm, certify_sign, sign_tables
from lengthwise.certificates.tables import Weights
from lengthwise.errors import InputError


def post_norm_logits(weights: Weights, gain: np.ndarray, norm: str, tokens: list[int]) -> np.ndarray:
    """The model itself: attention, residual sum, norm with a gain, readout."""
    x = weights.E[tokens]
    scores = (x[-1] @ weights.W_Q) @ (x @ weights.W_K).T / np.sqrt(weights.W_Q.shape[1])
    attention = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    state = x[-1] + attention @ x @ weights.W_V @ weights.W_O
    if norm == "layer":
        state = state - state.mean()
    return gain * state / np.sqrt((state**2).mean() + 1e-5) @ weights.U


@pytest.mark.parametrize("norm", ["layer", "rms"])
@pytest.mark.parametrize("seed", range(4))
def test_the_sign_is_that_of_the_model_on_every_input(norm: Norm, seed: int) -> None:
    draw = np.random.default_rng(seed)
    exact = minimal(5, 4.0, 1.0)
    noisy = [array + 0.25 * draw.normal(size=array.shape) for array in vars(exact).values()]
    weights, gain = Weights(*noisy), draw.uniform(0.1, 4.0, 4)
    certificate = certify_sign(weights, gain, norm)
    for row in certificate.lengths:
        signs, tables = [], sign_tables(weights, gain, norm)
        for tokens in permutations(range(5), row.length):
            logits = post_norm_logits(weights, gain, norm, list(tokens))
            share = tables.logits(tokens) / logits
            assert share.min() > 0
            assert share == pytest.approx(np.full(5, share[0]))
            signs.append(np.delete(logits, tokens).min() > logits[list(tokens)].max())
        assert row.ordered == all(signs)
        assert (row.worst_displacement, row.legal_spread, row.tv_bound) == (None, None, None)
    assert set(certificate.certified_tv.values()) == {None}


def test_a_tie_is_a_failure() -> None:
    level = Weights(*(np.zeros_like(array) for array in vars(minimal(4)).values()))
    assert certify_sign(level, np.ones(3), "rms").certified_order == 0


def test_rms_normalised_construction_keeps_its_order() -> None:
    assert certify_sign(minimal(6), np.ones(5), "rms").certified_order == 5


def test_bad_input_is_refused() -> None:
    with pytest.raises(InputError, match=r"^gain of shape \(3,\): expected \(4,\), one number per dimension$"):
        sign_tables(minimal(5), np.ones(3), "rms")
    with pytest.raises(InputError, match=r"^norm 'batch': expected 'layer' or 'rms'$"):
        sign_tables(minimal(5), np.ones(4), "batch")  # pyright: ignore[reportArgumentType]
