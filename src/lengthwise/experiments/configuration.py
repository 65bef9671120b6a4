"""An experiment as JSON: what a run was told, enough to tell two runs apart and to build its models again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from lengthwise.experiments.experiment import Experiment


def configuration(
    experiment: Experiment, scale: str | None, device: str, threads: int, compiled: bool, source: Path | None
) -> dict[str, Any]:
    """Everything that the result depends on, as JSON; `source` is the user's file that defines the experiment."""
    e = experiment
    return {
        "experiment": e.name,
        "question": e.question,
        "scale": scale,
        "task": {"name": e.task.name, "settings": _plain(e.task), "trained_length": e.task.trained_length},
        "model": {"module": _address(e.model.module), "settings": _plain(e.model.settings)},
        "groups": _plain(e.groups),
        "plan": _plain(e.plan),
        "variants": {
            name: {
                "model": e.arguments(name),
                "start": _plain(variant.start),
                "plan": _plain(variant.plan),
                "grid": _plain(variant.grid),
                "averages": [{"name": a.name, **_plain(a)} for a in e.averages_of(name)],
            }
            for name, variant in e.variants.items()
        },
        "replicates": e.replicates,
        "first_replicate": e.first_replicate,
        "seed": e.seed,
        "measuring": {**_plain(e.measuring), "lengths": list(e.lengths)},
        "claims": [
            {"id": c.id, "statement": c.statement, "rule": _plain(c.rule_for(e)), "says": c.rule_for(e).says}
            for c in e.claims
        ],
        "sections": list(e.sections),
        "metric": e.metric,
        "tuning": _plain(e.tuning),
        "device": device,
        "threads": threads,
        "compiled": compiled,
        "source": {"name": source.name, "sha256": hashlib.sha256(source.read_bytes()).hexdigest()} if source else None,
    }


def _address(module: Callable[..., Any]) -> str:
    return f"{module.__module__}:{getattr(module, '__qualname__', type(module).__qualname__)}"


def _plain(value: Any) -> Any:
    """JSON for whatever a setting may be; objects without one by their type and fields."""
    if isinstance(value, BaseModel):
        return {k: _plain(getattr(value, k)) for k in type(value).model_fields}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return {"type": type(value).__qualname__, **{k: _plain(v) for k, v in getattr(value, "__dict__", {}).items()}}
