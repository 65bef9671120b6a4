"""Does it help, beyond one language and one model, to train attention after the output layer?

Every task is trained at equal steps, equally tuned, in four orders; the claims compare lagging with two of the others.
"""

from __future__ import annotations

from typing import Any

from lengthwise.experiments.building import Data, ModelOf
from lengthwise.experiments.claims import IN_CONTEXT, LANGUAGES, REGRESSION
from lengthwise.experiments.experiment import Claim, Experiment, Grid, Measuring, Tuning, Variant
from lengthwise.models import GPT, AttentionPooling, ShallowTransformer
from lengthwise.tasks import LinearInContext, MarkedMean, MatchingExample, Recognition, SingleLocation
from lengthwise.training import SGD, AdamW, NormalisedSGD, Phase, Plan
from lengthwise.training.optimisers import Optimiser


class Setting(Data):
    """How one kind of model is trained and measured; `also` names changes of the model that get the four orders too."""

    model: ModelOf
    optimiser: Optimiser
    grid: Grid
    steps: int
    batch: int
    lengths: tuple[int, ...]
    inputs: int
    also: dict[str, dict[str, Any]] = {}

    def orders(self) -> dict[str, Variant]:
        """Four orders of the same number of steps, at rates of 1 that tuning multiplies."""
        quarter, steps = self.steps // 4, self.steps
        output, attention, both = {"output": 1.0}, {"attention": 1.0}, {"attention": 1.0, "output": 1.0}
        phases = {
            "lagging": ((quarter, output), (quarter, attention), (steps - 2 * quarter, output)),
            "joint": ((steps, both),),
            "attention first": ((quarter, attention), (steps - quarter, output)),
            "output, then joint": ((quarter, output), (steps - quarter, both)),
        }
        plans = {name: self.plan(tuple(Phase(steps=s, rates=r) for s, r in each)) for name, each in phases.items()}
        alone = {name: Variant(plan=plan) for name, plan in plans.items()}
        changed = {
            f"{name}, {what}": Variant(plan=plan, model=model)
            for what, model in self.also.items() for name, plan in plans.items()
        }  # fmt: skip
        return {**alone, **changed}

    def plan(self, phases: tuple[Phase, ...]) -> Plan:
        """A plan with this setting's optimiser and batch."""
        return Plan(phases=phases, optimiser=self.optimiser, batch=self.batch)


def lagging(name: str, claim: Claim, task: Any, setting: Setting) -> Experiment:
    """An experiment on one task: the orders, tuned over the same nine pairs of rates, 16 replicates."""
    what = f"recognising {task.language!r}" if isinstance(task, Recognition) else task.name.replace("-", " ")
    numbers = task.loss == "squared-error"
    return Experiment(
        name=name,
        question=f"Does training attention after the output layer help at {what}, beyond the trained lengths?",
        task=task,
        model=setting.model,
        plan=setting.plan((Phase(steps=setting.steps, rates={"attention": 1.0, "output": 1.0}),)),
        variants=setting.orders(),
        averages=(),
        replicates=16,
        tuning=Tuning(grid=setting.grid),
        measuring=Measuring(inputs=setting.inputs, lengths=setting.lengths, along=4),
        claims=(claim,),
        metric="excess_error" if numbers else "accuracy",
        sections=("verdicts", "reach", "contrasts", "curves", "tuning", "history", "settings"),
        scales={
            "smoke": {"replicates": 2, "tuning": None, "measuring.inputs": 8, "measuring.along": 0},
            "quick": {"replicates": 6},
            "full": {},
        },
        reproduced=("full",),
    )


SHALLOW = Setting(
    model=ModelOf(module=ShallowTransformer),
    optimiser=SGD(),
    grid={"attention": (1.0, 30.0, 1000.0), "output": (0.1, 0.3, 1.0)},
    steps=2000,
    batch=64,
    lengths=(5, 10, 20, 41, 100, 300, 1000, 3000, 10_000),
    inputs=128,
    also={"marker seen": {"sees_marker": True}},
)
LAST = SHALLOW.model_copy(update={"model": ModelOf(module=ShallowTransformer, settings={"query": "last letter"})})
DEEP = Setting(
    model=ModelOf(
        module=GPT, settings={"layers": 2, "heads": 2, "width": 16, "positions": "alibi", "initial_scale": 0.1}
    ),
    optimiser=AdamW(),
    grid={"attention": (0.001, 0.003, 0.01), "output": (0.001, 0.003, 0.01)},
    steps=600,
    batch=16,
    lengths=(4, 8, 16, 32, 64, 128),
    inputs=64,
)
POOLED = Setting(
    model=ModelOf(module=AttentionPooling),
    optimiser=NormalisedSGD(),
    grid={"attention": (0.1, 0.3, 1.0), "output": (0.01, 0.03, 0.1)},
    steps=400,
    batch=64,
    lengths=(5, 10, 20, 41, 100, 200, 500),
    inputs=256,
)
ASKED = POOLED.model_copy(update={"model": ModelOf(module=AttentionPooling, settings={"query": "last"})})

LAGGING = (
    lagging("lagging-contains", LANGUAGES, Recognition(language="contains"), SHALLOW),
    lagging("lagging-either", LANGUAGES, Recognition(language=".*[ab].*", alphabet="abcd"), SHALLOW),
    lagging("lagging-two-letters", LANGUAGES, Recognition(language=".*a.*", alphabet="ab"), SHALLOW),
    lagging("lagging-no-a-ends-with-b", LANGUAGES, Recognition(language="[bcd]*b", alphabet="abcd"), LAST),
    lagging("lagging-gpt", LANGUAGES, Recognition(language="starts-with", mean_length=8), DEEP),
    lagging("lagging-sorted", LANGUAGES, Recognition(language="a*b*c*", mean_length=8), DEEP),
    lagging("lagging-no-3-in-a-row", LANGUAGES, Recognition(language="no-3-in-a-row", mean_length=8), DEEP),
    lagging("lagging-single-location", REGRESSION, SingleLocation(), POOLED),
    lagging("lagging-marked-mean", REGRESSION, MarkedMean(marked=3), POOLED),
    lagging(
        "lagging-matching",
        IN_CONTEXT,
        MatchingExample(),
        ASKED.model_copy(update={"optimiser": AdamW(weight_decay=0.0)}),
    ),
    lagging("lagging-linear", IN_CONTEXT, LinearInContext(dimension=2), ASKED),
)
