"""`lengthwise certify`: what is proved of a trained model at every length, and how far any readout can reach."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from torch import Tensor

    from lengthwise.certificates import Readout
    from lengthwise.experiments.weights import Run

DIGITS = 5


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
    """Prove the worst case over all inputs of every length."""
    asked = {"variant": variant, "replicate": replicate, "weights": weights}
    found = _run_at(path, asked)
    if found is None:
        data = _of_file(path, asked, readout)
    else:
        data = _readouts(found, asked) if readout else _certificates(found, asked)
    if as_json:
        print(json.dumps(data, indent=2))
    elif "models" in data:
        print("\n".join(_readout_rows(data["models"]) if readout else _certificate_rows(data["models"])))
    else:
        print("\n".join(_readout_lines(data) if readout else _certificate_lines(data)))


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


def _certificate_lines(data: dict[str, Any]) -> list[str]:
    longest = data["vocabulary"] - 1
    order = f"every absent token outranks every present one: up to length {data['certified_order']} of {longest}"
    lines = [f"proved of every input without repeats, vocabulary {data['vocabulary']}", order]
    if any(reached is None for reached in data["certified_tv"].values()):
        lines.append("sizes are not certified: a norm after the residual sum keeps only the order")
    else:
        reach = ", ".join(f"{tau} up to {reached}" for tau, reached in data["certified_tv"].items())
        lines.append(f"total variation at most {reach}")
    head = ("length", "worst displacement", "legal spread", "TV bound", "worst input (last token last)")
    sides = {"worst_displacement": ROUND_FLOOR, "legal_spread": ROUND_CEILING, "tv_bound": ROUND_CEILING}
    rows = [
        (row["length"], *(_rounded(row[key], side) for key, side in sides.items()), _tokens(row["worst_input"]))
        for row in data["lengths"]
    ]
    return [*lines, *_columns(head, rows, left={4})]


def _certificate_rows(models: list[dict[str, Any]]) -> list[str]:
    taus = list(next((row["certified_tv"] for row in models if row["certified_tv"]), {}))
    head = ("variant", "replicate", "weights", "order", *(f"TV {tau}" for tau in taus))
    rows, reasons = [], {}
    for row in models:
        reached = [(row["certified_tv"] or {}).get(tau) for tau in taus]
        order = "refused" if "refused" in row else row["certified_order"]
        rows.append((row["variant"], row["replicate"], row["weights"], order, *reached))
        reasons.setdefault((row["variant"], row.get("refused")), None)
    refused = [f"refused: {variant}: {reason}" for variant, reason in reasons if reason]
    return [
        "largest length with order, and with total variation at most, proved",
        *_columns(head, rows, {0, 2}),
        *refused,
    ]


def _readout_lines(law: dict[str, Any]) -> list[str]:
    longest, reach, witness = law["vocabulary"] - 1, law["largest_length"], law["witness"]
    lines = [f"readout: dimension {law['dimension']}, affine rank {law['affine_rank']}, vocabulary {law['vocabulary']}"]
    if witness is None:
        return [*lines, f"hidden states exist that serve every length 1..{longest}"]
    held = "hidden states exist that do" if law["proved"] else "whether any do was not decided"
    inside, outside = _tokens(witness["inside"]), _tokens(witness["outside"])
    return [
        *lines,
        f"no hidden states serve lengths beyond {reach} of {longest}; up to it {held}",
        f"witness: none ranks all of {{{outside}}} above all of {{{inside}}}",
        f"on the input {{{inside}}} total variation is at least {_rounded(law['tv_floor'], ROUND_FLOOR)}",
    ]


def _readout_rows(models: list[dict[str, Any]]) -> list[str]:
    keys = ("variant", "replicate", "weights", "dimension", "affine_rank", "largest_length")
    rows = [(*(row[key] for key in keys), row["witness"] and _tokens(row["witness"]["inside"])) for row in models]
    return _columns((*(key.replace("_", " ") for key in keys), "unserved input"), rows, left={0, 2, 6})


def _columns(head: Sequence[str], rows: Sequence[Sequence[object]], left: set[int]) -> list[str]:
    """Rows below a head, columns aligned: those of `left` to the left, the rest to the right."""
    lines = [head, *(["-" if cell is None else str(cell) for cell in row] for row in rows)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    placed = [[c.ljust(w) if k in left else c.rjust(w) for k, (c, w) in enumerate(zip(x, widths))] for x in lines]
    return ["  ".join(line).rstrip() for line in placed]


def _tokens(tokens: Sequence[int]) -> str:
    return " ".join(map(str, tokens))


def _rounded(value: float | None, direction: str) -> str | None:
    """A few digits, rounded so that no more is said than is proved."""
    return value if value is None else f"{Context(DIGITS, direction).create_decimal_from_float(value):g}"


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
