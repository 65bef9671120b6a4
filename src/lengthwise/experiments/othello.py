"""What does averaging weights do for a GPT that plays Othello, beyond the plies that it was trained on?"""

from __future__ import annotations

from lengthwise.experiments.building import ModelOf
from lengthwise.experiments.claims import OTHELLO_EMA
from lengthwise.experiments.experiment import Experiment, Measuring, Variant
from lengthwise.models import GPT
from lengthwise.tasks import NextMove
from lengthwise.training import BEMA, EMA, AdamW, Phase, Plan, Schedule

MODEL = {"layers": 2, "heads": 4, "width": 64, "block": 31, "initial_scale": 0.08}
VARIANTS = {
    "base": Variant(),
    "post-norm": Variant(model={"norm": "post"}),
    "no positions": Variant(model={"positions": "none"}),
    "rotary positions": Variant(model={"positions": "rotary"}),
    "ALiBi": Variant(model={"positions": "alibi"}),
    "attention dropout 0.1": Variant(model={"attention_dropout": 0.1}),
    "residual dropout 0.1": Variant(model={"residual_dropout": 0.1}),
}

OTHELLO = Experiment(
    name="othello",
    question="What does averaging weights do for a GPT that plays Othello, beyond the plies that it was trained on?",
    task=NextMove(board=6, s_train=16),
    model=ModelOf(module=GPT, settings=MODEL),
    plan=Plan(
        phases=(Phase(steps=1500, rates={"all": Schedule(peak=3e-3, warmup=50, shape="cosine", final=3e-4)}),),
        optimiser=AdamW(beta2=0.95, weight_decay=0.1),
        batch=32,
    ),
    variants={"base": VARIANTS["base"]},
    averages=(EMA(decay=0.99), BEMA()),
    replicates=6,
    measuring=Measuring(inputs=128, lengths=(1, 2, 4, 8, 12, 16, 18, 20, 22, 24, 26, 28, 30), along=3),
    claims=(OTHELLO_EMA,),
    metric="tv",
    sections=("verdicts", "curves", "contrasts", "history", "settings"),
    scales={
        "smoke": {"steps": 4, "replicates": 2, "measuring.inputs": 8, "measuring.along": 0},
        "quick": {},
        "full": {
            "plan.phases.0.steps": 4000,
            "variants": VARIANTS,
            "replicates": 8,
            "measuring.inputs": 512,
        },
    },
)
