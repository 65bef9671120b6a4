"""Three ways to run a whole population: through tables, through vmap, and one by one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.func import functional_call

from lengthwise.models import TABLE_FORMS, Seen
from lengthwise.models.dropout import dropouts
from lengthwise.tasks import Batch, Task
from lengthwise.training.population import Population

Noise = Mapping[str, Tensor]


class Forward(Protocol):
    """Answers `(r, m, *labels, v)` of a population to one batch per replicate, from weights by name `(r, m, ...)`."""

    name: str

    def noise_shapes(self, batch: Batch) -> dict[str, tuple[int, ...]]:
        """The dropout places of ours, and the shape of one replicate's noise at each."""
        ...

    def __call__(self, weights: Mapping[str, Tensor], batch: Batch, noise: Noise, training: bool) -> Tensor: ...


class TableForward:
    """A module that has a table form: cost independent of width and of where a token stands."""

    name = "table"

    def __init__(self, population: Population, training: bool = True) -> None:
        module = population.template
        self.form: Any = TABLE_FORMS[type(module)](module)  # type: ignore[arg-type]
        frozen = [name for name, p in module.named_parameters() if not p.requires_grad]
        self.frozen = {k: population.constants[k].unflatten(0, population.shape) for k in frozen}
        places = dropouts(module) if training else {}
        self.rates = {k: population.constants[f"{k}.rate"].view(population.shape) for k in places}

    def seen(self, batch: Batch) -> Seen:
        """What the tables read of a batch."""
        return self.form.seen(batch.inputs, batch.position == "last", batch.mask)

    def attention(self, weights: Mapping[str, Tensor], batch: Batch) -> Tensor:
        """The attention `(r, m, p, v)` of each query over the vocabulary."""
        return self.form.attention({**weights, **self.frozen}, self.seen(batch))

    def noise_shapes(self, batch: Batch) -> dict[str, tuple[int, ...]]:
        queries = batch.labels[0].numel()
        return {place: (queries, self.form.dropout_widths[place]) for place in self.rates}

    def __call__(self, weights: Mapping[str, Tensor], batch: Batch, noise: Noise, training: bool) -> Tensor:
        dropout = {place: (noise[place], self.rates[place]) for place in self.rates} if training else {}
        logits = self.form({**weights, **self.frozen}, self.seen(batch), dropout)
        return logits.view(*logits.shape[:2], *batch.labels.shape[1:], -1)


class VmapForward:
    """Any module, unchanged: `functional_call` under `vmap` over stacked weights and buffers."""

    name = "vmap"

    def __init__(self, population: Population) -> None:
        self.module, self.shape, self.constants = population.template, population.shape, population.constants
        self.takes_mask = "mask" in inspect.signature(self.module.forward).parameters
        self.dropouts = dropouts(self.module)

    def noise_shapes(self, batch: Batch) -> dict[str, tuple[int, ...]]:
        if not self.dropouts:
            return {}
        shapes: dict[str, tuple[int, ...]] = {}

        def record(name: str) -> Callable[..., None]:
            return lambda module, args, output: shapes.update({name: tuple(args[0].shape)})

        hooks = [layer.register_forward_hook(record(name)) for name, layer in self.dropouts.items()]
        with torch.no_grad():
            self.module.eval()(*self._arguments(batch.map(lambda x: x[0])))
        for hook in hooks:
            hook.remove()
        return shapes

    def __call__(self, weights: Mapping[str, Tensor], batch: Batch, noise: Noise, training: bool) -> Tensor:
        r, m = self.shape
        self.module.train(training)
        state = {**{k: w.flatten(0, 1) for k, w in weights.items()}, **self.constants}
        lent = {f"{place}.noise": self._each(x) for place, x in noise.items()}
        outputs = self._map(state, lent, *(self._each(x) for x in self._arguments(batch)))
        self.module.eval()
        answers = batch.map(self._each).answers(outputs)
        return answers.view(r, m, *answers.shape[1:])

    def _map(self, state: dict[str, Tensor], lent: dict[str, Tensor], *arguments: Tensor) -> Tensor:
        one = lambda s, n, *a: functional_call(self.module, {**s, **n}, a)  # noqa: E731
        return torch.vmap(one, randomness="different")(state, lent, *arguments)

    def _arguments(self, batch: Batch) -> tuple[Tensor, ...]:
        return (batch.inputs, batch.mask) if self.takes_mask and batch.mask is not None else (batch.inputs,)

    def _each(self, x: Tensor) -> Tensor:
        return x.repeat_interleave(self.shape[1], 0)


class LoopForward(VmapForward):
    """A module that vmap refuses, one model after the other."""

    name = "loop"

    def _map(self, state: dict[str, Tensor], lent: dict[str, Tensor], *arguments: Tensor) -> Tensor:
        pick = lambda values, i: {k: v[i] for k, v in values.items()}  # noqa: E731
        return torch.stack(
            [
                functional_call(self.module, {**pick(state, i), **pick(lent, i)}, tuple(a[i] for a in arguments))
                for i in range(len(arguments[0]))
            ]
        )


def choose_forward(
    population: Population, task: Task, batch: Batch, training: bool = True
) -> tuple[Forward, str | None]:
    """The fastest exact way to run a population, and a notice to the user where that is the slow one.

    A table form serves the modules that have one, unless embeddings are dropped, or attention weights are dropped while
    tokens repeat; vmap serves what it can; the loop serves the rest.
    """
    module = population.template
    form: Any = TABLE_FORMS.get(type(module))
    if form is not None and (not training or form.serves(module, task.distinct)):
        return TableForward(population, training), None
    forward = VmapForward(population)
    try:
        _probe(forward, population, batch, training)
    except Exception as refusal:  # vmap refuses with many types; whatever it is, the loop below shows a real fault
        loop = LoopForward(population)
        _probe(loop, population, batch, training)
        reason = str(refusal).strip().splitlines()[0][:120] if str(refusal).strip() else type(refusal).__name__
        return loop, f"{type(module).__name__} trains one model at a time, as vmap refuses it: {reason}"
    return forward, None


def _probe(forward: VmapForward, population: Population, batch: Batch, training: bool) -> None:
    before = {k: v.clone() for k, v in population.constants.items()}
    try:
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            weights = population.layout.views(population.weights, population.shape)
            noise = {k: torch.zeros(len(batch.inputs), *s) for k, s in forward.noise_shapes(batch).items()}
            forward(weights, batch, {k: v.to(batch.inputs.device) for k, v in noise.items()}, training)
    finally:  # also after an attempt that vmap refused half-way
        for name, value in before.items():
            population.constants[name].copy_(value)
