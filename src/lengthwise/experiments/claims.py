"""The claims of the papers, with the rules that decide them, written before any run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lengthwise.experiments.experiment import Claim
from lengthwise.statistics import Arm, Median, Paired, Slope

if TYPE_CHECKING:
    from lengthwise.experiments.experiment import Experiment


def _dispersion(experiment: Experiment) -> Slope:
    task = experiment.task
    lengths = tuple(s for s in experiment.lengths if s >= task.trained_length)
    if len(lengths) < 2:  # trained on all lengths but the last: the slope is taken where there is one
        lengths = experiment.lengths[-2:]
    return Slope(metric="displacement", lengths=lengths, arm=Arm(variant="no norm"), inside=(-1.1, -0.9))


def _post_norm(experiment: Experiment) -> Paired:
    arms = (Arm(variant="no norm"), Arm(variant="pre-norm"))
    return Paired(metric="tv", lengths=(experiment.lengths[-1],), better=Arm(variant="post-norm"), than=arms)


DISPERSION = Claim(id="sc.dispersion", statement="Without normalisation, displacement falls like 1/s", rule=_dispersion)
POST_NORM = Claim(
    id="sc.post-norm",
    statement="Normalising after the residual sum resharpens attention: less error at the longest length",
    rule=_post_norm,
)


def _median(*arms: str, at_least: float | None, inside: tuple[float, float]) -> Callable[[Experiment], Median]:
    """A rule on median accuracy at length 10,000, or at the longest length of a run that measures shorter ones only."""

    def rule(experiment: Experiment) -> Median:
        length = max((s for s in experiment.lengths if s <= 10_000), default=experiment.lengths[-1])
        return Median(
            metric="accuracy",
            length=length,
            arms=tuple(Arm(variant=a) for a in arms),
            at_least=at_least,
            inside=inside,
        )

    return rule


THREE_PHASE = Claim(
    id="lag.three-phase",
    statement="Output layer, attention, output layer: three phases of gradient descent learn the language",
    rule=_median("three phases", at_least=0.99, inside=(0.95, 1.0)),
)
ATTENTION_ONLY = Claim(
    id="lag.attention-only",
    statement="Attention alone does not learn the language",
    rule=_median("attention only", at_least=None, inside=(0.45, 0.6)),
)
OUTPUT_ONLY = Claim(
    id="lag.output-only",
    statement="The output layer alone does not learn the language",
    rule=_median("output only", at_least=None, inside=(0.45, 0.6)),
)
ONE_STEP = Claim(
    id="lag.one-step",
    statement="One attention step first, and then output training, does not learn the language",
    rule=_median("one attention step, then output", at_least=None, inside=(0.45, 0.6)),
)


def _lagging(experiment: Experiment) -> Paired:
    """Lagging against joint training and attention first, at the longest measured length."""
    numbers = experiment.task.loss == "squared-error"
    return Paired(
        metric="excess_error" if numbers else "accuracy",
        lengths=(experiment.lengths[-1],),
        better=Arm(variant="lagging"),
        than=(Arm(variant="joint"), Arm(variant="attention first")),
        direction="less" if numbers else "greater",
    )


LANGUAGES = Claim(
    id="lag.languages",
    statement="Training attention after the output layer beats joint training and attention first on a language",
    rule=_lagging,
)
REGRESSION = Claim(
    id="lag.regression",
    statement="Training attention after the output layer beats joint training and attention first in regression",
    rule=_lagging,
)
IN_CONTEXT = Claim(
    id="lag.in-context",
    statement="Training attention after the output layer beats joint training and attention first in context",
    rule=_lagging,
)


def _othello(experiment: Experiment) -> Paired:
    """EMA against raw weights at every measured ply beyond the trained ones."""
    lengths = tuple(s for s in experiment.lengths if s > experiment.task.trained_length)
    base = next(iter(experiment.variants))
    better = Arm(variant=base, weights="ema@0.99")
    return Paired(metric="tv", lengths=lengths or experiment.lengths[-1:], better=better, than=(Arm(variant=base),))


OTHELLO_EMA = Claim(
    id="sc.othello",
    statement="EMA improves a GPT that plays Othello beyond the trained plies",
    rule=_othello,
)
