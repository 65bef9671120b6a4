"""The claims about the set complement, with the rules that decide them, written before any run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lengthwise.experiments.experiment import Claim
from lengthwise.statistics import Arm, Paired, Slope

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
