"""Variants grouped into populations: those that differ only in numbers train together."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable

import torch
from torch import nn

from lengthwise.errors import InputError
from lengthwise.experiments.experiment import Experiment
from lengthwise.experiments.expressible import check_expressible
from lengthwise.tasks.randomness import stream
from lengthwise.training import Member, Population
from lengthwise.training.groups import check_rates
from lengthwise.training.plan import compile_plans
from lengthwise.training.population import seeded


def members_by_population(experiment: Experiment) -> dict[str, list[Member]]:
    """Members of each population; a population is named after its first variant.

    Together go variants whose modules have the same settings (but for the module's `numbers`, each zero in all or
    nonzero in all), and whose plans agree in optimiser kind, batch and lengths, and averages in kind.

    >>> from lengthwise.experiments import EXPERIMENTS
    >>> len(members_by_population(EXPERIMENTS["set-complement"]))
    9
    """
    populations: dict[str, list[Member]] = {}
    names: dict[str, str] = {}
    for variant in experiment.variants:
        name = names.setdefault(shape_of(experiment, variant), variant)
        build: Callable[[], nn.Module] = functools.partial(experiment.build, variant)
        member = Member(variant, build, experiment.plans[variant], experiment.averages_of(variant))
        populations.setdefault(name, []).append(member)
    return populations


def check_experiment(experiment: Experiment) -> None:
    """Build every variant and ask it once, without training, so that what is wrong is said before anything is written.

    Errors: InputError for settings that a module refuses, groups that do not fit, phases that name unknown groups,
    answers of another shape than the task's labels.
    """
    check_expressible(experiment)
    for members in members_by_population(experiment).values():
        population = Population.start(members, [0], experiment.seed, globs=experiment.groups)
        compile_plans([member.plan for member in members], population.layout.groups)
        for member in members:
            check_rates(population.layout.groups, _tried(experiment, member.name), f"grid of {member.name!r}")
            check_answers(experiment, member)


def _tried(experiment: Experiment, variant: str) -> list[str]:
    """The groups whose rates are tried for a variant."""
    if experiment.tuning is None:
        return []
    return list(experiment.variants[variant].grid or experiment.tuning.grid)


def check_answers(experiment: Experiment, member: Member) -> None:
    """Ask a variant's module two examples to train on, and two of the least and the greatest length measured.

    Errors: InputError unless it answers with a row of numbers for each label.
    """
    task, rng = experiment.task, stream(experiment.seed, 0, 0, "check")
    ends = (experiment.lengths[0], experiment.lengths[-1])
    measured = [task.measure(rng, 2, length) for length in ends]
    longest = int(member.plan.lengths(task.trained_length).max())
    assert measured[0].targets is not None
    classes = measured[0].targets.shape[-1]
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        module = seeded(member.module, 0).eval()
        for batch in (task.sample(rng, 2, longest), *measured):
            masks = "mask" in inspect.signature(module.forward).parameters and batch.mask is not None
            said = batch.answers(module(batch.inputs, batch.mask) if masks else module(batch.inputs))
            numbers = task.loss == "squared-error"
            expected = tuple(batch.labels.shape) if numbers else (*batch.labels.shape, classes)
            if tuple(said.shape) != expected:
                raise InputError(
                    f"variant {member.name!r}: answers of shape {tuple(said.shape)} to inputs of shape"
                    f" {tuple(batch.inputs.shape)}: expected {expected}"
                )


def shape_of(experiment: Experiment, variant: str) -> str:
    """A key that two variants share exactly when one population can train both: they differ in numbers only.

    >>> from lengthwise.experiments import EXPERIMENTS
    >>> experiment = EXPERIMENTS["set-complement"]
    >>> shape_of(experiment, "no norm") == shape_of(experiment, "post-norm")
    False
    """
    module, plan = experiment.model.module, experiment.plans[variant]
    settings = experiment.arguments(variant)
    numbers = getattr(module, "numbers", ())
    fixed = {k: bool(v) if k in numbers else v for k, v in settings.items() if k not in numbers or v}
    averages = [(a.kind, getattr(a, "variant", ""), a.every) for a in experiment.averages_of(variant)]
    lengths = (
        [(phase.steps, phase.lengths) for phase in plan.phases] if _varies(plan.phases) else plan.phases[0].lengths
    )
    return repr(
        (
            sorted(fixed.items(), key=str),
            experiment.variants[variant].start,
            plan.optimiser.kind,
            plan.batch,
            lengths,
            averages,
        )
    )


def _varies(phases: tuple) -> bool:
    return len({phase.lengths for phase in phases}) > 1
