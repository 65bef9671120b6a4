"""Compilation where the machine can, and a plain notice where it cannot."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


def compiled_or_eager(function: Callable[..., Any], device: torch.device) -> tuple[Callable[..., Any], str | None]:
    """The function compiled for fixed shapes, or itself with a notice if there is no C++ compiler for the CPU.

    >>> double, notice = compiled_or_eager(lambda x: 2 * x, torch.device("cpu"))
    >>> double(torch.ones(1)).item()
    2.0
    """
    if device.type == "cpu" and (reason := _no_compiler()):
        return (
            function,
            f"not compiled, as there is no C++ compiler ({reason}); everything else is the same, but slower",
        )
    return torch.compile(function, dynamic=False), None


def _no_compiler() -> str | None:
    from torch._inductor import cpp_builder

    try:
        cpp_builder.get_cpp_compiler()
    except Exception as error:  # its type differs between versions of PyTorch
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return None
