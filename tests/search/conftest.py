"""Searches small enough for tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lengthwise import EMA, SGD, MinimalTransformer, Phase, Plan, SetComplement
from lengthwise.experiments import Experiment, Measuring, ModelOf
from lengthwise.search import Choice, LogUniform, Search, Space, Switch, Uniform, When, search_of
from lengthwise.search.search import SearchClaim
from lengthwise.statistics.searched import PairedInSearch


def tiny_search(steps: int = 12, trials: int = 14, top: float = 1.0, **fields) -> Search:
    """Fourteen trials of a five-letter task, in several structures; a `top` rate of 1e6 makes some of them diverge."""
    experiment = Experiment(
        name="tiny",
        question="Which settings matter?",
        task=SetComplement(vocabulary=5, s_train=2),
        model=ModelOf(module=MinimalTransformer, settings={"width": 4}),
        plan=Plan(phases=(Phase(steps=steps, rates={"all": 0.1}),), optimiser=SGD(), batch=8),
        averages=(EMA(decay=0.9),),
        measuring=Measuring(inputs=8),
    )
    space = Space(
        fields={
            "plan.phases.0.rates.all": LogUniform(1e-2, top),
            "model.norm": Choice("none", "post"),
            "dropout": Switch("none", "attention"),
            "model.attention_dropout": When("dropout", "attention", then=Uniform(0.1, 0.5)),
        }
    )
    rule = PairedInSearch(metric="tv", lengths=(1, 4), better="ema")
    claims = (SearchClaim(id="tiny.ema", statement="EMA helps", rule=rule),)
    return search_of(experiment, space, trials=trials, block=3, claims=claims, **fields)


@pytest.fixture
def searching() -> Callable[..., Search]:
    """Makes a tiny search with some fields changed."""
    return tiny_search


@pytest.fixture
def tiny() -> Search:
    return tiny_search()
