"""The searches that come with lengthwise, in one dictionary, and the claims that they decide."""

from __future__ import annotations

from lengthwise.experiments.lag import LAG
from lengthwise.experiments.set_complement import SET_COMPLEMENT
from lengthwise.search.distributions import Choice, LogUniform, Switch, Uniform, When
from lengthwise.search.search import Search, SearchClaim, Size, search_of
from lengthwise.search.space import Space
from lengthwise.statistics.searched import PairedInSearch, SlopeInSearch

PLACES = ("attention", "embedding", "residual")
MEASURED = (1, 4, 8, 12, 15)
"""Lengths of v = 16, trained up to 8: two inside, the trained edge, one well beyond, the longest."""

SC_EMA = SearchClaim(
    id="sc.ema",
    statement="An exponential moving average of the weights counters noise: less error than the raw weights",
    rule=PairedInSearch(metric="tv", lengths=(1, 8, 15), better="ema"),
)
SC_DROPOUT = SearchClaim(
    id="sc.dropout",
    statement="Dropout counters dispersion: the higher its rate, the less error at long lengths, wherever it is placed",
    rule=SlopeInSearch(metric="tv", lengths=(12, 15), settings=tuple(f"model.{p}_dropout" for p in PLACES)),
)

_ALONG_THE_PLAN = {
    "plan.phases.0.rates.all": LogUniform(1e-3, 1e-1),
    "averages.0.decay": Choice(0.9, 0.97, 0.99, 0.995),
    "bema powers": Switch("usual", "drawn"),
    "averages.1.kappa": When("bema powers", "drawn", then=Uniform(0.3, 0.9)),
    "averages.1.eta": When("bema powers", "drawn", then=Uniform(0.05, 0.5)),
}

SET_COMPLEMENT_SEARCH = search_of(
    SET_COMPLEMENT,
    Space(
        fields={
            **_ALONG_THE_PLAN,
            "model.norm": Choice("none", "pre", "post"),
            "dropout": Switch("none", *PLACES),
            **{f"model.{place}_dropout": When("dropout", place, then=Uniform(0, 0.5)) for place in PLACES},
        }
    ),
    question="Which of rate, dropout, normalisation and averaging matter for the set complement at long lengths?",
    settings={
        "plan.phases.0.steps": 1000,
        "averages": (SET_COMPLEMENT.averages[0], SET_COMPLEMENT.averages[2]),
        "measuring.lengths": MEASURED,
    },
    trials=256,
    block=8,  # smaller ones train more slowly, but intervals need many blocks
    claims=(SC_EMA, SC_DROPOUT),
    sizes={
        "smoke": Size(trials=24, settings={"plan.phases.0.steps": 30, "measuring.inputs": 32}),
        "quick": Size(trials=256),
        "full": Size(trials=4096, settings={"plan.phases.0.steps": 5000, "measuring.inputs": 1024}),
    },
)

LAG_SEARCH = search_of(
    LAG,
    Space(
        fields={
            "plan.phases.0.rates.attention": LogUniform(1e-2, 1e3),
            "plan.phases.0.rates.output": LogUniform(1e-2, 1e1),
            "averages.0.decay": Choice(0.9, 0.99),
        }
    ),
    variant="joint",
    question="At which rates does joint training recognise a language at lengths that it never saw?",
    settings={"measuring.lengths": (5, 20, 42, 300, 1000)},
    trials=128,
    block=8,
    reproduced=(),
    sizes={
        "smoke": Size(trials=12, settings={"plan.phases.0.steps": 20, "measuring.inputs": 16}),
        "quick": Size(trials=128),
        "full": Size(trials=1024, settings={"measuring.inputs": 512}),
    },
)

SEARCHES: dict[str, Search] = {search.name: search for search in (SET_COMPLEMENT_SEARCH, LAG_SEARCH)}
