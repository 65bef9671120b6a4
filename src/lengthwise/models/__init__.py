"""Models: ordinary PyTorch modules, written to be read, and the fast exact form of the smallest one."""

from __future__ import annotations

from torch import nn

from lengthwise.models.dropout import Dropout
from lengthwise.models.gpt import GPT
from lengthwise.models.minimal import MinimalTransformer
from lengthwise.models.pooling import AttentionPooling
from lengthwise.models.presets import PRESETS, preset
from lengthwise.models.shallow import ShallowTransformer
from lengthwise.models.shallow_tables import ShallowTables
from lengthwise.models.table_form import Seen, TableForm

MODELS: dict[str, type[nn.Module]] = {
    "minimal": MinimalTransformer,
    "shallow": ShallowTransformer,
    "gpt": GPT,
    "pooling": AttentionPooling,
}
TABLE_FORMS: dict[type[nn.Module], type[TableForm] | type[ShallowTables]] = {
    MinimalTransformer: TableForm,
    ShallowTransformer: ShallowTables,
}
"""The modules that a population runs through tables; a subclass may compute something else, and is not served."""

__all__ = [
    "GPT",
    "AttentionPooling",
    "MODELS",
    "PRESETS",
    "TABLE_FORMS",
    "Dropout",
    "MinimalTransformer",
    "Seen",
    "ShallowTables",
    "ShallowTransformer",
    "TableForm",
    "preset",
]
