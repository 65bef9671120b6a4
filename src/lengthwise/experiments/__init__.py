"""Experiments: the named questions as data, the claims with their rules, and how they are carried out."""

from __future__ import annotations

from lengthwise.experiments.experiment import Claim, Experiment, Measuring, ModelOf, Variant
from lengthwise.experiments.set_complement import SET_COMPLEMENT
from lengthwise.experiments.settings import parse_settings, with_settings

EXPERIMENTS: dict[str, Experiment] = {SET_COMPLEMENT.name: SET_COMPLEMENT}

__all__ = [
    "EXPERIMENTS",
    "Claim",
    "Experiment",
    "Measuring",
    "ModelOf",
    "Variant",
    "parse_settings",
    "with_settings",
]
