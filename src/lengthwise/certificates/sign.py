"""The sign certificate of a post-norm minimal transformer: the order of its logits, not their sizes.

The norm divides the mixed state by a positive number that depends on the input, so it changes no sign of a
displacement.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from jaxtyping import Float

from lengthwise.certificates.certificate import Certificate, _signed, certificate_of
from lengthwise.certificates.tables import Tables, Weights
from lengthwise.certificates.worst_case import Progress, worst_cases
from lengthwise.errors import InputError

Norm = Literal["layer", "rms"]


def sign_tables(weights: Weights, gain: Float[np.ndarray, " d"], norm: Norm) -> Tables:
    """Tables whose displacements have the signs of a post-norm model's: P diag(g) stands before U.

    The state is normalised after the residual sum, without a bias; P centres for `layer` and is the identity for
    `rms` (`docs/theory.md`, "Exact certificate"). Raises InputError for another norm or a gain of other shape.

    >>> one = np.eye(3)
    >>> sign_tables(Weights(one, 0 * one, one, one, -one, one), np.array([1.0, 2.0, 3.0]), "rms").B[1]
    array([0., 2., 0.])
    """
    if norm not in ("layer", "rms"):
        raise InputError(f"norm {norm!r}: expected 'layer' or 'rms'")
    if np.shape(gain) != (len(weights.U),):
        raise InputError(f"gain of shape {np.shape(gain)}: expected ({len(weights.U)},), one number per dimension")
    readout = np.asarray(gain, dtype=np.float64)[:, None] * weights.U
    if norm == "layer":
        readout = readout - readout.mean(axis=0)
    return Tables(weights.scores(), weights.E @ readout, weights.E @ weights.W_V @ weights.W_O @ readout)


def certify_sign(
    weights: Weights, gain: Float[np.ndarray, " d"], norm: Norm, progress: Progress | None = None
) -> Certificate:
    """Certify the order of a post-norm model's logits at every length; all sizes are None.

    `worst_input` is the input whose displacement before the division is least: one of wrong order if there is any.
    The proof is about the tables in float64, with the norm's positive divisor (its epsilon does not matter).

    >>> one = np.eye(3)
    >>> certificate = certify_sign(Weights(one, 0 * one, one, one, -one, one), np.full(3, 2.0), "layer")
    >>> certificate.certified_order, certificate.lengths[0].worst_displacement
    (0, None)
    """
    tables = sign_tables(weights, gain, norm)
    return certificate_of(tables.vocabulary, [_signed(worst) for worst in worst_cases(tables, progress)])
