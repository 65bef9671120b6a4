"""Finding an experiment by name or in a user's own file, and changing its settings."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from lengthwise.errors import InputError, unknown
from lengthwise.experiments import EXPERIMENTS, Experiment, parse_settings, with_settings
from lengthwise.experiments.settings import one_line


def find_experiment(name: str) -> tuple[Experiment, Path | None]:
    """A built-in experiment, or the one that a .py file defines, with that file.

    Errors: InputError for an unknown name, a file that is missing, raises, or defines none or several.
    """
    if not name.endswith(".py"):
        if name not in EXPERIMENTS:
            raise unknown("experiment", name, EXPERIMENTS)
        return EXPERIMENTS[name], None
    path = Path(name)
    if not path.is_file():
        raise InputError(f"{name}: no such file; expected a Python file that defines an Experiment")
    found = [value for value in _defined_in(path).values() if isinstance(value, Experiment)]
    found = [e for i, e in enumerate(found) if e not in found[:i] and not any(e is b for b in EXPERIMENTS.values())]
    if len(found) != 1:
        names = ", ".join(e.name for e in found) or "none"
        raise InputError(f"{name}: expected exactly one Experiment at the top level, found {names}")
    return found[0], path


def at_scale(experiment: Experiment, scale: str | None, words: list[str]) -> Experiment:
    """The experiment at a scale, and then with `key=value` settings.

    A file's experiment need not have scales: without one it runs as it is written.
    """
    if scale is not None and scale not in experiment.scales and (experiment.scales or scale != "quick"):
        raise unknown("scale", scale, experiment.scales or ["quick"])
    scaled = with_settings(experiment, experiment.scales.get(scale or "", {}))
    return with_settings(scaled, parse_settings(words))


def _defined_in(path: Path) -> dict:
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        with blaming(path):
            return runpy.run_path(str(path))
    finally:
        sys.path.remove(folder)


@contextmanager
def blaming(path: Path | None) -> Iterator[None]:
    """Turn what a user's file raises, at its top level or in a function that we call, into one line with its place.

    What is raised without the file having a part in it is a fault of ours, and passes unchanged.
    """
    try:
        yield
    except InputError:
        raise
    except ValidationError as error:
        raise InputError(f"{path}: {one_line(error)}" if path else str(one_line(error))) from None
    except (Exception, SystemExit) as error:
        lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if path and Path(f.filename) == path]
        if isinstance(error, SyntaxError) and error.filename == str(path):
            lines = [error.lineno]
        if not lines:
            raise
        raise InputError(f"{path} line {lines[-1]}: {type(error).__name__}: {error}") from error
