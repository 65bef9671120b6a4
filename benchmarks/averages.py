"""What averaging costs per step, beside the same step without, ema-pytorch and PyTorch's own averaged model.

    python benchmarks/averages.py [--seconds 3] [--rounds 5]

A population of 128 minimal transformers (table form, eager, one thread) trains with each set of averages; the others
average 128 plain modules by their own means, timed alone and set against the same step.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from lengthwise import BEMA, EMA, Adam, Member, MinimalTransformer, Phase, Plan, Population, SetComplement, Trainer
from lengthwise.training import Averages

TASK = SetComplement(vocabulary=16, s_train=8)
PLAN = Plan(phases=(Phase(steps=1_000_000, rates={"all": 1e-2}),), optimiser=Adam(), batch=128)
N = 128


def trainer() -> Trainer:
    members = [Member(str(k), lambda: MinimalTransformer(16, 16), PLAN) for k in range(8)]
    return Trainer(Population.start(members, range(N // 8), seed=0), TASK, seed=0)


def seconds_per(call: Callable[[], object], seconds: float) -> float:
    call()
    count, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        call()
        count += 1
    return (time.perf_counter() - start) / count


def others() -> dict[str, Callable[[], object]]:
    """Averages of 128 plain modules, one update of each a call."""
    import ema_pytorch

    modules = [MinimalTransformer(16, 16) for _ in range(N)]
    theirs = [ema_pytorch.EMA(module, beta=0.99, update_every=1, update_after_step=0) for module in modules]
    torchs = [AveragedModel(module, multi_avg_fn=get_ema_multi_avg_fn(0.99)) for module in modules]
    return {
        "ema-pytorch": lambda: [average.update() for average in theirs],
        "torch AveragedModel": lambda: [a.update_parameters(m) for a, m in zip(torchs, modules, strict=True)],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    plain = trainer()
    step = [seconds_per(plain.step, options.seconds / 3) for _ in range(options.rounds)]
    base = statistics.median(step)
    weights = plain.population.weights
    print(f"population of {N}, one thread: {1e3 * base:.2f} ms a step without averages")

    def ours(average: EMA | BEMA) -> Callable[[], object]:
        averages = Averages([[average] * N], weights)
        return lambda: averages.update(weights, step=100, running=None)

    rows = {"EMA": ours(EMA()), "BEMA": ours(BEMA()), "BEMA, reference": ours(BEMA(variant="reference")), **others()}
    for name, call in rows.items():
        cost = statistics.median(seconds_per(call, options.seconds / options.rounds) for _ in range(options.rounds))
        print(f"  {name:20s} {1e3 * cost:7.3f} ms   {100 * cost / base:6.1f}% of the step   (bar for ours 5%)")


if __name__ == "__main__":
    main()
