"""Attention pooling: one softmax attention layer over vectors, asked once, and a linear or ReLU output layer."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError, unknown
from lengthwise.models.attention import masked_softmax

PoolingQuery = Literal["constant", "last"]


class AttentionPooling(nn.Module):
    """Answers `(b, outputs)` to vectors `(b, s, features)`: a weighted mean of them, read by an output layer.

    The weights are a softmax of scores: `u . x_i` with a `query` that is "constant", or `x_s^T A x_i / sqrt(features)`
    with the "last" vector as the query, which then is not attended to and which the output layer reads beside the mean.
    u and A are 0 at first, so that training starts from uniform attention. With `hidden` 0 the output layer is linear.
    No positions. (The setting of arXiv:2410.01537 and arXiv:2610.20337; docs/theory.md, "Attention lag".)

    Errors: InputError for sizes below 1 (`hidden` below 0) and an unknown query.

    >>> AttentionPooling(features=3, outputs=1)(torch.zeros(2, 5, 3)).shape
    torch.Size([2, 1])
    """

    numbers: ClassVar[tuple[str, ...]] = ()

    def __init__(self, features: int, outputs: int, query: PoolingQuery = "constant", hidden: int = 0) -> None:
        super().__init__()
        for name, size, least in (("features", features, 1), ("outputs", outputs, 1), ("hidden", hidden, 0)):
            if size < least:
                raise InputError(f"{name} {size}: expected at least {least}")
        if query not in get_args(PoolingQuery):
            raise unknown("query", query, get_args(PoolingQuery))
        self.asks: PoolingQuery = query
        self.scores = nn.Parameter(torch.zeros(features, 1 if query == "constant" else features))
        read = features if query == "constant" else 2 * features
        if hidden:
            self.readout = nn.Sequential(nn.Linear(read, hidden), nn.ReLU(), nn.Linear(hidden, outputs))
        else:
            self.readout = nn.Linear(read, outputs)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Parameter groups by globs: where the layer looks (`attention`), and what it says of it (`output`)."""
        return {"attention": ("scores",), "output": ("readout.*",)}

    def extra_repr(self) -> str:
        return f"query={self.asks!r}"

    def forward(self, vectors: Tensor, mask: Tensor | None = None) -> Tensor:
        s = vectors.shape[-2]
        real = torch.ones_like(vectors[..., 0], dtype=torch.bool) if mask is None else mask
        if self.asks == "constant":
            weights = masked_softmax((vectors @ self.scores)[..., 0], real)
            return self.readout((weights.unsqueeze(-2) @ vectors).squeeze(-2))
        end = real.long().sum(-1, keepdim=True) - 1
        place = torch.arange(s, device=vectors.device)
        last = ((place == end).to(vectors.dtype).unsqueeze(-2) @ vectors).squeeze(-2)
        scores = (vectors @ (last @ self.scores / math.sqrt(vectors.shape[-1])).unsqueeze(-1))[..., 0]
        mixed = (masked_softmax(scores, place < end).unsqueeze(-2) @ vectors).squeeze(-2)
        return self.readout(torch.cat([mixed, last], -1))
