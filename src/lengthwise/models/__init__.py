"""Models: ordinary PyTorch modules, written to be read, and the fast exact form of the smallest one."""

from __future__ import annotations

from torch import nn

from lengthwise.models.dropout import Dropout
from lengthwise.models.minimal import MinimalTransformer
from lengthwise.models.table_form import Seen, TableForm

MODELS: dict[str, type[nn.Module]] = {"minimal": MinimalTransformer}

__all__ = ["MODELS", "Dropout", "MinimalTransformer", "Seen", "TableForm"]
