"""Which order of training makes a shallow transformer recognise a star-free language at lengths it never saw?"""

from __future__ import annotations

from typing import Any

from lengthwise.experiments.building import ModelOf
from lengthwise.experiments.claims import ATTENTION_ONLY, ONE_STEP, OUTPUT_ONLY, THREE_PHASE
from lengthwise.experiments.experiment import Experiment, Grid, Measuring, Tuning, Variant
from lengthwise.models import ShallowTransformer
from lengthwise.tasks import Recognition
from lengthwise.training import EMA, SGD, AdamW, Phase, Plan
from lengthwise.training.optimisers import Optimiser

OUTPUT, ATTENTION, BOTH = {"output": 1.0}, {"attention": 1.0}, {"attention": 1.0, "output": 1.0}
STEPS, FIRST, MANY = 2000, 500, 100

GRID: Grid = {"attention": (1.0, 30.0, 1000.0), "output": (0.1, 0.3, 1.0)}
"""Nine pairs of rates, the same for every arm: plans have rates of 1, which these multiply."""
OVERALL: Grid = {"all": (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
"""Nine overall rates, for the arms whose ratio of rates is given."""


def plan(*phases: tuple[int, dict[str, float]]) -> Plan:
    """Gradient descent through phases, each so many steps at rates by group."""
    return Plan(phases=tuple(Phase(steps=s, rates=dict(r)) for s, r in phases), optimiser=SGD(), batch=64)


def arms(optimiser: Optimiser) -> dict[str, Variant]:
    """The arms that the claims speak of, with a rule of descent."""
    return {name: Variant(plan=p.model_copy(update={"optimiser": optimiser})) for name, p in ARMS.items()}


def ratio(attention: float, output: float) -> Variant:
    """Joint training at a given ratio of the rates of attention and output."""
    return Variant(plan=plan((STEPS, {"attention": attention, "output": output})), grid=OVERALL)


ARMS = {
    "three phases": plan((FIRST, OUTPUT), (1, ATTENTION), (STEPS - FIRST - 1, OUTPUT)),
    "three phases, many attention steps": plan((FIRST, OUTPUT), (MANY, ATTENTION), (STEPS - FIRST - MANY, OUTPUT)),
    "joint": plan((STEPS, BOTH)),
    "attention only": plan((STEPS, ATTENTION)),
    "output only": plan((STEPS, OUTPUT)),
    "one attention step, then output": plan((1, ATTENTION), (STEPS - 1, OUTPUT)),
    "attention first": plan((MANY, ATTENTION), (STEPS - MANY, OUTPUT)),
}
RATIOS = {
    "joint, rates 1 : 100": ratio(0.01, 1.0),
    "joint, rates 1 : 10": ratio(0.1, 1.0),
    "joint, rates 1 : 1": ratio(1.0, 1.0),
    "joint, rates 10 : 1": ratio(10.0, 1.0),
    "joint, rates 100 : 1": ratio(100.0, 1.0),
}
PARAMETRISATIONS = {
    f"{arm}, {what}": Variant(plan=ARMS[arm], model=model)
    for what, model in {
        "factorised scores": {"scores": "factorised"},
        "a query per last letter": {"query": "last letter"},
        "marker seen": {"sees_marker": True},
    }.items()
    for arm in ("three phases", "joint")
}

LAG = Experiment(
    name="lag",
    question="Which order of training makes a shallow transformer recognise a language at lengths it never saw?",
    task=Recognition(language="contains", words="boundary", drawn="geometric", mean_length=20),
    model=ModelOf(module=ShallowTransformer),
    plan=ARMS["joint"],
    variants={**arms(SGD()), **RATIOS, **PARAMETRISATIONS},
    averages=(EMA(decay=0.99),),
    replicates=16,
    tuning=Tuning(grid=GRID),
    measuring=Measuring(inputs=128, lengths=(5, 10, 20, 42, 100, 300, 1000, 3000, 10_000), along=10, certified=1),
    claims=(THREE_PHASE, ATTENTION_ONLY, OUTPUT_ONLY, ONE_STEP),
    metric="accuracy",
    sections=("verdicts", "reach", "mechanism", "contrasts", "curves", "tuning", "history", "settings"),
    scales={
        "smoke": {
            "replicates": 2,
            "tuning.replicates": 1,
            "measuring.inputs": 16,
            "measuring.along": 1,
            "measuring.certified": 0,
            "measuring.lengths": (5, 42, 1000),
        },
        "quick": {},
        "full": {
            "replicates": 64,
            "measuring.inputs": 512,
            "measuring.certified": 12,
            "measuring.lengths": (5, 10, 20, 42, 100, 300, 1000, 3000, 10_000, 30_000, 100_000),
        },
    },
)


def also(name: str, **changes: Any) -> Experiment:
    """The same question of another language or rule of descent, in the arms alone, at full scale."""
    fields = {k: getattr(LAG, k) for k in Experiment.model_fields}
    return Experiment(**{**fields, "name": name, "variants": arms(SGD()), "reproduced": ("full",), **changes})


ALSO = (
    also("lag-either", task=Recognition(language=".*[ab].*", alphabet="abcd")),
    also(
        "lag-no-a-ends-with-b",
        task=Recognition(language="[bcd]*b", alphabet="abcd"),
        model=ModelOf(module=ShallowTransformer, settings={"query": "last letter"}),
    ),
    also(
        "lag-adamw",
        variants=arms(AdamW()),
        plan=ARMS["joint"].model_copy(update={"optimiser": AdamW()}),
        tuning=Tuning(grid={"attention": (0.01, 0.3, 10.0), "output": (0.001, 0.003, 0.01)}),
        claims=(),
    ),
)
