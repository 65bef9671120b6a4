"""Experiment: a question as data, which reads like its own methods paragraph."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import Field, field_validator, model_validator
from torch import nn

from lengthwise.diagnostics import ALL_METRICS, MATCHED, METRICS_OF
from lengthwise.errors import unknown
from lengthwise.experiments.building import Data, ModelOf, Start
from lengthwise.statistics import Arm, Exact, Rule
from lengthwise.tasks import Task
from lengthwise.tasks.task import LossName
from lengthwise.training import BEMA, EMA, Plan
from lengthwise.training.averages import Average

OTHER_METRICS = ("attention_entropy",)


Factor = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Grid = Annotated[dict[str, Annotated[tuple[Factor, ...], Field(min_length=1)]], Field(min_length=1)]
"""For each group, the factors on its rates that are tried; every combination is."""


class Variant(Data):
    """One way to train: what changes of the model, its starting weights, the plan, the averages, the rates tried."""

    model: dict[str, Any] = Field(default_factory=dict)
    start: Start | None = None
    plan: Plan | None = None
    averages: tuple[Average, ...] | None = None
    grid: Grid | None = None


class Tuning(Data):
    """Which rates are tried for every variant before the run, on `replicates` of their own, and how they are compared.

    The best mean of the first metric of `by` (by default accuracy and then KL divergence, or the excess error), at a
    trained `length` (by default the middle of the longest trained quarter of a task that has one, else the longest
    trained length), decides; the next metric where it ties.

    >>> Tuning(grid={"all": (0.1, 1.0)}).order({"accuracy": 0.9, "kl": 0.5})
    [-0.9, 0.5]
    """

    grid: Grid
    replicates: int = Field(default=4, ge=1)
    by: tuple[str, ...] = ()
    length: int | None = Field(default=None, ge=1)

    def order(self, scores: Mapping[str, float | None]) -> list[float]:
        """What to sort tries by, the best first."""
        sign = {name: -1.0 if ALL_METRICS[name].better == "greater" else 1.0 for name in scores}
        return [math.inf if value is None else sign[name] * value for name, value in scores.items()]

    def metrics(self, loss: LossName) -> tuple[str, ...]:
        """The metrics that tries are compared by, for a task of that loss."""
        return self.by or (("accuracy", "kl") if loss == "cross-entropy" else ("excess_error",))


class Measuring(Data):
    """What is measured: inputs per length and replicate, lengths (all by default), and how often along training.

    `certified` replicates of every model that can be certified are, over ALL inputs, at the last step (and with
    `certified_along` whenever measured). Along training only three lengths are measured by sampling: the shortest, the
    longest trained, and the longest.
    """

    inputs: int = Field(default=512, ge=1)
    lengths: tuple[int, ...] | None = None
    certified: int = Field(default=0, ge=0, description="replicates certified at the last step")
    certified_along: bool = False
    along: int = Field(default=0, ge=0, description="measurements along training before the last")


class Claim(Data):
    """A statement, and the rule that decides it, written before the run: a rule, or a function of the experiment."""

    id: str
    statement: str
    rule: Rule | Callable[[Any], Rule]

    def rule_for(self, experiment: Experiment) -> Rule:
        """The rule, with the experiment's own lengths in it."""
        return self.rule(experiment) if callable(self.rule) else self.rule


class Experiment(Data):
    """A question, a task, a model, its variants, a plan, what is measured, and the claims to be decided.

    Derive one from another with `with_settings(experiment, {"replicates": 4})`. `scales` holds such settings by name
    (smoke, quick, full). `sections` names the parts of the page, `metric` the one by which it answers, `groups`
    overrides the module's parameter groups, `tuning` says which rates are tried first, `reproduced` at which scales
    the whole reproduction includes the experiment.

    >>> from lengthwise import MinimalTransformer, SetComplement, Phase
    >>> mine = Experiment(name="mine", question="Does it?", task=SetComplement(), model=MinimalTransformer,
    ...                   plan=Plan(phases=(Phase(steps=10, rates={"all": 0.01}),)))
    >>> mine.lengths[-1], list(mine.variants)
    (15, ['base'])
    """

    name: str = Field(min_length=1)
    question: str
    task: Any
    model: ModelOf
    plan: Plan
    variants: dict[str, Variant] = Field(default_factory=lambda: {"base": Variant()}, min_length=1)
    averages: tuple[Average, ...] = (EMA(decay=0.99), BEMA())
    replicates: int = Field(default=8, ge=1)
    first_replicate: int = Field(default=0, ge=0)
    seed: int = Field(default=0, ge=0)
    measuring: Measuring = Measuring()
    tuning: Tuning | None = None
    metric: str | None = None
    keeps_weights: bool = True
    claims: tuple[Claim, ...] = ()
    groups: dict[str, tuple[str, ...]] | None = None
    sections: tuple[str, ...] = ("verdicts", "curves", "displacement", "contrasts", "history", "settings")
    scales: dict[str, dict[str, Any]] = Field(default_factory=dict)
    reproduced: tuple[str, ...] = ("smoke", "quick", "full")

    @field_validator("model", mode="before")
    @classmethod
    def _module_alone(cls, model: Any) -> Any:
        return model if isinstance(model, ModelOf | dict) else ModelOf(module=model)

    @field_validator("task")
    @classmethod
    def _keeps_protocol(cls, task: Any) -> Any:
        if not isinstance(task, Task):
            raise ValueError(f"task {task!r}: expected an object with the members of lengthwise.Task")
        return task

    @model_validator(mode="after")
    def _lengths_exist(self) -> Experiment:
        known = self.task.lengths
        for length in self.lengths:
            if length not in known:
                raise ValueError(f"measuring.lengths {length}: {_expected(known, length)}")
        for variant, plan in self.plans.items():
            for longest in (phase.lengths for phase in plan.phases):
                if longest is not None and longest not in known:
                    raise ValueError(f"variant {variant!r}: phase lengths {longest}: {_expected(known, longest)}")
        return self

    @model_validator(mode="after")
    def _tries_can_be_compared(self) -> Experiment:
        if self.tuning is not None:
            metrics, length = METRICS_OF[self.task.loss], self.tuning.length
            for name in self.tuning.by:
                if name not in metrics:
                    raise ValueError(f"tuning.by: {unknown('metric', name, metrics)}")
            if length is not None and length not in self.task.lengths:
                raise ValueError(f"tuning.length {length}: {_expected(self.task.lengths, length)}")
        return self

    @model_validator(mode="after")
    def _averages_have_names(self) -> Experiment:
        for variant in self.variants:
            names = [average.name for average in self.averages_of(variant)]
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(f"variant {variant!r}: average {twice[0]!r} is listed twice")
        return self

    @model_validator(mode="after")
    def _claims_can_be_decided(self) -> Experiment:
        for claim in self.claims:
            self._check_rule(claim.id, claim.rule_for(self))
        return self

    def _check_rule(self, claim: str, rule: Rule) -> None:
        self._check_arms(claim, rule.arms)
        if isinstance(rule, Exact):
            return
        metrics = METRICS_OF[self.task.loss]
        known = {*metrics, *(name + MATCHED for name, metric in metrics.items() if metric.scales), *OTHER_METRICS}
        if rule.metric not in known:
            raise ValueError(f"claim {claim!r}: {unknown('metric', rule.metric, known)}")
        if missing := [s for s in rule.lengths if s not in self.lengths]:
            raise ValueError(f"claim {claim!r}: length {missing[0]} is not measured; expected one of {[*self.lengths]}")

    def _check_arms(self, claim: str, arms: tuple[Arm, ...]) -> None:
        for arm in arms:
            if arm.variant not in self.variants:
                raise ValueError(f"claim {claim!r}: {unknown('variant', arm.variant, self.variants)}")
            names = {"raw", *(average.name for average in self.averages_of(arm.variant))}
            if arm.weights not in names:
                raise ValueError(f"claim {claim!r}: {unknown('weights', arm.weights, names)}")

    @property
    def lengths(self) -> tuple[int, ...]:
        """The lengths at which every model is measured: as told, or all of the task, thinned where they are many."""
        return tuple(self.measuring.lengths or thinned(self.task.lengths))

    @property
    def plans(self) -> dict[str, Plan]:
        """The plan of each variant."""
        return {name: variant.plan or self.plan for name, variant in self.variants.items()}

    @property
    def lengths_along(self) -> tuple[int, ...]:
        """The lengths measured along training: the shortest, the longest trained one, and the longest."""
        inside = [s for s in self.lengths if s <= self.task.trained_length] or self.lengths[:1]
        return tuple(dict.fromkeys((self.lengths[0], inside[-1], self.lengths[-1])))

    def averages_of(self, variant: str) -> tuple[EMA | BEMA, ...]:
        """The averages of one variant."""
        own = self.variants[variant].averages
        return self.averages if own is None else own

    def arguments(self, variant: str) -> dict[str, Any]:
        """The arguments that build one variant's module."""
        return self.model.arguments(self.task.sizes, **self.variants[variant].model)

    def build(self, variant: str) -> nn.Module:
        """The module of one variant."""
        chosen = self.variants[variant]
        module = self.model.build(self.task.sizes, **chosen.model)
        return module if chosen.start is None else chosen.start.put_into(module)


def thinned(lengths: Sequence[int], most: int = 64) -> list[int]:
    """All of few lengths; of many so many at most, evenly on a logarithmic scale, the first and the last among them.

    >>> thinned(range(1, 100_001), 6)
    [1, 10, 100, 1000, 10000, 100000]
    """
    if len(lengths) <= most:
        return list(lengths)
    places = np.geomspace(1, len(lengths), most).round().astype(int) - 1
    return [lengths[k] for k in dict.fromkeys(places.tolist())]


def _expected(known: Sequence[int], length: int) -> str:
    """What to ask for instead of a length that the task does not have."""
    below = max((s for s in known if s < length), default=None)
    above = min((s for s in known if s > length), default=None)
    if below is None or above is None:
        return f"expected lengths within {known[0]}..{known[-1]}"
    return f"the task has none of it; the nearest are {below} and {above}"
