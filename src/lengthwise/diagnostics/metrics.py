"""What is measured of predictions against exact targets: one number per model, the mean over inputs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from lengthwise.tasks.task import LossName

Logits = Float[Tensor, "n i v"]
Targets = Float[Tensor, "n i v"]


@dataclass(frozen=True)
class Metric:
    """A metric's function of (answers, targets or labels) to `(n,)`, what it says, and whether rescaling changes it."""

    measure: Callable[[Tensor, Tensor], Tensor]
    says: str
    scales: bool = True
    against: Literal["targets", "labels"] = "targets"
    better: Literal["less", "greater"] = "less"


def total_variation(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """Half the sum of absolute differences between prediction and target, in [0, 1].

    >>> total_variation(torch.zeros(1, 1, 4), torch.tensor([[[0.5, 0.5, 0.0, 0.0]]])).item()
    0.5
    """
    return (logits.softmax(-1) - targets).abs().sum(-1).div(2).mean(-1)


def illegal_mass(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """The probability given to illegal tokens: those of target 0.

    >>> illegal_mass(torch.zeros(1, 1, 4), torch.tensor([[[1.0, 0.0, 0.0, 0.0]]])).item()
    0.75
    """
    return torch.where(targets == 0, logits.softmax(-1), 0.0).sum(-1).mean(-1)


def divergence(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """KL(target || prediction) in nats; illegal tokens add exactly 0.

    >>> round(divergence(torch.zeros(1, 1, 4), torch.tensor([[[0.5, 0.5, 0.0, 0.0]]])).item(), 4)  # log 2
    0.6931
    """
    log_p = logits.log_softmax(-1)
    cross = torch.where(targets > 0, targets * log_p, 0.0).sum(-1)
    return (torch.xlogy(targets, targets).sum(-1) - cross).mean(-1)


def top1_illegal(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """The share of inputs on which some illegal token is at least as likely as every legal one.

    >>> top1_illegal(torch.zeros(1, 1, 2), torch.tensor([[[1.0, 0.0]]])).item()  # a tie is a failure
    1.0
    """
    return (_largest(logits, targets == 0) >= _largest(logits, targets > 0)).to(logits.dtype).mean(-1)


def accuracy(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """The share of inputs on which every illegal token is less likely than the likeliest legal one.

    >>> accuracy(torch.tensor([[[3.0, 1.0], [0.0, 0.0]]]), torch.tensor([[[1.0, 0.0], [1.0, 0.0]]])).item()
    0.5
    """
    return 1 - top1_illegal(logits, targets)


def displacement(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """The mean of legal logits minus the mean of illegal ones, in nats; NaN where nothing is illegal.

    >>> displacement(torch.tensor([[[3.0, 1.0, 0.0]]]), torch.tensor([[[0.5, 0.5, 0.0]]])).item()
    2.0
    """
    return (_mean(logits, targets > 0) - _mean(logits, targets == 0)).mean(-1)


def displacement_spread(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """Within an input, the largest displacement minus the least (over illegal tokens); 0 when balanced.

    >>> displacement_spread(torch.tensor([[[3.0, 1.0, 0.0]]]), torch.tensor([[[1.0, 0.0, 0.0]]])).item()
    1.0
    """
    return _spread(logits, targets == 0)


def legal_spread(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """Within an input, the largest legal logit minus the least; 0 when solved exactly.

    >>> legal_spread(torch.tensor([[[3.0, 1.0, 0.0]]]), torch.tensor([[[0.5, 0.5, 0.0]]])).item()
    2.0
    """
    return _spread(logits, targets > 0)


def worst_displacement(logits: Logits, targets: Targets) -> Float[Tensor, " n"]:
    """The least legal logit minus the largest illegal one, the least over the inputs that were drawn.

    >>> worst_displacement(torch.tensor([[[3.0, 1.0, 2.0]]]), torch.tensor([[[0.5, 0.5, 0.0]]])).item()
    -1.0
    """
    return (-_largest(-logits, targets > 0) - _largest(logits, targets == 0)).amin(-1)


def squared_error(answers: Float[Tensor, "n i d"], truth: Float[Tensor, "n i d"]) -> Float[Tensor, " n"]:
    """The mean squared difference between answers and the truth (or the optimal predictor's answers).

    >>> squared_error(torch.zeros(1, 2, 1), torch.tensor([[[1.0], [2.0]]])).item()
    2.5
    """
    return (answers - truth).square().mean((-2, -1))


def attention_entropy(attention: Float[Tensor, "n i v"]) -> Float[Tensor, " n"]:
    """The entropy of attention weights in nats: log s when attention is uniform over s tokens.

    >>> round(attention_entropy(torch.tensor([[[0.5, 0.5, 0.0]]])).item(), 4)  # log 2
    0.6931
    """
    return entropies(attention).mean(-1)


def entropies(attention: Float[Tensor, "n i v"]) -> Float[Tensor, "n i"]:
    """The entropy of the attention weights of each input, in nats.

    >>> entropies(torch.tensor([[[1.0, 0.0]]])).abs().item()
    0.0
    """
    return -torch.xlogy(attention, attention).sum(-1)


METRICS: dict[str, Metric] = {
    "tv": Metric(total_variation, "total variation distance to the exact target"),
    "illegal_mass": Metric(illegal_mass, "probability given to illegal tokens"),
    "kl": Metric(divergence, "KL(target || prediction), nats"),
    "top1_illegal": Metric(top1_illegal, "share of inputs whose most likely token is illegal", scales=False),
    "accuracy": Metric(accuracy, "share of inputs whose most likely token is legal", scales=False, better="greater"),
    "displacement": Metric(displacement, "mean legal logit minus mean illegal logit", better="greater"),
    "displacement_spread": Metric(displacement_spread, "largest minus least displacement within an input"),
    "legal_spread": Metric(legal_spread, "largest minus least legal logit within an input"),
    "worst_displacement": Metric(
        worst_displacement, "least legal minus largest illegal logit, worst input drawn", better="greater"
    ),
}

REGRESSION: dict[str, Metric] = {
    "squared_error": Metric(squared_error, "mean squared error", scales=False, against="labels"),
    "excess_error": Metric(squared_error, "mean squared distance from the optimal predictor", scales=False),
}
METRICS_OF: dict[LossName, dict[str, Metric]] = {"cross-entropy": METRICS, "squared-error": REGRESSION}
"""What is measured of a task, by the loss that it names."""
ALL_METRICS: dict[str, Metric] = {name: metric for metrics in METRICS_OF.values() for name, metric in metrics.items()}


def _mean(x: Tensor, where: Tensor) -> Tensor:
    return torch.where(where, x, 0.0).sum(-1) / where.sum(-1)


def _largest(x: Tensor, where: Tensor) -> Tensor:
    return x.masked_fill(~where, -math.inf).amax(-1)


def _spread(x: Tensor, where: Tensor) -> Tensor:
    return (_largest(x, where) + _largest(-x, where)).mean(-1)
