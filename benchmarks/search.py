"""Trials per second of a search on one core, beside the same trials trained one at a time in plain PyTorch.

    python benchmarks/search.py [--trials 256] [--plain 24] [--steps 300] [--blocks 8 32]

Both sides train trials of the search `set-complement` (structures, rates, dropout and averages as drawn) for as many
steps, on batches from the same sampler, and measure at the same lengths with raw and averaged weights. The plain side
trains an even selection of the trials, uses `torch.optim.Adam`, and updates its averages in place with fused operations
on lists of tensors; it is timed with and without averages and measuring, and measures total variation alone. Our side
is timed whole: making the population, training, averages, and all metrics that a search records.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import nn

from lengthwise import BEMA, EMA, with_settings
from lengthwise.experiments import Experiment
from lengthwise.search import SEARCHES, Search, blocks_of, evaluate
from lengthwise.search.search import BASE
from lengthwise.tasks.randomness import stream


def alone(trial: Experiment, number: int, whole: bool) -> None:
    """What most people write: one module, one optimiser, one trial."""
    torch.manual_seed(number)
    model = trial.build(BASE).train()
    parameters = list(model.parameters())
    rate = trial.plan.phases[0].rates["all"]
    assert isinstance(rate, float)
    optimiser = torch.optim.Adam(parameters, rate)
    start = [p.detach().clone() for p in parameters]
    averages = {a.name: [p.detach().clone() for p in parameters] for a in trial.averages} if whole else {}
    vocabulary, longest = trial.task.vocabulary, trial.task.trained_length
    for step in range(trial.plan.steps):
        batch = trial.task.sample(stream(0, number, step, "batch"), trial.plan.batch, longest)
        loss = nn.functional.cross_entropy(model(batch.inputs).view(-1, vocabulary), batch.labels.reshape(-1))
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if whole:
            with torch.no_grad():
                for average in trial.averages:
                    update(average, averages[average.name], parameters, step + 1)
    if whole:
        measured(trial, model.eval(), start, averages, number)


def update(average: EMA | BEMA, state: list[torch.Tensor], parameters: list[nn.Parameter], step: int) -> None:
    """One step of an average: the EMA's own, or the one inside BEMA."""
    if isinstance(average, EMA):
        share = 1 - average.effective_decay(step)
    else:
        share = (average.rho + average.gamma * step) ** -average.kappa
    torch._foreach_lerp_(state, [p.detach() for p in parameters], share)  # pyright: ignore[reportPrivateImportUsage]


@torch.no_grad()
def measured(
    trial: Experiment, model: nn.Module, start: list[torch.Tensor], averages: dict[str, list[torch.Tensor]], number: int
) -> list[float]:
    """Total variation at every measured length, of raw and averaged weights."""
    last = [p.detach().clone() for p in model.parameters()]
    found, weights = [], [last]
    for average in trial.averages:
        state = averages[average.name]
        if isinstance(average, BEMA):
            alpha = (average.rho + average.gamma * trial.plan.steps) ** -average.eta
            state = [s + alpha * (w - first) for s, w, first in zip(state, last, start, strict=True)]
        weights.append(state)
    for values in weights:
        for parameter, value in zip(model.parameters(), values, strict=True):
            parameter.copy_(value)
        for length in trial.lengths:
            batch = trial.task.measure(stream(0, number, length, "measure"), trial.measuring.inputs, length)
            assert batch.targets is not None
            answer = batch.answers(model(batch.inputs)).double().softmax(-1)
            found.append(float((answer - batch.targets).abs().sum(-1).mean() / 2))
    return found


def ours(search: Search) -> float:
    """Trials per second in blocks."""
    started = time.process_time()
    for block in blocks_of(search):
        evaluate(block)
    return search.trials / (time.process_time() - started)


def plain(search: Search, count: int, whole: bool) -> float:
    """Trials per second one at a time, whole or their training alone, over so many of the trials."""
    numbers = range(0, search.trials, max(search.trials // count, 1))
    started = time.process_time()
    for number in numbers:
        alone(search.experiment_of(number), number, whole)
    return len(numbers) / (time.process_time() - started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=256)
    parser.add_argument("--plain", type=int, default=24, help="how many of them one at a time")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--blocks", type=int, nargs="*", default=[8, 32])
    options = parser.parse_args()
    torch.set_num_threads(1)
    search = SEARCHES["set-complement"]
    experiment = with_settings(search.experiment, {"plan.phases.0.steps": options.steps})
    search = search.changed(experiment=experiment, trials=options.trials)
    warm = search.changed(trials=8, experiment=with_settings(search.experiment, {"plan.phases.0.steps": 10}))
    ours(warm)
    plain(warm, 8, whole=True)
    print(f"{options.trials} trials of {options.steps} steps, one thread, trials per second of processor time")
    whole, training = (plain(search, options.plain, w) for w in (True, False))
    print(f"{'one at a time, plain PyTorch':40s}{whole:8.3f}   (training alone {training:.3f})", flush=True)
    for size in options.blocks:
        found = ours(search.changed(block=size))
        told = f"x{found / whole:5.2f} (bar 4), x{found / training:5.2f} of its training alone"
        print(f"{f'search, blocks of at most {size}':40s}{found:8.3f}   {told}", flush=True)


if __name__ == "__main__":
    main()
