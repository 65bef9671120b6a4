"""Runs: the folder that a run leaves, written so that a crash at any moment loses nothing that was saved."""

from __future__ import annotations

from lengthwise.runs.folder import CURVE_SCHEMA, RunFolder, slug
from lengthwise.runs.provenance import provenance

__all__ = ["CURVE_SCHEMA", "RunFolder", "provenance", "slug"]
