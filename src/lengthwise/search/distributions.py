"""Distributions of settings: each turns one uniform number into a value, so a trial is a point of a cube."""

from __future__ import annotations

import json
import math
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from lengthwise.errors import InputError


class _Distribution(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **named: Any) -> None:
        try:
            super().__init__(**named)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = "".join(f" {p}" for p in first["loc"][:1])
            message = first["msg"].removeprefix("Value error, ")
            told = "" if first["type"] == "value_error" else f"{place} {first['input']!r}:"
            raise InputError(f"{type(self).__name__}{told} {message}") from None


class _Between(_Distribution):
    def __init__(self, **named: Any) -> None:
        super().__init__(**named)

    @model_validator(mode="after")
    def _ascends(self) -> _Between:
        low, high = getattr(self, "low"), getattr(self, "high")  # noqa: B009 - declared by the subclasses
        if not low < high:
            raise ValueError(f"from {low:g} to {high:g}: expected the lower bound first")
        return self


class Uniform(_Between):
    """Any number from `low` to `high`, all alike.

    >>> Uniform(0, 0.5).at(0.5)
    0.25
    >>> Uniform(0.5, 0)
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: Uniform from 0.5 to 0: expected the lower bound first
    """

    kind: Literal["uniform"] = "uniform"
    low: float
    high: float

    def __init__(self, low: float, high: float, **named: Any) -> None:
        super().__init__(low=low, high=high, **named)

    def at(self, u: float) -> float:
        """The value at a number u in [0, 1)."""
        return self.low + u * (self.high - self.low)

    def __str__(self) -> str:
        return f"uniform from {self.low:g} to {self.high:g}"


class LogUniform(_Between):
    """Any positive number from `low` to `high`, all ratios alike.

    >>> round(LogUniform(1e-3, 1e-1).at(0.5), 6)
    0.01
    >>> LogUniform(0, 1)
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: LogUniform low 0: expected bounds above 0, as 0 has no logarithm
    """

    kind: Literal["log-uniform"] = "log-uniform"
    low: float
    high: float

    def __init__(self, low: float, high: float, **named: Any) -> None:
        super().__init__(low=low, high=high, **named)

    @field_validator("low")
    @classmethod
    def _positive(cls, low: float) -> float:
        if low <= 0:
            raise ValueError(f"low {low:g}: expected bounds above 0, as 0 has no logarithm")
        return low

    def at(self, u: float) -> float:
        """The value at a number u in [0, 1)."""
        value = math.exp(math.log(self.low) + u * (math.log(self.high) - math.log(self.low)))
        return min(max(value, self.low), self.high)  # rounding must not leave the bounds

    def __str__(self) -> str:
        return f"log-uniform from {self.low:g} to {self.high:g}"


class IntegerUniform(_Between):
    """Any whole number from `low` to `high`, both included, all alike.

    >>> [IntegerUniform(1, 3).at(u) for u in (0.0, 0.5, 0.99)]
    [1, 2, 3]
    """

    kind: Literal["integer"] = "integer"
    low: int
    high: int

    def __init__(self, low: int, high: int, **named: Any) -> None:
        super().__init__(low=low, high=high, **named)

    def at(self, u: float) -> int:
        """The value at a number u in [0, 1)."""
        return self.low + math.floor(u * (self.high - self.low + 1))

    def __str__(self) -> str:
        return f"a whole number from {self.low} to {self.high}"


class _Options(_Distribution):
    options: tuple[Any, ...] = Field(min_length=1)

    @field_validator("options")
    @classmethod
    def _told_apart(cls, options: tuple[Any, ...]) -> tuple[Any, ...]:
        names = [label(option) for option in options]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"of {', '.join(names)}: {twice[0]} is listed twice")
        return options

    def at(self, u: float) -> Any:
        """The option at a number u in [0, 1)."""
        return self.options[math.floor(u * len(self.options))]

    def __str__(self) -> str:
        return f"one of {', '.join(map(label, self.options))}"


class Choice(_Options):
    """One of some values of a field, all alike.

    >>> Choice("none", "pre", "post").at(0.4)
    'pre'
    >>> Choice()
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: Choice options: expected at least one
    """

    kind: Literal["choice"] = "choice"

    def __init__(self, *options: Any, **named: Any) -> None:
        found = options or tuple(named.pop("options", ()))
        if not found:
            raise InputError("Choice options: expected at least one")
        super().__init__(options=found, **named)


class Switch(_Options):
    """One of some names that set no field themselves: other settings depend on them by `When`.

    >>> Switch("none", "attention", "residual").at(0.9)
    'residual'
    """

    kind: Literal["switch"] = "switch"

    def __init__(self, *options: Any, **named: Any) -> None:
        found = options or tuple(named.pop("options", ()))
        if not found:
            raise InputError("Switch options: expected at least one")
        super().__init__(options=found, **named)


class When(_Distribution):
    """A setting that is drawn only where another one of the space has a value (or one of several, in a tuple).

    >>> print(When("dropout", "attention", then=Uniform(0, 0.5)))
    where dropout is attention: uniform from 0 to 0.5
    """

    kind: Literal["when"] = "when"
    field: str
    value: Any
    then: Plain

    def __init__(self, field: str, value: Any, then: Any, **named: Any) -> None:
        super().__init__(field=field, value=value, then=then, **named)

    @property
    def values(self) -> tuple[Any, ...]:
        """The values that it asks for."""
        return self.value if isinstance(self.value, tuple) else (self.value,)

    def at(self, u: float) -> Any:
        """The value at a number u in [0, 1), where it is drawn."""
        return self.then.at(u)

    def __str__(self) -> str:
        return f"where {self.field} is {' or '.join(map(label, self.values))}: {self.then}"


Plain = Annotated[Uniform | LogUniform | IntegerUniform | Choice, Field(discriminator="kind")]
Distribution = Annotated[Uniform | LogUniform | IntegerUniform | Choice | Switch | When, Field(discriminator="kind")]
When.model_rebuild()


def label(value: Any) -> str:
    """A value as a table names it: text as it is, anything else as JSON.

    >>> label("post"), label(0.99), label(None)
    ('post', '0.99', 'null')
    """
    return value if isinstance(value, str) else json.dumps(value, default=str)
