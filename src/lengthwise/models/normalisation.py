"""The two normalisations that a transformer may use."""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor, nn

NormKind = Literal["layer", "rms"]


def normalisation(kind: NormKind, width: int, bias: bool) -> nn.Module:
    """LayerNorm (with or without bias) or RMSNorm (which has none), over the last axis.

    >>> normalisation("rms", 2, bias=True)(torch.tensor([3.0, 3.0])).detach().round(decimals=3)
    tensor([1., 1.])
    """
    if kind == "layer":
        return nn.LayerNorm(width, bias=bias)
    return nn.RMSNorm(width, eps=1e-5)


def normalise(x: Tensor, kind: NormKind, weight: Tensor, bias: Tensor | None, eps: float = 1e-5) -> Tensor:
    """The same normalisation as a function, for weights with leading axes of their own.

    `x` is `(*models, rows, d)`, `weight` and `bias` are `(*models, d)`.

    >>> layer = nn.LayerNorm(3)
    >>> x = torch.randn(5, 3)
    >>> torch.allclose(normalise(x, "layer", layer.weight, layer.bias), layer(x), atol=1e-6)
    True
    """
    if kind == "layer":
        x = x - x.mean(-1, keepdim=True)
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight.unsqueeze(-2)
    return x if bias is None else x + bias.unsqueeze(-2)


def initial(rows: int, columns: int) -> nn.Parameter:
    """A matrix of normal draws with variance 1/rows, so that products keep the scale of what they multiply.

    >>> initial(4, 3).shape
    torch.Size([4, 3])
    """
    return nn.Parameter(torch.randn(rows, columns) / math.sqrt(rows))
