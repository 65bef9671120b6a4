"""Diagnostics: what a trained model does at each length, measured on inputs that were drawn."""

from __future__ import annotations

from lengthwise.diagnostics.curves import MATCHED, Inputs, Measured, measure
from lengthwise.diagnostics.metrics import ALL_METRICS, METRICS, METRICS_OF
from lengthwise.diagnostics.scale_matching import inverse_temperature
from lengthwise.diagnostics.worst_inputs import Limits, WorstInput, shortest_failure, worst_inputs

__all__ = [
    "ALL_METRICS",
    "MATCHED",
    "METRICS",
    "METRICS_OF",
    "Inputs",
    "Limits",
    "Measured",
    "WorstInput",
    "inverse_temperature",
    "measure",
    "shortest_failure",
    "worst_inputs",
]
