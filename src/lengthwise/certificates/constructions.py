"""Minimal transformers with known certificates: exact at d = v-1, balanced at d = 2v-2, and a counterexample.

Embeddings are the integer simplex (unit vectors and minus their sum) rather than the regular one: an affine image of
it, so the same theorem, and its tables have no rounding that would break exact ties.
"""

from __future__ import annotations

from math import log, sqrt

import numpy as np
from jaxtyping import Float

from lengthwise.certificates.tables import Weights
from lengthwise.errors import InputError


def minimal(vocabulary: int, precision: float = 10.0, residual: float = 1.0) -> Weights:
    """The exact set complement at every length with d = d_v = v-1, the fewest dimensions possible.

    Modulo a constant per row B = -c I and D = -p I, with p the precision and c the residual, and attention is
    uniform: every seen token lies p/s below the unseen ones, the last one c more, so the worst displacement is c + p
    at s = 1 and p/s beyond (`docs/theory.md`, "Displacement and the theorem"). Raises InputError unless v >= 2 and p,
    c > 0.

    >>> minimal(4, precision=6.0).tables().logits([0, 1])
    array([-3., -4.,  0.,  0.])
    """
    _check(vocabulary, precision=precision, residual=residual)
    width = vocabulary - 1
    silent = np.zeros((width, width))
    value, output = np.eye(width), np.eye(width) * (precision / residual)
    return Weights(_simplex(vocabulary) * residual, silent, silent, value, output, -np.eye(width, vocabulary))


def balanced(vocabulary: int, precision: float = 10.0) -> Weights:
    """The exact set complement with every displacement equal to p/s at every length, with d = 2v-2 and d_v = v-1.

    Embeddings and readout use separate halves of the state, so the residual path adds nothing: B = 0, D = -p I modulo a
    constant per row (`docs/theory.md`, "Displacement and the theorem"). Raises InputError unless v >= 2 and p > 0.

    >>> balanced(4, precision=6.0).tables().logits([0, 1])
    array([-3., -3.,  0.,  0.])
    """
    _check(vocabulary, precision=precision)
    width = vocabulary - 1
    one, none = np.eye(width), np.zeros((width, width))
    return Weights(
        E=np.hstack([_simplex(vocabulary), np.zeros((vocabulary, width))]),
        W_Q=np.zeros((2 * width, width)),
        W_K=np.zeros((2 * width, width)),
        W_V=np.vstack([one, none]),
        W_O=np.hstack([none, precision * one]),
        U=np.vstack([np.zeros((width, vocabulary)), -np.eye(width, vocabulary)]),
    )


def counterexample() -> Weights:
    """Balanced within inputs at lengths 1 and 2, and wrong from length 4 on: v = 8, p = 2, M = 1, d = 7.

    B = I, D = -2 I modulo a constant per row, and S[y, y] - S[y, x] = log 3. The worst displacement at length s is
    min(2, 4 - s) / (s + 2) for s >= 3, and (1, 1/2) before (`docs/theory.md`, "Displacement and the theorem"). The
    gap is a few units below log 3 so that the tie at length 4 is not won by rounding.

    >>> counterexample().tables().logits([0, 1]).round(9)
    array([-0.5, -0.5,  0. ,  0. ,  0. ,  0. ,  0. ,  0. ])
    """
    vocabulary, width = 8, 7
    simplex = _simplex(vocabulary)
    centring = np.eye(width) - 1 / vocabulary  # inverse of simplex^T simplex, so that E centring E^T = I - 1/v
    gap = log(3) * (1 - 2.0**-48) * sqrt(width)
    return Weights(simplex, gap * centring, np.eye(width), np.eye(width), -2 * np.eye(width), np.eye(width, vocabulary))


def _simplex(vocabulary: int) -> Float[np.ndarray, "v d"]:
    """The unit vectors of v-1 dimensions and minus their sum: affinely independent, summing to zero."""
    return np.vstack([np.eye(vocabulary - 1), -np.ones(vocabulary - 1)])


def _check(vocabulary: int, **positive: float) -> None:
    """Refuse a vocabulary below 2 and numbers that are not positive and finite."""
    if vocabulary < 2:
        raise InputError(f"vocabulary {vocabulary}: expected at least 2 tokens")
    for name, value in positive.items():
        if not 0 < value < np.inf:
            raise InputError(f"{name} {value}: expected a positive number")
