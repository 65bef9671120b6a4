"""The protocol that every task keeps, and the losses a task may name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.tasks.batch import Batch

LossName = Literal["cross-entropy", "squared-error"]


@runtime_checkable
class Task(Protocol):
    """A source of batches at any length, with an exact answer for every input.

    Nothing here knows a model or an optimiser. Randomness is an argument: the same generator state gives the same
    batch. A task of your own is any object with these members; the built-in ones are frozen pydantic models, so that
    their fields can be set from the command line.
    """

    name: ClassVar[str]
    loss: ClassVar[LossName]
    distinct: ClassVar[bool]
    """No token occurs twice in an input (lets the table form share dropout of attention weights)."""

    @property
    def trained_length(self) -> int:
        """The longest length of training inputs when a phase names none."""
        ...

    @property
    def lengths(self) -> Sequence[int]:
        """The lengths at which the task can be measured, ascending."""
        ...

    @property
    def sizes(self) -> dict[str, int]:
        """Constructor arguments that a model takes from the task, such as `vocabulary`."""
        ...

    def sample(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` training examples that cover the lengths 1..`length`."""
        ...

    def measure(self, rng: np.random.Generator, count: int, length: int) -> Batch:
        """`count` examples of exactly `length`, answered at the last position, with exact targets."""
        ...

    def oracle(self, inputs: Sequence[int]) -> list[float]:
        """The exact answer to one input, in plain Python."""
        ...


def mean_loss(outputs: Tensor, batch: Batch, loss: LossName, leading: int = 0) -> Tensor:
    """The mean loss over labelled positions, one value for each index of the `leading` axes.

    `outputs` is what `Batch.answers` gives, with `leading` axes before the batch's own; labels broadcast over them.

    >>> uniform = torch.zeros(1, 2, 4)
    >>> batch = Batch(torch.tensor([[2, 0]]), torch.tensor([[0, 1]]))
    >>> round(mean_loss(uniform, batch, "cross-entropy").item(), 4)  # log 4
    1.3863
    """
    example_axes = outputs.shape[leading:-1]
    if loss == "cross-entropy":
        labels = batch.labels.expand(outputs.shape[:-1])
        flat = torch.nn.functional.cross_entropy(
            outputs.reshape(-1, outputs.shape[-1]), labels.reshape(-1), reduction="none"
        )
        losses = flat.view(outputs.shape[:-1])
    else:
        answer = outputs.shape[leading:]
        if batch.labels.shape[-len(answer) :] != answer:  # broadcasting would compare every example with every other
            raise InputError(
                f"labels of shape {tuple(batch.labels.shape)}: expected {tuple(answer)}, as the answers have"
            )
        losses = (outputs - batch.labels).square().mean(-1)
    axes = tuple(range(leading, leading + len(example_axes)))
    if batch.mask is None or batch.position == "last":
        return losses.mean(axes)
    weight = batch.mask.expand(losses.shape).to(losses.dtype)
    return (losses * weight).sum(axes) / weight.sum(axes)
