"""lengthwise: will a transformer work at lengths it was not trained on, and which training choices make it?"""

from __future__ import annotations

from lengthwise.errors import InputError
from lengthwise.models import MinimalTransformer
from lengthwise.tasks import Batch, SetComplement, Task
from lengthwise.training import BEMA, EMA, SGD, Adam, AdamW, Member, Phase, Plan, Population, Schedule, Trainer

__version__ = "0.1.0"

__all__ = [
    "BEMA",
    "EMA",
    "SGD",
    "Adam",
    "AdamW",
    "Batch",
    "InputError",
    "Member",
    "MinimalTransformer",
    "Phase",
    "Plan",
    "Population",
    "Schedule",
    "SetComplement",
    "Task",
    "Trainer",
]
