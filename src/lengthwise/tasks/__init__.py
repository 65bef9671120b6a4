"""Tasks: what is to be learned, sampled at any length, with exact answers."""

from __future__ import annotations

from lengthwise.tasks.batch import Batch
from lengthwise.tasks.in_context import LinearInContext, MatchingExample
from lengthwise.tasks.next_symbol import NextSymbol
from lengthwise.tasks.othello import NextMove
from lengthwise.tasks.recognition import Recognition
from lengthwise.tasks.regression import MarkedMean, SingleLocation
from lengthwise.tasks.set_complement import SetComplement
from lengthwise.tasks.task import Task, mean_loss

TASKS: dict[str, type] = {
    task.name: task
    for task in (
        SetComplement,
        Recognition,
        NextSymbol,
        SingleLocation,
        MarkedMean,
        MatchingExample,
        LinearInContext,
        NextMove,
    )
}

__all__ = [
    "TASKS",
    "Batch",
    "LinearInContext",
    "MarkedMean",
    "MatchingExample",
    "NextMove",
    "NextSymbol",
    "Recognition",
    "SetComplement",
    "SingleLocation",
    "Task",
    "mean_loss",
]
