"""Experiment: a question as data, which reads like its own methods paragraph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field, field_validator, model_validator
from torch import nn

from lengthwise.diagnostics import MATCHED, METRICS
from lengthwise.errors import unknown
from lengthwise.experiments.building import Data, ModelOf, Start
from lengthwise.statistics import Arm, Exact, Rule
from lengthwise.tasks import Task
from lengthwise.training import BEMA, EMA, Plan
from lengthwise.training.averages import Average

OTHER_METRICS = ("attention_entropy",)


class Variant(Data):
    """One way to train: what changes of the model's settings, its starting weights, its plan or its averages."""

    model: dict[str, Any] = Field(default_factory=dict)
    start: Start | None = None
    plan: Plan | None = None
    averages: tuple[Average, ...] | None = None


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
    (smoke, quick, full). `sections` names the parts of the page, `groups` overrides the module's parameter groups.

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
    seed: int = Field(default=0, ge=0)
    measuring: Measuring = Measuring()
    claims: tuple[Claim, ...] = ()
    groups: dict[str, tuple[str, ...]] | None = None
    sections: tuple[str, ...] = ("verdicts", "curves", "displacement", "contrasts", "history", "settings")
    scales: dict[str, dict[str, Any]] = Field(default_factory=dict)

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
                raise ValueError(f"measuring.lengths {length}: expected lengths within {known[0]}..{known[-1]}")
        for variant, plan in self.plans.items():
            for phase in plan.phases:
                if (phase.lengths or known[0]) not in known:
                    raise ValueError(
                        f"variant {variant!r}: phase lengths {phase.lengths}: expected within {known[0]}..{known[-1]}"
                    )
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
        known = {*METRICS, *(name + MATCHED for name, metric in METRICS.items() if metric.scales), *OTHER_METRICS}
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
        """The lengths at which every model is measured."""
        return tuple(self.measuring.lengths or self.task.lengths)

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
