"""Dropout whose rate and noise are buffers, so that a population can give each model its rate and share the noise."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError


def dropped(x: Tensor, noise: Tensor, rate: Tensor) -> Tensor:
    """Inverted dropout: keep where `noise >= rate`, divide by `1 - rate`; all three broadcast.

    >>> dropped(torch.ones(4), torch.tensor([0.1, 0.4, 0.6, 0.9]), torch.tensor(0.5))
    tensor([0., 0., 2., 2.])
    """
    return x * (noise >= rate) / (1 - rate)


class Dropout(nn.Module):
    """Inverted dropout with the rate in a buffer, and uniform noise that may be given from outside.

    A population stacks the buffer `rate` (one per model) and lends `noise` (one draw per replicate, thresholded at each
    model's rate). Alone, with no noise lent, the module draws its own from PyTorch's global generator.

    >>> layer = Dropout(0.5, "attention dropout").eval()
    >>> layer(torch.ones(3))
    tensor([1., 1., 1.])
    """

    rate: Tensor
    noise: Tensor

    def __init__(self, rate: float, name: str = "dropout") -> None:
        super().__init__()
        if not 0 <= rate < 1:
            raise InputError(f"{name} {rate}: expected a rate in [0, 1)")
        self.register_buffer("rate", torch.tensor(float(rate)))
        self.register_buffer("noise", torch.empty(0), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        return dropped(x, self.noise if self.noise.numel() else torch.rand_like(x), self.rate)


def dropout(rate: float, name: str) -> nn.Module:
    """A Dropout, or the identity where the rate is exactly 0 (a checked rate, and no cost).

    >>> dropout(0.0, "attention dropout")
    Identity()
    """
    return Dropout(rate, name) if rate else nn.Identity()


def dropouts(module: nn.Module) -> dict[str, Dropout]:
    """The Dropout layers of a module by name.

    >>> dropouts(nn.Sequential(nn.Linear(2, 2), Dropout(0.1)))
    {'1': Dropout()}
    """
    return {name: layer for name, layer in module.named_modules() if isinstance(layer, Dropout)}
