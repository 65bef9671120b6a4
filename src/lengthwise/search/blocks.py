"""Blocks: trials of one structure that train together as one population, whatever machine they run on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from lengthwise.experiments import Experiment, Variant
from lengthwise.experiments.configuration import configuration
from lengthwise.experiments.populations import shape_of
from lengthwise.experiments.settings import with_settings
from lengthwise.search.search import BASE, Search

THREADS = 1


@dataclass(frozen=True)
class Block:
    """Some trials of one structure, in order: one population, one replicate, one unit of work.

    The replicate, from which data and initial weights are drawn, is the number of the block's first trial. `key` names
    the block by its content: everything that its result depends on.
    """

    index: int
    structure: int
    trials: tuple[int, ...]
    experiment: Experiment
    device: str = "cpu"
    source: Path | None = None

    @cached_property
    def key(self) -> str:
        told = configuration(self.experiment, None, self.device, THREADS, False, self.source)
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]


def blocks_of(search: Search, device: str = "cpu", source: Path | None = None) -> list[Block]:
    """All blocks of a search: a pure function of the search, never of how many work on it or in which order.

    Trials of one structure (`shape_of`, and whatever else than the model, the plan and the averages the space changes)
    stand together in order, cut every `search.block`. Every trial is in exactly one block.

    Errors: InputError for settings that the experiment refuses, by the first trial that has them.

    >>> from lengthwise.search import SEARCHES
    >>> blocks = blocks_of(SEARCHES["set-complement"].changed(trials=50))
    >>> sorted(k for block in blocks for k in block.trials) == list(range(50))
    True
    """
    check_fields(search)
    trials = ((number, search.experiment_of(number)) for number in range(search.trials))
    return cut(search.experiment, trials, search.block, device, source)


def cut(
    base: Experiment,
    trials: Iterable[tuple[int, Experiment]],
    size: int,
    device: str = "cpu",
    source: Path | None = None,
) -> list[Block]:
    """Numbered experiments, each the base with some settings changed, in blocks of one structure and at most a size.

    >>> from lengthwise.search import SEARCHES
    >>> search = SEARCHES["set-complement"]
    >>> trials = [(k, search.experiment_of(k)) for k in (5, 3, 8)]
    >>> sorted(k for block in cut(search.experiment, trials, size=2) for k in block.trials)
    [3, 5, 8]
    """
    structures: dict[str, list[tuple[int, Experiment]]] = {}
    for number, trial in trials:
        structures.setdefault(_structure(trial), []).append((number, trial))
    blocks: list[Block] = []
    for at, members in enumerate(structures.values()):
        for start in range(0, len(members), size):
            own = members[start : start + size]
            numbers = tuple(number for number, _ in own)
            blocks.append(Block(len(blocks), at, numbers, _together(base, own), device, source))
    return blocks


def check_fields(search: Search) -> None:
    """Raise InputError for a field of the space that the experiment does not have, even if no trial sets it.

    A field that is good only together with others is judged in the trials that set it.
    """
    drawn = [search.trial(number) for number in range(min(search.trials, 64))]
    for name in search.space.settings(dict.fromkeys(search.space.fields)):
        if not any(name in trial for trial in drawn):
            value = search.space.fields[name].at(0.5)
            with_settings(search.experiment, {name: value}).arguments(BASE)


def _structure(trial: Experiment) -> str:
    told = configuration(trial, None, "cpu", THREADS, False, None)
    rest = {k: v for k, v in told.items() if k not in ("model", "plan", "variants")}
    return shape_of(trial, BASE) + json.dumps(rest, sort_keys=True)


def _together(base: Experiment, members: list[tuple[int, Experiment]]) -> Experiment:
    """One experiment whose variants are the trials."""
    first, trial = members[0]
    variants = {str(number): _variant(own) for number, own in members}
    changes = {"model": base.model, "variants": variants, "replicates": 1, "first_replicate": first}
    return Experiment(**{**{k: getattr(trial, k) for k in Experiment.model_fields}, **changes})


def _variant(trial: Experiment) -> Variant:
    start = trial.variants[BASE].start
    return Variant(model=trial.model.settings, start=start, plan=trial.plan, averages=trial.averages)


def in_words(blocks: list[Block]) -> str:
    """How trials are cut, in a sentence."""
    sizes = [len(block.trials) for block in blocks]
    kinds, n = len({block.structure for block in blocks}), len(blocks)
    return (
        f"{sum(sizes)} trial{'s' * (sum(sizes) != 1)} of {kinds} structure{'s' * (kinds != 1)} in {n} "
        f"block{'s' * (n != 1)} of {min(sizes)} to {max(sizes)}"
    )


def check_complete(search: Search, numbers: list[int]) -> None:
    """Raise unless every trial stands there exactly once: that is ours to keep, not the user's."""
    if sorted(numbers) != list(range(search.trials)):
        raise AssertionError(f"trials of {search.name}: expected each of {search.trials} exactly once")


def settings_table(search: Search, blocks: list[Block]) -> list[dict[str, Any]]:
    """A row for each trial in order: its number, block, structure and settings."""
    rows = [
        {"trial": number, "block": block.index, "structure": block.structure, **search.trial(number)}
        for block in blocks
        for number in block.trials
    ]
    check_complete(search, [row["trial"] for row in rows])
    return sorted(rows, key=lambda row: row["trial"])
