"""Weights of many models as one matrix: a row for each model, a column for each number, groups side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lengthwise.errors import InputError
from lengthwise.training.groups import Globs, groups_of


@dataclass(frozen=True)
class Layout:
    """Where each trainable parameter of a module lies in a row, and which columns each group owns.

    >>> layout = Layout.of(nn.Linear(3, 2), {"bias": ["bias"], "weight": ["weight"]})
    >>> layout.columns
    {'bias': slice(0, 2, None), 'weight': slice(2, 8, None)}
    """

    groups: Mapping[str, Sequence[str]]
    shapes: Mapping[str, torch.Size]
    places: Mapping[str, slice]
    columns: Mapping[str, slice]
    dtype: torch.dtype

    @staticmethod
    def of(module: nn.Module, globs: Globs | None = None) -> Layout:
        """The layout of a module's trainable parameters; InputError if they have several types of number, or none."""
        groups = groups_of(module, globs)
        parameters = {name: p for name, p in module.named_parameters() if p.requires_grad}
        dtypes = {p.dtype: name for name, p in parameters.items()}
        if len(dtypes) != 1:
            found = ", ".join(f"{name!r} in {dtype}" for dtype, name in dtypes.items()) or "none"
            raise InputError(f"trainable parameters: expected one type of number, found {found}")
        places, columns, end = {}, {}, 0
        for group, names in groups.items():
            start = end
            for name in names:
                places[name] = slice(end, end + parameters[name].numel())
                end += parameters[name].numel()
            columns[group] = slice(start, end)
        return Layout(groups, {n: parameters[n].shape for n in places}, places, columns, next(iter(dtypes)))

    @property
    def width(self) -> int:
        """The number of trainable numbers of one model."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    def row(self, module: nn.Module) -> Tensor:
        """One model's trainable parameters as a row."""
        parameters = dict(module.named_parameters())
        return torch.cat([parameters[name].detach().reshape(-1) for name in self.places])

    def views(self, matrix: Tensor, leading: tuple[int, ...] | None = None) -> dict[str, Tensor]:
        """Each parameter `(*leading, *shape)` as a view of the matrix `(n, width)`; `leading` defaults to `(n,)`."""
        leading = leading or matrix.shape[:1]
        return {name: matrix[:, at].reshape(*leading, *self.shapes[name]) for name, at in self.places.items()}

    def gather(self, tensors: Sequence[Tensor], names: Sequence[str]) -> Tensor:
        """Tensors of the named parameters, in the layout's order, side by side `(n, columns)`."""
        return torch.cat(
            [t.reshape(-1, math.prod(self.shapes[name])) for t, name in zip(tensors, names, strict=True)], dim=1
        )
