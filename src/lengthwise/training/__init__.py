"""Training: a plan and a population become trained weights and their averages."""

from __future__ import annotations

from lengthwise.training.averages import AVERAGES, BEMA, EMA, Averages
from lengthwise.training.optimisers import OPTIMISERS, SGD, Adam, AdamW, NormalisedSGD
from lengthwise.training.plan import Phase, Plan, Schedule
from lengthwise.training.population import Member, Population
from lengthwise.training.trainer import Trainer

__all__ = [
    "AVERAGES",
    "BEMA",
    "EMA",
    "NormalisedSGD",
    "OPTIMISERS",
    "SGD",
    "Adam",
    "AdamW",
    "Averages",
    "Member",
    "Phase",
    "Plan",
    "Population",
    "Schedule",
    "Trainer",
]
