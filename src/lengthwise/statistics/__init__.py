"""Statistics: paired intervals over replicates, and verdicts from rules written before the run."""

from __future__ import annotations

from lengthwise.statistics.intervals import Interval, log_slope, mean_interval
from lengthwise.statistics.rules import Arm, Paired, Part, Rule, Slope, Verdict, replicate_values

__all__ = [
    "Arm",
    "Interval",
    "Paired",
    "Part",
    "Rule",
    "Slope",
    "Verdict",
    "log_slope",
    "mean_interval",
    "replicate_values",
]
