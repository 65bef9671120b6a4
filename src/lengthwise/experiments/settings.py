"""Changing fields of an experiment by dotted names, with errors that name the field."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from lengthwise.errors import InputError, unknown
from lengthwise.experiments.building import ModelOf
from lengthwise.experiments.experiment import Experiment


def with_settings(experiment: Experiment, settings: Mapping[str, Any]) -> Experiment:
    """The same experiment with some fields replaced, and checked again.

    A key is a dotted path (`plan.phases.0.steps`, `task.vocabulary`, `model.width`) or, where only one field bears it,
    its last name (`vocabulary`). A key of `variants.NAME.model.KEY` changes one variant.

    Errors: InputError that names the field and the value, with the nearest names for an unknown one.

    >>> from lengthwise.experiments import EXPERIMENTS
    >>> with_settings(EXPERIMENTS["set-complement"], {"vocabulary": 20, "replicates": 4}).task.vocabulary
    20
    """
    # Each object is rebuilt once, so that fields which are only valid together may change together.
    tree: dict[str, Any] = {}
    for key, value in settings.items():
        at = tree
        *parents, last = _path(experiment, key)
        for part in parents:
            at = at.setdefault(part, {})
        at[last] = _Leaf(value)
    return _changed(experiment, tree, "")


def parse_settings(words: list[str]) -> dict[str, Any]:
    """`key=value` words as settings: JSON where the value is valid JSON, text otherwise.

    >>> parse_settings(["replicates=4", "model.norm=post"])
    {'replicates': 4, 'model.norm': 'post'}
    """
    settings = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise InputError(f"--set {word!r}: expected key=value")
        try:
            settings[key] = json.loads(value)
        except json.JSONDecodeError:
            settings[key] = value
    return settings


def one_line(error: ValidationError, at: str = "") -> InputError:
    """A validation error as one line: the field, the value, and what was expected."""
    first = error.errors(include_url=False)[0]
    # Of a field that may be of several kinds, pydantic appends the kind that it tried last; that is no field.
    fields = [p for p in first["loc"] if not (isinstance(p, str) and (p == "constrained-float" or p[:1].isupper()))]
    place = ".".join(str(p) for p in (*filter(None, at.split(".")), *fields))
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":
        return InputError(f"{place}: {message}" if place else message)
    return InputError(f"{place} {first['input']!r}: {message[0].lower()}{message[1:]}")


class _Leaf:
    def __init__(self, value: Any) -> None:
        self.value = value


def _changed(value: Any, tree: dict[str, Any] | _Leaf, at: str) -> Any:
    if isinstance(tree, _Leaf):
        return tree.value
    if isinstance(value, ModelOf):
        return value.model_copy(update={"settings": _changed(value.settings, tree, at)})
    if isinstance(value, dict):
        return {**value, **{k: _changed(value.get(k), v, f"{at}.{k}") for k, v in tree.items()}}
    if isinstance(value, tuple | list):
        items = list(value)
        for key, change in tree.items():
            if not key.isdigit() or int(key) >= len(items):
                raise InputError(f"{at}.{key}: expected an index below {len(items)}")
            items[int(key)] = _changed(items[int(key)], change, f"{at}.{key}")
        return tuple(items)
    if not isinstance(value, BaseModel):
        raise InputError(f"{at}: has no fields to set")
    known = type(value).model_fields
    for key in tree:
        if key not in known:
            raise unknown(f"field of {at or 'the experiment'}", key, known)
    fields = {k: getattr(value, k) for k in known}
    changes = {k: _changed(fields[k], v, f"{at}.{k}".strip(".")) for k, v in tree.items()}
    try:
        return type(value)(**{**fields, **changes})
    except ValidationError as error:
        raise one_line(error, at) from None


def _path(experiment: Experiment, key: str) -> list[str]:
    parts = key.split(".")
    if len(parts) > 1 or key in Experiment.model_fields:
        return parts
    found = [path for path in _leaves(experiment) if path[-1] == key]
    if not found:
        names = {*Experiment.model_fields, *(path[-1] for path in _leaves(experiment))}
        raise unknown("field", key, names)
    if len(found) > 1:
        raise InputError(f"field {key!r} is ambiguous: expected one of {', '.join('.'.join(p) for p in found)}")
    return found[0]


def _leaves(experiment: Experiment) -> Iterator[list[str]]:
    """The fields that a short name may stand for: those of the task, the model, the plan, and what is measured."""
    import inspect

    yield from (["model", name] for name in inspect.signature(experiment.model.module).parameters
                if name not in experiment.task.sizes)  # fmt: skip
    if isinstance(experiment.task, BaseModel):
        yield from (["task", name] for name in type(experiment.task).model_fields)
    yield from (["measuring", name] for name in type(experiment.measuring).model_fields)
    yield from (["plan", name] for name in type(experiment.plan).model_fields)
    for i, phase in enumerate(experiment.plan.phases):
        yield from (["plan", "phases", str(i), name] for name in type(phase).model_fields)
