"""The best trials of a search, and the command that runs one of them as an experiment of its own."""

from __future__ import annotations

import json
import shlex
from typing import Any

import numpy as np

from lengthwise.experiments import EXPERIMENTS
from lengthwise.search.analysis import Analysis
from lengthwise.search.search import BASE, Search

SHOWN = 5


def best_trials(search: Search, analysis: Analysis) -> list[dict[str, Any]]:
    """The trials that are best at TRAINED lengths, and those that are best at the longest: settings, values, command.

    The first are what can be chosen without looking at long lengths; the second show what there is to win.
    """
    trained, longest = analysis.trained_error(), _error(analysis, analysis.lengths[-1])
    found = []
    for by, score in (("trained lengths", trained), (f"length {analysis.lengths[-1]:,}", longest)):
        order = np.argsort(np.where(np.isfinite(score), score, np.inf), kind="stable")[:SHOWN]
        for place, number in enumerate(int(k) for k in order if np.isfinite(score[k])):
            values = {
                weights: {
                    str(s): _known(analysis.trials.values(weights, analysis.metric, s)[number])
                    for s in analysis.lengths
                }
                for weights in analysis.weights
            }
            found.append({
                "by": by, "place": place + 1, "trial": number, "settings": search.trial(number), "values": values,
                "command": command(search, number),
            })  # fmt: skip
    return found


def command(search: Search, number: int) -> str:
    """The command that runs a trial as an experiment, with the experiment's own replicates.

    >>> from lengthwise.search import SEARCHES
    >>> command(SEARCHES["set-complement"], 0).startswith("lengthwise run set-complement --set ")
    True
    """
    words = ["lengthwise", "run", search.of]
    for key, value in overrides(search, number).items():
        words += ["--set", f"{key}={json.dumps(value)}"]
    return shlex.join(words)


def overrides(search: Search, number: int) -> dict[str, Any]:
    """The settings that turn the experiment which the search is of into the trial, as values that JSON can hold.

    The trial's variant stands alone under the name `trial`, and the experiment's claims, which speak of variants that
    are gone, are left out.
    """
    trial = search.experiment_of(number)
    named = EXPERIMENTS.get(search.of)
    start = trial.variants[BASE].start
    variant = {} if start is None else {"start": start.model_dump(mode="json")}
    found: dict[str, Any] = {"variants": {"trial": variant}, "claims": [], "tuning": None}
    found |= {f"task.{k}": v for k, v in _changed(named.task if named else None, trial.task).items()}
    model = trial.model.settings
    known = named.model.settings if named else {}
    found |= {f"model.{k}": v for k, v in model.items() if k not in known or known[k] != v}
    found["plan"] = trial.plan.model_dump(mode="json")
    found["averages"] = [a.model_dump(mode="json") for a in trial.averages]
    if named is None or trial.seed != named.seed:
        found["seed"] = trial.seed
    return found


def _changed(old: Any, new: Any) -> dict[str, Any]:
    fields = getattr(type(new), "model_fields", {})
    return {k: getattr(new, k) for k in fields if old is not None and getattr(old, k) != getattr(new, k)}


def _error(analysis: Analysis, length: int) -> np.ndarray:
    values = analysis.trials.values("raw", analysis.metric, length)
    return -values if analysis.higher else values


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
