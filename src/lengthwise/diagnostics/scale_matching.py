"""One inverse temperature per model, so that models are compared by shape and not by how loud their logits are."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor


def inverse_temperature(
    logits: Float[Tensor, "n i v"], targets: Float[Tensor, "n i v"], rounds: int = 40
) -> Float[Tensor, " n"]:
    """The scale b > 0 that minimises the mean KL(target || softmax(b logits)) of each model, in [e^-8, e^8].

    The mean is convex in b: Newton's step where it stays inside the bracket of the root of the derivative, the middle
    of the bracket (in log b) otherwise. Fit it on TRAINED lengths; a model whose logits do not vary keeps 1.
    (docs/theory.md, "Why length hurts".)

    >>> targets = torch.tensor([[[0.7, 0.2, 0.1]]], dtype=torch.float64)
    >>> round(inverse_temperature(targets.log() * 4, targets).item(), 6)
    0.25
    """
    n = logits.shape[0]
    low, high = logits.new_full((n,), -8.0), logits.new_full((n,), 8.0)
    x = logits.new_zeros(n)
    for _ in range(rounds):
        b = x.exp()
        p = (logits * b[:, None, None]).softmax(-1)
        slope = ((p - targets) * logits).sum(-1).mean(-1)
        mean = (p * logits).sum(-1, keepdim=True)
        curvature = (p * (logits - mean).square()).sum(-1).mean(-1)
        low, high = torch.where(slope < 0, x, low), torch.where(slope > 0, x, high)
        newton = (b - slope / curvature).clamp_min(1e-9).log()
        inside = (newton > low) & (newton < high)
        before, x = x, torch.where(slope == 0, x, torch.where(inside, newton, (low + high) / 2))
        if ((x - before).abs() < 1e-9).all():
            break
    return torch.where((logits.amax(-1) == logits.amin(-1)).all(-1), torch.ones_like(x), x.exp())
