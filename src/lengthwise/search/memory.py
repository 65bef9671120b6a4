"""How much memory a block needs, found without training it, and how much there is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import nn

from lengthwise.errors import InputError
from lengthwise.experiments import Experiment
from lengthwise.search.blocks import Block
from lengthwise.search.search import BASE, Search
from lengthwise.tasks.randomness import stream
from lengthwise.training.optimisers import OPTIMISERS

OVERHEAD = 350 * 2**20
"""What a process of ours takes before it trains anything: Python and PyTorch."""
COPIES = 3
"""Weights, their gradients, and what an update needs for the moment; optimiser state and averages come on top."""


def trial_bytes(experiment: Experiment, variant: str = BASE) -> int:
    """An estimate of what one more model of an experiment takes, from shapes alone: nothing of its size is allocated.

    Weights with their gradients, optimiser state and averages, and the larger of what a training step saves for its
    gradients (twice, for the gradients themselves) and what a measurement holds.
    """
    plan, averages = experiment.plans[variant], experiment.averages_of(variant)
    with torch.device("meta"), torch.random.fork_rng(devices=[]):
        module = experiment.build(variant)
    weights = sum(p.numel() * p.element_size() for p in module.parameters())
    slots = len(OPTIMISERS[plan.optimiser.kind].slots) + sum(len(a.slots) for a in averages)
    longest = int(plan.lengths(experiment.task.trained_length).max())
    training = 2 * _saved(module, experiment, plan.batch, longest)
    return weights * (COPIES + slots) + max(training, _measured(experiment))


def block_bytes(block: Block) -> int:
    """An estimate of what a process takes that trains a block."""
    return OVERHEAD + len(block.trials) * trial_bytes(block.experiment, str(block.trials[0]))


def available_bytes() -> int:
    """How much memory new processes can take here: of the machine, and of the control group if that has a limit."""
    free = []
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            free.append(int(line.split()[1]) * 1024)
    limit, used = _read("/sys/fs/cgroup/memory.max").strip(), _read("/sys/fs/cgroup/memory.current").strip()
    if limit.isdigit() and used.isdigit():
        free.append(int(limit) - int(used))
    return min(free, default=2**63)


def check_memory(search: Search, blocks: list[Block], workers: int) -> int:
    """The estimate of what the search takes here; InputError if that is more than there is, saying what is needed."""
    one = OVERHEAD + trial_bytes(search.experiment)
    free = available_bytes()
    if one > free:
        raise InputError(f"too little memory: one trial needs about {size(one)}, and {size(free)} is free")
    most = max(_largest(blocks))
    if (total := most * workers) > free:
        each = f"a block of {max(len(b.trials) for b in blocks)} trials needs about {size(most)}"
        many = f", {workers} workers {size(total)}" if workers > 1 else ""
        raise InputError(f"too little memory: {each}{many}, and {size(free)} is free; expected a smaller --block")
    return total


def size(count: int) -> str:
    """A number of bytes in words.

    >>> size(3 * 2**30), size(700 * 2**20)
    ('3.0 GiB', '700 MiB')
    """
    return f"{count / 2**30:,.1f} GiB" if count >= 2**30 else f"{count / 2**20:,.0f} MiB"


def _largest(blocks: list[Block]) -> list[int]:
    """The needs of the largest block of each structure."""
    largest: dict[int, Block] = {}
    for block in blocks:
        if block.structure not in largest or len(block.trials) > len(largest[block.structure].trials):
            largest[block.structure] = block
    return [block_bytes(block) for block in largest.values()]


def _saved(module: nn.Module, experiment: Experiment, batch: int, length: int) -> int:
    """The bytes that a forward pass over one batch keeps for the gradients."""
    example = experiment.task.sample(stream(experiment.seed, 0, 0, "memory"), 2, length)
    kept: list[int] = []

    def keep(x: torch.Tensor) -> torch.Tensor:
        kept.append(x.numel() * x.element_size())
        return x

    try:
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
            module.train()(example.inputs.to("meta"))
    except Exception:  # a module that cannot go without numbers: one activation for each weight column of its parts
        columns = sum(p.shape[-1] for p in module.parameters() if p.dim() > 1)
        return 8 * batch * length * columns
    weights = sum(p.numel() * p.element_size() for p in module.parameters())
    return max(sum(kept) - weights, 0) * batch // 2


def _measured(experiment: Experiment) -> int:
    """The bytes that measuring one model holds: answers and targets in float64, and about six more of their size."""
    batch = experiment.task.measure(stream(experiment.seed, 0, 0, "memory"), 1, experiment.lengths[-1])
    targets = 1 if batch.targets is None else int(np.prod(batch.targets.shape))
    return 8 * 8 * targets * experiment.measuring.inputs


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
