"""Experiments: the named questions as data, the claims with their rules, and how they are carried out."""

from __future__ import annotations

from lengthwise.experiments.building import ModelOf, Start
from lengthwise.experiments.experiment import Claim, Experiment, Measuring, Tuning, Variant
from lengthwise.experiments.lag import ALSO, LAG
from lengthwise.experiments.lagging import LAGGING
from lengthwise.experiments.othello import OTHELLO
from lengthwise.experiments.set_complement import SET_COMPLEMENT
from lengthwise.experiments.settings import parse_settings, with_settings
from lengthwise.experiments.theory import THEORY

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment for experiment in (SET_COMPLEMENT, THEORY, LAG, OTHELLO, *ALSO, *LAGGING)
}

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "Measuring",
    "ModelOf",
    "Tuning",
    "Start",
    "Variant",
    "parse_settings",
    "with_settings",
]
