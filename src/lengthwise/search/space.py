"""Spaces as data, and trials as pure functions of (search seed, number of the trial)."""

from __future__ import annotations

import functools
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from scipy.stats import qmc

from lengthwise.errors import InputError, unknown
from lengthwise.experiments.settings import one_line
from lengthwise.search.distributions import Choice, Distribution, Switch, When, label
from lengthwise.tasks.randomness import integer_seed, stream

Sampler = Literal["random", "sobol"]
LEAST_POINTS = 64
MOST_POINTS = 2**20


class Space(BaseModel):
    """For each field of an experiment (a dotted path or short name of `with_settings`) the values that are tried.

    A `Switch` bears a free name and sets no field; `When` draws a setting only where another has a given value.

    Errors: InputError for an empty space, and for a condition on what the space does not have, or on itself.

    >>> from lengthwise.search import LogUniform, Uniform
    >>> space = Space(fields={
    ...     "plan.phases.0.rates.all": LogUniform(1e-3, 1e-1), "dropout": Switch("none", "attention"),
    ...     "model.attention_dropout": When("dropout", "attention", then=Uniform(0, 0.5))})
    >>> space.trial(seed=0, number=2) == space.trial(seed=0, number=2)
    True
    >>> sorted({tuple(space.trial(0, k)) for k in range(9)}, key=len)
    [('plan.phases.0.rates.all', 'dropout'), ('plan.phases.0.rates.all', 'dropout', 'model.attention_dropout')]
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    fields: dict[str, Distribution] = Field(default_factory=dict)

    def __init__(self, **named: Any) -> None:
        try:
            super().__init__(**named)
        except ValidationError as error:
            raise one_line(error) from None

    @model_validator(mode="after")
    def _makes_sense(self) -> Space:
        if not self.fields:
            raise InputError("space: it is empty; expected a distribution for at least one field")
        for name, distribution in self.fields.items():
            self._check_condition(name, distribution, [name])
        return self

    def _check_condition(self, name: str, distribution: Any, above: list[str]) -> None:
        if not isinstance(distribution, When):
            return
        other = distribution.field
        if other in above:
            raise InputError(f"space: {name!r} depends on itself by way of {other!r}; expected another field")
        if other not in self.fields:
            raise InputError(f"space: {name!r} depends on what is not in it: {unknown('field', other, self.fields)}")
        target = self.fields[other]
        plain = target.then if isinstance(target, When) else target
        if not isinstance(plain, Choice | Switch):
            raise InputError(f"space: {name!r} depends on {other!r}; expected a Choice or Switch there, not {plain}")
        for value in distribution.values:
            if value not in plain.options:
                raise unknown(f"value of {other!r} for {name!r}", label(value), map(label, plain.options))
        self._check_condition(other, target, [*above, other])

    def trial(self, seed: int, number: int, sampler: Sampler = "random") -> dict[str, Any]:
        """The settings of one trial, switches included: a pure function of the seed and the trial's number."""
        point = dict(zip(self.fields, self._point(seed, number, sampler), strict=True))
        drawn = {name: distribution.at(point[name]) for name, distribution in self.fields.items()}
        return {name: value for name, value in drawn.items() if self._is_set(name, drawn)}

    def settings(self, trial: dict[str, Any]) -> dict[str, Any]:
        """A trial without its switches: what `with_settings` takes."""
        return {name: value for name, value in trial.items() if not isinstance(self.fields[name], Switch)}

    def describe(self) -> list[str]:
        """A line for each field."""
        width = max(map(len, self.fields))
        return [f"{name:{width}s}  {distribution}" for name, distribution in self.fields.items()]

    def _is_set(self, name: str, drawn: dict[str, Any]) -> bool:
        own = self.fields[name]
        return not isinstance(own, When) or (drawn[own.field] in own.values and self._is_set(own.field, drawn))

    def _point(self, seed: int, number: int, sampler: Sampler) -> list[float]:
        if number < 0:
            raise InputError(f"trial {number}: expected a number from 0 on")
        if sampler == "random":  # a stream for each field: one that is added leaves the others as they were
            return [float(stream(seed, number, 0, f"search {name}").random()) for name in self.fields]
        if number >= MOST_POINTS:
            raise InputError(f"trial {number}: expected less than {MOST_POINTS:,} with the sobol sampler")
        exponent = max(number, LEAST_POINTS - 1).bit_length()
        return _sobol(len(self.fields), seed, exponent)[number].tolist()


@functools.lru_cache(maxsize=4)
def _sobol(dimensions: int, seed: int, exponent: int) -> np.ndarray:
    """The first 2^exponent points of a scrambled Sobol sequence: a longer one begins with a shorter one."""
    source = np.random.default_rng(integer_seed(seed, 0, 0, "search sobol"))
    engine = qmc.Sobol(dimensions, scramble=True, seed=source)  # pyright: ignore[reportCallIssue] - its older name
    return engine.random_base2(exponent)
