"""Shallow transformers on ALL words of a length, and the lengths up to which every word is proved right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import nn

from lengthwise.certificates.letter_counts import Cases, ExactLength, LetterModels, cases_of, exact_at, states_at
from lengthwise.certificates.letter_lengths import FEASIBLE, certified_length
from lengthwise.errors import InputError
from lengthwise.languages import language_of
from lengthwise.models import ShallowTransformer
from lengthwise.models.shallow import score_table
from lengthwise.tasks import Recognition

Row = tuple[int | None, str, float, int]
"""Length (None for a property of the whole model), metric, value, states."""

MOST_LETTERS, MOST_COUNTED = 10, 2**63 - 1
METRICS = ("accuracy", "accuracy_inside", "accuracy_outside", "worst_margin")


def serves(model: nn.Module, task: object) -> bool:
    """Whether a model on a task is evaluated exactly here."""
    return type(model) is ShallowTransformer and isinstance(task, Recognition)


def recognition_cases(task: Recognition, model: nn.Module) -> Cases:
    """The cases of words that a shallow transformer on a task must tell apart.

    Errors: InputError for another module, more than 10 letters, and a language that letters and the last one do not
    decide.

    >>> len(recognition_cases(Recognition(), ShallowTransformer(vocabulary=5)))
    15
    """
    if type(model) is not ShallowTransformer:
        raise InputError(f"{type(model).__name__}: expected a ShallowTransformer, whose answer letter counts decide")
    language = language_of(task.language, task.alphabet)
    if (letters := len(language.alphabet)) > MOST_LETTERS:
        raise InputError(f"language {task.language!r}: {letters} letters; expected at most {MOST_LETTERS}")
    return cases_of(language, model.of_query == "last letter")


def stacked(models: Sequence[nn.Module]) -> LetterModels:
    """Shallow transformers of one shape as float64 arrays; factorised scores with the bound of their rounding.

    >>> stacked([ShallowTransformer(vocabulary=3)] * 2).scores.shape
    (2, 1, 3)
    """
    first = models[0]
    assert isinstance(first, ShallowTransformer)
    weights = [{name: p.detach().double().cpu() for name, p in model.named_parameters()} for model in models]
    w = {name: torch.stack([each[name] for each in weights]) for name in weights[0]}
    scores, error = score_table(w, first.of_query), torch.zeros(len(models))
    if "scores" not in w:
        width, key_width = w["query"].shape[-2:]
        size = score_table({name: x.abs() for name, x in w.items()}, first.of_query).amax((-1, -2))
        error = 2 * (2 * width + key_width + 3) * 2.0**-53 * size
    inner, outer = (w["inward"].numpy(), w["inward_bias"].numpy()), (w["outward"].numpy(), w["outward_bias"].numpy())
    return LetterModels(scores.numpy(), *inner, *outer, first.sees_marker, error.numpy())


def exact_rows(models: Sequence[nn.Module], task: Recognition, lengths: Sequence[int]) -> list[list[Row]]:
    """Rows of a curve for each model: accuracies and the worst margin at feasible lengths, and the certified length.

    A length with more than a million states has rows only of a model that is proved right there: accuracies of 1.
    Models that cannot be evaluated have none: `recognition_cases` and `stacked` say why.
    """
    finite = [all(bool(p.isfinite().all()) for p in model.parameters()) for model in models]
    served = [model for model, good in zip(models, finite, strict=True) if good]
    try:
        found = iter(_served_rows(served, task, lengths) if served else [])
    except InputError:  # the certify command says why; here these models simply have no rows
        return [[] for _ in models]
    return [next(found) if good else [] for good in finite]


def _served_rows(models: Sequence[nn.Module], task: Recognition, lengths: Sequence[int]) -> list[list[Row]]:
    arrays, cases = stacked(models), recognition_cases(task, models[0])
    exact = {length: exact_at(arrays, cases, length) for length in lengths if states_at(cases, length) <= FEASIBLE}
    return [list(_rows(arrays, cases, task, index, exact, lengths)) for index in range(len(models))]


def _rows(
    models: LetterModels,
    cases: Cases,
    task: Recognition,
    index: int,
    exact: dict[int, ExactLength],
    lengths: Sequence[int],
) -> Iterator[Row]:
    proved = certified_length(models.one(index), cases, task.longest)
    for length in lengths:
        for metric in METRICS:
            if length in exact:
                value = float(getattr(exact[length], metric)[index])
            else:
                value = _proved_value(metric, cases, length) if length <= proved.length else np.nan
            if not np.isnan(value):
                yield length, metric, value, min(states_at(cases, length), MOST_COUNTED)
    yield None, "certified_length", float(proved.length), 1
    yield None, "checked_length", float(proved.checked), 1


def _proved_value(metric: str, cases: Cases, length: int) -> float:
    """1 for the accuracies over words that there are, where all are right; NaN for what that does not say."""
    there = {inside for (support, _), inside in cases.items() if len(support) <= length}
    asked = {"accuracy": there, "accuracy_inside": there & {True}, "accuracy_outside": there & {False}}
    return 1.0 if asked.get(metric) else np.nan
