"""Plans: the phases of training as data, compiled to arrays that are a pure function of the step."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from lengthwise.errors import InputError
from lengthwise.training.groups import check_rates
from lengthwise.training.optimisers import Adam, Optimiser


class Schedule(BaseModel):
    """A learning rate over the steps of one phase: linear warm-up, then constant, linear or cosine to `final`.

    >>> Schedule(peak=1.0, warmup=2, shape="linear", final=0.0).rates(6).tolist()
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    peak: float = Field(ge=0, allow_inf_nan=False)
    warmup: int = Field(default=0, ge=0)
    shape: Literal["constant", "linear", "cosine"] = "constant"
    final: float = Field(default=0.0, ge=0, allow_inf_nan=False)

    def rates(self, steps: int) -> np.ndarray:
        """The rate at each step 0..steps-1 of the phase."""
        step = np.arange(steps)
        progress = np.clip((step - self.warmup) / max(steps - self.warmup, 1), 0, 1)
        fall = {"constant": 0 * progress, "linear": progress, "cosine": (1 - np.cos(math.pi * progress)) / 2}[
            self.shape
        ]
        rise = np.minimum((step + 1) / self.warmup, 1) if self.warmup else 1.0
        return (self.peak + (self.final - self.peak) * fall) * rise


Rate = Annotated[float, Field(ge=0, allow_inf_nan=False)] | Schedule


def scaled_rate(rate: float | Schedule, factor: float) -> float | Schedule:
    """A rate, or a whole schedule of rates, times a factor.

    >>> scaled_rate(Schedule(peak=1.0, final=0.5), 4).final
    2.0
    """
    if isinstance(rate, Schedule):
        return rate.model_copy(update={"peak": rate.peak * factor, "final": rate.final * factor})
    return rate * factor


class Phase(BaseModel):
    """Some steps in which the named groups move, each at its rate, and every other group keeps its exact bits.

    `rates` maps a group to a rate or a schedule; the group "all" stands for every group. `lengths` is the longest
    trained length (the task's own when None). A phase starts with fresh optimiser state unless `carry`.

    >>> Phase(steps=100, rates={"output": 0.1}).rates
    {'output': 0.1}
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    steps: int = Field(ge=1)
    rates: dict[str, Rate] = Field(min_length=1)
    lengths: int | None = Field(default=None, ge=1)
    carry: bool = False


class Plan(BaseModel):
    """The whole of training: phases in order, one kind of optimiser, one batch size.

    >>> Plan(phases=(Phase(steps=5, rates={"all": 0.1}), Phase(steps=7, rates={"output": 0.1}))).steps
    12
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    phases: tuple[Phase, ...] = Field(min_length=1)
    optimiser: Optimiser = Adam()
    batch: int = Field(default=64, ge=1)

    @property
    def steps(self) -> int:
        """The number of steps of all phases together."""
        return sum(phase.steps for phase in self.phases)

    @property
    def boundaries(self) -> list[int]:
        """The step at which each phase after the first starts."""
        return np.cumsum([phase.steps for phase in self.phases]).tolist()[:-1]

    def scaled(self, factors: Mapping[str, float]) -> Plan:
        """The same plan with the rates of each group multiplied by its factor, and by that of "all".

        Errors: InputError for a factor on one group of a phase that moves "all" at one rate.

        >>> Plan(phases=(Phase(steps=5, rates={"a": 0.5, "b": 1.0}),)).scaled({"a": 10, "all": 2}).phases[0].rates
        {'a': 10.0, 'b': 2.0}
        """
        phases = []
        for number, phase in enumerate(self.phases, 1):
            if "all" in phase.rates and (named := [g for g in factors if g != "all"]):
                raise InputError(
                    f"phase {number} moves 'all' at one rate: expected a rate for {named[0]!r} to multiply"
                )
            factor = {g: factors.get(g, 1.0) * (factors.get("all", 1.0) if g != "all" else 1.0) for g in phase.rates}
            rates = {g: scaled_rate(rate, factor[g]) for g, rate in phase.rates.items()}
            phases.append(phase.model_copy(update={"rates": rates}))
        return self.model_copy(update={"phases": tuple(phases)})

    def lengths(self, default: int) -> np.ndarray:
        """The longest trained length at each step."""
        return np.concatenate([np.full(p.steps, p.lengths or default) for p in self.phases])


@dataclass(frozen=True)
class Schedules:
    """Compiled plans of m models over groups g and steps t: what moves, how fast, and when state starts afresh."""

    rate: np.ndarray  # float64 (m, g, t)
    active: np.ndarray  # bool (m, g, t)
    reset: np.ndarray  # bool (m, g, t)
    steps: np.ndarray  # int (m,)

    @property
    def total(self) -> int:
        """The steps of the longest plan."""
        return self.rate.shape[-1]


def compile_plans(plans: Sequence[Plan], groups: Mapping[str, Sequence[str]]) -> Schedules:
    """Plans of several models as arrays; a shorter plan rests after its last step.

    Errors: InputError for a group that does not exist.

    >>> plan = Plan(phases=(Phase(steps=1, rates={"b": 0.5}), Phase(steps=2, rates={"all": 0.1})))
    >>> compile_plans([plan], {"a": ["x"], "b": ["y"]}).rate[0].tolist()
    [[0.0, 0.1, 0.1], [0.5, 0.1, 0.1]]
    """
    total, names = max(plan.steps for plan in plans), list(groups)
    shape = (len(plans), len(names), total)
    rate, active, reset = np.zeros(shape), np.zeros(shape, bool), np.zeros(shape, bool)
    for m, plan in enumerate(plans):
        start = 0
        for k, phase in enumerate(plan.phases):
            check_rates(groups, list(phase.rates), f"phase {k + 1}")
            for g, name in enumerate(names):
                chosen = phase.rates.get(name, phase.rates.get("all"))
                if chosen is not None:
                    rates = chosen.rates(phase.steps) if isinstance(chosen, Schedule) else chosen
                    rate[m, g, start : start + phase.steps] = rates
                    active[m, g, start : start + phase.steps] = True
                    reset[m, g, start] = not phase.carry
            start += phase.steps
    return Schedules(rate, active, reset, np.array([plan.steps for plan in plans]))


def check_lengths(plans: Sequence[Plan], default: int) -> None:
    """Raise InputError unless all plans train on the same lengths at every step that they share.

    >>> plan = Plan(phases=(Phase(steps=1, rates={"all": 0.1}),))
    >>> check_lengths([plan, Plan(phases=(Phase(steps=2, rates={"all": 0.1}, lengths=4),))], default=4)
    """
    longest = max(plans, key=lambda plan: plan.steps).lengths(default)
    for plan in plans:
        if (plan.lengths(default) != longest[: plan.steps]).any():
            raise InputError("plans of one population: expected the same lengths at every step")
