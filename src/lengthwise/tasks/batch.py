"""Batch: what a task hands to a model, and where its answer is expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class Batch:
    """Examples of one shape, with their labels and, when measuring, the exact target distributions.

    `...` stands for any leading axes (replicates); b examples, s positions, v classes or d numbers.

    - `inputs`: tokens `(..., b, s)` (integers) or vectors `(..., b, s, d)` (floats).
    - `labels`: one per position `(..., b, s)`, or one per example `(..., b)` when `position` is "last"; class indices,
      or floats with a trailing axis for regression.
    - `targets`: distributions over classes, the shape of `labels` with a trailing `v`; None while training.
    - `mask`: `(..., b, s)`, True at real positions; None when every position is real. Padding follows the input.

    >>> batch = Batch(torch.tensor([[2, 0]]), torch.tensor([[0, 1]]))
    >>> batch.positions, batch.length
    (2, 2)
    """

    inputs: Tensor
    labels: Tensor
    position: Literal["every", "last"] = "every"
    targets: Tensor | None = None
    mask: Tensor | None = None

    @property
    def length(self) -> int:
        """The number of positions s, padding included."""
        return self.inputs.shape[-2 if self.inputs.is_floating_point() else -1]

    @property
    def positions(self) -> int:
        """How many positions of each example carry a label."""
        return self.length if self.position == "every" else 1

    def map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        """The same batch with every tensor changed, for example moved to a device."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return replace(self, **{k: change(x) for k, x in values.items() if isinstance(x, Tensor)})

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return self.map(lambda x: x.to(device))

    def padded(self, length: int) -> Batch:
        """The same examples with padding up to `length` positions, and a mask that says so.

        >>> Batch(torch.tensor([[2, 0]]), torch.tensor([1]), "last").padded(3).mask
        tensor([[ True,  True, False]])
        """
        at = -2 if self.inputs.is_floating_point() else -1  # the axis of positions
        shape = self.inputs.shape[: self.inputs.dim() + at + 1]
        real = torch.ones(shape, dtype=torch.bool, device=self.inputs.device) if self.mask is None else self.mask
        changed = {"inputs": _lengthened(self.inputs, length, self.inputs.dim() + at)}
        if self.position == "every":
            changed["labels"] = _lengthened(self.labels, length, len(shape) - 1)
            if self.targets is not None:
                changed["targets"] = _lengthened(self.targets, length, len(shape) - 1)
        return replace(self, mask=_lengthened(real, length, len(shape) - 1), **changed)

    @staticmethod
    def stack(batches: Sequence[Batch]) -> Batch:
        """Batches along a new leading axis, one row for each replicate; shorter ones are padded to the longest.

        >>> one = Batch(torch.zeros(4, 3, dtype=torch.long), torch.zeros(4, dtype=torch.long), "last")
        >>> Batch.stack([one, one]).inputs.shape
        torch.Size([2, 4, 3])
        """
        longest = max(batch.length for batch in batches)
        if any(batch.mask is not None or batch.length < longest for batch in batches):
            batches = [batch.padded(longest) for batch in batches]
        first = batches[0]
        names = [f.name for f in fields(first) if isinstance(getattr(first, f.name), Tensor)]
        return replace(first, **{k: torch.stack([getattr(b, k) for b in batches]) for k in names})

    def answers(self, outputs: Tensor) -> Tensor:
        """What a model said where a label is expected: `(..., b, s, v)` or, at the last position, `(..., b, v)`.

        A model may answer at every position or already only at the last.
        """
        if self.position == "every" or outputs.dim() < self.inputs.dim() + (not self.inputs.is_floating_point()):
            return outputs
        if self.mask is None:
            return outputs[..., -1, :]
        last = self.mask.long().sum(-1) - 1
        models = outputs.shape[:-2]  # an axis of models stands in the mask as an axis of length 1, if it does at all
        index = last.expand(models)[..., None, None].expand(*models, 1, outputs.shape[-1])
        return outputs.gather(-2, index).squeeze(-2)


def _lengthened(x: Tensor, length: int, axis: int) -> Tensor:
    """`x` with zeros (False) after its end along an axis."""
    more = list(x.shape)
    more[axis] = length - x.shape[axis]
    return torch.cat([x, x.new_zeros(more)], axis) if more[axis] else x
