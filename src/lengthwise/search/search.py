"""A search as data: an experiment of one variant, a space over its fields, how many trials, and how they are cut."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from lengthwise.errors import InputError, unknown
from lengthwise.experiments import Experiment, Variant, with_settings
from lengthwise.experiments.building import Data, ModelOf
from lengthwise.search.space import Sampler, Space
from lengthwise.statistics.searched import SearchRule

BASE = "base"


class SearchClaim(Data):
    """A statement about a search, and the rule that decides it, written before the trials."""

    id: str
    statement: str
    rule: SearchRule


class Size(Data):
    """How much of a search is done: its trials, and settings of the experiment that go with them."""

    trials: int = Field(ge=1)
    settings: dict[str, Any] = Field(default_factory=dict)


class Search(Data):
    """What is searched: `trials` points of a `space` over the fields of an `experiment` that has one variant.

    Trials whose models share a shape train together, `block` at a time, on the same data and from the same initial
    weights; blocks differ in both. `of` names the experiment or the file that `lengthwise run` finds it by.

    >>> from lengthwise.experiments import EXPERIMENTS
    >>> from lengthwise.search import LogUniform
    >>> space = Space(fields={"plan.phases.0.rates.all": LogUniform(1e-3, 1)})
    >>> search = search_of(EXPERIMENTS["set-complement"], space)
    >>> list(search.experiment.variants), search.trial(3) == search.trial(3)
    (['base'], True)
    """

    name: str
    question: str
    experiment: Experiment
    space: Space
    of: str
    trials: int = Field(default=256, ge=1)
    block: int = Field(default=32, ge=1)
    sampler: Sampler = "random"
    seed: int = Field(default=0, ge=0)
    claims: tuple[SearchClaim, ...] = ()
    sizes: dict[str, Size] = Field(default_factory=dict)
    reproduced: tuple[str, ...] = ("smoke", "quick", "full")

    def trial(self, number: int) -> dict[str, Any]:
        """The settings of a trial, switches included."""
        return self.space.trial(self.seed, number, self.sampler)

    def experiment_of(self, number: int) -> Experiment:
        """The experiment of one trial: the base with the trial's settings.

        Errors: InputError that names the trial, for settings which the experiment refuses.
        """
        try:
            changed = with_settings(self.experiment, self.space.settings(self.trial(number)))
            changed.arguments(BASE)  # an unknown setting of the model is found without building one
        except InputError as error:
            raise InputError(f"space, trial {number}: {error}") from None
        return changed

    def sized(self, scale: str) -> Search:
        """The search at one of its sizes.

        Errors: InputError for a size that it does not have.
        """
        if scale not in self.sizes:
            if scale == "quick" and not self.sizes:
                return self
            raise unknown("scale", scale, self.sizes or ["quick"])
        size = self.sizes[scale]
        return self.changed(experiment=with_settings(self.experiment, size.settings), trials=size.trials)

    def changed(self, **fields: Any) -> Search:
        """The same search with some fields replaced, and checked again."""
        return Search(**{**{k: getattr(self, k) for k in Search.model_fields}, **fields})


def search_of(
    experiment: Experiment,
    space: Space,
    variant: str | None = None,
    name: str | None = None,
    settings: Mapping[str, Any] | None = None,
    **fields: Any,
) -> Search:
    """A search over one variant of an experiment (its first by default), with some settings of it changed.

    Errors: InputError for a variant that the experiment does not have.
    """
    chosen = variant or next(iter(experiment.variants))
    if chosen not in experiment.variants:
        raise unknown("variant", chosen, experiment.variants)
    base = with_settings(alone(experiment, chosen), settings or {})
    own = {"name": name or experiment.name, "question": experiment.question, "of": experiment.name, **fields}
    return Search(**own, experiment=base, space=space)


def alone(experiment: Experiment, variant: str) -> Experiment:
    """One variant as an experiment of its own: its model, plan and averages are the experiment's, no claim is left.

    >>> from lengthwise.experiments import EXPERIMENTS
    >>> alone(EXPERIMENTS["set-complement"], "post-norm").arguments("base")["norm"]
    'post'
    """
    own = experiment.variants[variant]
    model = ModelOf(module=experiment.model.module, settings={**experiment.model.settings, **own.model})
    changes = {
        "model": model, "plan": experiment.plans[variant], "averages": experiment.averages_of(variant),
        "variants": {BASE: Variant(start=own.start)}, "claims": (), "tuning": None, "replicates": 1, "scales": {},
        "keeps_weights": False, "measuring": experiment.measuring.model_copy(update={"certified": 0, "along": 0}),
    }  # fmt: skip
    return Experiment(**{**{k: getattr(experiment, k) for k in Experiment.model_fields}, **changes})
