"""The command `lengthwise`: parse, call, print; one file per verb."""

from __future__ import annotations

from lengthwise.cli.app import main

__all__ = ["main"]
