"""Minimal transformers whose curve is known in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from lengthwise.models import MinimalTransformer, Seen, TableForm
from lengthwise.tasks import Batch

Answer = Callable[[Batch], Tensor]


def simplex(v: int) -> Tensor:
    """Rows of a v x (v - 1) matrix S with S S^T = C, the centring matrix."""
    values, vectors = np.linalg.eigh(np.eye(v) - 1 / v)
    return torch.from_numpy(vectors[:, values > 0.5])


def with_weights(model: MinimalTransformer, **weights: Tensor) -> MinimalTransformer:
    for name, value in weights.items():
        model.get_parameter(name).data.copy_(value)
    return model.eval()


@pytest.fixture
def solved() -> Callable[[int, float, float], MinimalTransformer]:
    """`solved(v, p, c)`: B = -c C, D = -p C and uniform attention, at the least width; M = p + c."""

    def build(v: int, p: float, c: float) -> MinimalTransformer:
        s, eye = simplex(v), torch.eye(v - 1, dtype=torch.float64)
        model = MinimalTransformer(v, width=v - 1).double()
        return with_weights(
            model, embedding=s, query=0 * eye, key=eye, value=eye, output=p / c * eye, unembedding=-c * s.T
        )

    return build


@pytest.fixture
def balanced() -> Callable[[int, float], MinimalTransformer]:
    """`balanced(v, p)`: B = 0, D = -p C and uniform attention, as what is read and what is written do not overlap."""

    def build(v: int, p: float) -> MinimalTransformer:
        s, zero = simplex(v), torch.zeros(v, v - 1, dtype=torch.float64)
        eye, none = torch.eye(v - 1, dtype=torch.float64), torch.zeros(v - 1, v - 1, dtype=torch.float64)
        return with_weights(
            MinimalTransformer(v, width=2 * (v - 1), key_width=1, value_width=v - 1).double(),
            embedding=torch.cat([s, zero], 1),
            query=torch.zeros(2 * (v - 1), 1),
            key=torch.zeros(2 * (v - 1), 1),
            value=torch.cat([p * eye, none]),
            output=torch.cat([none, eye], 1),
            unembedding=torch.cat([zero.T, -s.T]),
        )

    return build


@pytest.fixture(params=["module", "tables"])
def answer_of(request: pytest.FixtureRequest) -> Callable[[MinimalTransformer], Answer]:
    """What one model says, through the plain module or through its tables."""

    def through_module(model: MinimalTransformer) -> Answer:
        return lambda batch: torch.stack([batch.map(lambda x: x[0]).answers(model(batch.inputs[0]))]).detach()

    def through_tables(model: MinimalTransformer) -> Answer:
        weights = {name: p.detach()[None, None] for name, p in model.named_parameters()}
        v = model.unembedding.shape[1]
        return lambda batch: TableForm(model)(weights, Seen.of(batch.inputs, v, last_only=True)).flatten(0, 1)

    return through_module if request.param == "module" else through_tables
