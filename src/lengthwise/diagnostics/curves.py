"""Curves: every metric by length, for as many models as there are, as is and scale-matched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from lengthwise.diagnostics.metrics import METRICS_OF, Metric, entropies
from lengthwise.diagnostics.scale_matching import inverse_temperature
from lengthwise.errors import InputError
from lengthwise.tasks import Batch, Task
from lengthwise.tasks.randomness import stream

Answer = Callable[[Batch], Tensor]
"""Logits `(n, i, v)` of n models for one batch per replicate `(r, i, ...)`; replicate by replicate."""

MATCHED = "_matched"
PORTION = 2**24
"""So many positions, over all replicates, are drawn at once: long inputs come in several portions."""
KEPT = 2**26
"""So many numbers of drawn inputs are kept to be asked again."""
SCALE_LENGTHS = 32
"""Scale matching looks at no more trained lengths than these, evenly."""


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
    Drawn inputs are kept, up to a bound, for the next populations and steps that ask for them.
    """

    task: Task
    replicates: Sequence[int]
    seed: int
    count: int
    trained_length: int
    device: torch.device | str = "cpu"
    kept: dict[tuple[int, str, int], Batch] = field(default_factory=dict, repr=False, compare=False)

    def at(self, length: int, place: str = "measure", count: int | None = None) -> Batch:
        """`count` inputs of one length for each replicate."""
        if length not in self.task.lengths:
            known = self.task.lengths
            raise InputError(f"length {length}: expected one of {known[0]}..{known[-1]} for {self.task.name}")
        n = count or self.count
        if (batch := self.kept.get((length, place, n))) is None:
            draw = [self.task.measure(stream(self.seed, r, length, place), n, length) for r in self.replicates]
            batch = Batch.stack(draw).to(self.device)
            if batch.inputs.numel() + sum(b.inputs.numel() for b in self.kept.values()) <= KEPT:
                self.kept[length, place, n] = batch
        return batch

    def portions(self, length: int, place: str = "measure") -> Iterator[Batch]:
        """The `count` inputs of one length in portions of bounded memory, each of an even number of inputs.

        >>> from lengthwise import SetComplement
        >>> inputs = Inputs(SetComplement(vocabulary=4, s_train=2), [0, 1], seed=0, count=5, trained_length=2)
        >>> [len(batch.labels[0]) for batch in inputs.portions(3)]
        [5]
        """
        most = max(PORTION // (max(length, 1) * len(self.replicates)) // 2 * 2, 2)
        for k, start in enumerate(range(0, self.count, most)):
            yield self.at(length, f"{place} {k}" if k else place, min(most, self.count - start))


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
    metrics = METRICS_OF[inputs.task.loss]
    scale = None
    if any(metric.scales for metric in metrics.values()):
        scale = _fitted_scale(answer, inputs)
        yield Measured(None, "inverse_temperature", scale, inputs.count)
    for length in lengths:
        portions = [_answered(answer, attention, batch) for batch in inputs.portions(length)]
        answers, targets, labels, entropy = (torch.cat(parts, 1) for parts in zip(*portions, strict=True))
        for name, value in _measured(metrics, answers, targets, labels, scale):
            yield Measured(length, name, value, inputs.count)
        if attention is not None:
            yield Measured(length, "attention_entropy", entropy.mean(-1), inputs.count)


def _measured(
    metrics: Mapping[str, Metric], answers: Tensor, targets: Tensor, labels: Tensor, scale: Tensor | None
) -> Iterator[tuple[str, Tensor]]:
    for name, metric in metrics.items():
        yield name, metric.measure(answers, targets if metric.against == "targets" else labels)
    if scale is not None:
        matched = answers * scale[:, None, None]
        yield from ((n + MATCHED, metric.measure(matched, targets)) for n, metric in metrics.items() if metric.scales)


def _answered(answer: Answer, attention: Answer | None, batch: Batch) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Answers, and for each model its replicate's targets and labels; the entropy of its attention on each input."""
    answers, targets = _double(answer(batch), batch)
    labels = batch.labels.repeat_interleave(len(answers) // len(batch.labels), 0)
    if attention is None:
        return answers, targets, labels, answers[..., 0]
    return answers, targets, labels, entropies(attention(batch).double())


def _fitted_scale(answer: Answer, inputs: Inputs) -> Tensor:
    trained = [s for s in inputs.task.lengths if s <= inputs.trained_length]
    trained = trained[:: -(-len(trained) // SCALE_LENGTHS)]
    count = max(inputs.count // 4, 1)  # one number is fitted to all trained lengths together
    pairs = [_double(answer(batch), batch) for batch in (inputs.at(s, "scale matching", count) for s in trained)]
    return inverse_temperature(torch.cat([a for a, _ in pairs], 1), torch.cat([t for _, t in pairs], 1))


def _double(logits: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
    """Logits and, for each model, its replicate's targets, in float64."""
    assert batch.targets is not None
    targets = batch.targets.double().repeat_interleave(logits.shape[0] // batch.targets.shape[0], 0)
    return logits.double(), targets
