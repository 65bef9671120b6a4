"""How near a trained model comes to the theorem's form, and the displacements that form predicts at any length."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan

import numpy as np
from jaxtyping import Float

from lengthwise.certificates.tables import Tables
from lengthwise.errors import InputError


@dataclass(frozen=True)
class Displacements:
    """Displacements at one length, averaged over inputs and legal tokens, with the worst over inputs.

    `last` is that of the last token, `others` the mean of the other seen tokens (nan at length 1), `mean` that of all
    seen tokens, `worst` the least legal minus the greatest illegal logit.

    >>> Displacements(1, last=2.0, others=nan, mean=2.0, worst=1.5).worst
    1.5
    """

    length: int
    last: float
    others: float
    mean: float
    worst: float


@dataclass(frozen=True)
class Balance:
    """The numbers of the form D[x] = w - p_x e_x, B[y] + D[y] = -M_y e_y (modulo a constant per row) of some tables.

    Shapes (v,): `precision` p, `single` M (the displacement at length 1), `attention_spread` the range of each row of
    S and `self_attention` its diagonal minus the mean of the rest: both 0 where attention is uniform. `misfit` is the
    root mean square of what the form leaves of D and B + D off the diagonal: 0 exactly if the form holds
    (`docs/theory.md`, "Displacement and the theorem").

    >>> form = balance(Tables(np.zeros((4, 4)), -np.eye(4), -6 * np.eye(4)))
    >>> form.precision.round(9), form.single.round(9), round(form.misfit, 9)
    (array([6., 6., 6., 6.]), array([7., 7., 7., 7.]), 0.0)
    """

    precision: Float[np.ndarray, " v"]
    single: Float[np.ndarray, " v"]
    attention_spread: Float[np.ndarray, " v"]
    self_attention: Float[np.ndarray, " v"]
    misfit: float

    def predicted(self, length: int) -> Displacements:
        """The displacements that p and M give under uniform attention: p/s, and M - p (1 - 1/s) for the last token.

        >>> balance(Tables(np.zeros((4, 4)), -np.eye(4), -6 * np.eye(4))).predicted(3).others.round(9)
        np.float64(2.0)
        """
        if not 1 <= length < len(self.precision):
            raise InputError(f"length {length}: expected 1..{len(self.precision) - 1}")
        last = self.single - self.precision * (1 - 1 / length)
        others = self.precision / length
        worst = last.min() if length == 1 else min(last.min(), others.min())
        mean = (last.mean() + (length - 1) * others.mean()) / length
        return Displacements(length, last.mean(), others.mean() if length > 1 else nan, mean, worst)

    def fitted(self, tables: Tables) -> Tables:
        """Tables of the form with these p and M and the given attention: what it predicts beyond uniform attention.

        >>> form = balance(Tables(np.zeros((4, 4)), -np.eye(4), -6 * np.eye(4)))
        >>> form.fitted(Tables(np.zeros((4, 4)), -np.eye(4), -6 * np.eye(4))).D[0].round(9) + 0.0
        array([-6.,  0.,  0.,  0.])
        """
        return Tables(tables.S, np.diag(self.precision - self.single), -np.diag(self.precision))


def balance(tables: Tables) -> Balance:
    """Fit p_y and M_y to tables of v >= 3 tokens; raises InputError for fewer, where p is not determined.

    D off the diagonal is fitted by w_j + c_x in least squares, and p_x = w_x + c_x - D[x, x], which no choice of gauge
    changes; M_y is the mean of (B + D)[y] off the diagonal minus its diagonal.

    >>> balance(Tables(np.eye(3), np.zeros((3, 3)), -2 * np.eye(3) + np.arange(3))).precision.round(9)
    array([2., 2., 2.])
    """
    v = tables.vocabulary
    if v < 3:
        raise InputError(f"balance of {v} tokens: expected at least 3, fewer do not determine p")
    apart = ~np.eye(v, dtype=bool)
    row, column = np.nonzero(apart)
    design = np.zeros((len(row), 2 * v))
    design[np.arange(len(row)), row] = design[np.arange(len(row)), v + column] = 1.0
    offset = np.linalg.lstsq(design, tables.D[apart], rcond=None)[0]
    single = tables.B + tables.D
    level = _mean_apart(single)
    misfit = np.concatenate([tables.D[apart] - design @ offset, (single - level[:, None])[apart]])
    return Balance(
        precision=offset[:v] + offset[v:] - np.diag(tables.D),
        single=level - np.diag(single),
        attention_spread=np.ptp(tables.S, axis=1),
        self_attention=np.diag(tables.S) - _mean_apart(tables.S),
        misfit=float(np.sqrt(np.mean(misfit**2))),
    )


def measured(tables: Tables, length: int, inputs: int = 10_000, seed: int = 0) -> Displacements:
    """The displacements on random inputs of one length, `worst` over those drawn; lengths 1..v-1.

    >>> measured(Tables(np.zeros((4, 4)), -np.eye(4), -6 * np.eye(4)), 3, inputs=10).others
    2.0
    """
    v = tables.vocabulary
    if not 1 <= length < v or inputs < 1:
        raise InputError(f"length {length}, {inputs} inputs: expected a length of 1..{v - 1} and at least one input")
    orders = np.random.default_rng(seed).permuted(np.tile(np.arange(v), (inputs, 1)), axis=1)[:, :length]
    member = np.zeros((inputs, v), dtype=bool)
    np.put_along_axis(member, orders, True, axis=1)
    logits = tables.logits_of_sets(member, orders[:, -1])
    legal = np.where(member, 0.0, logits).sum(axis=1) / (v - length)
    seen = legal[:, None] - np.take_along_axis(logits, orders, axis=1)
    worst = np.where(member, np.inf, logits).min(axis=1) - np.where(member, logits, -np.inf).max(axis=1)
    others = float(seen[:, :-1].mean()) if length > 1 else nan
    return Displacements(length, float(seen[:, -1].mean()), others, float(seen.mean()), float(worst.min()))


def _mean_apart(table: Float[np.ndarray, "v v"]) -> Float[np.ndarray, " v"]:
    """The mean of each row without its diagonal entry."""
    return (table.sum(axis=1) - np.diag(table)) / (len(table) - 1)
