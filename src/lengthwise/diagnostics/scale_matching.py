"""One inverse temperature per model, so that models are compared by shape and not by how loud their logits are."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def inverse_temperature(
    logits: Float[Tensor, "n i v"], targets: Float[Tensor, "n i v"], rounds: int = 40
) -> Float[Tensor, " n"]:
    """The scale b > 0 that minimises the mean KL(target || softmax(b logits)) of each model.

    Logits are first divided by their spread, so that the bracket, and with it the matched model, is the same however
    loud the logits are, even where they are so right that no finite scale is best. The mean is convex in b: Newton's
    step where it stays inside the bracket of the root of the derivative, the middle of the bracket (in log b)
    otherwise. Fit it on TRAINED lengths; a model whose logits do not vary keeps 1. (docs/theory.md,
    "Why length hurts".)

    >>> targets = torch.tensor([[[0.7, 0.2, 0.1]]], dtype=torch.float64)
    >>> round(inverse_temperature(targets.log() * 4, targets).item(), 6)
    0.25
    """
    n = logits.shape[0]
    finite = logits.isfinite()  # a token that is ruled out (-inf) stays so at every scale
    spread = _deviation(logits, finite)
    logits = logits / spread[:, None, None]
    values = torch.where(finite, logits, 0.0)
    low, high = logits.new_full((n,), -8.0), logits.new_full((n,), 8.0)
    x = logits.new_zeros(n)
    for _ in range(rounds):
        b = x.exp()
        p = (logits * b[:, None, None]).softmax(-1)
        slope = ((p - targets) * values).sum(-1).mean(-1)
        mean = (p * values).sum(-1, keepdim=True)
        curvature = (p * (values - mean).square()).sum(-1).mean(-1)
        low, high = torch.where(slope < 0, x, low), torch.where(slope > 0, x, high)
        newton = (b - slope / curvature).clamp_min(1e-9).log()
        inside = (newton > low) & (newton < high)
        before, x = x, torch.where(slope == 0, x, torch.where(inside, newton, (low + high) / 2))
        if ((x - before).abs() < 1e-9).all():
            break
    return torch.where((logits.amax(-1) == logits.amin(-1)).all(-1), torch.ones_like(x), x.exp() / spread)


def _deviation(logits: Tensor, finite: Tensor) -> Tensor:
    """The standard deviation of each model's finite logits; 1 where they do not vary."""
    count = finite.flatten(1).sum(-1).clamp_min(1)
    values = torch.where(finite, logits, 0.0).flatten(1)
    mean = values.sum(-1) / count
    square = ((values - mean[:, None]) * finite.flatten(1)).square().sum(-1) / count
    return torch.where(square > 0, square.sqrt(), torch.ones_like(square))
