"""Can the model express the language at all? Asked before anything is trained."""

from __future__ import annotations

import shlex

from lengthwise.errors import InputError
from lengthwise.experiments.experiment import Experiment
from lengthwise.languages import language_of, shallow_form
from lengthwise.models import ShallowTransformer
from lengthwise.tasks import Recognition

DEEPER = "lagging-gpt"


def check_expressible(experiment: Experiment) -> None:
    """Raise InputError, with what to run instead, where a shallow transformer cannot decide the language.

    What one layer without positions sees at every length is which letters occur and, where its query knows it, the
    last letter (docs/theory.md, "Attention lag", L6).
    """
    task = experiment.task
    if experiment.model.module is not ShallowTransformer or not isinstance(task, Recognition):
        return
    form = shallow_form(language_of(task.language, task.alphabet))
    if form.letter_set:
        return
    if not form.last_letter:
        words = {"language": task.language, **({"alphabet": task.alphabet} if task.alphabet else {})}
        asked = " ".join(f"--set {key}={shlex.quote(word)}" for key, word in words.items())
        raise InputError(
            f"language {form.says}, which is what a shallow transformer goes by at every length;"
            f" a 2-layer GPT sees more: lengthwise run {DEEPER} {asked}"
        )
    if experiment.arguments(next(iter(experiment.variants))).get("query") != "last letter":
        raise InputError(
            f"language {form.says}, and the query of a marker does not know the last letter:"
            " add --set model.query='last letter'"
        )
