"""What the parts of a model have come to: the norms of its groups' weights, and which letters attention prefers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from lengthwise.diagnostics import Measured
from lengthwise.languages import decisive_letters
from lengthwise.models import ShallowTables
from lengthwise.models.shallow import score_table
from lengthwise.tasks import Recognition
from lengthwise.training import Population


def weight_norms(population: Population, weights: Tensor) -> Iterator[Measured]:
    """The Euclidean norm of each group's weights, for models with more than one group."""
    columns = population.layout.columns
    if len(columns) > 1:
        for group, at in columns.items():
            yield Measured(None, f"norm_{group}", weights[:, at].double().norm(dim=1), 1)


def score_gap(task: Recognition, form: ShallowTables, views: Mapping[str, Tensor]) -> Iterator[Measured]:
    """The least score among the letters that decide minus the largest among the others, in nats.

    With a gap of G a single deciding letter among L - 1 others weighs at least e^G / (e^G + L - 1), so that the length
    served grows like e^G (docs/theory.md, "Attention lag"). Of a query that knows the last letter, the least over the
    last letters that do not decide. Nothing where every letter decides, or none.
    """
    decides = torch.from_numpy(decisive_letters(task.automaton))
    if decides.all() or not decides.any():
        return
    scores = score_table(views, form.query).flatten(0, 1)[..., : len(decides)].double()
    if form.query == "last letter":
        scores = scores[:, : len(decides)][:, ~decides]
    gap = scores[..., decides].amin(-1) - scores[..., ~decides].amax(-1)
    yield Measured(None, "score_gap", gap.amin(-1), 1)
