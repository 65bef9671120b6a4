"""The strengths that the theorem speaks of, read off a model's tables."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

BALANCE = ("p_mean", "p_min", "m_minus_p_mean", "m_minus_p_min")


def strengths(
    b: Float[Tensor, "n v v"], d: Float[Tensor, "n v v"]
) -> tuple[Float[Tensor, "n v"], Float[Tensor, "n v"]]:
    """p_x and M_y of each token: how far attention pushes a token down, and how far length 1 does.

    In a model that solves lengths 1 and 2, `D[x] = w - p_x e_x` and `B[y] + D[y] = -M_y e_y`, both up to a constant per
    row (docs/theory.md, "Displacement and the theorem"). p is taken against the least-squares fit of the off-diagonal
    entries of D by a row and a column effect, M against the mean of the other entries of its row.

    >>> w, p, margin = torch.tensor([1.0, 2.0, 3.0]), 5.0, 7.0
    >>> d = (w.expand(3, 3) - p * torch.eye(3))[None].double()
    >>> b = -margin * torch.eye(3) - d
    >>> [x.round(decimals=6).tolist() for x in strengths(b, d)]
    [[[5.0, 5.0, 5.0]], [[7.0, 7.0, 7.0]]]
    """
    v = d.shape[-1]
    if v < 3:
        raise ValueError("strengths need a vocabulary of at least 3: with 2 tokens p is not determined")
    eye = torch.eye(v, dtype=d.dtype, device=d.device)
    off = d * (1 - eye)
    rows, columns = off.sum(-1), off.sum(-2)
    total = rows.sum(-1, keepdim=True)
    # The closed form of the least-squares fit row_x + column_j to a square table whose diagonal is left out.
    fitted = ((v - 1) * (rows + columns) - total) / ((v - 1) * (v - 2))
    whole = b + d
    diagonal = whole.diagonal(dim1=-2, dim2=-1)
    return fitted - d.diagonal(dim1=-2, dim2=-1), (whole.sum(-1) - diagonal) / (v - 1) - diagonal


def balance_of_tables(b: Float[Tensor, "n v v"], d: Float[Tensor, "n v v"]) -> list[Float[Tensor, " n"]]:
    """The mean and least p_y, and the mean and least M_y - p_y, of each model; NaN for a vocabulary of 2.

    >>> [round(x.item(), 3) for x in balance_of_tables(-torch.eye(3)[None], -2 * torch.eye(3)[None])]
    [2.0, 2.0, 1.0, 1.0]
    """
    if d.shape[-1] < 3:
        return [torch.full_like(d[:, 0, 0], torch.nan)] * len(BALANCE)
    p, m = strengths(b, d)
    return [p.mean(-1), p.amin(-1), (m - p).mean(-1), (m - p).amin(-1)]
