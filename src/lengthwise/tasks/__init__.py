"""Tasks: what is to be learned, sampled at any length, with exact answers."""

from __future__ import annotations

from lengthwise.tasks.batch import Batch
from lengthwise.tasks.set_complement import SetComplement
from lengthwise.tasks.task import Task, mean_loss

TASKS: dict[str, type] = {SetComplement.name: SetComplement}

__all__ = ["TASKS", "Batch", "SetComplement", "Task", "mean_loss"]
