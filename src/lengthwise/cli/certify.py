"""`lengthwise certify`: what is proved of a trained model at every length, and how far any readout can reach."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lengthwise.cli.certified_lines import certificate_lines, certificate_rows, readout_lines, readout_rows
from lengthwise.cli.certified_words import words_data, words_lines, words_rows

if TYPE_CHECKING:
    from torch import Tensor

    from lengthwise.certificates import Readout
    from lengthwise.experiments.weights import Run


def certify(
    path: Annotated[
        Path,
        typer.Argument(
            help="a run folder, a file of weights, or a file of tables S, B and D", metavar="RUN|CHECKPOINT|TABLES"
        ),
    ],
    variant: Annotated[str | None, typer.Option(help="only this variant of a run")] = None,
    replicate: Annotated[int | None, typer.Option(help="only this replicate of a run")] = None,
    weights: Annotated[str | None, typer.Option(help="only these weights of a run: raw or an average's name")] = None,
    readout: Annotated[
        bool, typer.Option("--readout", help="what the readout matrix alone allows, whatever the hidden states")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> None:
    """Prove the worst case over all inputs of every length; where words are recognised, over all words."""
    asked = {"variant": variant, "replicate": replicate, "weights": weights}
    found = _run_at(path, asked)
    if found is None:
        data = _of_file(path, asked, readout)
    else:
        data = _readouts(found, asked) if readout else _certificates(found, asked)
    if as_json:
        print(json.dumps(data, indent=2))
        return
    words = found is not None and found.config["task"]["name"] == "recognition"
    rows, lines = (words_rows, words_lines) if words else (certificate_rows, certificate_lines)
    rows, lines = (readout_rows, readout_lines) if readout else (rows, lines)
    print("\n".join(rows(data["models"]) if "models" in data else lines(data)))


def _run_at(path: Path, asked: dict[str, Any]) -> Run | None:
    """The run of a folder, or of a file among its weights, which asks for its own variant; None for other files."""
    from lengthwise.errors import InputError
    from lengthwise.experiments.weights import load
    from lengthwise.runs import slug

    if path.is_dir():
        return load(path)
    if not path.is_file():
        raise InputError(f"{path}: no such file or folder; expected a run folder or a safetensors file")
    folder = path.absolute().parent.parent
    if path.absolute().parent.name != "weights" or not (folder / "config.json").is_file():
        return None
    run = load(folder)
    own = [name for name in run.config["variants"] if slug(name) == path.stem]
    if not own:
        raise InputError(f"{path}: expected the weights of a variant of {folder}: {', '.join(run.config['variants'])}")
    if asked["variant"] not in (None, own[0]):
        raise InputError(f"--variant {asked['variant']!r}: {path} holds the weights of {own[0]!r}")
    asked["variant"] = own[0]
    return run


def _of_file(path: Path, asked: dict[str, Any], readout: bool) -> dict[str, Any]:
    """The one certificate, or the one readout law, of a file outside a run."""
    from lengthwise.certificates import certify, load_tables, readout_law
    from lengthwise.errors import InputError
    from lengthwise.experiments.certifying import certify_model, model_of_tensors

    for option, value in asked.items():
        if value is not None:
            raise InputError(f"--{option} {value}: {path} holds one model; expected a run folder or its weights")
    tensors = _tensors(path)
    try:
        if readout:
            return _law(readout_law(_readout_of(tensors)))
        if {"S", "B", "D"} & tensors.keys():
            return certify(load_tables(path), _progress()).to_json()
        return certify_model(model_of_tensors(tensors), _progress()).to_json()
    except InputError as fault:
        raise InputError(str(fault) if str(path) in str(fault) else f"{path}: {fault}") from None


def _tensors(path: Path) -> dict[str, Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    from lengthwise.errors import InputError

    try:
        return load_file(path)
    except (SafetensorError, OSError) as fault:
        raise InputError(f"{path}: expected a safetensors file ({fault})") from None


def _readout_of(tensors: dict[str, Tensor]) -> Any:
    from lengthwise.errors import InputError

    name = next((name for name in ("readout", "unembedding") if name in tensors), None)
    if name is None:
        found = ", ".join(sorted(tensors)[:8]) or "nothing"
        raise InputError(f"no tensor 'readout' or 'unembedding' of shape (d, v), found {found}")
    if not tensors[name].dtype.is_floating_point:
        raise InputError(f"{name} holds {tensors[name].dtype}: expected floating-point numbers")
    return tensors[name].double().numpy()


def _certificates(run: Run, asked: dict[str, Any]) -> dict[str, Any]:
    """One certificate in full if one model is asked for, else a row for each."""
    from lengthwise.errors import InputError
    from lengthwise.experiments.certifying import certify_run

    if run.config["task"]["name"] == "recognition":
        return words_data(run, asked, _progress())
    rows = certify_run(run, **asked, progress=_progress())
    if len(rows) > 1:
        return {"models": [row.to_json() for row in rows]}
    if rows[0].certificate is None:
        raise InputError(
            f"variant {rows[0].variant!r}, replicate {rows[0].replicate}, {rows[0].weights}: {rows[0].refused}"
        )
    return rows[0].certificate.to_json()


def _readouts(run: Run, asked: dict[str, Any]) -> dict[str, Any]:
    """The readout law of the one model asked for, or a row for each."""
    from lengthwise.experiments.certifying import models_of, readout_of

    names, tell, laws = models_of(run, **asked), _progress(), []
    for done, name in enumerate(names, 1):
        laws.append(_law(readout_of(run.model(*name))))
        tell(done, len(names))
    if len(laws) == 1:
        return laws[0]
    keys = ("variant", "replicate", "weights")
    return {"models": [{**dict(zip(keys, name, strict=True)), **law} for name, law in zip(names, laws, strict=True)]}


def _law(law: Readout) -> dict[str, Any]:
    """A readout law as plain data; the witness's weights are rounded."""
    sides = law.witness and {
        "inside": list(law.witness.inside),
        "outside": list(law.witness.outside),
        "inside_weights": [float(weight) for weight in law.witness.inside_weights],
        "outside_weights": [float(weight) for weight in law.witness.outside_weights],
    }
    keys = ("vocabulary", "dimension", "affine_rank", "largest_length", "proved", "tv_floor")
    return {**{key: getattr(law, key) for key in keys}, "witness": sides}


def _progress(patience: float = 2.0) -> Callable[[int, int], None]:
    """Tell done and time left on standard error once `patience` seconds have passed: one line on a terminal."""
    start, terminal = time.monotonic(), sys.stderr.isatty()
    due = [start + patience]

    def tell(done: int, total: int) -> None:
        now = time.monotonic()
        if now >= due[0] or (terminal and done == total):
            due[0] = now + (0.5 if terminal else 10.0)
            left = (now - start) * (total - done) / done
            text = f"{100 * done / total:3.0f}%  certifying, about {left:.0f} s left" if done < total else ""
            print(f"\r{text:40}\r" if terminal else text, end="" if terminal else "\n", file=sys.stderr, flush=True)

    return tell
