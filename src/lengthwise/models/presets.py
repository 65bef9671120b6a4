"""GPTs by name: two small ones for experiments on a CPU, and the published one of Othello."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from lengthwise.errors import unknown
from lengthwise.models.gpt import GPT

_DROPOUTS = {"embedding_dropout": 0.1, "attention_dropout": 0.1, "residual_dropout": 0.1}

PRESETS: dict[str, Mapping[str, Any]] = {
    # Initial weights keep GPT-2's scale times square root of width, .02 * 768^.5: at .02 narrow models start slowly.
    "tiny": {"layers": 2, "heads": 2, "width": 32, "initial_scale": 0.1},
    "small": {"layers": 4, "heads": 4, "width": 128, "initial_scale": 0.05},
    # arXiv:2210.13382: 60 playable squares and a pad; games of 60 moves, of which the last is never an input.
    "othellogpt": {"vocabulary": 61, "layers": 8, "heads": 8, "width": 512, "block": 59, **_DROPOUTS},
}
"""Constructor arguments of `GPT` by preset; "tiny" and "small" leave what is read and answered to the task."""


def preset(name: str, **changes: Any) -> GPT:
    """A GPT by name, with some constructor arguments changed.

    Errors: InputError for a name that is no preset, a change that is no argument, and whatever `GPT` refuses.

    >>> model = preset("tiny", vocabulary=5, positions="rotary")
    >>> sum(parameter.numel() for parameter in model.parameters())
    25792
    """
    if name not in PRESETS:
        raise unknown("preset", name, PRESETS)
    known = inspect.signature(GPT).parameters
    for change in changes:
        if change not in known:
            raise unknown("setting", change, known)
    return GPT(**{**PRESETS[name], **changes})
