"""The readout law: how many seen tokens any hidden states can rank below the rest, from the readout matrix alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Literal

import numpy as np
from jaxtyping import Float

from lengthwise.certificates.radon import Radon
from lengthwise.certificates.separation import Columns
from lengthwise.errors import InputError

SEARCH = 400
"""Linear programmes spent by default on token sets smaller than the first partition's: about a second."""


@dataclass(frozen=True)
class Readout:
    """What a linear readout h U + b allows, whatever the hidden states h (`docs/theory.md`, "Displacement and the
    theorem").

    `dimension` counts the numbers of h that can vary (one less under LayerNorm); `affine_rank` is the exact dimension
    of the columns' affine hull. No hidden states rank legal above illegal on all inputs of every length beyond
    `largest_length`; `proved` if unconstrained hidden states do at every length up to it. `witness` is the partition
    that says no, None if all lengths 1..v-1 are possible.

    >>> law = readout_law(np.array([[0.0, 1.0, 2.0, 3.0]]))
    >>> law.largest_length, law.proved, law.witness.inside, law.witness.outside
    (0, True, (1,), (0, 2))
    """

    vocabulary: int
    dimension: int
    affine_rank: int
    largest_length: int
    proved: bool
    witness: Radon | None

    @property
    def tv_floor(self) -> float | None:
        """The least total variation on the witness's input, 1 / (2 (v - s)); None without a witness.

        >>> readout_law(np.array([[0.0, 1.0, 2.0, 3.0]])).tv_floor
        0.16666666666666666
        """
        return None if self.witness is None else 0.5 / (self.vocabulary - len(self.witness.inside))


def readout_law(
    readout: Float[np.ndarray, "d v"],
    bias: Float[np.ndarray, " v"] | None = None,
    norm: Literal["layer"] | None = None,
    gain: Float[np.ndarray, " d"] | None = None,
    search: int = SEARCH,
) -> Readout:
    """The readout law for logits h U + b; `norm` and `gain` are those of a norm between h and U, if there is one.

    A Radon partition of d + 2 columns has a side of at most floor((d+2)/2) tokens that no h ranks below the rest, so
    `largest_length` <= floor(d/2) if d <= v-2. LayerNorm's centring takes one from d. A bias adds one to d in this
    bound, and only there: with a bias all lengths are possible only if d >= v-1 without counting it. LayerNorm's own
    bias beta enters as `bias` = beta U. Smaller sides are sought among random partitions and, up to `search` linear
    programmes, among all token sets by size; all that is claimed is verified in exact arithmetic. Raises InputError
    for shapes that do not fit and entries that are not finite.

    >>> law = readout_law(np.array([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, 1.0]]))
    >>> law.affine_rank, law.largest_length, law.proved, law.witness.inside, law.witness.outside
    (2, 1, True, (1, 3), (0, 2))
    """
    columns = _columns(np.asarray(readout), bias, norm, gain)
    v, dimension = len(columns.columns), len(readout) - (norm == "layer")
    if columns.rank == v - 1:
        return Readout(v, dimension, columns.rank, v - 1, True, None)
    witness, proved = _smallest(columns, columns.partition(), search)
    return Readout(v, dimension, columns.rank, len(witness.inside) - 1, proved, witness)


def cyclic_readout(vocabulary: int, dimension: int) -> Float[np.ndarray, "d v"]:
    """Columns on the trigonometric moment curve: a cyclic polytope, which attains floor(d/2).

    Token a has the angle 2 pi a / v; rows are cosines and sines of its multiples (Gale, 1963). For at most floor(d/2)
    tokens s, the product over s of 1 - cos(angle - angle_a) is a linear function of the columns plus a constant, zero
    on s and positive elsewhere. Raises InputError unless 1 <= d <= v-1.

    >>> cyclic_readout(4, 2).round(9) + 0.0
    array([[ 1.,  0., -1.,  0.],
           [ 0.,  1.,  0., -1.]])
    """
    if vocabulary < 2 or not 1 <= dimension < vocabulary:
        raise InputError(f"cyclic readout of {vocabulary} tokens in {dimension} dimensions: expected 1 <= d <= v-1")
    angle = 2 * np.pi * np.arange(vocabulary) / vocabulary
    return np.array([(np.cos, np.sin)[k % 2]((k // 2 + 1) * angle) for k in range(dimension)])


def _smallest(columns: Columns, witness: Radon, search: int) -> tuple[Radon, bool]:
    """The partition of smallest inside, and whether every smaller token set is proved separable."""
    v, proved = len(columns.columns), True
    for size in range(1, len(witness.inside)):
        search -= comb(v, size)
        if search < 0:
            return witness, False
        for tokens in combinations(range(v), size):
            if columns.separates(tokens):
                continue
            smaller = columns.meeting(tokens)
            if smaller is not None:
                return smaller, proved
            proved = False  # neither was verified: the columns lie within rounding of a tie
    return witness, proved


def _columns(readout: np.ndarray, bias: np.ndarray | None, norm: str | None, gain: np.ndarray | None) -> Columns:
    """The exact columns of P diag(g) U with their bias, after checking shapes and entries."""
    if norm not in (None, "layer"):
        raise InputError(f"norm {norm!r}: expected 'layer' or None (RMSNorm needs no centring)")
    if readout.ndim != 2 or readout.shape[1] < 2 or len(readout) < 1:
        raise InputError(f"readout of shape {readout.shape}: expected (d, v) with d >= 1 and v >= 2")
    for name, vector, size in (("bias", bias, readout.shape[1]), ("gain", gain, len(readout))):
        if vector is not None and np.shape(vector) != (size,):
            raise InputError(f"{name} of shape {np.shape(vector)}: expected ({size},) for a readout {readout.shape}")
    for name, given in (("readout", readout), ("bias", bias), ("gain", gain)):
        if given is not None and not np.isfinite(np.asarray(given, dtype=np.float64)).all():
            place = np.argwhere(~np.isfinite(given))[0].tolist()
            raise InputError(f"{name}{place} is {np.asarray(given)[tuple(place)]:g}: expected a finite number")
    factors = [1.0] * len(readout) if gain is None else np.asarray(gain, dtype=np.float64).tolist()
    rows = [
        [Fraction(factor) * Fraction(entry) for entry in row]
        for factor, row in zip(factors, readout.astype(np.float64).tolist(), strict=True)
    ]
    if norm == "layer":
        means = [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)]
        rows = [[entry - mean for entry, mean in zip(row, means, strict=True)] for row in rows]
    return Columns(rows, None if bias is None else [Fraction(b) for b in np.asarray(bias, dtype=np.float64).tolist()])
