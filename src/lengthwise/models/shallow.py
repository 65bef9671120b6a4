"""The shallow transformer: one attention layer that only an end marker queries, then an output layer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar, Literal, get_args

import torch
from jaxtyping import Float
from torch import Tensor, nn

from lengthwise.errors import InputError, unknown
from lengthwise.models.attention import masked_softmax
from lengthwise.models.normalisation import initial

Scores = Literal["free", "factorised"]
Query = Literal["marker", "last letter"]


class ShallowTransformer(nn.Module):
    """Answers `(b, outputs)` to words `(b, s)` that end in a marker, the last token of the vocabulary.

    Attention mixes one-hot values of the letters, weighed by a softmax of scores; a ReLU layer answers from the mixture
    (arXiv:2610.20337; docs/theory.md, "Attention lag"). No positions: the answer depends on how often each letter
    occurs and, where the query knows it, on the last letter.

    - `query`: "marker" gives every letter one score; "last letter" gives it one for each last letter, which the output
      layer then reads too.
    - `scores`: "free" numbers, 0 at first, or "factorised" `E W_Q W_K^T E^T / sqrt(key_width)` with E random and fixed.
    - `sees_marker`: whether the marker is also attended to.

    Errors: InputError for sizes below 1 and unknown names.

    >>> model = ShallowTransformer(vocabulary=3)
    >>> model(torch.tensor([[0, 1, 1, 2]])).shape
    torch.Size([1, 2])
    """

    numbers: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        vocabulary: int,
        outputs: int = 2,
        hidden: int = 16,
        query: Query = "marker",
        scores: Scores = "free",
        width: int = 16,
        key_width: int = 16,
        sees_marker: bool = False,
    ) -> None:
        super().__init__()
        sizes = {"vocabulary": vocabulary, "outputs": outputs, "hidden": hidden, "width": width, "key_width": key_width}
        for name, size in sizes.items():
            if size < 1:
                raise InputError(f"{name} {size}: expected at least 1")
        for field, value, kind in (("query", query, Query), ("scores", scores, Scores)):
            if value not in get_args(kind):
                raise unknown(field, value, get_args(kind))
        self.vocabulary, self.sees_marker = vocabulary, sees_marker
        self.of_query: Query = query
        if scores == "free":
            self.scores = nn.Parameter(torch.zeros(1 if query == "marker" else vocabulary, vocabulary))
        else:
            self.embedding = nn.Parameter(torch.randn(vocabulary, width) / math.sqrt(width), requires_grad=False)
            self.query, self.key = initial(width, key_width), initial(width, key_width)
        read = vocabulary if query == "marker" else 2 * vocabulary
        self.inward, self.inward_bias = _uniform(read, hidden, fan_in=read), _uniform(hidden, fan_in=read)
        self.outward, self.outward_bias = _uniform(hidden, outputs, fan_in=hidden), _uniform(outputs, fan_in=hidden)

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Parameter groups by globs: which letter is looked at (`attention`), and what is said of it (`output`)."""
        attention = ("scores",) if hasattr(self, "scores") else ("query", "key")
        return {"attention": attention, "output": ("inward*", "outward*")}

    def extra_repr(self) -> str:
        scores = "free" if hasattr(self, "scores") else "factorised"
        return (
            f"vocabulary={self.vocabulary}, query={self.of_query!r}, scores={scores!r}, sees_marker={self.sees_marker}"
        )

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        real = torch.ones_like(tokens, dtype=torch.bool) if mask is None else mask
        end = real.long().sum(-1, keepdim=True) - 1
        last = tokens.gather(-1, (end - 1).clamp_min(0)).squeeze(-1)  # before the marker; of no letters, the marker
        table = score_table(dict(self.named_parameters()), self.of_query)
        rows = (table if self.of_query == "marker" else table[last]).expand(*last.shape, -1)
        seen = real if self.sees_marker else real & (torch.arange(tokens.shape[-1], device=tokens.device) < end)
        weights = masked_softmax(rows.gather(-1, tokens), seen)
        mixed = (weights.unsqueeze(-2) @ one_hot(tokens, table)).squeeze(-2)
        if self.of_query == "last letter":
            mixed = torch.cat([mixed, one_hot(last, table)], -1)
        return torch.relu(mixed @ self.inward + self.inward_bias) @ self.outward + self.outward_bias


def score_table(weights: Mapping[str, Tensor], query: Query) -> Float[Tensor, "... q v"]:
    """The score of every token, a row for each last letter, or one row for the marker."""
    if "scores" in weights:
        return weights["scores"]
    x, key_width = weights["embedding"], weights["query"].shape[-1]
    asks = x[..., -1:, :] if query == "marker" else x
    return (asks @ weights["query"]) @ (x @ weights["key"]).transpose(-1, -2) / math.sqrt(key_width)


def one_hot(tokens: Tensor, like: Float[Tensor, "... v"]) -> Float[Tensor, "... v"]:
    """A 1 at each token, along a new last axis as long as that of `like` and of its type."""
    return (tokens.unsqueeze(-1) == torch.arange(like.shape[-1], device=tokens.device)).to(like.dtype)


def _uniform(*shape: int, fan_in: int) -> nn.Parameter:
    """PyTorch's way to start a linear layer."""
    return nn.Parameter((torch.rand(shape) * 2 - 1) / math.sqrt(fan_in))
