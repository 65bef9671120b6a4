"""Every shape that the minimal transformer takes, and its equation once more in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from lengthwise.models import MinimalTransformer

Oracle = Callable[[MinimalTransformer, list[int]], np.ndarray]


def shapes() -> Iterator[dict[str, Any]]:
    """Settings for every norm, kind of norm, bias and scaling."""
    norms = [("none", "layer", True), *((n, k, b) for n in ("pre", "post") for k, b in _kinds())]
    for (norm, kind, bias), scaling in product(norms, ("none", "log-length scores", "sum", "length logits")):
        yield {"norm": norm, "norm_kind": kind, "norm_bias": bias, "scaling": scaling}


def _kinds() -> list[tuple[str, bool]]:
    return [("layer", True), ("layer", False), ("rms", False)]


def _name(settings: dict[str, Any]) -> str:
    bias = " bias" if settings["norm"] != "none" and settings["norm_bias"] else ""
    return f"{settings['norm']} {settings['norm_kind']}{bias}, {settings['scaling']}"


@pytest.fixture(params=shapes(), ids=_name)
def settings(request: pytest.FixtureRequest) -> dict[str, Any]:
    return request.param


@pytest.fixture
def build() -> Callable[..., MinimalTransformer]:
    """`build(**settings)`: a small float64 model whose norm has weights of its own."""
    return small_model


def small_model(seed: int = 0, vocabulary: int = 5, **settings: Any) -> MinimalTransformer:
    torch.manual_seed(seed)
    model = MinimalTransformer(vocabulary, width=6, key_width=3, value_width=4, **settings).double()
    for parameter in model.norm.parameters():
        torch.nn.init.normal_(parameter, mean=1.0)
    return model


@pytest.fixture
def oracle() -> Oracle:
    """Logits `(s, v)` of one sequence by the model's equation, one position and one token at a time."""
    return logits_by_definition


def logits_by_definition(model: MinimalTransformer, tokens: list[int]) -> np.ndarray:
    w = {name: p.detach().double().numpy() for name, p in model.named_parameters()}
    norm = lambda x: _normalised(x, model.norm_kind, w)  # noqa: E731
    read = [norm(e) if model.norm_place == "pre" else e for e in w["embedding"]]
    return np.stack([_one(model, w, norm, read, tokens[: s + 1]) for s in range(len(tokens))])


def _one(model: MinimalTransformer, w: dict[str, np.ndarray], norm: Any, read: list, seen: list[int]) -> np.ndarray:
    s, query = len(seen), read[seen[-1]] @ w["query"]
    sharpness = math.log(s) if model.scaling == "log-length scores" else 1.0
    scores = [sharpness * float(query @ (read[t] @ w["key"])) / math.sqrt(len(query)) for t in seen]
    odds = [math.exp(x - max(scores)) for x in scores]
    mixed = sum(o / sum(odds) * (read[t] @ w["value"] @ w["output"]) for o, t in zip(odds, seen, strict=True))
    state = w["embedding"][seen[-1]] + mixed * (s if model.scaling == "sum" else 1)
    logits = (norm(state) if model.norm_place == "post" else state) @ w["unembedding"]
    return logits * (s if model.scaling == "length logits" else 1)


def _normalised(x: np.ndarray, kind: str, w: dict[str, np.ndarray]) -> np.ndarray:
    centred = x - sum(x) / len(x) if kind == "layer" else x
    scale = math.sqrt(sum(c * c for c in centred) / len(x) + 1e-5)
    return centred / scale * w["norm.weight"] + w.get("norm.bias", 0.0)
