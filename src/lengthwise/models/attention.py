"""Softmax attention over the positions that may be seen, without a NaN where there are none."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def masked_softmax(scores: Tensor, visible: Tensor) -> Tensor:
    """Softmax over the last axis where `visible`; a row that sees nothing gets weights 0, and gradients 0.

    >>> masked_softmax(torch.zeros(2, 2), torch.tensor([[True, True], [False, False]]))
    tensor([[0.5000, 0.5000],
            [0.0000, 0.0000]])
    """
    some = visible.any(-1, keepdim=True)
    weights = scores.masked_fill(~visible & some, -math.inf).softmax(-1)
    return weights * some


def causal_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention weights `(..., s, s)` where position q sees the real positions k <= q; `mask` is `(..., s)`.

    >>> causal_softmax(torch.zeros(2, 2))
    tensor([[1.0000, 0.0000],
            [0.5000, 0.5000]])
    """
    s = scores.shape[-1]
    visible = torch.ones(s, s, dtype=torch.bool, device=scores.device).tril()
    if mask is not None:
        visible = visible & mask.unsqueeze(-2)
    return masked_softmax(scores, visible)
