"""`lengthwise certify` on a run that recognises words: what is exact of all words of a length, and what is proved."""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_FLOOR
from math import isnan
from typing import TYPE_CHECKING, Any

from lengthwise.cli.certified_lines import columns, rounded

if TYPE_CHECKING:
    from torch import nn

    from lengthwise.experiments.weights import Run
    from lengthwise.tasks import Recognition

ACCURACIES = ("accuracy", "accuracy_inside", "accuracy_outside")


def words_data(run: Run, asked: dict[str, Any], progress: Callable[[int, int], None]) -> dict[str, Any]:
    """Every feasible measured length in full if one model is asked for, else a row with the certified length of each.

    Errors: InputError where the one model cannot be certified; among several its row has the reason.
    """
    from lengthwise.errors import InputError
    from lengthwise.experiments.certifying import models_of
    from lengthwise.tasks import Recognition

    task = Recognition(**run.config["task"]["settings"])
    names, models = models_of(run, **asked), []
    lengths = run.config["measuring"]["lengths"] if len(names) == 1 else []
    for done, name in enumerate(names, 1):
        row = dict(zip(("variant", "replicate", "weights"), name, strict=True))
        try:
            models.append({**row, **_model(task, run.model(*name), lengths)})
        except InputError as refusal:
            if len(names) == 1:
                raise InputError(f"variant {name[0]!r}, replicate {name[1]}, {name[2]}: {refusal}") from None
            models.append({**row, "certified_length": None, "checked_length": None, "refused": str(refusal)})
        progress(done, len(names))
    if len(models) > 1:
        return {"models": models}
    return {key: value for key, value in models[0].items() if key not in ("variant", "replicate", "weights")}


def words_lines(data: dict[str, Any]) -> list[str]:
    """One model, for people: what is proved, then a row for each length."""
    length = data["certified_length"]
    exact = "; at the next one is not" if data["checked_length"] > length else "; longer words were not decided"
    lines = [
        f"proved of every word over {data['letters']!r}, language {data['language']!r}",
        f"all are right at every length up to {length}{exact}",
    ]
    head = ("length", "states", "accuracy", "inside", "outside", "worst margin", "worst word (letter counts)")
    rows = [
        (
            row["length"],
            row["states"],
            *(rounded(row[key], ROUND_FLOOR) for key in (*ACCURACIES, "worst_margin")),
            _counted(row["worst_counts"], row["worst_last"]),
        )
        for row in data["lengths"]
    ]
    return [*lines, *columns(head, rows, left={6})] if rows else lines


def words_rows(models: list[dict[str, Any]]) -> list[str]:
    """Several models, a row each, and each reason for a refusal once."""
    keys = ("variant", "replicate", "weights", "certified_length", "checked_length")
    rows = [[row[key] for key in keys] for row in models]
    refused = dict.fromkeys(f"refused: {row['variant']}: {row['refused']}" for row in models if "refused" in row)
    head = ("variant", "replicate", "weights", "all right up to", "decided up to")
    return ["largest length up to which every word is right, proved", *columns(head, rows, {0, 2}), *refused]


def _model(task: Recognition, model: nn.Module, lengths: list[int]) -> dict[str, Any]:
    from lengthwise.certificates.letter_counts import exact_at, states_at
    from lengthwise.certificates.letter_lengths import FEASIBLE, certified_length
    from lengthwise.experiments.exact_recognition import recognition_cases, stacked
    from lengthwise.languages import language_of

    cases, letters = recognition_cases(task, model), language_of(task.language, task.alphabet).alphabet
    arrays = stacked([model])
    proved = certified_length(arrays, cases, task.longest)
    data = {"certified_length": proved.length, "checked_length": proved.checked}
    if not lengths:
        return data
    feasible = (exact_at(arrays, cases, length) for length in lengths if states_at(cases, length) <= FEASIBLE)
    rows = []
    for found in feasible:
        accuracies = {key: float(getattr(found, key)[0]) for key in ACCURACIES}
        counts, last = found.worst_counts[0].tolist(), int(found.worst_last[0])
        row = {
            "length": found.length,
            "states": found.states,
            **{key: None if isnan(value) else value for key, value in accuracies.items()},
            "worst_margin": float(found.worst_margin[0]),
            "worst_counts": {letter: n for letter, n in zip(letters, counts, strict=True) if n},
            "worst_last": letters[last] if last >= 0 else None,
        }
        rows.append(row)
    return {"language": task.language, "letters": letters, **data, "lengths": rows}


def _counted(counts: dict[str, int], last: str | None) -> str:
    said = ", ".join(f"{n} {letter}" for letter, n in counts.items())
    return said if last is None else f"{said}; last {last}"
