"""The minimal transformer as functions of v x v tables: exact, and independent of the length of the input."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lengthwise.models.dropout import Dropout, dropped
from lengthwise.models.minimal import MinimalTransformer
from lengthwise.models.normalisation import NormKind, normalise

Weights = Mapping[str, Tensor]
NEVER = -1e30
"""The log count of a token that is absent."""


@dataclass(frozen=True)
class Seen:
    """What the table form reads of an input: the token at each query, and how often each token was seen until then."""

    last: Int[Tensor, "*r p"]
    log_counts: Float[Tensor, "*r p v"]
    lengths: Float[Tensor, "*r p 1"]

    @staticmethod
    def of(
        tokens: Tensor,
        vocabulary: int,
        last_only: bool,
        mask: Tensor | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> Seen:
        """Counts at every position of `(..., b, s)` tokens (p = b s queries), or at the last (p = b).

        >>> Seen.of(torch.tensor([[2, 0, 2]]), 3, last_only=True).log_counts.exp()
        tensor([[1., 0., 2.]])
        """
        ones = torch.ones(1, device=tokens.device, dtype=dtype).expand(tokens.shape) if mask is None else mask.to(dtype)
        if last_only:
            none = torch.zeros(*tokens.shape[:-1], vocabulary, device=tokens.device, dtype=dtype)
            counts = none.scatter_add(-1, tokens, ones)
            last = tokens[..., -1] if mask is None else tokens.gather(-1, mask.long().sum(-1, keepdim=True) - 1)[..., 0]
        else:
            none = torch.zeros(*tokens.shape, vocabulary, device=tokens.device, dtype=dtype)
            present = none.scatter(-1, tokens.unsqueeze(-1), ones.unsqueeze(-1))
            counts, last = present.cumsum(-2).flatten(-3, -2), tokens.flatten(-2)
        return Seen(last, _log(counts), counts.sum(-1, keepdim=True).clamp_min(1))


class TableForm:
    """The function of a minimal transformer, computed through tables from weights with leading axes `(r, m)`.

    r replicates see each their own batch; m models of a replicate share it. With S the scores between tokens, the
    attention over an input is a softmax over the VOCABULARY of `S[y] + log counts`: absent tokens weigh exactly 0.
    Without residual dropout and post-norm, attention's output and the residual path are tables of logits too, D and B;
    otherwise the mixed state is kept until U. Exact, repeats included (docs/theory.md, "The minimal transformer").

    Dropout on the embedding has no table form. Dropout of attention weights drops a token's weight, which is the plain
    module's dropout when no token repeats.

    >>> model = MinimalTransformer(vocabulary=5, width=4)
    >>> tokens = torch.tensor([[3, 1, 4], [0, 0, 2]])
    >>> weights = {k: p.detach()[None, None] for k, p in model.named_parameters()}
    >>> logits = TableForm(model)(weights, Seen.of(tokens[None], 5, last_only=False))
    >>> torch.allclose(logits.view(2, 3, 5), model(tokens), atol=1e-6)
    True
    """

    def __init__(self, model: MinimalTransformer) -> None:
        self.norm, self.scaling = model.norm_place, model.scaling
        self.norm_kind: NormKind = model.norm_kind
        self.mixes_state = model.norm_place == "post" or isinstance(model.residual_dropout, Dropout)
        self.vocabulary, width = model.embedding.shape
        self.dtype = model.embedding.dtype
        self.dropout_widths = {"attention_dropout": self.vocabulary, "residual_dropout": width}

    @staticmethod
    def serves(model: MinimalTransformer, distinct: bool) -> bool:
        """Whether the form computes what the module computes while it trains on tokens, `distinct` or repeated."""
        repeats = isinstance(model.attention_dropout, Dropout) and not distinct
        return not isinstance(model.embedding_dropout, Dropout) and not repeats

    def seen(self, tokens: Tensor, last_only: bool, mask: Tensor | None = None) -> Seen:
        """What the form reads of tokens, at every position or at the last."""
        return Seen.of(tokens, self.vocabulary, last_only, mask, self.dtype)

    def __call__(self, w: Weights, seen: Seen, dropout: Mapping[str, tuple[Tensor, Tensor]] | None = None) -> Tensor:
        """Logits `(r, m, p, v)`. `dropout` maps a place to noise `(r, p, v or d)` and rates `(r, m)`."""
        dropout = dropout or {}
        a = self._drop(self.attention(w, seen), dropout, "attention_dropout")
        if self.scaling == "sum":
            a = a * seen.lengths.unsqueeze(-3)
        if not self.mixes_state:
            _, b, d = self.tables(w)
            logits = product(a, d) + rows(b, seen.last)
        else:
            mixed = self._drop(product(a, self._values(w)), dropout, "residual_dropout")
            state = mixed + rows(w["embedding"], seen.last)
            if self.norm == "post":
                state = normalise(state, self.norm_kind, w["norm.weight"], w.get("norm.bias"))
            logits = product(state, w["unembedding"])
        return logits * seen.lengths.unsqueeze(-3) if self.scaling == "length logits" else logits

    def attention(self, w: Weights, seen: Seen) -> Float[Tensor, "r m p v"]:
        """The attention of each query over the vocabulary."""
        scores = rows(self.scores(w), seen.last)
        if self.scaling == "log-length scores":
            scores = scores * seen.lengths.log().unsqueeze(-3)
        return (scores + seen.log_counts.unsqueeze(-3)).softmax(-1)

    def tables(self, w: Weights) -> tuple[Tensor, Tensor, Tensor]:
        """The tables S (scores), B (residual path) and D (attention's contribution), each `(r, m, v, v)`."""
        return self.scores(w), w["embedding"] @ w["unembedding"], self._values(w) @ w["unembedding"]

    def scores(self, w: Weights) -> Float[Tensor, "r m v v"]:
        """The attention score of each last token (rows) for each token seen (columns)."""
        x = self._read(w)
        return (x @ w["query"]) @ (x @ w["key"]).transpose(-1, -2) / math.sqrt(w["query"].shape[-1])

    def _values(self, w: Weights) -> Tensor:
        return self._read(w) @ w["value"] @ w["output"]

    def _read(self, w: Weights) -> Tensor:
        if self.norm != "pre":
            return w["embedding"]
        return normalise(w["embedding"], self.norm_kind, w["norm.weight"], w.get("norm.bias"))

    @staticmethod
    def _drop(x: Tensor, dropout: Mapping[str, tuple[Tensor, Tensor]], place: str) -> Tensor:
        if place not in dropout:
            return x
        noise, rate = dropout[place]
        return dropped(x, noise.unsqueeze(-3), rate[..., None, None])


def _log(counts: Tensor) -> Tensor:
    """log counts with NEVER for log 0: a softmax weighs both exactly 0, and a CPU takes 30 times as long over log 0."""
    return counts.clamp_min(1).log() - (counts - 1).clamp_max(0) * NEVER


def product(x: Tensor, table: Tensor) -> Tensor:
    """`(r, m, p, k) @ (r, m, k, n)` as one batched product: folding the two axes is free, broadcasting them is not."""
    r, m, p, k = x.shape
    return torch.bmm(x.reshape(r * m, p, k), table.reshape(r * m, k, -1)).view(r, m, p, -1)


def rows(table: Tensor, index: Tensor) -> Tensor:
    """Rows `(r, m, p, n)` of tables `(r, m, v, n)` at indices `(r, p)`: one flat selection, the fastest on a CPU."""
    r, m, v, n = table.shape
    start = torch.arange(r * m, device=table.device).view(r, m, 1) * v
    flat = (start + index.view(r, 1, -1)).view(-1)
    return table.reshape(r * m * v, n).index_select(0, flat).view(r, m, -1, n)
