"""Optimisers as functions of one matrix: a row for each model, and per-model numbers as columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor

Numbers = Mapping[str, Tensor]
State = dict[str, Tensor]


class _Rule(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    slots: ClassVar[tuple[str, ...]]

    def numbers(self) -> dict[str, float]:
        """The settings that may differ between models of one population."""
        return {k: v for k, v in self.model_dump().items() if k != "kind"}


class SGD(_Rule):
    """Gradient descent: `b <- momentum b + g`, `w <- w - rate b`, with g including `weight_decay w`.

    >>> one = torch.tensor([[1.0]])
    >>> numbers = {"momentum": 0 * one, "weight_decay": 0 * one}
    >>> w, _ = SGD().update(one, one, {"velocity": 0 * one}, one, 0.1 * one, numbers)
    >>> w
    tensor([[0.9000]])
    """

    kind: Literal["sgd"] = "sgd"
    momentum: float = Field(default=0.0, ge=0, lt=1)
    weight_decay: float = Field(default=0.0, ge=0)
    slots: ClassVar = ("velocity",)

    @staticmethod
    def update(w: Tensor, g: Tensor, state: State, count: Tensor, rate: Tensor, n: Numbers) -> tuple[Tensor, State]:
        velocity = n["momentum"] * state["velocity"] + (g + n["weight_decay"] * w)
        return w - rate * velocity, {"velocity": velocity}


class NormalisedSGD(_Rule):
    """Gradient descent by steps of a given length: `w <- w - rate g / |g|`, with the norm over each group of a model.

    >>> w, g = torch.tensor([[1.0, 1.0]]), torch.tensor([[3.0, 4.0]])
    >>> NormalisedSGD().update(w, g, {}, torch.ones(1, 1), torch.tensor([[5.0]]), {})[0]
    tensor([[-2., -3.]])
    """

    kind: Literal["normalised-sgd"] = "normalised-sgd"
    slots: ClassVar = ()

    @staticmethod
    def update(w: Tensor, g: Tensor, state: State, count: Tensor, rate: Tensor, n: Numbers) -> tuple[Tensor, State]:
        norm = g.norm(dim=1, keepdim=True)
        return w - rate * g / torch.where(norm > 0, norm, 1.0), {}


class Adam(_Rule):
    """Adam with bias correction; `weight_decay` is added to the gradient (arXiv:1412.6980).

    >>> Adam().numbers()["beta2"]
    0.999
    """

    kind: Literal["adam"] = "adam"
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    epsilon: float = Field(default=1e-8, gt=0)
    weight_decay: float = Field(default=0.0, ge=0)
    slots: ClassVar = ("mean", "square")

    @staticmethod
    def update(w: Tensor, g: Tensor, state: State, count: Tensor, rate: Tensor, n: Numbers) -> tuple[Tensor, State]:
        return _adam(w, g + n["weight_decay"] * w, state, count, rate, n)


class AdamW(_Rule):
    """Adam with decoupled weight decay: `w <- w - rate weight_decay w` before the step (arXiv:1711.05101).

    >>> AdamW().weight_decay
    0.01
    """

    kind: Literal["adamw"] = "adamw"
    beta1: float = Field(default=0.9, ge=0, lt=1)
    beta2: float = Field(default=0.999, ge=0, lt=1)
    epsilon: float = Field(default=1e-8, gt=0)
    weight_decay: float = Field(default=0.01, ge=0)
    slots: ClassVar = ("mean", "square")

    @staticmethod
    def update(w: Tensor, g: Tensor, state: State, count: Tensor, rate: Tensor, n: Numbers) -> tuple[Tensor, State]:
        return _adam(w * (1 - rate * n["weight_decay"]), g, state, count, rate, n)


def _adam(w: Tensor, g: Tensor, state: State, count: Tensor, rate: Tensor, n: Numbers) -> tuple[Tensor, State]:
    mean = torch.lerp(g, state["mean"], n["beta1"])
    square = torch.lerp(g * g, state["square"], n["beta2"])
    first = rate / (1 - n["beta1"] ** count)
    second = (1 - n["beta2"] ** count).sqrt()
    return w - first * mean / (square.sqrt() / second + n["epsilon"]), {"mean": mean, "square": square}


Optimiser = Annotated[SGD | NormalisedSGD | Adam | AdamW, Field(discriminator="kind")]
OPTIMISERS: dict[str, type[Any]] = {"sgd": SGD, "normalised-sgd": NormalisedSGD, "adam": Adam, "adamw": AdamW}
