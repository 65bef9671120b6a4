"""Search: spaces, trials, blocks of trials, where they run, and what their settings change."""

from __future__ import annotations

from lengthwise.search.blocks import Block, blocks_of
from lengthwise.search.distributions import Choice, IntegerUniform, LogUniform, Switch, Uniform, When
from lengthwise.search.evaluation import evaluate, evaluate_settings
from lengthwise.search.search import Search, SearchClaim, search_of
from lengthwise.search.searches import SEARCHES
from lengthwise.search.space import Space

__all__ = [
    "SEARCHES",
    "Block",
    "Choice",
    "IntegerUniform",
    "LogUniform",
    "Search",
    "SearchClaim",
    "Space",
    "Switch",
    "Uniform",
    "When",
    "blocks_of",
    "evaluate",
    "evaluate_settings",
    "search_of",
]
