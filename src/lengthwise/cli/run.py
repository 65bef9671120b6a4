"""`lengthwise run`: one experiment, built-in or from a user's own file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def run(
    name: Annotated[
        str, typer.Argument(help="an experiment's name, or a .py file that defines one", metavar="NAME|FILE.py")
    ],
    scale: Annotated[str, typer.Option(help="smoke (seconds), quick (minutes) or full")] = "quick",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="change a field: key=value", metavar="KEY=VALUE")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the run folder to write")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="continue the run that --out holds")] = False,
    device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, mps")] = "cpu",
    compiled: Annotated[bool, typer.Option("--compile", help="compile the model (needs a C++ compiler)")] = False,
    save_every: Annotated[float, typer.Option(min=0, help="seconds between checkpoints")] = 10.0,
    no_page: Annotated[
        bool, typer.Option("--no-page", help="write no page; `lengthwise report` can do it later")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object and nothing else")] = False,
) -> None:
    """Train, measure and report one experiment."""
    from lengthwise.cli.session import carry_out, default_folder, say, summary
    from lengthwise.cli.sources import at_scale, blaming, find_experiment
    from lengthwise.errors import InputError
    from lengthwise.experiments.execute import Options
    from lengthwise.experiments.running import open_run
    from lengthwise.reports import write_page

    if resume and out is None:
        raise InputError("--resume: expected --out DIR, the folder of the run to continue")
    found, source = find_experiment(name)
    experiment = at_scale(found, scale, settings or [])
    if resume and out and not (out / "config.json").exists():
        say(f"nothing to continue in {out}: a new run")
    options = Options(device=device, compiled=compiled, save_every=save_every)
    with blaming(source):
        folder = open_run(experiment, out or default_folder(experiment.name, scale), scale, options, source, resume)
    page = None if no_page else write_page(folder.path)
    if page and not as_json:
        print(f"page: {page.resolve()}", flush=True)
    with blaming(source):
        carry_out(experiment, folder, options, quiet=as_json)
    page = write_page(folder.path) if page else None
    if as_json:
        print(json.dumps(summary(folder, page), indent=2))
        return
    for claim in folder.claims:
        print(f"{claim['id']}: {claim['decision']}")
    print(f"run: {folder.path}" + (f"\npage: {page.resolve()}" if page else ""))
