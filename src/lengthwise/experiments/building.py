"""How an experiment's modules are built: from a class and its settings, or at weights with a proof."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field
from torch import nn

from lengthwise.certificates import constructions
from lengthwise.errors import InputError, unknown


class Data(BaseModel):
    """Plain data that does not change, checked when it is made."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)


class ModelOf(Data):
    """How a module is built: a class (or any function that returns a module) and its settings.

    Arguments that the task knows, such as `vocabulary`, are filled in by name unless a setting names them.

    >>> from lengthwise import MinimalTransformer
    >>> ModelOf(module=MinimalTransformer, settings={"width": 4}).build({"vocabulary": 5}).embedding.shape
    torch.Size([5, 4])
    """

    module: Callable[..., nn.Module]
    settings: dict[str, Any] = Field(default_factory=dict)

    def arguments(self, sizes: Mapping[str, int], **changes: Any) -> dict[str, Any]:
        """The arguments of the module: the task's sizes where it takes them, then settings, then `changes`.

        Errors: InputError for a setting that the module does not take.
        """
        signature = inspect.signature(self.module).parameters
        named = {**self.settings, **changes}
        if not any(p.kind is p.VAR_KEYWORD for p in signature.values()):
            for name in named:
                if name not in signature:
                    raise unknown(f"setting of {getattr(self.module, '__name__', 'the model')}", name, signature)
        return {**{k: v for k, v in sizes.items() if k in signature}, **named}

    def build(self, sizes: Mapping[str, int], **changes: Any) -> nn.Module:
        """The module, at weights drawn from PyTorch's global generator."""
        arguments = self.arguments(sizes, **changes)
        try:
            return self.module(**arguments)
        except TypeError as error:
            raise InputError(f"model {getattr(self.module, '__name__', self.module)}: {error}") from error


class Start(Data):
    """Weights with a proof to start from, by the name of a construction in `lengthwise.certificates.constructions`.

    >>> from lengthwise import MinimalTransformer
    >>> model = Start(construction="minimal", settings={"precision": 6.0}).put_into(MinimalTransformer(4, width=3))
    >>> model(torch.tensor([[0, 1]]))[0, -1].tolist()
    [-3.0, -4.0, 0.0, 0.0]
    """

    construction: Literal["minimal", "balanced", "counterexample"]
    settings: dict[str, float] = Field(default_factory=dict)

    def put_into(self, model: nn.Module) -> nn.Module:
        """The model with these weights; InputError if its sizes are not the construction's."""
        made = self._weights(model)
        names = {"E": "embedding", "W_Q": "query", "W_K": "key", "W_V": "value", "W_O": "output", "U": "unembedding"}
        values = {name: torch.from_numpy(getattr(made, symbol)) for symbol, name in names.items()}
        own = dict(model.named_parameters())
        for name, value in values.items():
            if name not in own or own[name].shape != value.shape:
                found = tuple(own[name].shape) if name in own else "none"
                expected = f"a parameter {name!r} of shape {tuple(value.shape)}"
                raise InputError(f"start {self.construction!r}: expected {expected}, found {found}")
            own[name].data.copy_(value)
        return model

    def _weights(self, model: nn.Module) -> constructions.Weights:
        if self.construction == "counterexample":
            return constructions.counterexample()
        vocabulary = dict(model.named_parameters())["embedding"].shape[0]
        return getattr(constructions, self.construction)(vocabulary, **self.settings)
