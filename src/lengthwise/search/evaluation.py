"""One block trained and measured, and its result as one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl
import torch

from lengthwise.experiments import Experiment, with_settings
from lengthwise.experiments.measurement import measure_population, measured_inputs
from lengthwise.experiments.populations import members_by_population
from lengthwise.search.blocks import THREADS, Block, cut
from lengthwise.search.search import alone
from lengthwise.training import BEMA, EMA, Population, Trainer

SCHEMA = {
    "trial": pl.Int64,
    "weights": pl.String,
    "length": pl.Int64,
    "metric": pl.String,
    "value": pl.Float64,
    "failed_at": pl.Int64,
}
"""The table of a block: `failed_at` is the step at which a trial's loss stopped being finite, None if it did not."""

Step = Callable[[int, int], None]
"""Hears (steps done, steps in all) of a block."""


def evaluate(block: Block, told: Step = lambda done, total: None) -> pl.DataFrame:
    """Train the trials of a block together and measure them: the same bits in every process of one machine.

    Weights are named by what they are (`raw`, `ema`, `bema`, `ema 2`), not by their decays, which may be searched. A
    trial that failed has rows like any other, with no values.
    """
    torch.set_num_threads(THREADS)
    e = block.experiment
    (members,) = members_by_population(e).values()
    replicates = [e.first_replicate]
    trainer = Trainer(Population.start(members, replicates, e.seed, block.device, e.groups), e.task, e.seed)
    while trainer.steps_done < trainer.total:
        trainer.step()
        told(trainer.steps_done, trainer.total)
    curve = measure_population(e, trainer, measured_inputs(e, replicates, block.device))
    failed = dict(zip((member.name for member in members), trainer.failed_at.tolist(), strict=True))
    names = {
        (variant, name): short
        for variant in e.variants
        for name, short in zip(_names(e.averages_of(variant)), short_names(e.averages_of(variant)), strict=True)
    }
    rows = zip(curve["variant"], curve["weights"], strict=True)
    columns = {
        "trial": curve["variant"].cast(pl.Int64),
        "weights": [names[row] for row in rows],
        "length": curve["length"],
        "metric": curve["metric"],
        "value": curve["value"].fill_nan(None),
        "failed_at": [failed[v] if failed[v] >= 0 else None for v in curve["variant"]],
    }
    return pl.DataFrame(columns, schema=SCHEMA)


def evaluate_settings(
    experiment: Experiment, settings: Sequence[Mapping[str, Any]], first: int = 0, block: int = 32
) -> pl.DataFrame:
    """Evaluate settings that anything else has chosen, all together: the experiment's first variant with each.

    The curve numbers them from `first` in the order given; settings of one structure train as one population. A later
    batch with another `first` has other data and initial weights.

    >>> from lengthwise.search import SEARCHES
    >>> experiment = SEARCHES["set-complement"].sized("smoke").experiment
    >>> curve = evaluate_settings(experiment, [{"norm": "none"}, {"norm": "post"}], first=10)
    >>> sorted(curve["trial"].unique())
    [10, 11]
    """
    base = alone(experiment, next(iter(experiment.variants)))
    trials = [(first + k, with_settings(base, own)) for k, own in enumerate(settings)]
    return pl.concat([evaluate(own) for own in cut(base, trials, block)])


def short_names(averages: tuple[EMA | BEMA, ...]) -> list[str]:
    """`raw` and each average by its kind, numbered where a kind comes again.

    >>> short_names((EMA(decay=0.9), BEMA(), EMA(decay=0.99), BEMA(variant="reference")))
    ['raw', 'ema', 'bema', 'ema 2', 'bema-reference']
    """
    kinds = [a.kind if isinstance(a, EMA) or a.variant == "paper" else f"{a.kind}-{a.variant}" for a in averages]
    earlier = [kinds[:k].count(kind) for k, kind in enumerate(kinds)]
    return ["raw", *(f"{kind} {n + 1}" if n else kind for kind, n in zip(kinds, earlier))]


def _names(averages: tuple[EMA | BEMA, ...]) -> list[str]:
    return ["raw", *(average.name for average in averages)]
