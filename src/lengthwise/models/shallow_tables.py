"""The shallow transformer through letter counts: exact, and independent of the length of the word."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.models.shallow import Query, ShallowTransformer, one_hot, score_table
from lengthwise.models.table_form import NEVER, Seen, Weights, product, rows


class ShallowTables:
    """The function of a shallow transformer through letter counts, from weights with leading axes `(r, m)`.

    As in `TableForm`, attention is a softmax over the VOCABULARY of scores plus log counts, so that a word costs the
    same at every length. Exact.

    >>> model, tokens = ShallowTransformer(vocabulary=3), torch.tensor([[0, 1, 1, 2], [1, 1, 0, 2]])
    >>> weights = {k: p.detach()[None, None] for k, p in model.named_parameters()}
    >>> form = ShallowTables(model)
    >>> answers = form(weights, form.seen(tokens[None], last_only=True))
    >>> torch.allclose(answers[0, 0], model(tokens), atol=1e-6)
    True
    """

    dropout_widths: Mapping[str, int] = {}

    def __init__(self, model: ShallowTransformer) -> None:
        self.vocabulary, self.sees_marker = model.vocabulary, model.sees_marker
        self.query: Query = model.of_query
        self.dtype = model.inward.dtype

    @staticmethod
    def serves(model: ShallowTransformer, distinct: bool) -> bool:
        """Whether the form computes what the module computes while it trains."""
        return True

    def seen(self, tokens: Tensor, last_only: bool, mask: Tensor | None = None) -> Seen:
        """What the form reads of words that end in a marker."""
        whole = Seen.of(tokens, self.vocabulary, True, mask, self.dtype)
        end = tokens.shape[-1] - 1 if mask is None else mask.long().sum(-1, keepdim=True) - 1
        before = torch.as_tensor(end - 1, device=tokens.device).expand(*tokens.shape[:-1], 1).clamp_min(0)
        log_counts = whole.log_counts if self.sees_marker else whole.log_counts.index_fill(-1, self._marker, NEVER)
        lengths = whole.lengths if self.sees_marker else whole.lengths - 1
        return Seen(tokens.gather(-1, before)[..., 0], log_counts, lengths)

    def __call__(self, w: Weights, seen: Seen, dropout: Mapping[str, tuple[Tensor, Tensor]] | None = None) -> Tensor:
        """Answers `(r, m, p, outputs)`."""
        read = self._weights(w, seen)
        if self.query == "last letter":
            last = one_hot(seen.last, read[..., 0]).mT.unsqueeze(-3).expand(*read.shape)
            read = torch.cat([read, last], -2)
        inner = torch.relu(product(w["inward"].mT, read) + w["inward_bias"].unsqueeze(-1))
        return (product(w["outward"].mT, inner) + w["outward_bias"].unsqueeze(-1)).mT

    def attention(self, w: Weights, seen: Seen) -> Float[Tensor, "r m p v"]:
        """The attention of each word's marker over the vocabulary."""
        return self._weights(w, seen).mT

    def _weights(self, w: Weights, seen: Seen) -> Float[Tensor, "r m v p"]:
        """Attention with the words along the last axis: a softmax over few letters is ten times as fast that way."""
        table = score_table(w, self.query)
        scores = table.mT if self.query == "marker" else rows(table, seen.last).mT
        return (scores + seen.log_counts.mT.unsqueeze(-3)).softmax(-2) * (seen.lengths > 0).mT.unsqueeze(-3)

    @property
    def _marker(self) -> Tensor:
        return torch.tensor([self.vocabulary - 1])
