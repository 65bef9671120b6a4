"""What the theory of the set complement says of dimensions and balance, on constructions and on trained models."""

from __future__ import annotations

from lengthwise.experiments.building import ModelOf, Start
from lengthwise.experiments.experiment import Claim, Experiment, Measuring, Variant
from lengthwise.models import MinimalTransformer
from lengthwise.statistics import Arm, Check, Exact
from lengthwise.tasks import SetComplement
from lengthwise.training import EMA, SGD, Adam, Phase, Plan

V, PRECISION, RESIDUAL = 8, 10.0, 1.0
LENGTHS = tuple(range(1, V))
NARROW = (2, 4, 6)  # d <= v-2
STILL = Plan(phases=(Phase(steps=1, rates={"all": 0.0}),), optimiser=SGD(), batch=1)
TRAINED = Plan(phases=(Phase(steps=1500, rates={"all": 1e-2}),), optimiser=Adam(), batch=64)


def _order(
    variant: str, low: float | None, high: float, metric: str = "certified_order", weights: str = "raw"
) -> Check:
    return Check(arm=Arm(variant=variant, weights=weights), metric=metric, lengths=(None,), low=(low,), high=(high,))


def _equal(variant: str, metric: str, values: tuple[float, ...]) -> Check:
    # Weights are float32 when measured: a tie at length 4 of the counterexample may fall 1e-7 to either side.
    return Check(arm=Arm(variant=variant), metric=metric, lengths=LENGTHS, low=values, high=values, tolerance=1e-5)


DIMENSIONS = Claim(
    id="sc.dimensions",
    statement="d and d_v of v-1 are sufficient, and with d <= v-2 no model goes beyond length floor(d/2)",
    rule=Exact(
        summary=(
            "the construction at d = d_v = v-1 ranks every length right, with worst displacement M at s = 1 and p/s"
            " beyond, and legal spread 0; and for d <= v-2 neither a trained model nor its readout under any hidden"
            " states goes beyond floor(d/2)"
        ),
        checks=(
            _order("minimal, d = 7", V - 1, V - 1),
            _equal(
                "minimal, d = 7", "worst_displacement", (PRECISION + RESIDUAL, *(PRECISION / s for s in LENGTHS[1:]))
            ),
            _equal("minimal, d = 7", "legal_spread", (0.0,) * len(LENGTHS)),
            *(
                _order(f"trained, d = {d}", None, d // 2, "readout_order", w)
                for d in NARROW
                for w in ("raw", "ema@0.99")
            ),
            *(
                _order(f"trained, d = {d}", None, d // 2, "certified_order", w)
                for d in NARROW
                for w in ("raw", "ema@0.99")
            ),
        ),
    ),
)
BALANCE = Claim(
    id="sc.balance",
    statement=(
        "Balance at lengths 1 to 3 implies p/s at every length; with the residual path, lengths 1 and 2 alone do not"
    ),
    rule=Exact(
        summary=(
            "the construction balanced at 1 to 3 has worst displacement p/s at every length, and the one balanced at 1"
            " and 2 alone has 1, 1/2 and then min(2, 4 - s) / (s + 2), so that it is wrong from length 5 on"
        ),
        checks=(
            _equal("balanced, d = 14", "worst_displacement", tuple(PRECISION / s for s in LENGTHS)),
            _equal("counterexample", "worst_displacement", (1.0, 0.5, *(min(2, 4 - s) / (s + 2) for s in LENGTHS[2:]))),
            _order("counterexample", 3, 4),
        ),
    ),
)

THEORY = Experiment(
    name="theory",
    question="How many dimensions does the set complement need, and what follows from balance at short lengths?",
    task=SetComplement(vocabulary=V, s_train=4),
    model=ModelOf(module=MinimalTransformer, settings={"width": V - 1}),
    plan=TRAINED,
    variants={
        "minimal, d = 7": Variant(start=Start(construction="minimal"), plan=STILL, averages=()),
        "balanced, d = 14": Variant(
            model={"width": 14, "key_width": 7, "value_width": 7},
            start=Start(construction="balanced"),
            plan=STILL,
            averages=(),
        ),
        "counterexample": Variant(start=Start(construction="counterexample"), plan=STILL, averages=()),
        **{f"trained, d = {d}": Variant(model={"width": d}) for d in (*NARROW, 7, 8)},
        **{f"trained, d_v = {d}": Variant(model={"width": 10, "value_width": d}) for d in (5, 6, 7)},
    },
    averages=(EMA(decay=0.99),),
    replicates=6,
    measuring=Measuring(inputs=256, along=5, certified=6, certified_along=True),
    claims=(DIMENSIONS, BALANCE),
    sections=("verdicts", "certificates", "curves", "displacement", "history", "settings"),
    scales={
        "smoke": {"plan.phases.0.steps": 50, "replicates": 1, "measuring.inputs": 32, "measuring.certified": 1},
        "quick": {},
        "full": {"plan.phases.0.steps": 20000, "replicates": 24, "measuring.certified": 24},
    },
)
