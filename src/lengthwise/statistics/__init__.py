"""Statistics: paired intervals over replicates, and verdicts from rules written before the run."""

from __future__ import annotations

from lengthwise.statistics.exact import Check, Exact
from lengthwise.statistics.intervals import LEAST_REPLICATES, Interval, log_slope, mean_interval, median_interval
from lengthwise.statistics.medians import Median
from lengthwise.statistics.rules import Paired, Rule, Slope
from lengthwise.statistics.verdicts import Arm, Part, Verdict, replicate_values

__all__ = [
    "LEAST_REPLICATES",
    "Arm",
    "Check",
    "Exact",
    "Interval",
    "Median",
    "Paired",
    "Part",
    "Rule",
    "Slope",
    "Verdict",
    "log_slope",
    "mean_interval",
    "median_interval",
    "replicate_values",
]
