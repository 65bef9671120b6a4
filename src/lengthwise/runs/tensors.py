"""Tensors on disk: safetensors with a digest of the content and of the configuration they belong to."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from lengthwise.errors import InputError
from lengthwise.runs.files import write


def save_tensors(path: Path, tensors: Mapping[str, Tensor], config: str) -> Path:
    """Write tensors whole or not at all, marked with the digest of their run's configuration.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "x.safetensors"
    >>> load_tensors(save_tensors(path, {"a": torch.ones(2)}, config="c"), config="c")
    {'a': tensor([1., 1.])}
    """
    values = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    metadata = {"config": config, "content": _digest(values)}
    return write(path, lambda p: save_file(values, p, metadata=metadata))


def load_tensors(path: Path, config: str | None) -> dict[str, Tensor]:
    """Read tensors back; InputError if the file is missing, truncated, damaged, or of another run (`config`)."""
    if not path.is_file():
        raise InputError(f"{path}: the checkpoint is missing; expected a safetensors file there")
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise InputError(f"{path}: the checkpoint is truncated or damaged ({error})") from None
    if config is not None and metadata.get("config") != config:
        raise InputError(f"{path}: the checkpoint belongs to another run; expected configuration {config[:12]}")
    if metadata.get("content") != _digest(tensors):
        raise InputError(f"{path}: the checkpoint's content does not match its digest; expected it undamaged")
    return tensors


def _digest(tensors: Mapping[str, Tensor]) -> str:
    total = hashlib.sha256()
    for name in sorted(tensors):
        value = tensors[name].contiguous()
        total.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        total.update(value.reshape(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()
