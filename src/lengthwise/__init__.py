"""lengthwise: will a transformer work at lengths it was not trained on, and which training choices make it?"""

from __future__ import annotations

from lengthwise.errors import InputError
from lengthwise.experiments import Claim, Experiment, Measuring, ModelOf, Tuning, Variant, with_settings
from lengthwise.experiments.running import run
from lengthwise.experiments.weights import load
from lengthwise.models import GPT, AttentionPooling, MinimalTransformer, ShallowTransformer
from lengthwise.tasks import Batch, Recognition, SetComplement, Task
from lengthwise.training import BEMA, EMA, SGD, Adam, AdamW, Member, Phase, Plan, Population, Schedule, Trainer

__version__ = "0.1.0"

__all__ = [
    "BEMA",
    "EMA",
    "SGD",
    "Adam",
    "AdamW",
    "AttentionPooling",
    "Batch",
    "Claim",
    "Experiment",
    "GPT",
    "InputError",
    "Measuring",
    "Member",
    "MinimalTransformer",
    "ModelOf",
    "Phase",
    "Plan",
    "Population",
    "Recognition",
    "Schedule",
    "SetComplement",
    "ShallowTransformer",
    "Task",
    "Trainer",
    "Tuning",
    "Variant",
    "load",
    "run",
    "with_settings",
]
