"""How does error on the set complement grow with length, and what do EMA, BEMA, dropout and post-norm change?"""

from __future__ import annotations

from lengthwise.experiments.building import ModelOf
from lengthwise.experiments.claims import DISPERSION, POST_NORM
from lengthwise.experiments.experiment import Experiment, Measuring, Variant
from lengthwise.models import MinimalTransformer
from lengthwise.tasks import SetComplement
from lengthwise.training import BEMA, EMA, Adam, Phase, Plan

SET_COMPLEMENT = Experiment(
    name="set-complement",
    question="How does error on the set complement grow with length, and what do EMA, BEMA, dropout and post-norm change?",  # noqa: E501
    task=SetComplement(vocabulary=16, s_train=8),
    model=ModelOf(module=MinimalTransformer, settings={"width": 32}),
    variants={
        "no norm": Variant(),
        "pre-norm": Variant(model={"norm": "pre"}),
        "post-norm": Variant(model={"norm": "post"}),
        "attention dropout 0.1": Variant(model={"attention_dropout": 0.1}),
        "residual dropout 0.1": Variant(model={"residual_dropout": 0.1}),
        "embedding dropout 0.1": Variant(model={"embedding_dropout": 0.1}),
        "scores times log s": Variant(model={"scaling": "log-length scores"}),
        "sum, not mean": Variant(model={"scaling": "sum"}),
        "logits times s": Variant(model={"scaling": "length logits"}),
    },
    plan=Plan(phases=(Phase(steps=1500, rates={"all": 1e-2}),), optimiser=Adam(), batch=64),
    averages=(EMA(decay=0.99), EMA(decay=0.999), BEMA(), BEMA(variant="reference")),
    replicates=12,
    measuring=Measuring(inputs=256, along=5, certified=1),
    claims=(DISPERSION, POST_NORM),
    sections=("verdicts", "curves", "displacement", "contrasts", "certificates", "history", "settings"),
    scales={
        "smoke": {"steps": 60, "replicates": 2, "measuring.inputs": 64, "along": 1, "certified": 0},
        "quick": {},
        "full": {
            "plan.phases.0.steps": 5000,
            "replicates": 48,
            "measuring.inputs": 2048,
            "measuring.certified": 12,
            "measuring.along": 10,
        },
    },
)
