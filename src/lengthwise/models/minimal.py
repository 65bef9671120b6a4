"""The minimal transformer: one layer, one head, attention only, no positions."""

from __future__ import annotations

import math
from typing import ClassVar, Literal, get_args

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError, unknown
from lengthwise.models.attention import causal_softmax
from lengthwise.models.dropout import dropout
from lengthwise.models.normalisation import NormKind, initial, normalisation

Norm = Literal["none", "pre", "post"]
Scaling = Literal["none", "log-length scores", "sum", "length logits"]


class MinimalTransformer(nn.Module):
    """Logits for the next token at every position of `(b, s)` tokens: `(b, s, v)`.

    With E the embedding, y the last token and a the attention of y over the tokens seen so far, the logits are
    `(E[y] + sum_i a_i E[t_i] W_V W_O) U` (arXiv:2510.08341; docs/theory.md, "The minimal transformer").

    - `norm`: "none"; "pre" normalises what attention reads and not the residual path; "post" normalises the sum of
      residual and attention before U. `norm_kind` is "layer" or "rms"; `norm_bias` goes with "layer".
    - `scaling`: what only scales: attention scores times log length, a sum in place of the mean, logits times length.
    - dropout on the embedding, on the attention weights, and on attention's output before the residual sum.

    Errors: InputError for sizes below 1, rates outside [0, 1), unknown names.

    >>> model = MinimalTransformer(vocabulary=5, width=4)
    >>> model(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 5])
    """

    numbers: ClassVar[tuple[str, ...]] = ("embedding_dropout", "attention_dropout", "residual_dropout")
    """Constructor arguments that may differ between the models of one population (each zero or nonzero in all)."""

    def __init__(
        self,
        vocabulary: int,
        width: int = 32,
        key_width: int | None = None,
        value_width: int | None = None,
        norm: Norm = "none",
        norm_kind: NormKind = "layer",
        norm_bias: bool = True,
        scaling: Scaling = "none",
        embedding_dropout: float = 0.0,
        attention_dropout: float = 0.0,
        residual_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        key_width = width if key_width is None else key_width
        value_width = width if value_width is None else value_width
        for size, value in {
            "vocabulary": vocabulary,
            "width": width,
            "key_width": key_width,
            "value_width": value_width,
        }.items():
            if value < 1:
                raise InputError(f"{size} {value}: expected at least 1")
        for field, value, kind in (
            ("norm", norm, Norm),
            ("norm_kind", norm_kind, NormKind),
            ("scaling", scaling, Scaling),
        ):
            if value not in get_args(kind):
                raise unknown(field, value, get_args(kind))
        self.norm_place: Norm = norm
        self.norm_kind: NormKind = norm_kind
        self.scaling: Scaling = scaling
        self.embedding = initial(vocabulary, width)
        self.query, self.key = initial(width, key_width), initial(width, key_width)
        self.value, self.output = initial(width, value_width), initial(value_width, width)
        self.unembedding = initial(width, vocabulary)
        self.norm = nn.Identity() if norm == "none" else normalisation(norm_kind, width, norm_bias)
        self.embedding_dropout = dropout(embedding_dropout, "embedding_dropout")
        self.attention_dropout = dropout(attention_dropout, "attention_dropout")
        self.residual_dropout = dropout(residual_dropout, "residual_dropout")

    @property
    def groups(self) -> dict[str, tuple[str, ...]]:
        """Parameter groups by globs: which letter is looked at (`attention`), and what is said of it (`output`)."""
        norm = ("norm.*",) if any(True for _ in self.norm.parameters()) else ()
        return {"attention": ("query", "key"), "output": ("embedding", "value", "output", "unembedding", *norm)}

    def extra_repr(self) -> str:
        v, d = self.embedding.shape
        return f"vocabulary={v}, width={d}, norm={self.norm_place!r}, scaling={self.scaling!r}"

    def forward(self, tokens: Tensor, mask: Tensor | None = None) -> Tensor:
        x = self.embedding_dropout(self.embedding[tokens])
        mixed = self.attend(self.norm(x) if self.norm_place == "pre" else x, mask)
        state = x + self.residual_dropout(mixed)
        logits = (self.norm(state) if self.norm_place == "post" else state) @ self.unembedding
        return logits * self._lengths(logits[..., 0], mask) if self.scaling == "length logits" else logits

    def attend(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """What each position reads of itself and the positions before it: `(b, s, d)` to `(b, s, d)`."""
        scores = (x @ self.query) @ (x @ self.key).transpose(-1, -2) / math.sqrt(self.query.shape[-1])
        lengths = self._lengths(x[..., 0], mask)
        if self.scaling == "log-length scores":
            scores = scores * lengths.log()
        mixed = self.attention_dropout(causal_softmax(scores, mask)) @ (x @ self.value @ self.output)
        return mixed * lengths if self.scaling == "sum" else mixed

    @staticmethod
    def _lengths(like: Tensor, mask: Tensor | None) -> Tensor:
        """How many tokens each position has seen, `(b, s, 1)`, in the type of `like` `(b, s)`."""
        seen = torch.ones_like(like) if mask is None else mask.to(like.dtype)
        return seen.cumsum(-1).clamp_min(1).unsqueeze(-1)
