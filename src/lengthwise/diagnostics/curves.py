"""Curves: every metric by length, for as many models as there are, as is and scale-matched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lengthwise.diagnostics.metrics import METRICS, attention_entropy
from lengthwise.diagnostics.scale_matching import inverse_temperature
from lengthwise.errors import InputError
from lengthwise.tasks import Batch, Task
from lengthwise.tasks.randomness import stream

Answer = Callable[[Batch], Tensor]
"""Logits `(n, i, v)` of n models for one batch per replicate `(r, i, ...)`; replicate by replicate."""

MATCHED = "_matched"


@dataclass(frozen=True)
class Measured:
    """One metric at one length (None for a property of the whole model): a value for each of n models."""

    length: int | None
    metric: str
    values: Tensor
    inputs: int


@dataclass(frozen=True)
class Inputs:
    """Which inputs are measured: the same for every model of a replicate, and drawn apart from training.

    `count` inputs for each length and replicate; lengths up to `trained_length` are those that scale matching may use.
    """

    task: Task
    replicates: Sequence[int]
    seed: int
    count: int
    trained_length: int
    device: torch.device | str = "cpu"

    def at(self, length: int, place: str = "measure", count: int | None = None) -> Batch:
        """`count` inputs of one length for each replicate."""
        if length not in self.task.lengths:
            known = self.task.lengths
            raise InputError(f"length {length}: expected one of {known[0]}..{known[-1]} for {self.task.name}")
        n = count or self.count
        draw = [self.task.measure(stream(self.seed, r, length, place), n, length) for r in self.replicates]
        return Batch.stack(draw).to(self.device)


def measure(
    answer: Answer, inputs: Inputs, lengths: Sequence[int], attention: Answer | None = None
) -> Iterator[Measured]:
    """Every metric at every length, and again at the inverse temperature fitted on the trained lengths.

    `attention`, if the models have one to show, gives its weights `(n, i, v)`. Metrics that end in `_matched` are taken
    after scale matching; `inverse_temperature` is the scale that was fitted. All arithmetic is in float64.

    >>> from lengthwise import SetComplement
    >>> guess = lambda batch: torch.zeros(1, *batch.targets.shape[1:])
    >>> inputs = Inputs(SetComplement(vocabulary=4, s_train=2), [0], seed=0, count=5, trained_length=2)
    >>> rows = measure(guess, inputs, [1, 3])
    >>> [(r.length, round(r.values.item(), 2)) for r in rows if r.metric == "tv"]
    [(1, 0.25), (3, 0.75)]
    """
    scale = _fitted_scale(answer, inputs)
    yield Measured(None, "inverse_temperature", scale, inputs.count)
    for length in lengths:
        batch = inputs.at(length)
        logits, targets = _double(answer(batch), batch)
        for name, metric in METRICS.items():
            yield Measured(length, name, metric.measure(logits, targets), inputs.count)
        matched = logits * scale[:, None, None]
        for name, metric in METRICS.items():
            if metric.scales:
                yield Measured(length, name + MATCHED, metric.measure(matched, targets), inputs.count)
        if attention is not None:
            yield Measured(length, "attention_entropy", attention_entropy(attention(batch).double()), inputs.count)


def _fitted_scale(answer: Answer, inputs: Inputs) -> Tensor:
    trained = [s for s in inputs.task.lengths if s <= inputs.trained_length]
    count = max(inputs.count // 4, 1)  # one number is fitted to all trained lengths together
    pairs = [_double(answer(batch), batch) for batch in (inputs.at(s, "scale matching", count) for s in trained)]
    return inverse_temperature(torch.cat([a for a, _ in pairs], 1), torch.cat([t for _, t in pairs], 1))


def _double(logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits and, for each model, its replicate's targets, in float64."""
    assert batch.targets is not None
    targets = batch.targets.double().repeat_interleave(logits.shape[0] // batch.targets.shape[0], 0)
    return logits.double(), targets
