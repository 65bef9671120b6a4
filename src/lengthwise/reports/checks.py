"""The files of a run folder, checked before a page relies on them: one clear line for one that is damaged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from lengthwise.errors import InputError
from lengthwise.statistics import Verdict


class ClaimRecord(Verdict):
    """A claim with its rule in words, and the verdict on it."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    statement: str
    rule: str


class FailureRecord(BaseModel):
    """A model whose loss stopped being finite, and the step at which it did."""

    variant: str
    replicate: int
    step: int


class NotRun(BaseModel):
    """A claim that no run of a page decides, and why."""

    id: str
    statement: str
    why: str


class Try(BaseModel):
    """Factors by which a plan's rates were multiplied, and how the models did that were trained so."""

    factors: dict[str, float]
    scores: dict[str, float | None]


class Choice(BaseModel):
    """The factors chosen for a variant at the length by which tries were compared, and every try."""

    factors: dict[str, float]
    length: int
    tried: list[Try]

    @property
    def scores(self) -> dict[str, float | None]:
        """The scores of the factors that were chosen; nothing where they are not among the tries."""
        return next((row.scores for row in self.tried if row.factors == self.factors), {})

    @property
    def edges(self) -> list[str]:
        """The groups whose factor is the least or the greatest that was tried: a wider grid might do better.

        >>> tries = [Try(factors={"all": f, "output": 1.0}, scores={}) for f in (0.1, 1.0, 10.0)]
        >>> [Choice(factors=row.factors, length=9, tried=tries).edges for row in tries]
        [['all'], [], ['all']]
        """
        tried = {g: {row.factors[g] for row in self.tried if g in row.factors} for g in self.factors}
        return [g for g, f in self.factors.items() if len(tried[g]) > 1 and f in (min(tried[g]), max(tried[g]))]


class _Settings(BaseModel):
    """What a page needs of a configuration; whatever else is in it is shown as it is."""

    class Phase(BaseModel):
        steps: int
        rates: dict[str, Any]
        lengths: int | None

    class Plan(BaseModel):
        phases: list[_Settings.Phase]
        optimiser: dict[str, Any]
        batch: int

    class Average(BaseModel):
        name: str

    class Variant(BaseModel):
        model: dict[str, Any]
        plan: _Settings.Plan | None
        averages: list[_Settings.Average]

    class Task(BaseModel):
        name: str
        trained_length: int

    class Measuring(BaseModel):
        inputs: int
        lengths: list[int]

    experiment: str
    question: str
    task: Task
    plan: Plan
    variants: dict[str, Variant]
    replicates: int
    seed: int
    measuring: Measuring
    sections: list[str]


def checked_config(config: Any, path: Path) -> dict[str, Any]:
    """The configuration, if it has what a page needs."""
    _validate(TypeAdapter(_Settings), config, path)
    for name in ("variants", "measuring.lengths", "plan.phases"):
        value = config
        for part in name.split("."):
            value = value[part]
        if not value:
            raise InputError(f"{path}: {name} is empty; expected the configuration of a run")
    return config


def checked_claims(claims: Any, path: Path) -> tuple[ClaimRecord, ...]:
    """The claims with their verdicts.

    >>> checked_claims([{"id": "a", "decision": "holds"}], Path("claims.json"))
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: claims.json: 0.statement: field required
    """
    return tuple(_validate(TypeAdapter(list[ClaimRecord]), claims, path))


def checked_failures(failures: Any, path: Path) -> tuple[FailureRecord, ...]:
    """The models that failed."""
    return tuple(_validate(TypeAdapter(list[FailureRecord]), failures, path))


def checked_provenance(provenance: Any, path: Path) -> dict[str, Any]:
    """Where the run comes from, by name."""
    return _validate(TypeAdapter(dict[str, Any]), provenance, path)


def checked_tuning(tuning: Any, path: Path) -> dict[str, Choice]:
    """What was chosen for each variant.

    >>> checked_tuning({"joint": {"factors": {}, "length": 9}}, Path("tuning.json"))
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: tuning.json: joint.tried: field required
    """
    return _validate(TypeAdapter(dict[str, Choice]), tuning, path)


def checked_not_run(claims: Sequence[Mapping[str, str]]) -> tuple[NotRun, ...]:
    """The claims that no run of a page decides.

    >>> checked_not_run([{"id": "a", "statement": "It is so"}])
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: not_run: 0.why: field required
    """
    return tuple(_validate(TypeAdapter(list[NotRun]), list(claims), Path("not_run")))


def checked_table(table: pl.DataFrame, columns: Iterable[str], path: Path) -> pl.DataFrame:
    """The table, if it has the columns.

    >>> checked_table(pl.DataFrame({"step": [1]}), ["step", "loss"], Path("history.parquet"))
    Traceback (most recent call last):
    ...
    lengthwise.errors.InputError: history.parquet: no column 'loss'; expected step, loss
    """
    columns = list(columns)
    for name in columns:
        if name not in table.columns:
            raise InputError(f"{path}: no column {name!r}; expected {', '.join(columns)}")
    return table


def _validate(adapter: TypeAdapter[Any], value: Any, path: Path) -> Any:
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "the whole"
        raise InputError(f"{path}: {place}: {first['msg'][0].lower()}{first['msg'][1:]}") from None
